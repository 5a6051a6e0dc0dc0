#include "stats/survival/after_cox.h"

#include <cmath>
#include <map>

namespace partita::stats::survival {
namespace {

int StratumOf(const CoxRows& rows, size_t row) {
  return rows.stratum.empty() ? 0 : rows.stratum[row];
}

bool AtRisk(const CoxRows& rows, size_t row, double time) {
  return rows.time[row] >= time && (rows.entry.empty() || rows.entry[row] < time);
}

}  // namespace

double Concordance::value() const {
  if (pairs() == 0) return 0;
  return (static_cast<double>(concordant) + static_cast<double>(tied) / 2) /
         static_cast<double>(pairs());
}

Concordance ConcordanceOf(const CoxRows& rows, const std::vector<double>& predictors) {
  Concordance counts;
  const size_t n = rows.time.size();
  for (size_t i = 0; i < n; ++i) {
    if (rows.event[i] == 0) continue;
    for (size_t j = 0; j < n; ++j) {
      const bool same_event = rows.event[j] != 0 && rows.time[j] == rows.time[i];
      if (same_event || StratumOf(rows, j) != StratumOf(rows, i) || !AtRisk(rows, j, rows.time[i]))
        continue;
      ++(predictors[i] > predictors[j]   ? counts.concordant
         : predictors[i] < predictors[j] ? counts.discordant
                                         : counts.tied);
    }
  }
  return counts;
}

double CumulatedHazard(const CoxRows& rows, const Eigen::VectorXd& point, Ties ties, int stratum,
                       double time) {
  const Eigen::VectorXd weights = (rows.x * point).array().exp();
  const auto weight = [&](size_t row) { return weights[static_cast<Eigen::Index>(row)]; };
  std::map<double, std::vector<size_t>> events;
  for (size_t row = 0; row < rows.time.size(); ++row) {
    if (rows.event[row] != 0 && rows.time[row] <= time && StratumOf(rows, row) == stratum)
      events[rows.time[row]].push_back(row);
  }
  double hazard = 0;
  for (const auto& [at, tied] : events) {
    double at_risk = 0, of_tied = 0;
    for (size_t row = 0; row < rows.time.size(); ++row) {
      if (StratumOf(rows, row) == stratum && AtRisk(rows, row, at)) at_risk += weight(row);
    }
    for (const size_t row : tied) of_tied += weight(row);
    for (size_t k = 0; k < tied.size(); ++k) {
      const double left =
          ties == Ties::kEfron ? static_cast<double>(k) / static_cast<double>(tied.size()) : 0;
      hazard += 1 / (at_risk - left * of_tied);
    }
  }
  return hazard;
}

}  // namespace partita::stats::survival
