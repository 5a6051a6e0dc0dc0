// The chain over X'X against sums over a grid and against direct draws.
#include "stats/blr/gram_chain.h"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "tests/stats/blr/random.h"

namespace partita::stats::blr::gram_chain_test {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

struct Means {
  double diagonal = 0, cross = 0, log_determinant = 0;
};

// E A_00, E A_01 and E log |A| for p = 2, by a sum over a grid of the density of the header.
Means ByGrid(const GramTarget& target, const VectorXd& scale) {
  Means means;
  double total = 0;
  const int steps = 240;
  const double top = target.max_diagonal;
  for (int i = 0; i < steps; ++i) {
    for (int j = 0; j < steps; ++j) {
      const double a = top * (i + 0.5) / steps, b = top * (j + 0.5) / steps;
      const double reach = std::sqrt(a * b);
      for (int k = 0; k < steps; ++k) {
        const double c = reach * (2 * (k + 0.5) / steps - 1);
        const double determinant = a * b - c * c;
        const double away = std::pow(a - target.noised(0, 0), 2) +
                            std::pow(b - target.noised(1, 1), 2) +
                            std::pow(c - target.noised(0, 1), 2);
        const double log_density = -(target.degrees + 3) / 2 * std::log(determinant) -
                                   (scale(0) * b + scale(1) * a) / determinant / 2 -
                                   away / (2 * target.noise_variance);
        const double weight = reach * std::exp(log_density);
        total += weight;
        means.diagonal += weight * a;
        means.cross += weight * c;
        means.log_determinant += weight * std::log(determinant);
      }
    }
  }
  means.diagonal /= total;
  means.cross /= total;
  means.log_determinant /= total;
  return means;
}

struct ChainMeans {
  Means mean, error;  // and standard errors from 50 batches
};

ChainMeans ByChain(const GramTarget& target, const VectorXd& scale, uint64_t seed) {
  TestRandom source(seed);
  Variates variates(source);
  GramChain chain(target, scale);
  const auto entries = chain.Entries();
  constexpr int kBatches = 50, kPerBatch = 1500;
  for (int k = 0; k < 200; ++k) chain.Redraw(entries, variates);
  std::vector<Means> batches(kBatches);
  for (Means& batch : batches) {
    for (int k = 0; k < kPerBatch; ++k) {
      chain.Redraw(entries, variates);
      batch.diagonal += chain.gram()(0, 0) / kPerBatch;
      batch.cross += chain.gram()(0, 1) / kPerBatch;
      batch.log_determinant += std::log(chain.gram().determinant()) / kPerBatch;
    }
    chain.Refresh();
  }
  ChainMeans out;
  for (double Means::*member : {&Means::diagonal, &Means::cross, &Means::log_determinant}) {
    double sum = 0, squares = 0;
    for (const Means& batch : batches) {
      sum += batch.*member;
      squares += batch.*member * (batch.*member);
    }
    out.mean.*member = sum / kBatches;
    out.error.*member =
        std::sqrt((squares / kBatches - out.mean.*member * (out.mean.*member)) / (kBatches - 1));
  }
  return out;
}

// A false alarm: |t_49| > 6.5 has probability 4e-8, nine checks.
TEST(GramChainTest, HasTheLawOfItsHeader) {
  MatrixXd indefinite(2, 2), informative(2, 2), small(2, 2);
  indefinite << 1, 4, 4, 2;
  informative << 30, 11, 11, 20;
  small << -6, 1, 1, -3;
  const struct {
    MatrixXd noised;
    double variance;
  } cases[] = {{indefinite, 9}, {informative, 4}, {small, 100}};
  for (const auto& c : cases) {
    const GramTarget target{c.noised, c.variance, 4.5, 40, false};
    const VectorXd scale = Eigen::Vector2d(2.0, 3.0);
    const Means expected = ByGrid(target, scale);
    const ChainMeans chain = ByChain(target, scale, 17);
    for (double Means::*member : {&Means::diagonal, &Means::cross, &Means::log_determinant}) {
      EXPECT_NEAR(chain.mean.*member, expected.*member,
                  6.5 * chain.error.*member + 1e-3 * std::abs(expected.*member))
          << c.noised;
    }
  }
}

TEST(GramChainTest, TheOnesStayAndTheInverseFollows) {
  TestRandom source(2);
  Variates variates(source);
  MatrixXd noised(4, 4);
  noised << 50, 8, -3, 1, 8, 9, 12, 0, -3, 12, 4, 2, 1, 0, 2, 7;
  const GramTarget target{noised, 25, 6, 50, true};
  GramChain chain(target, VectorXd::Constant(4, 3.0));
  const auto entries = chain.Entries();
  EXPECT_EQ(entries.size(), 9u);
  for (int k = 0; k < 300; ++k) {
    chain.Redraw(entries, variates);
    EXPECT_DOUBLE_EQ(chain.gram()(0, 0), 50);
    EXPECT_TRUE(chain.WithinBounds());
    EXPECT_LT((chain.gram() * chain.inverse() - MatrixXd::Identity(4, 4)).norm(), 1e-6);
    chain.Refresh();
    EXPECT_LT((chain.gram() * chain.inverse() - MatrixXd::Identity(4, 4)).norm(), 1e-9);
  }
  const double before = chain.gram()(1, 2), cross = chain.gram()(0, 1);
  chain.Stretch(4);
  EXPECT_DOUBLE_EQ(chain.gram()(1, 2), 4 * before);
  EXPECT_DOUBLE_EQ(chain.gram()(0, 1), 2 * cross);
  EXPECT_DOUBLE_EQ(chain.gram()(0, 0), 50);
  EXPECT_DOUBLE_EQ(chain.scale()(3), 12);
  EXPECT_LT((chain.gram() * chain.inverse() - MatrixXd::Identity(4, 4)).norm(), 1e-9);
}

}  // namespace
}  // namespace partita::stats::blr::gram_chain_test
