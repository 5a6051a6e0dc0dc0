#include "stats/glm/risk.h"

#include <algorithm>
#include <cmath>

namespace partita::stats::glm {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

constexpr double kBinsOfLogOdds = 16;

// Of an outcome of 1, from what deviance is: -2 log of the probability of the outcome.
double RiskAt(const Law& law, double eta) { return std::exp(-TermsAt(law, 1, eta).deviance / 2); }

Index BinOf(double risk) {
  const double log_odds = std::log(risk / (1 - risk));
  const double bin = std::floor(log_odds * kBinsOfLogOdds) + kRiskBins / 2.0;
  return static_cast<Index>(std::clamp(bin, 0.0, kRiskBins - 1.0));
}

}  // namespace

RiskTable RiskTableAt(const Law& law, const Rows& rows, const VectorXd& point, const Limits& limits,
                      std::span<const double> cuts) {
  const auto groups = static_cast<Index>(cuts.size()) + 1;
  constexpr auto kBins = static_cast<Index>(kRiskBins);
  RiskTable table{VectorXd::Zero(groups), VectorXd::Zero(groups), VectorXd::Zero(groups),
                  VectorXd::Zero(kBins), VectorXd::Zero(kBins)};
  const VectorXd eta = rows.x * point + rows.offset;
  for (Index i = 0; i < eta.size(); ++i) {
    const double risk = RiskAt(law, std::clamp(eta[i], limits.lower, limits.upper));
    const Index group = std::upper_bound(cuts.begin(), cuts.end(), risk) - cuts.begin();
    const bool event = rows.y[i] > 0;
    (event ? table.events : table.others)[group] += rows.weight(i);
    table.expected[group] += rows.weight(i) * risk;
    (event ? table.bin_events : table.bin_others)[BinOf(risk)] += rows.weight(i);
  }
  return table;
}

BinnedArea AreaOf(const VectorXd& bin_others, const VectorXd& bin_events) {
  double below = 0, higher = 0;
  for (Index k = 0; k < bin_others.size(); ++k) {
    higher += bin_events[k] * (below + bin_others[k] / 2);
    below += bin_others[k];
  }
  const double pairs = bin_others.sum() * bin_events.sum();
  return {higher / pairs, bin_events.dot(bin_others) / (2 * pairs)};
}

}  // namespace partita::stats::glm
