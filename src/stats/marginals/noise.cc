#include "stats/marginals/noise.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "privacy/sampling/discrete_gaussian.h"

namespace partita::stats::marginals {

namespace {

UInt128 SumOfSquares(std::span<const uint64_t> lifts) {
  UInt128 squares = 0;
  for (const uint64_t lift : lifts) squares += UInt128{lift} * lift;
  return squares;
}

}  // namespace

privacy::GridL2Sensitivity ScoredSensitivity(std::span<const uint64_t> count_lifts,
                                             std::span<const uint64_t> score_lifts,
                                             privacy::Adjacency adjacency,
                                             uint32_t rows_per_person) {
  const bool replace = adjacency == privacy::Adjacency::kReplace;
  const UInt128 squares = ((replace ? 2 : 1) * SumOfSquares(count_lifts) +
                           (replace ? 4 : 1) * SumOfSquares(score_lifts)) *
                          rows_per_person * rows_per_person;
  constexpr double kUp = std::numeric_limits<double>::infinity();
  auto rounded = static_cast<double>(squares);
  if (static_cast<UInt128>(rounded) < squares) rounded = std::nextafter(rounded, kUp);
  // A root is off by half a unit at most; whether it was rounded down its rounded square cannot tell.
  return privacy::GridL2Sensitivity(std::nextafter(std::sqrt(rounded), kUp));
}

privacy::GridL2Sensitivity LiftedSensitivity(std::span<const uint64_t> lifts,
                                             privacy::Adjacency adjacency,
                                             uint32_t rows_per_person) {
  return ScoredSensitivity(lifts, {}, adjacency, rows_per_person);
}

privacy::L2Sensitivity TablesSensitivity(size_t tables, privacy::Adjacency adjacency,
                                         uint32_t rows_per_person) {
  const std::vector<uint64_t> lifts(tables, kUnitLift);
  return privacy::L2Sensitivity(
      std::ldexp(LiftedSensitivity(lifts, adjacency, rows_per_person).value(), -kNoiseGridBits));
}

privacy::GridL2Sensitivity OnNoiseGrid(privacy::L2Sensitivity sensitivity) {
  return privacy::GridL2Sensitivity(std::ldexp(sensitivity.value(), kNoiseGridBits));
}

bool HasForeign(const CountTable& table, std::span<const size_t> holders, size_t holder) {
  return std::ranges::any_of(table.Attributes(),
                             [&](uint32_t attribute) { return holders[attribute] != holder; });
}

size_t TablesWithForeign(const TableSet& set, std::span<const size_t> holders, size_t holder) {
  size_t count = 0;
  for (const CountTable& table : set.tables) {
    count += HasForeign(table, holders, holder) ? 1 : 0;
  }
  return count;
}

privacy::GridVariance CuratorNoise(const TableSet& set, privacy::Adjacency adjacency,
                                   uint32_t rows_per_person, privacy::Epsilon epsilon,
                                   privacy::Delta delta) {
  return privacy::CalibrateDiscreteGaussian(
      OnNoiseGrid(TablesSensitivity(set.tables.size(), adjacency, rows_per_person)), set.num_cells,
      epsilon, delta);
}

double NoiseStddev(const privacy::GridVariance& variance) {
  return std::ldexp(privacy::StddevUpperBound(variance), -kNoiseGridBits);
}

void AddNoise(const privacy::GridVariance& variance, crypto::RandomSource& source,
              std::span<double> cells) {
  std::vector<Int128> noise(cells.size());
  privacy::DiscreteGaussian(variance).Sample(source, noise);
  for (size_t i = 0; i < cells.size(); ++i) {
    cells[i] += std::ldexp(static_cast<double>(noise[i]), -kNoiseGridBits);
  }
}

}  // namespace partita::stats::marginals
