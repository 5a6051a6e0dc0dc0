#include "stats/erm/evaluate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"

namespace partita::stats::erm {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

std::vector<Index> ByScore(const VectorXd& scores) {
  std::vector<Index> order(static_cast<size_t>(scores.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(),
                   [&scores](Index a, Index b) { return scores(a) > scores(b); });
  return order;
}

}  // namespace

double ErrorRate(const LabelledRows& rows, const VectorXd& w) {
  const VectorXd margins = (rows.x * w).cwiseProduct(rows.y);
  const auto wrong =
      std::count_if(margins.begin(), margins.end(), [](double m) { return !(m > 0); });
  return static_cast<double>(wrong) / static_cast<double>(margins.size());
}

std::vector<RocPoint> RocCurve(const VectorXd& scores, const VectorXd& labels) {
  const double positives = static_cast<double>((labels.array() > 0).count());
  const double negatives = static_cast<double>(labels.size()) - positives;
  if (positives == 0 || negatives == 0) {
    throw Error(ErrorCode::kBadData, "all rows have the same label, so there is no ROC curve");
  }
  std::vector<RocPoint> curve = {{std::numeric_limits<double>::infinity(), 0, 0}};
  double hits = 0, alarms = 0;
  const std::vector<Index> order = ByScore(scores);
  for (size_t k = 0; k < order.size(); ++k) {
    (labels(order[k]) > 0 ? hits : alarms) += 1;
    const double score = scores(order[k]);
    if (k + 1 < order.size() && scores(order[k + 1]) == score) continue;
    curve.push_back({score, alarms / negatives, hits / positives});
  }
  return curve;
}

}  // namespace partita::stats::erm
