// How much rows drawn from a fitted mixture are like real ones. Every number depends on the real
// rows: it is for their holder, and a release of its own for anybody else (methods.md, R-i, 4.6).
//
// A holder of some of the columns judges the model of these columns (ModelOfParty): a mixture of
// products is closed under leaving columns out, so that takes nobody else's rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "methods/mixture/model_file.h"
#include "stats/mixture/utility.h"

namespace partita::methods::mixture {

// Real rows, as EncodeValues gives them for the columns of the model.
struct RealRows {
  stats::mixture::Values test;
  std::optional<stats::mixture::Values> train;  // to compare the prediction with
};

struct UtilityRequest {
  size_t synthetic_rows = 10000;  // drawn for the comparison, of one posterior draw
  std::string target, level;      // a factor of the model and its level; empty: no prediction
};

struct Utility {
  std::vector<stats::mixture::MarginalDistance> marginals;
  std::vector<stats::mixture::Association> associations;
  // Of the test rows, nats per row: at the mean of the variational law, and averaged over 20 draws.
  double plug_in = 0, predictive = 0;
  size_t active_components = 0;
  std::string target, level;
  std::optional<stats::mixture::PredictionScore> from_synthetic, from_real;
};

// Throws kBadInput for a target that the model does not have, or has without that level; as
// MakeRows for values of another model.
Utility JudgeSynthetic(const FittedModel& model, const RealRows& real,
                       const UtilityRequest& request, crypto::RandomSource& random);

// Of drawn rows alone, over all columns of the model: post-processing, reveals nothing of real
// rows.
std::vector<stats::mixture::Association> SyntheticAssociations(const FittedModel& model,
                                                               size_t rows,
                                                               crypto::RandomSource& random);

// The strongest of them first, by whichever side is stronger.
std::vector<stats::mixture::Association> Strongest(
    std::vector<stats::mixture::Association> associations, size_t count);

}  // namespace partita::methods::mixture
