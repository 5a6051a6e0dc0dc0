// Versions 1 and 2 and the penalty method: what opens has the law that is said, decisions have the
// rule's frequencies, costs are as planned, and the penalty keeps detailed balance.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <cmath>

#include "base/error.h"
#include "methods/mcmc/noisy_sums.h"
#include "methods/mcmc/penalty.h"
#include "methods/mcmc/trade_offs.h"
#include "tests/methods/mcmc/chain_parties.h"

namespace partita::methods::mcmc::noisy_openings_test {
namespace {

using mpc::Engine;
using mpc::testing::RunAll;

constexpr EngineCase kEngines[] = {{"dealer", 2}, {"replicated", 3}, {"shamir", 3}, {"ot", 2}};

Eigen::MatrixXd Own(const Engine& engine, size_t chains, double ratio) {
  if (!engine.self()) return {};
  const double share = *engine.self() == 0 ? 500 + ratio : *engine.self() == 1 ? -500 : 0;
  return Eigen::MatrixXd::Constant(1, static_cast<Eigen::Index>(chains), share);
}

// Kolmogorov and Smirnov's distance of n values from a law: above 2.7 / sqrt(n) with a probability
// below 2 e^(-2 2.7^2) = 1e-6.
double Distance(std::vector<double> values, const std::function<double(double)>& cdf) {
  std::sort(values.begin(), values.end());
  double largest = 0;
  const auto n = static_cast<double>(values.size());
  for (size_t k = 0; k < values.size(); ++k) {
    const double p = cdf(values[k]);
    largest =
        std::max({largest, p - static_cast<double>(k) / n, static_cast<double>(k + 1) / n - p});
  }
  return largest * std::sqrt(n);
}

TEST(NoisySums, OpenWithTheLawThatIsSaid) {
  for (const EngineCase& engine_case : kEngines) {
    for (const bool product : {false, true}) {
      const NoisySumTask task{2000, product};
      const double ratio = -0.4;
      std::vector<double> opened;
      RunAll(OptionsFor(engine_case, {ReleaseOf(task, 1)}), [&](Engine& engine, size_t) {
        crypto::SystemRandom random;
        NoisySums sums(engine, task, random);
        const Eigen::VectorXd values = sums.Open(Own(engine, task.chains, ratio));
        if (engine.self() == 0u) opened.assign(values.begin(), values.end());
      }).ThrowIfFailed();
      ASSERT_EQ(opened.size(), 2000u);
      const double distance = Distance(opened, [&](double x) {
        if (product) return ProductCdf(ratio, x);
        return x <= ratio ? 0 : -std::expm1(ratio - x);
      });
      EXPECT_LT(distance, 2.7) << engine_case.kind << product;
    }
  }
}

TEST(NoisySums, CostsAreAsPlanned) {
  for (const EngineCase& engine_case : kEngines) {
    for (const bool product : {false, true}) {
      const NoisySumTask task{3, product};
      RunAndComparePlan(OptionsFor(engine_case, {ReleaseOf(task, 2)}), [&](Engine& engine, size_t) {
        crypto::SystemRandom random;
        NoisySums sums(engine, task, random);
        sums.Decide(Own(engine, 3, 0));
        sums.Decide(Own(engine, 3, 0));
      });
    }
  }
}

// What opens of the penalty method is the standardised log ratio with noise of variance 1, and U is
// uniform and the same for all.
TEST(Penalty, OpensUnitNoiseAndDecidesByThePenalty) {
  for (const EngineCase& engine_case : kEngines) {
    constexpr size_t kChains = 4000;
    const double ratio = -0.6, scale = 1.3, prior = 0.2;
    std::vector<Bits> all(engine_case.parties);
    RunAll(OptionsFor(engine_case, {PenaltyReleaseOf(kChains, 2)}), [&](Engine& engine, size_t) {
      crypto::SystemRandom random;
      const crypto::Key key(std::array<uint8_t, 32>{3});
      PenaltyDecisions decisions(engine, kChains, key, random);
      PenaltyQuestion question;
      if (engine.self()) {
        question.prior = Eigen::VectorXd::Constant(kChains, prior);
        question.scale = Eigen::VectorXd::Constant(kChains, scale);
      }
      for (uint64_t t = 0; t < 2; ++t) {
        question.number = t;
        const Bits bits = decisions.Decide(Own(engine, kChains, ratio), question);
        if (engine.self()) all[*engine.self()].push_back(bits[0]);
      }
    }).ThrowIfFailed();
    for (const Bits& bits : all) EXPECT_EQ(bits, all[0]);
    EXPECT_NE(all[0][0], all[0][1]);
    // E min(1, exp(x + s z - s^2 / 2)) = Phi((x - s^2/2)/s) + e^x Phi((-x - s^2/2)/s).
    const auto phi = [](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; };
    const double x = ratio + prior, s = scale;
    const double p = phi(x / s - s / 2) + std::exp(x) * phi(-x / s - s / 2);
    double accepted = 0;
    for (const auto& bits : all[0]) {
      accepted += static_cast<double>(std::count(bits.begin(), bits.end(), true));
    }
    // 5.5 standard errors, 4 engines: a false alarm below 1e-6.
    EXPECT_NEAR(accepted / (2 * kChains), p, 5.5 * std::sqrt(p * (1 - p) / (2 * kChains)));
  }
}

// Detailed balance, by integration: a(x) / a(-x) = e^x for every scale, which is what makes the
// chain exact; without the penalty it is not.
TEST(Penalty, KeepsDetailedBalance) {
  const auto acceptance = [](double x, double s, double penalty) {
    return boost::math::quadrature::gauss_kronrod<double, 61>::integrate(
        [&](double z) {
          return std::exp(-z * z / 2) / std::sqrt(2 * M_PI) *
                 std::min(1.0, std::exp(x + s * z - penalty));
        },
        -12, 12, 12, 1e-11);
  };
  for (const double s : {0.3, 1.0, 2.5}) {
    for (const double x : {-1.5, -0.2, 0.7}) {
      EXPECT_NEAR(std::log(acceptance(x, s, s * s / 2) / acceptance(-x, s, s * s / 2)), x, 1e-7);
      EXPECT_GT(std::abs(std::log(acceptance(x, s, 0) / acceptance(-x, s, 0)) - x), 0.01 * s);
    }
  }
}

TEST(Penalty, ScaleFollowsTheStep) {
  Eigen::MatrixXd step(2, 2);
  step << 3, 0, 4, 0;
  const PenaltyScale lipschitz{0.5, 0.5, 100, 0, 2};
  Eigen::MatrixXd moved = step.leftCols(1);
  EXPECT_DOUBLE_EQ(ScaleOf(lipschitz, moved)(0), 0.5 * 10 * 2 * 5);
  EXPECT_NEAR(StandardisedSensitivity(lipschitz), 0.2, 1e-11);
  EXPECT_GT(StandardisedSensitivity(lipschitz), 0.2);
  const PenaltyScale clipped{0.5, 0, 100, 3, 0};
  EXPECT_DOUBLE_EQ(ScaleOf(clipped, step)(1), 1.5);
  EXPECT_THROW(ScaleOf(lipschitz, step), Error);  // no noise for no step
}

TEST(Penalty, CostsAreAsPlanned) {
  for (const EngineCase& engine_case : kEngines) {
    RunAndComparePlan(OptionsFor(engine_case, {PenaltyReleaseOf(3, 1)}),
                      [&](Engine& engine, size_t) {
                        crypto::SystemRandom random;
                        const crypto::Key key{};
                        PenaltyDecisions decisions(engine, 3, key, random);
                        if (!engine.self()) {
                          decisions.Decide({}, {});
                          return;
                        }
                        const Eigen::VectorXd ones = Eigen::VectorXd::Ones(3);
                        decisions.Decide(Own(engine, 3, 0), {0, ones, ones});
                      });
  }
}

}  // namespace
}  // namespace partita::methods::mcmc::noisy_openings_test
