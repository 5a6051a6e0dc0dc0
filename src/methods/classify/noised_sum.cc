#include "methods/classify/noised_sum.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "privacy/rounded_text.h"
#include "privacy/sampling/grid_variance.h"

namespace partita::methods::classify {
namespace {

double NoiseStddev(const NoisedSum& sum) {
  return std::ldexp(privacy::StddevUpperBound(sum.noise.share_variance), -sum.fraction_bits);
}

}  // namespace

std::vector<Int128> OpenNoisedSum(mpc::Engine& engine, const NoisedSum& sum,
                                  std::span<const Int128> own) {
  std::vector<mpc::PrivateMatrix> inputs;
  for (mpc::PartyIndex party = 0; party < engine.num_parties(); ++party) {
    mpc::PrivateMatrix input{party,
                             {1, sum.dimension},
                             sum.fraction_bits,
                             sum.party_bound + kLargestShare * NoiseStddev(sum),
                             nullptr};
    if (engine.self() == party) {
      if (own.size() != sum.dimension) {
        throw Error(ErrorCode::kInternal, fmt::format("a party adds {} numbers to a sum of {}",
                                                      own.size(), sum.dimension));
      }
      input.read = [own](size_t, size_t num_rows, Int128* out) {
        if (num_rows > 0) std::copy(own.begin(), own.end(), out);
      };
    }
    inputs.push_back(std::move(input));
  }
  const std::vector<mpc::Shared> shared = engine.Input(inputs);
  mpc::Shared total = shared.front();
  for (size_t k = 1; k < shared.size(); ++k) total = engine.Add(total, shared[k]);
  return engine.Reveal(sum.release, std::span(&total, 1), sum.to).front().values;
}

double TotalStddev(const NoisedSum& sum) {
  return NoiseStddev(sum) * std::sqrt(static_cast<double>(sum.noise.sharing.parties));
}

mpc::Release ReleaseOf(const NoisedSum& sum, std::string what, std::string to, uint64_t count) {
  mpc::Release release{sum.release, std::move(what), std::move(to), "",
                       count,       sum.to,          sum.dimension};
  release.mechanism = fmt::format("discrete Gaussian, sigma = {} of each party",
                                  privacy::RoundedText(NoiseStddev(sum), 4, false));
  return release;
}

}  // namespace partita::methods::classify
