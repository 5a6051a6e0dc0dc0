#include "methods/mcmc/noisy_sums.h"

#include <algorithm>

#include "base/error.h"

namespace partita::methods::mcmc {
namespace {

constexpr double kLargestNoise = 1024;  // a larger share has a probability below e^-1000

}  // namespace

mpc::Release ReleaseOf(const NoisySumTask& task, uint64_t decisions) {
  return {
      kNoisySumsRelease,
      task.times_exponential ? "noisy log ratios, times exponential variates" : "noisy log ratios",
      "all",
      "exponential noise, Gamma shares",
      decisions,
      mpc::kEverybody,
      task.chains};
}

NoisySums::NoisySums(mpc::Engine& engine, const NoisySumTask& task, crypto::RandomSource& random)
    : engine_(engine),
      task_(task),
      random_(random),
      gamma_(privacy::GammaShare(kDecisionBits, static_cast<uint32_t>(engine.num_parties()))) {}

mpc::Shared NoisySums::Sum(const std::vector<Int128>& own, double bound) {
  std::vector<mpc::PrivateMatrix> inputs;
  for (mpc::PartyIndex party = 0; party < engine_.num_parties(); ++party) {
    mpc::PrivateMatrix input{party, {1, task_.chains}, kDecisionBits, bound, nullptr};
    if (engine_.self() == party) {
      input.read = [&own](size_t, size_t num_rows, Int128* out) {
        if (num_rows > 0) std::copy(own.begin(), own.end(), out);
      };
    }
    inputs.push_back(std::move(input));
  }
  const std::vector<mpc::Shared> parts = engine_.Input(inputs);
  mpc::Shared sum = parts.front();
  for (size_t k = 1; k < parts.size(); ++k) sum = engine_.Add(sum, parts[k]);
  return sum;
}

Eigen::VectorXd NoisySums::Open(const Eigen::MatrixXd& own) {
  std::vector<Int128> noisy, factors;
  if (engine_.self()) {
    if (own.size() != static_cast<Eigen::Index>(task_.chains)) {
      throw Error(ErrorCode::kInternal, "a party has not one difference per chain");
    }
    for (Eigen::Index c = 0; c < own.size(); ++c) {
      noisy.push_back(EncodeDifference(own(c)) + gamma_.Sample(random_));
    }
    factors.resize(task_.chains);
    gamma_.Sample(random_, factors);
  }
  mpc::Shared opened = Sum(noisy, kLargestDifference + kLargestNoise);
  if (task_.times_exponential) {
    const mpc::Product product{mpc::Product::Kind::kElementwise, opened,
                               Sum(factors, kLargestNoise)};
    const mpc::Shared exact = engine_.Multiply(std::span(&product, 1)).front();
    opened = engine_.Rescale(std::span(&exact, 1), kDecisionBits).front();
  }
  const mpc::IntMatrix values =
      engine_.Reveal(kNoisySumsRelease, std::span(&opened, 1), mpc::kEverybody).front();
  Eigen::VectorXd result(static_cast<Eigen::Index>(values.values.size()));
  for (size_t c = 0; c < values.values.size(); ++c) {
    result(static_cast<Eigen::Index>(c)) = mpc::DecodeFixed(values.values[c], kDecisionBits);
  }
  return result;
}

Bits NoisySums::Decide(const Eigen::MatrixXd& own) {
  const Eigen::VectorXd opened = Open(own);
  if (opened.size() == 0) return {};
  Bits bits(1);
  for (const double value : opened) bits[0].push_back(value >= 0);
  return bits;
}

}  // namespace partita::methods::mcmc
