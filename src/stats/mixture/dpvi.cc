#include "stats/mixture/dpvi.h"

#include <cmath>
#include <vector>

#include "base/error.h"
#include "privacy/sampling/discrete_gaussian.h"

namespace partita::stats::mixture {
namespace {

using Eigen::ArrayXXd;
using Eigen::Index;

}  // namespace

NoiseAdder MakeNoiseAdder(const ClippedNoise& options, crypto::RandomSource& noise) {
  if (!(options.clip > 0)) {
    throw Error(ErrorCode::kBadInput, "the clipping norm is not positive");
  }
  if (!(options.noise_multiplier >= 0) ||
      (options.noise_multiplier > 0 && std::isinf(options.clip))) {
    throw Error(ErrorCode::kBadInput, "the noise is negative, or there is noise without clipping");
  }
  if (options.noise_multiplier == 0) return [](ArrayXXd&) {};
  const auto law = std::make_shared<privacy::DiscreteGaussian>(privacy::VarianceOfStddev(
      std::ldexp(options.noise_multiplier * options.clip, options.grid_bits)));
  const auto units = std::make_shared<std::vector<Int128>>();
  return [law, units, &noise, bits = options.grid_bits](ArrayXXd& sum) {
    units->resize(static_cast<size_t>(sum.size()));
    law->Sample(noise, *units);
    for (Index i = 0; i < sum.size(); ++i) {
      const double rounded = std::nearbyint(std::ldexp(sum.data()[i], bits));
      const auto drawn = static_cast<double>((*units)[static_cast<size_t>(i)]);
      sum.data()[i] = std::ldexp(rounded + drawn, -bits);
    }
  };
}

GradientSum PlainGradientSum(const Layout& layout, const Rows& rows, const ClippedNoise& options,
                             crypto::RandomSource& noise) {
  const NoiseAdder add_noise = MakeNoiseAdder(options, noise);
  return [&layout, &rows, clip = options.clip, add_noise](const ArrayXXd& theta,
                                                          std::span<const uint32_t> batch) {
    ArrayXXd sum = ClippedGradientSum(layout, rows, batch, theta, clip);
    add_noise(sum);
    return sum;
  };
}

void RunDpvi(const Layout& layout, const VariationalOptions& options, uint32_t num_rows,
             const GradientSum& gradient_sum, Batches& batches, blr::Variates& variates,
             const AfterStep& after_step, VariationalState& state) {
  CheckOptions(options);
  if (state.mean.rows() > static_cast<Index>(num_rows)) {
    throw Error(ErrorCode::kBadInput, "the mixture has more components than there are rows",
                "choose fewer components");
  }
  if (after_step) after_step(state);
  while (state.step < options.steps) {
    const ArrayXXd eta = DrawEta(state, variates);
    const ArrayXXd theta = ThetaAt(state, eta);
    const ArrayXXd sum = gradient_sum(theta, batches.Next());
    Advance(layout, options, num_rows, batches.sampling_rate(), eta, theta, sum, state);
    if (after_step) after_step(state);
  }
}

}  // namespace partita::stats::mixture
