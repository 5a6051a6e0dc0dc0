#include "methods/marginals/noise_design.h"

#include <algorithm>
#include <cmath>

#include "privacy/sampling/discrete_gaussian.h"
#include "stats/marginals/noise.h"

namespace partita::methods::marginals {
namespace {

using privacy::GridVariance;
using stats::marginals::LiftedSensitivity;

// Leaves room for the gap between a sum of shares and one discrete Gaussian.
constexpr double kCalibrationMargin = 1e-9;

std::vector<uint64_t> AllLifts(const Task& task) {
  std::vector<uint64_t> lifts;
  for (size_t t = 0; t < task.set.tables.size(); ++t) lifts.push_back(LiftOf(task, t));
  return lifts;
}

double SumOfSquares(const std::vector<uint64_t>& lifts) {
  double sum = 0;
  for (const uint64_t lift : lifts) sum += static_cast<double>(lift) * static_cast<double>(lift);
  return sum;
}

// Lifts of the tables that a record of others can change, of the computing party for which they
// weigh most.
std::vector<uint64_t> LiftsOfOthers(const Task& task, uint32_t num_computing) {
  std::vector<uint64_t> all = AllLifts(task);
  if (task.blocks.size() != 1 || task.blocks[0].parts.size() < num_computing) return all;
  std::vector<size_t> holders(task.set.attributes.size());
  for (const BlockPart& part : task.blocks[0].parts) {
    for (const uint32_t a : part.attributes) holders[a] = part.party;
  }
  std::vector<uint64_t> most;
  for (size_t party = 0; party < num_computing; ++party) {
    std::vector<uint64_t> foreign;
    for (size_t t = 0; t < all.size(); ++t) {
      if (stats::marginals::HasForeign(task.set.tables[t], holders, party))
        foreign.push_back(all[t]);
    }
    if (SumOfSquares(foreign) > SumOfSquares(most)) most = std::move(foreign);
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
  design.sensitivity =
      LiftedSensitivity(AllLifts(task), promise.adjacency, promise.rows_per_person);
  design.replace_sensitivity = LiftedSensitivity(
      LiftsOfOthers(task, num_computing), privacy::Adjacency::kReplace, promise.rows_per_person);
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

std::vector<uint64_t> LiftsFor(const stats::marginals::TableSet& set,
                               const std::vector<uint32_t>& targets) {
  if (targets.empty()) return {};
  const auto has_target = [&](const stats::marginals::CountTable& table) {
    return std::ranges::find(targets, table.first) != targets.end() ||
           std::ranges::find(targets, table.second) != targets.end();
  };
  const auto with = static_cast<double>(std::ranges::count_if(set.tables, has_target));
  const auto all = static_cast<double>(set.tables.size());
  const double target = std::sqrt(kTargetShare * all / with),
               other = std::sqrt((1 - kTargetShare) * all / (all - with));
  if (!(target > other)) return {};  // they have that share anyway
  std::vector<uint64_t> lifts;
  for (const stats::marginals::CountTable& table : set.tables) {
    const double weight = has_target(table) ? target : other;
    lifts.push_back(static_cast<uint64_t>(std::ldexp(weight, stats::marginals::kNoiseGridBits)));
  }
  return lifts;
}

std::vector<Int128> DrawNoiseShare(const NoiseDesign& design, crypto::RandomSource& random) {
  std::vector<Int128> share(design.noise.dimension);
  privacy::DiscreteGaussian(design.noise.share_variance).Sample(random, share);
  return share;
}

}  // namespace partita::methods::marginals
