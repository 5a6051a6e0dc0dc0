// What the protocols of method `classify` compute, on all rows at once.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "stats/erm/descent.h"
#include "stats/erm/evaluate.h"
#include "stats/erm/noise_aware.h"
#include "stats/erm/one_versus_rest.h"

namespace partita::stats::erm {

// Logistic loss, without noise. rows: of norm at most 1.
inline NewtonSums SumsAt(const LabelledRows& rows, const Eigen::VectorXd& w) {
  NewtonSums sums;
  sums.gradient = SumOfGradients(rows, {}, w);
  sums.hessian = static_cast<double>(rows.x.rows()) * ObjectiveHessian(rows, Objective(), w);
  return sums;
}

// The rows of one batch.
using Sampler = std::function<std::vector<Eigen::Index>(size_t iteration)>;

inline Eigen::VectorXd MinibatchDescent(const LabelledRows& rows, const MinibatchOptions& options,
                                        const Sampler& sample, const SumNoise& noise) {
  MinibatchSteps steps(options, static_cast<size_t>(rows.x.rows()),
                       static_cast<size_t>(rows.x.cols()));
  for (size_t t = 0; t < options.iterations; ++t) {
    steps.Step(SumOfClippedGradients(rows, sample(t), options.loss, steps.w(), options.clip_norm) +
               noise(t));
  }
  return steps.Result();
}

// d by L; the fit of each level is the caller's.
inline Eigen::MatrixXd FitOneVersusRest(
    const LevelRows& rows,
    const std::function<Eigen::VectorXd(const LabelledRows& rows, size_t level)>& fit) {
  Eigen::MatrixXd w(rows.x.cols(), static_cast<Eigen::Index>(rows.levels));
  for (size_t level = 0; level < rows.levels; ++level) {
    w.col(static_cast<Eigen::Index>(level)) = fit(OneAgainstRest(rows, level), level);
  }
  return w;
}

// From (0, 0) to (1, 1), one point per distinct score; both labels must occur.
inline std::vector<RocPoint> RocCurve(const Eigen::VectorXd& scores,
                                      const Eigen::VectorXd& labels) {
  const double positives = static_cast<double>((labels.array() > 0).count());
  const double negatives = static_cast<double>(labels.size()) - positives;
  std::vector<Eigen::Index> order(static_cast<size_t>(scores.size()));
  std::iota(order.begin(), order.end(), Eigen::Index{0});
  std::stable_sort(order.begin(), order.end(),
                   [&scores](Eigen::Index a, Eigen::Index b) { return scores(a) > scores(b); });
  std::vector<RocPoint> curve = {{std::numeric_limits<double>::infinity(), 0, 0}};
  double hits = 0, alarms = 0;
  for (size_t k = 0; k < order.size(); ++k) {
    (labels(order[k]) > 0 ? hits : alarms) += 1;
    const double score = scores(order[k]);
    if (k + 1 < order.size() && scores(order[k + 1]) == score) continue;
    curve.push_back({score, alarms / negatives, hits / positives});
  }
  return curve;
}

// The chance that a positive row scores above a negative one, ties counting half.
inline double RocArea(const Eigen::VectorXd& scores, const Eigen::VectorXd& labels) {
  const std::vector<RocPoint> curve = RocCurve(scores, labels);
  double area = 0;
  for (size_t k = 1; k < curve.size(); ++k) {
    area += (curve[k].false_positive - curve[k - 1].false_positive) *
            (curve[k].true_positive + curve[k - 1].true_positive) / 2;
  }
  return area;
}

}  // namespace partita::stats::erm
