// The proven distance of a computed gradient against the gradient in 113 bits.
#include "stats/erm/gradient_rounding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "stats/erm/minimize.h"

namespace partita::stats::erm {
namespace {

using Eigen::Index;
using Eigen::VectorXd;
using Exact = boost::multiprecision::cpp_bin_float_quad;

Exact ExactSlope(const Loss& loss, const Exact& z) {
  if (loss.kind == LossKind::kLogistic) return -1 / (1 + exp(z));
  const Exact h = loss.huber_width;
  if (z >= 1 + h) return 0;
  if (z <= 1 - h) return -1;
  return -(1 + h - z) / (2 * h);
}

// |computed - exact|.
double RoundingOf(const LabelledRows& rows, const Objective& objective, const VectorXd& w) {
  const Index n = rows.x.rows(), d = rows.x.cols();
  std::vector<Exact> gradient(static_cast<size_t>(d), 0);
  for (Index i = 0; i < n; ++i) {
    Exact margin = 0;
    for (Index j = 0; j < d; ++j) margin += Exact(rows.x(i, j)) * w(j);
    const Exact slope = ExactSlope(objective.loss, margin * rows.y(i)) * rows.y(i);
    for (Index j = 0; j < d; ++j) gradient[static_cast<size_t>(j)] += slope * rows.x(i, j);
  }
  const VectorXd computed = ObjectiveGradient(rows, objective, w);
  Exact square = 0;
  for (Index j = 0; j < d; ++j) {
    const Exact apart =
        gradient[static_cast<size_t>(j)] / n + Exact(objective.lambda) * w(j) - computed(j);
    square += apart * apart;
  }
  return static_cast<double>(sqrt(square));
}

TEST(GradientRounding, IsABound) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  double largest = 0;
  for (const Loss& loss : {Loss{}, Loss{LossKind::kHuber, 0.5}, Loss{LossKind::kHuber, 0.01}}) {
    for (const double scale : {0.0, 1.0, 1000.0}) {
      for (const Index d : {1, 40}) {
        const Index n = 3000;
        LabelledRows rows{Eigen::MatrixXd(n, d), VectorXd(n)};
        for (Index i = 0; i < n; ++i) {
          for (Index j = 0; j < d; ++j) rows.x(i, j) = normal(random);
          rows.x.row(i) /= rows.x.row(i).norm() * (1 + 0x1p-50);
          rows.y(i) = normal(random) > 0 ? 1 : -1;
        }
        VectorXd w(d);
        for (Index j = 0; j < d; ++j) w(j) = scale * normal(random);
        Objective objective;
        objective.loss = loss;
        objective.lambda = 0.3;
        const double bound = GradientRounding(loss, objective.lambda, static_cast<size_t>(n),
                                              static_cast<size_t>(d), w.norm());
        const double rounding = RoundingOf(rows, objective, w);
        EXPECT_LE(rounding, bound);
        largest = std::max(largest, rounding);
      }
    }
  }
  EXPECT_GT(largest, 1e-17);  // there is something to bound
}

TEST(GradientRounding, IsTheFormula) {
  EXPECT_EQ(GradientRounding({}, 0, 1, 1, 0), 18 * 0x1p-52);
  EXPECT_EQ(GradientRounding({}, 0.5, 1000, 8, 4), (1000 + 8 + 4 + 1 + 16) * 0x1p-52);
  EXPECT_EQ(GradientRounding({LossKind::kHuber, 0.5}, 0, 2, 3, 5), (2 + 15 + 4 + 16) * 0x1p-52);
}

}  // namespace
}  // namespace partita::stats::erm
