// The experiment of the paper on UCI Adult, on shares and in the clear with the same batches, eta
// and noise: the mean log density of the test rows stays together (dpvi_adult.json; the secure
// runs' arithmetic differs from the clear one by 1e-5 of a sum that carries noise of twice its
// size).
#include <gtest/gtest.h>

#include <cmath>
#include <future>
#include <iostream>

#include "crypto/kdf.h"
#include "crypto/prg.h"
#include "methods/mixture/run.h"
#include "privacy/sampling/discrete_gaussian.h"
#include "stats/mixture/gradient.h"
#include "stats/mixture/predictive.h"
#include "tests/methods/mixture/adult_reference.h"
#include "tests/mpc/harness.h"
#include "tests/net/parties.h"

namespace partita::methods::mixture::adult_run_test {
namespace {

using Eigen::ArrayXXd;
using Eigen::Index;

constexpr double kNats = 1e-3;

crypto::Key KeyOf(uint8_t seed) {
  std::array<uint8_t, 32> bytes{};
  bytes[0] = seed;
  return crypto::Key(bytes);
}

RunPlan AdultPlan(const stats::mixture::Layout& layout, uint64_t steps) {
  RunRequest request;
  request.layout = layout;
  request.party_index = {0, 1};
  request.num_rows = 30162;
  request.variational.steps = steps;
  request.noise_parties = {0, 1};
  return PlanRun(request);
}

double Nats(const AdultReference& reference, const stats::mixture::VariationalState& state) {
  return stats::mixture::LogDensityOfRows(reference.layout, reference.test, state.mean).mean();
}

size_t Active(const stats::mixture::VariationalState& state) {
  return static_cast<size_t>((stats::mixture::LogSoftmax(state.mean.col(0)).exp() > 0.02).count());
}

// Means after every `every` openings, and at the end.
std::vector<stats::mixture::VariationalState> OnShares(const AdultReference& reference,
                                                       const RunPlan& plan, uint64_t every) {
  std::vector<stats::mixture::VariationalState> states;
  mpc::testing::RunOptions options;
  options.releases = {GradientRelease(plan)};
  const crypto::Key batch_key = KeyOf(1), public_key = KeyOf(2);
  mpc::testing::RunAll(options, [&](mpc::Engine& engine, size_t self) {
    crypto::Prg noise = net::TestRandom(static_cast<uint8_t>(50 + self));
    stats::mixture::Rows own;
    RunInputs inputs;
    if (self < 2) {
      own = stats::mixture::PartyRows(reference.layout, self, reference.train);
      inputs.rows = &own;
    }
    inputs.batch_key = &batch_key;
    inputs.public_key = &public_key;
    inputs.random = &noise;
    inputs.after_opening = [&](const RunProgress& progress) {
      if (self != 0 || progress.openings % every != 0) return;
      states.push_back(*progress.state);
      std::cout << progress.openings << " steps on shares, "
                << progress.step_seconds / static_cast<double>(progress.openings) * 1e3
                << " ms in each" << std::endl;
    };
    RunSecureDpvi(engine, plan, inputs);
  }).ThrowIfFailed();
  return states;
}

std::vector<stats::mixture::VariationalState> InTheClear(const AdultReference& reference,
                                                         const RunPlan& plan, uint64_t every) {
  crypto::Prg batch_prg(crypto::DeriveKey(KeyOf(1), "dpvi batches"));
  stats::mixture::Batches batches(plan.request.batch_mode, plan.request.num_rows,
                                  plan.request.batch_size, plan.max_batch, batch_prg);
  crypto::Prg sources[] = {net::TestRandom(50), net::TestRandom(51)};
  const privacy::DiscreteGaussian law(plan.noise.share_variance);
  stats::mixture::VariationalState state = FirstState(plan, KeyOf(2));
  std::vector<stats::mixture::VariationalState> states;
  std::vector<Int128> share(plan.step.num_values());
  for (uint64_t i = 0; i < plan.request.variational.steps; ++i) {
    ByteWriter number;
    number.U64(i);
    crypto::Prg eta_prg(crypto::DeriveKey(KeyOf(2), "dpvi eta", {number.bytes()}));
    stats::blr::Variates variates(eta_prg);
    const ArrayXXd eta = stats::mixture::DrawEta(state, variates);
    const ArrayXXd theta = stats::mixture::ThetaAt(state, eta);
    ArrayXXd sum = stats::mixture::ClippedGradientSum(reference.layout, reference.train,
                                                      batches.Next(), theta, plan.request.clip);
    ArrayXXd noise = ArrayXXd::Zero(sum.rows(), sum.cols());
    for (crypto::Prg& source : sources) {
      law.Sample(source, share);
      for (size_t j = 0; j < share.size(); ++j) {
        noise(static_cast<Index>(j) / sum.cols(), static_cast<Index>(j) % sum.cols()) +=
            std::ldexp(static_cast<double>(share[j]), -kGridBits);
      }
    }
    sum += InModelOrder(plan.holders, noise);
    stats::mixture::Advance(reference.layout, plan.request.variational, plan.request.num_rows,
                            plan.sampling_rate, eta, theta, sum, state);
    if ((i + 1) % every == 0) states.push_back(state);
  }
  return states;
}

void ExpectPaired(uint64_t steps, uint64_t every) {
  const auto reference = ReadAdultReference();
  const RunPlan plan = AdultPlan(reference.layout, steps);
  auto other =
      std::async(std::launch::async, InTheClear, std::cref(reference), std::cref(plan), every);
  const auto shared = OnShares(reference, plan, every), clear = other.get();
  ASSERT_EQ(shared.size(), clear.size());
  ASSERT_EQ(shared.size(), steps / every);
  for (size_t i = 0; i < clear.size(); ++i) {
    EXPECT_NEAR(Nats(reference, shared[i]), Nats(reference, clear[i]), kNats) << i;
    EXPECT_EQ(Active(shared[i]), Active(clear[i])) << i;
  }
  // It learned: the start is at -26 nats.
  EXPECT_GT(Nats(reference, clear.back()), Nats(reference, FirstState(plan, KeyOf(2))) + 0.5);
}

TEST(DpviAdultTest, FirstSteps) { ExpectPaired(200, 50); }
TEST(DpviAdultTest, WholeRun) { ExpectPaired(20000, 2000); }

}  // namespace
}  // namespace partita::methods::mixture::adult_run_test
