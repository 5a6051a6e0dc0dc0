#include "stats/erm/evaluate.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/stats/erm/in_the_clear.h"

namespace partita::stats::erm::evaluate_test {
namespace {

using Eigen::VectorXd;

VectorXd Vector(std::initializer_list<double> values) {
  VectorXd vector(static_cast<Eigen::Index>(values.size()));
  std::copy(values.begin(), values.end(), vector.begin());
  return vector;
}

TEST(Evaluate, AreaIsTheShareOfOrderedPairs) {
  const VectorXd scores = Vector({0.1, 0.4, 0.4, 0.8, 0.2, 0.4, -3});
  const VectorXd labels = Vector({-1, 1, -1, 1, 1, -1, -1});
  double ordered = 0, pairs = 0;
  for (int i = 0; i < scores.size(); ++i) {
    for (int j = 0; j < scores.size(); ++j) {
      if (labels(i) < 0 || labels(j) > 0) continue;
      pairs += 1;
      ordered += scores(i) > scores(j) ? 1 : scores(i) == scores(j) ? 0.5 : 0;
    }
  }
  EXPECT_NEAR(RocArea(scores, labels), ordered / pairs, 1e-15);
  EXPECT_NEAR(RocArea(-scores, labels), 1 - ordered / pairs, 1e-15);
  const auto curve = RocCurve(scores, labels);
  EXPECT_EQ(curve.size(), 6u);  // five distinct scores and the origin
  EXPECT_EQ(curve.back().false_positive, 1);
  EXPECT_EQ(curve.back().true_positive, 1);
}

TEST(Evaluate, CountsErrors) {
  const LabelledRows rows{Vector({2, -1, 0, 3}), Vector({1, 1, -1, -1})};
  const VectorXd w = VectorXd::Ones(1);
  EXPECT_EQ(ErrorRate(rows, w), 0.75);  // right only for the first; a score of 0 is wrong
}

}  // namespace
}  // namespace partita::stats::erm::evaluate_test
