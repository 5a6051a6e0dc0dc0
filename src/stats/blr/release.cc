#include "stats/blr/release.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "privacy/sampling/calibrate.h"
#include "privacy/sampling/discrete_gaussian.h"
#include "privacy/sampling/discrete_laplace.h"
#include "privacy/sampling/polya.h"
#include "stats/blr/sensitivity.h"
#include "stats/blr/statistics.h"

namespace partita::stats::blr {
namespace {

using privacy::GridVariance;

double InScaledUnits(double stddev_grid_units) {
  return std::ldexp(stddev_grid_units, -kSumFractionBits);
}

GridVariance RequiredVariance(const NoiseRequest& request, privacy::L2Sensitivity sensitivity,
                              size_t dimension) {
  const privacy::Epsilon epsilon(request.epsilon);
  const privacy::Delta delta(request.delta);
  if (request.kind == NoiseKind::kGaussian) {
    return privacy::CalibrateDiscreteGaussian(
        privacy::ToGrid(sensitivity, kSumFractionBits, dimension, 0), dimension, epsilon, delta);
  }
  const double stddev = privacy::ClassicalGaussianStddev(sensitivity, epsilon, delta);
  return privacy::VarianceOfStddev(std::ldexp(stddev, kSumFractionBits));
}

NoiseDesign GaussianDesign(const NoiseRequest& request, privacy::L2Sensitivity sensitivity,
                           size_t dimension) {
  NoiseDesign noise;
  noise.request = request;
  noise.sensitivity = sensitivity.value();
  noise.dimension = dimension;
  noise.required = RequiredVariance(request, sensitivity, dimension);
  const privacy::NoiseSharing& sharing = request.sharing;
  const privacy::DistributedNoise shares = privacy::ShareNoise(noise.required, sharing, dimension);
  noise.released = privacy::Multiply(shares.share_variance, sharing.parties);
  noise.variance_multiple = static_cast<double>(sharing.parties) /
                            static_cast<double>(sharing.parties - sharing.known_shares);
  const double stddev = InScaledUnits(privacy::StddevUpperBound(noise.released));
  noise.variance = stddev * stddev;
  return noise;
}

NoiseDesign LaplaceDesign(const NoiseRequest& request, privacy::L1Sensitivity sensitivity,
                          size_t dimension) {
  if (request.sharing.parties == 0 || request.sharing.known_shares != 0) {
    throw Error(ErrorCode::kUsage,
                "shares of Laplace noise protect from nobody who knows one of them",
                "use Gaussian noise where parties may collude or drop out");
  }
  NoiseDesign noise;
  noise.request = request;
  noise.sensitivity = sensitivity.value();
  noise.dimension = dimension;
  const privacy::GridScale least =
      privacy::DiscreteLaplaceScale(privacy::ToGrid(sensitivity, kSumFractionBits, dimension, 0),
                                    privacy::Epsilon(request.epsilon));
  // Shares need a whole scale.
  noise.laplace_scale = {(least.numerator + least.denominator - 1) / least.denominator, 1};
  const double scale = InScaledUnits(static_cast<double>(noise.laplace_scale.numerator));
  noise.variance = 2 * scale * scale;
  return noise;
}

}  // namespace

NoiseDesign DesignStatisticsNoise(const Design& design, const NoiseRequest& request) {
  CheckDesign(design);
  const size_t dimension = NumEntries(design);
  return request.kind == NoiseKind::kLaplace
             ? LaplaceDesign(request, StatisticsL1Sensitivity(design), dimension)
             : GaussianDesign(request, StatisticsL2Sensitivity(design), dimension);
}

NoiseDesign DesignSquaresNoise(const Design& design, const NoiseRequest& request) {
  CheckDesign(design);
  const size_t dimension = design.features.size() + 1;
  return request.kind == NoiseKind::kLaplace
             ? LaplaceDesign(request, privacy::L1Sensitivity(static_cast<double>(dimension)),
                             dimension)
             : GaussianDesign(request, SquaresL2Sensitivity(design), dimension);
}

struct NoiseSampler::Law {
  size_t dimension = 0;
  std::optional<privacy::DiscreteGaussian> gaussian;
  std::optional<privacy::DiscreteLaplace> laplace;
  std::optional<privacy::DiscreteLaplaceShare> laplace_share;
};

NoiseSampler::NoiseSampler(const NoiseDesign& noise, NoisePart part) {
  auto law = std::make_unique<Law>();
  law->dimension = noise.dimension;
  const bool share = part == NoisePart::kShare;
  const uint32_t parties = noise.request.sharing.parties;
  if (noise.request.kind != NoiseKind::kLaplace) {
    law->gaussian.emplace(share ? privacy::Divide(noise.released, parties) : noise.released);
  } else if (share) {
    law->laplace_share.emplace(noise.laplace_scale.numerator, parties);
  } else {
    law->laplace.emplace(noise.laplace_scale);
  }
  law_ = std::move(law);
}

NoiseSampler::~NoiseSampler() = default;
NoiseSampler::NoiseSampler(NoiseSampler&&) noexcept = default;
NoiseSampler& NoiseSampler::operator=(NoiseSampler&&) noexcept = default;

void NoiseSampler::AddTo(std::span<Int128> entries, crypto::RandomSource& source) const {
  if (entries.size() != law_->dimension) {
    throw Error(ErrorCode::kInternal, "noise has another dimension than what it is added to");
  }
  std::vector<Int128> drawn(entries.size());
  if (law_->laplace) law_->laplace->Sample(source, drawn);
  if (law_->laplace_share) law_->laplace_share->Sample(source, drawn);
  if (law_->gaussian) law_->gaussian->Sample(source, drawn);
  for (size_t i = 0; i < entries.size(); ++i) entries[i] += drawn[i];
}

}  // namespace partita::stats::blr
