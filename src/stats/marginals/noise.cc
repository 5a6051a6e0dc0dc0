#include "stats/marginals/noise.h"

#include <cmath>
#include <limits>

#include "privacy/sampling/discrete_gaussian.h"

namespace partita::stats::marginals {

privacy::L2Sensitivity TablesSensitivity(size_t tables, privacy::Adjacency adjacency,
                                         uint32_t rows_per_person) {
  const double cells = (adjacency == privacy::Adjacency::kReplace ? 2.0 : 1.0) *
                       static_cast<double>(tables) * rows_per_person * rows_per_person;
  // A root is off by half a unit at most; whether it was rounded down its rounded square cannot tell.
  return privacy::L2Sensitivity(
      std::nextafter(std::sqrt(cells), std::numeric_limits<double>::infinity()));
}

privacy::GridL2Sensitivity OnNoiseGrid(privacy::L2Sensitivity sensitivity) {
  return privacy::GridL2Sensitivity(std::ldexp(sensitivity.value(), kNoiseGridBits));
}

size_t TablesWithForeign(const TableSet& set, std::span<const size_t> holders, size_t holder) {
  size_t count = 0;
  for (const CountTable& table : set.tables) {
    count += holders[table.first] != holder || holders[table.second] != holder ? 1 : 0;
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
