// Bounds that several of the files which people write share: study files and collection files.
// Private to their sections.
#pragma once

#include <cstddef>

namespace partita::study {

inline constexpr size_t kMaxTitleBytes = 200;
inline constexpr size_t kMaxColumnNameBytes = 128;  // of a column of the tables
inline constexpr size_t kMaxStripes = 4096;         // of [engine] stripes
inline constexpr size_t kMaxPredictors = 200;       // of a regression

// Of a promise of differential privacy.
inline constexpr double kMinEpsilon = 1e-4, kMaxEpsilon = 100;
inline constexpr double kMinDelta = 1e-15, kMaxDelta = 0.01;
// To which rows of scaled values are shortened.
inline constexpr double kMinNorm = 0.01, kMaxNorm = 100;

}  // namespace partita::study
