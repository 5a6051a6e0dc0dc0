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
  size_t synthetic_rows = 10000;  // drawn for each comparison, of one posterior draw
  std::string target, level;      // a factor of the model and its level; empty: no prediction
  size_t tables = 5;              // as many comparisons, each of another posterior draw
};

// How near one synthetic table comes.
struct TableUtility {
  double marginals = 0;     // total variation, averaged over columns
  double associations = 0;  // by how much Cramer's V is off, averaged over pairs
  std::optional<stats::mixture::PredictionScore> prediction;
};

struct Spread {
  double mean = 0, least = 0, most = 0;
};
// Of one number or more.
Spread SpreadOf(const std::vector<double>& values);

struct Utility {
  // All of them; tables of one model differ, for they are drawn from posterior draws and by chance.
  std::vector<TableUtility> tables;
  // Of the first one.
  std::vector<stats::mixture::MarginalDistance> marginals;
  std::vector<stats::mixture::Association> associations;
  // Of the test rows, nats per row: at the mean of the variational law, and averaged over 20 draws.
  double plug_in = 0, predictive = 0;
  size_t active_components = 0;
  std::string target, level;
  std::optional<stats::mixture::PredictionScore> from_synthetic, from_real;  // the former: the mean

  // Whether training on synthetic rows tells less than half of what training on real rows tells of
  // the target, by the AUC: nothing can be said without both.
  bool poor_for_learning() const;
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

// How strongly a column goes with the one that it goes with most, in tables of drawn rows.
struct ColumnStrength {
  std::string column;
  Spread association;  // Cramer's V, over the tables
};
// Of every column of the model. From a column below kWeakAssociation hardly anything can be learned
// about another, nor about it from the others, whatever the real rows are: a model that ends with
// one component has only such columns, and its likelihood may be fine.
inline constexpr double kWeakAssociation = 0.1;
std::vector<ColumnStrength> ColumnStrengths(const FittedModel& model, size_t rows, size_t tables,
                                            crypto::RandomSource& random);

// The strongest of them first, by whichever side is stronger.
std::vector<stats::mixture::Association> Strongest(
    std::vector<stats::mixture::Association> associations, size_t count);

}  // namespace partita::methods::mixture
