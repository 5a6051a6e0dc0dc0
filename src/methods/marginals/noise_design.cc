#include "methods/marginals/noise_design.h"

#include <algorithm>
#include <cmath>

#include "privacy/sampling/discrete_gaussian.h"
#include "stats/marginals/noise.h"

namespace partita::methods::marginals {
namespace {

using privacy::GridVariance;

// Leaves room for the gap between a sum of shares and one discrete Gaussian.
constexpr double kCalibrationMargin = 1e-9;

// Of what opens: tables, and scores.
struct Lifts {
  std::vector<uint64_t> counts, scores;

  privacy::GridL2Sensitivity Under(privacy::Adjacency adjacency, uint32_t rows_per_person) const {
    return stats::marginals::ScoredSensitivity(counts, scores, adjacency, rows_per_person);
  }
};

// Of the tables that `changes` names. Of chosen pairs as many as can be among them.
template <typename Changes>
Lifts LiftsWhere(const Task& task, const Changes& changes) {
  Lifts lifts;
  size_t pairs = 0;
  for (size_t t = 0; t < task.set.tables.size(); ++t) {
    const stats::marginals::CountTable& table = task.set.tables[t];
    if (!changes(table)) continue;
    if (!task.scored) {
      if (LiftOf(task, t) > 0) lifts.counts.push_back(LiftOf(task, t));
    } else if (table.one_way()) {
      lifts.counts.push_back(task.scored->one_way_lift);
    } else {
      lifts.scores.push_back(task.scored->score_lift);
      if (pairs++ < task.scored->pairs) lifts.counts.push_back(task.scored->pair_lift);
    }
  }
  return lifts;
}

Lifts AllLifts(const Task& task) {
  return LiftsWhere(task, [](const stats::marginals::CountTable&) { return true; });
}

// By attribute, where the columns of all rows are at several holders; else empty.
std::vector<size_t> HoldersOfColumns(const Task& task) {
  if (task.blocks.size() != 1 || task.blocks[0].parts.size() < 2) return {};
  std::vector<size_t> holders(task.set.attributes.size());
  for (const BlockPart& part : task.blocks[0].parts) {
    for (const uint32_t a : part.attributes) holders[a] = part.party;
  }
  return holders;
}

// Lifts of the tables that a record of others than these parties can change.
Lifts LiftsOfOthers(const Task& task, std::span<const size_t> holders,
                    std::span<const size_t> parties) {
  const auto is_foreign = [&](uint32_t attribute) {
    return std::ranges::find(parties, holders[attribute]) == parties.end();
  };
  return LiftsWhere(task, [&](const stats::marginals::CountTable& table) {
    return holders.empty() || std::ranges::any_of(table.Attributes(), is_foreign);
  });
}

void DesignForParties(const Task& task, uint32_t num_computing, NoiseDesign& design) {
  const std::vector<size_t> holders = HoldersOfColumns(task);
  const auto of =
      [&](std::span<const size_t> parties) -> std::optional<privacy::GridL2Sensitivity> {
    const Lifts lifts = LiftsOfOthers(task, holders, parties);
    if (lifts.counts.empty()) return std::nullopt;
    return lifts.Under(privacy::Adjacency::kReplace, design.promise.rows_per_person);
  };
  const auto larger = [](std::optional<privacy::GridL2Sensitivity>& most,
                         const std::optional<privacy::GridL2Sensitivity>& other) {
    if (other && (!most || other->value() > most->value())) most = other;
  };
  std::optional<privacy::GridL2Sensitivity> largest;
  for (size_t party = 0; party < num_computing; ++party) {
    const std::vector<size_t> alone = {party};
    design.party_sensitivities.push_back(of(alone).value());
    larger(largest, design.party_sensitivities.back());
    for (size_t other = 0; other < party; ++other) {
      const std::vector<size_t> both = {other, party};
      larger(design.two_parties_sensitivity, of(both));
    }
  }
  design.replace_sensitivity = *largest;
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
  const size_t cells = NoiseDimension(task);
  NoiseDesign design;
  design.promise = promise;
  design.sensitivity = AllLifts(task).Under(promise.adjacency, promise.rows_per_person);
  DesignForParties(task, num_computing, design);
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
    return std::ranges::any_of(table.Attributes(), [&](uint32_t attribute) {
      return std::ranges::find(targets, attribute) != targets.end();
    });
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

std::vector<uint64_t> LiftsOfGroup(const stats::marginals::TableSet& set,
                                   std::optional<uint32_t> group) {
  std::vector<uint64_t> lifts;
  for (const stats::marginals::CountTable& table : set.tables) {
    const bool measured = table.one_way() || table.first == group || table.second == group;
    lifts.push_back(measured ? stats::marginals::kUnitLift : 0);
  }
  return lifts;
}

ScoredPairs ScoredPairsFor(const stats::marginals::TableSet& set, uint32_t pairs,
                           privacy::Adjacency adjacency) {
  const auto lift = [](double weight) {
    return static_cast<uint64_t>(std::ldexp(weight, stats::marginals::kNoiseGridBits));
  };
  const stats::marginals::Selection selection =
      stats::marginals::SelectionFor(set, pairs, adjacency);
  return {pairs, lift(selection.one_way), lift(selection.score), lift(selection.pair)};
}

std::vector<Int128> DrawNoiseShare(const NoiseDesign& design, crypto::RandomSource& random) {
  std::vector<Int128> share(design.noise.dimension);
  privacy::DiscreteGaussian(design.noise.share_variance).Sample(random, share);
  return share;
}

}  // namespace partita::methods::marginals
