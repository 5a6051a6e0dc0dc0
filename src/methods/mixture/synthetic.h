// Synthetic tables of a fitted mixture.
#pragma once

#include <vector>

#include "methods/mixture/model_file.h"

namespace partita::methods::mixture {

// What synthetic data are for, in whole sentences; printed wherever they are made or judged.
extern const char* const kSyntheticPurpose;

// `sets` tables of `rows` rows each, every one from a posterior draw of its own. Post-processing:
// spends no privacy.
std::vector<data::Table> DrawTables(const FittedModel& model, size_t rows, size_t sets,
                                    crypto::RandomSource& random);

// Weights of the components at the mean, decreasing, and how many of them are in use.
struct ModelWeights {
  std::vector<double> weights;
  size_t active = 0;
};
ModelWeights WeightsOf(const FittedModel& model);

}  // namespace partita::methods::mixture
