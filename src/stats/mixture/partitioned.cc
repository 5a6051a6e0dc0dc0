#include "stats/mixture/partitioned.h"

#include <cmath>
#include <memory>
#include <set>
#include <vector>

#include "base/error.h"

namespace partita::stats::mixture {
namespace {

using Eigen::ArrayXd;
using Eigen::ArrayXXd;
using Eigen::Index;

struct PartyPart {
  Layout layout;
  Rows rows;
  std::vector<size_t> columns;  // of the whole model
};

struct Partitioned {
  Layout layout;
  std::vector<PartyPart> parties;
  double clip = 0;
  FixedPointOptions fixed_point;

  ArrayXXd Cut(const ArrayXXd& values) const {
    const double unit = std::ldexp(1.0, fixed_point.fraction_bits);
    return (values * unit).floor() / unit;
  }
  ClippedRows Clip(const ArrayXd& pi, const ArrayXXd& densities, const ArrayXXd& squares) const;
  ArrayXXd Sum(const ArrayXXd& theta, std::span<const uint32_t> batch) const;
};

// r = a / den on the grid; rows with den = 0 have r = 0 and scale 0.
ClippedRows Partitioned::Clip(const ArrayXd& pi, const ArrayXXd& densities,
                              const ArrayXXd& squares) const {
  ArrayXXd weights = Cut(densities.colwise() * pi);
  const Eigen::Array<double, 1, Eigen::Dynamic> den = weights.colwise().sum();
  ClippedRows out{ArrayXd(den.size()), ArrayXd(den.size()), ArrayXd(den.size()),
                  ArrayXXd(weights.rows(), weights.cols())};
  for (Index n = 0; n < den.size(); ++n) {
    const bool lost = den(n) == 0;
    const ArrayXd r = lost ? ArrayXd::Zero(pi.size()) : ArrayXd(Cut(weights.col(n) / den(n)));
    const double square = (r - pi).square().sum() + (r.square() * squares.col(n)).sum();
    out.log_density(n) = std::log(den(n));
    out.norm(n) = std::sqrt(square);
    out.scale(n) = lost ? 0 : out.norm(n) > clip ? clip / out.norm(n) : 1;
    out.weights.col(n) = Cut(r * out.scale(n));
  }
  return out;
}

ArrayXXd Partitioned::Sum(const ArrayXXd& theta, std::span<const uint32_t> batch) const {
  const auto count = static_cast<Index>(batch.size());
  ArrayXXd product = ArrayXXd::Ones(theta.rows(), count);
  ArrayXXd squares = ArrayXXd::Zero(theta.rows(), count);
  std::vector<Components> components;
  for (size_t p = 0; p < parties.size(); ++p) {
    const PartyPart& party = parties[p];
    ArrayXXd rho(theta.rows(), static_cast<Index>(party.columns.size()));
    for (size_t j = 0; j < party.columns.size(); ++j)
      rho.col(static_cast<Index>(j)) = theta.col(1 + static_cast<Index>(party.columns[j]));
    components.push_back(MakeComponents(party.layout, rho));
    ArrayXXd densities = LogDensities(party.layout, components[p], party.rows, batch);
    if (fixed_point.renormalise) {
      const Eigen::Array<double, 1, Eigen::Dynamic> top = densities.colwise().maxCoeff();
      densities.rowwise() -= top;
    }
    product = Cut(product * Cut(densities.exp()));
    squares += SquaredScores(party.layout, components[p], party.rows, batch);
  }
  const ArrayXd pi = LogSoftmax(theta.col(0)).exp();
  const ClippedRows clipped = Clip(pi, product, squares);
  const ArrayXd weight_sums = clipped.weights.rowwise().sum();
  ArrayXXd sum(theta.rows(), theta.cols());
  sum.col(0) = weight_sums - pi * clipped.scale.sum();
  for (size_t p = 0; p < parties.size(); ++p) {
    const PartyPart& party = parties[p];
    const ArrayXXd part = ScoreSums(
        components[p], WeightedStatistics(party.layout, party.rows, batch, clipped.weights),
        weight_sums);
    for (size_t j = 0; j < party.columns.size(); ++j)
      sum.col(1 + static_cast<Index>(party.columns[j])) = part.col(static_cast<Index>(j));
  }
  return sum;
}

}  // namespace

GradientSum PartitionedGradientSum(const Layout& layout, const Rows& rows,
                                   const ClippedNoise& noise_options,
                                   const FixedPointOptions& fixed_point,
                                   crypto::RandomSource& noise) {
  if (fixed_point.fraction_bits < 8 || fixed_point.fraction_bits > 50) {
    throw Error(ErrorCode::kBadInput, "the fraction bits of the simulation are not in 8 to 50");
  }
  auto parts = std::make_shared<Partitioned>();
  parts->layout = layout;
  parts->clip = noise_options.clip;
  parts->fixed_point = fixed_point;
  std::set<size_t> parties;
  for (const Feature& feature : layout.features) parties.insert(feature.party);
  for (const size_t party : parties) {
    parts->parties.push_back(
        {PartyLayout(layout, party), PartyRows(layout, party, rows), PartyColumns(layout, party)});
  }
  const NoiseAdder add_noise = MakeNoiseAdder(noise_options, noise);
  return [parts, add_noise](const ArrayXXd& theta, std::span<const uint32_t> batch) {
    ArrayXXd sum = parts->Sum(theta, batch);
    add_noise(sum);
    return sum;
  };
}

}  // namespace partita::stats::mixture
