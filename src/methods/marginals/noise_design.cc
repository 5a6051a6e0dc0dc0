#include "methods/marginals/noise_design.h"

#include <algorithm>
#include <cmath>

#include "privacy/sampling/discrete_gaussian.h"
#include "stats/marginals/noise.h"

namespace partita::methods::marginals {
namespace {

using privacy::GridVariance;
using stats::marginals::OnNoiseGrid;
using stats::marginals::TablesSensitivity;

// Leaves room for the gap between a sum of shares and one discrete Gaussian.
constexpr double kCalibrationMargin = 1e-9;

// The most tables that a record of others can change, over all computing parties.
size_t TablesOfOthers(const Task& task, uint32_t num_computing) {
  const size_t all = task.set.tables.size();
  if (task.blocks.size() != 1 || task.blocks[0].parts.size() < num_computing) return all;
  std::vector<size_t> holders(task.set.attributes.size());
  for (const BlockPart& part : task.blocks[0].parts) {
    for (const uint32_t a : part.attributes) holders[a] = part.party;
  }
  size_t most = 0;
  for (size_t party = 0; party < num_computing; ++party) {
    most = std::max(most, stats::marginals::TablesWithForeign(task.set, holders, party));
  }
  return most;
}

GridVariance Needed(const PrivacyPromise& promise, privacy::GridL2Sensitivity sensitivity,
                    size_t cells) {
  return privacy::CalibrateDiscreteGaussian(
      sensitivity, cells, privacy::Epsilon(promise.epsilon * (1 - kCalibrationMargin)),
      privacy::Delta(promise.delta));
}

}  // namespace

double NoiseDesign::noise_stddev() const {
  return std::sqrt(static_cast<double>(noise.sharing.parties)) *
         stats::marginals::NoiseStddev(noise.share_variance);
}

NoiseDesign DesignNoise(const PrivacyPromise& promise, const Task& task, uint32_t num_computing) {
  CheckTask(task);
  const size_t cells = task.set.num_cells;
  NoiseDesign design;
  design.promise = promise;
  design.sensitivity = OnNoiseGrid(
      TablesSensitivity(task.set.tables.size(), promise.adjacency, promise.rows_per_person));
  design.replace_sensitivity = OnNoiseGrid(TablesSensitivity(
      TablesOfOthers(task, num_computing), privacy::Adjacency::kReplace, promise.rows_per_person));
  // By share: against parties that know c of them, and against outsiders.
  design.noise = privacy::ShareNoise(Needed(promise, design.replace_sensitivity, cells),
                                     {num_computing, promise.known_shares}, cells);
  const privacy::DistributedNoise outside =
      privacy::ShareNoise(Needed(promise, design.sensitivity, cells), {num_computing, 0}, cells);
  if (privacy::StddevUpperBound(outside.share_variance) >
      privacy::StddevUpperBound(design.noise.share_variance)) {
    design.noise.share_variance = outside.share_variance;
  }
  return design;
}

std::vector<Int128> DrawNoiseShare(const NoiseDesign& design, crypto::RandomSource& random) {
  std::vector<Int128> share(design.noise.dimension);
  privacy::DiscreteGaussian(design.noise.share_variance).Sample(random, share);
  return share;
}

}  // namespace partita::methods::marginals
