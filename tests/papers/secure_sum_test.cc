// The protocol as an arm of an experiment: the sum in the clear, with the same noise, on every
// engine.
#include "papers/secure_sum.h"

#include <gtest/gtest.h>

#include <cmath>

#include "crypto/prg.h"
#include "tests/data/expect_error.h"

namespace partita::papers::secure_sum_test {
namespace {

using stats::mixture::Family;

constexpr uint32_t kRows = 50;

crypto::Prg Seeded(uint8_t seed) { return crypto::Prg(crypto::Key(std::array<uint8_t, 32>{seed})); }

// Columns of the parties stand in mixed order, so that theirs and the model's differ.
stats::mixture::Layout MixedLayout() {
  return stats::mixture::MakeLayout({{"a", Family::kCategorical, 4, 1, 1},
                                     {"b", Family::kBeta, 0, 1, 0},
                                     {"c", Family::kCategorical, 3, 1, 1},
                                     {"d", Family::kBernoulli, 0, 1, 0}});
}

stats::mixture::Rows SomeRows(const stats::mixture::Layout& layout) {
  crypto::Prg prg = Seeded(3);
  stats::blr::Variates variates(prg);
  std::vector<std::vector<double>> values(4);
  for (uint32_t n = 0; n < kRows; ++n) {
    values[0].push_back(static_cast<double>(variates.Below(4)));
    values[1].push_back(0.01 + 0.98 * variates.Uniform());
    values[2].push_back(static_cast<double>(variates.Below(3)));
    values[3].push_back(static_cast<double>(variates.Below(2)));
  }
  return stats::mixture::MakeRows(layout, values);
}

// A row's part is clipped to C (1 - 2^-17) instead of C, and lacks at most another 2^-17 of it
// (step.h, "Clipping"); noise is 2 C. What else is rounded is below 2^-25 of C for each row.
TEST(SecureSumTest, IsTheSumInTheClear) {
  const stats::mixture::Layout layout = MixedLayout();
  const stats::mixture::Rows rows = SomeRows(layout);
  stats::mixture::ExperimentOptions options;
  options.variational.steps = 2;
  options.components = 3;
  options.batch_size = 20;
  options.noise = {1, 2, 30};
  const methods::mixture::RunPlan plan = SecureArmPlan(layout, kRows, options);
  crypto::Prg prg = Seeded(4);
  stats::blr::Variates variates(prg);
  const auto theta = stats::mixture::StartState(layout, 3, options.variational, variates).mean;
  const std::vector<uint32_t> batch = {0, 3, 4, 9, 17, 18, 30, 31, 47, 49};
  for (const std::string engine : {"dealer", "replicated", "ot"}) {
    SCOPED_TRACE(engine);
    crypto::Prg noise = Seeded(5), same_noise = Seeded(5);
    const stats::mixture::Arm arm = SecureArm(engine, layout, rows, plan);
    EXPECT_EQ(arm.name, "protocol, engine " + engine);
    const stats::mixture::GradientSum secure = arm.make(options.noise, noise);
    const stats::mixture::GradientSum clear =
        stats::mixture::PlainGradientSum(layout, rows, options.noise, same_noise);
    // The second step draws the next noise, and uses masked rows again.
    for (const size_t count : {batch.size(), batch.size() - 3}) {
      const std::span<const uint32_t> used = std::span(batch).first(count);
      const Eigen::ArrayXXd difference = secure(theta, used) - clear(theta, used);
      EXPECT_LT(difference.abs().maxCoeff(), static_cast<double>(count) * 0x1p-15);
    }
    // The plan has no third.
    ExpectError(ErrorCode::kRefused, "", "", [&] { secure(theta, batch); });
  }
}

// What fails at one process reaches the caller as itself, not as the loss of a peer.
TEST(SecureSumTest, ErrorsAreTheOnesOfTheirParty) {
  const stats::mixture::Layout layout = MixedLayout();
  const stats::mixture::Rows rows = SomeRows(layout);
  stats::mixture::ExperimentOptions options;
  options.variational.steps = 2;
  options.components = 3;
  options.batch_size = 20;
  options.noise = {1, 2, 30};
  crypto::Prg noise = Seeded(5);
  const auto secure = SecureArm("dealer", layout, rows, SecureArmPlan(layout, kRows, options))
                          .make(options.noise, noise);
  Eigen::ArrayXXd theta =
      Eigen::ArrayXXd::Zero(3, 1 + static_cast<Eigen::Index>(layout.num_columns));
  theta.col(1 + 4).setConstant(std::nan(""));  // of "b", which the first party holds
  ExpectError(ErrorCode::kBadInput, "is not finite", "", [&] {
    secure(theta, std::vector<uint32_t>{1, 2});
  });
}

}  // namespace
}  // namespace partita::papers::secure_sum_test
