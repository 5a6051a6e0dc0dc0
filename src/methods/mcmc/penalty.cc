#include "methods/mcmc/penalty.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "crypto/prg.h"

namespace partita::methods::mcmc {
namespace {

constexpr double kLargestShare = 64;  // beyond: a probability below 2^-2900

// In (0, 1), 53 bits.
double UniformOf(crypto::RandomSource& source) {
  std::array<uint8_t, 8> bytes{};
  source.Fill(bytes);
  ByteReader reader(bytes);
  return (static_cast<double>(reader.U64() >> 11) + 0.5) * 0x1p-53;
}

}  // namespace

Eigen::VectorXd ScaleOf(const PenaltyScale& scale, const Eigen::MatrixXd& step) {
  const double factor = scale.tau * std::pow(scale.rows, scale.alpha);
  Eigen::VectorXd all(step.cols());
  for (Eigen::Index c = 0; c < step.cols(); ++c) {
    all(c) = factor * (scale.constant + scale.slope * step.col(c).norm());
    if (!(all(c) > 0) || !std::isfinite(all(c))) {
      throw Error(ErrorCode::kUsage, "the noise of the penalty method must be positive",
                  "give tau, the rows and a bound of one row's contribution above 0");
    }
  }
  return all;
}

double StandardisedSensitivity(const PenaltyScale& scale) {
  // Every party rounds its own sum once.
  return 1 / (scale.tau * std::pow(scale.rows, scale.alpha)) * (1 + 0x1p-40) + 0x1p-40;
}

privacy::DistributedNoise UnitNoise(size_t parties, size_t chains) {
  return privacy::ShareNoise(privacy::VarianceOfStddev(0x1p40), {static_cast<uint32_t>(parties), 0},
                             chains);
}

mpc::Release PenaltyReleaseOf(size_t chains, uint64_t decisions) {
  return {kPenaltyRelease, "standardised log ratios with noise",
          "all",           "discrete Gaussian, sigma = 1 of all parties together",
          decisions,       mpc::kEverybody,
          chains};
}

PenaltyDecisions::PenaltyDecisions(mpc::Engine& engine, size_t chains,
                                   const crypto::Key& public_key, crypto::RandomSource& random)
    : engine_(engine),
      chains_(chains),
      public_key_(public_key),
      random_(random),
      noise_(UnitNoise(engine.num_parties(), chains).share_variance) {}

Bits PenaltyDecisions::Decide(const Eigen::MatrixXd& own, const PenaltyQuestion& question) {
  std::vector<Int128> noisy;
  if (engine_.self()) {
    if (own.size() != static_cast<Eigen::Index>(chains_) || question.scale.size() != own.size() ||
        question.prior.size() != own.size()) {
      throw Error(ErrorCode::kInternal, "a party has not one difference per chain");
    }
    noisy.resize(chains_);
    noise_.Sample(random_, noisy);
    for (Eigen::Index c = 0; c < own.size(); ++c) {
      noisy[static_cast<size_t>(c)] += EncodeDifference(own(c) / question.scale(c));
    }
  }
  std::vector<mpc::PrivateMatrix> inputs;
  for (mpc::PartyIndex party = 0; party < engine_.num_parties(); ++party) {
    mpc::PrivateMatrix input{
        party, {1, chains_}, kDecisionBits, kLargestDifference + kLargestShare, nullptr};
    if (engine_.self() == party) {
      input.read = [&noisy](size_t, size_t num_rows, Int128* out) {
        if (num_rows > 0) std::copy(noisy.begin(), noisy.end(), out);
      };
    }
    inputs.push_back(std::move(input));
  }
  const std::vector<mpc::Shared> parts = engine_.Input(inputs);
  mpc::Shared sum = parts.front();
  for (size_t k = 1; k < parts.size(); ++k) sum = engine_.Add(sum, parts[k]);
  const mpc::IntMatrix opened =
      engine_.Reveal(kPenaltyRelease, std::span(&sum, 1), mpc::kEverybody).front();
  if (opened.values.empty()) return {};
  crypto::Prg uniforms(public_key_);
  uniforms.Seek(question.number * chains_ * sizeof(uint64_t));
  Bits bits(1);
  for (size_t c = 0; c < chains_; ++c) {
    const auto column = static_cast<Eigen::Index>(c);
    const double s = question.scale(column);
    const double log_ratio =
        question.prior(column) + s * mpc::DecodeFixed(opened.values[c], kDecisionBits) - s * s / 2;
    bits[0].push_back(std::log(UniformOf(uniforms)) <= log_ratio);
  }
  return bits;
}

}  // namespace partita::methods::mcmc
