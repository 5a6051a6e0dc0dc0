// How much synthetic rows are like real ones. Every number here depends on the real rows: it stays
// with their holder unless it is charged (methods.md, R-i, 4.6).
//
// Tables are values[f][n] of the model's features (rows.h). Continuous features are cut into ten
// cells: of [0, 1] (Beta), of [-1, 1] (Gaussian), of single scales (Poisson).
#pragma once

#include <string>
#include <vector>

#include "stats/mixture/features.h"

namespace partita::stats::mixture {

using Values = std::vector<std::vector<double>>;

struct MarginalDistance {
  std::string name;
  double total_variation = 0;           // between the shares of the cells, in [0, 1]
  std::vector<double> real, synthetic;  // those shares
};
std::vector<MarginalDistance> CompareMarginals(const Layout& layout, const Values& real,
                                               const Values& synthetic);

// Total variation between the shares of the pairs of cells of two features, averaged over all pairs
// of features; 0 for one feature. Of more than ten levels neighbours share a cell, so that there
// are a hundred pairs at most.
double PairDistance(const Layout& layout, const Values& real, const Values& synthetic);

// Cramer's V of two features' cells, with the bias correction of Bergsma (2013): 0 independent,
// 1 determined by each other.
struct Association {
  std::string first, second;
  double real = 0, synthetic = 0;
};
std::vector<Association> CompareAssociations(const Layout& layout, const Values& real,
                                             const Values& synthetic);

// A logistic regression (ridge 1, Newton) of "feature `target` has this level" on all other
// features, one-hot where they have levels.
struct PredictionScore {
  double accuracy = 0;
  double auc = 0;       // 0.5 where the test rows have one class only
  double log_loss = 0;  // mean, nats
};
// Trained on one table, scored on another. Throws kBadInput if there is no such feature or it has
// no such level.
PredictionScore TrainAndTest(const Layout& layout, const Values& train, const Values& test,
                             const std::string& target, size_t level);

}  // namespace partita::stats::mixture
