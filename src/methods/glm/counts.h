// Whether few persons stand behind what is to open: counts of rows, compared on shares before
// anything else opens.
//
// Ideal function   (every holder's counts, own_rows.h) -> to everybody one bit for every table:
//                  whether each of its cells is 0 or at least min_cell, over all holders and over
//                  all but each one; of an outcome of 0 or 1, whether ones and zeros are at least
//                  min_cell each, in the same way; where errors are of clusters, whether these are
//                  at least min_cell, in the same way, and more than columns, and at level sealed
//                  whether none has more than half of the rows, in the same way; whether no sampling
//                  or precision weight is above a tenth of their sum, in the same way; and whether
//                  there are enough rows.
// Enough rows      min_rows, and as many as there are columns and ten more, or three times as many
//                  if that is more; at level aggregates more than are determined (aggregates.h).
// Revealed         Release `disclosure`: these bits.
// Hidden rows      (which match nobody knows): only whether there are enough rows opens. A holder knows
//                  its own cells, so that an answer about few of them would be one about whether
//                  these rows match. How many of the other checks do not hold stays on shares, and
//                  is added to what fails of the fit (sealed/fitter.h).
// Clusters         At level sealed those of sealed/clusters.h; else each holder counts its own.
// Cost             mpc/functions/small_cells.h up to three times, up to four comparisons, one
//                  opening.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "methods/glm/task.h"
#include "mpc/engine.h"

namespace partita::methods::glm {

inline constexpr char kDisclosureRelease[] = "disclosure";

uint64_t NumChecks(const Task& task);  // that open
uint64_t LeastRows(const Task& task, uint64_t min_rows);

struct CountAnswers {
  std::vector<bool> tables;
  bool outcome = true, clusters = true, largest_cluster = true, weights = true, rows = true;
};
inline constexpr double kLeastTimesLargest = 10;  // the sum of the weights
double MostRoomOfWeights(const Task& task);       // a bound
// Whether weights are compared with their sum: not of frequencies, which are numbers of rows.
bool ComparesWeights(const Spec& spec);

// Clusters that are asked of all rows; without a holder's or a group's own min_cell are.
uint64_t LeastClusters(const Task& task, uint64_t min_cell);

// beside_own: what else they are counted without, as BesideOwnText of study.h says it.
std::string ClustersRule(const Task& task, uint64_t min_cell, const std::string& beside_own);

// No cluster of level sealed has more than half of the rows: else the others' scores, which are 0 together with
// its own, are all that the errors tell of (decision 0630).
std::string LargestClusterRule(const std::string& beside_own);

// Of level sealed, where errors are of clusters: CountClusters of sealed/clusters.h. Over all rows, then without
// those of each group where there are several.
struct SealedClusters {
  std::vector<mpc::Shared> numbers;  // of clusters, 1 x 1 each
  std::vector<mpc::Shared> room;     // rows less those of each value twice, values x 1 each
};

// How much room there is to a tenth of the sum: 10 times a weight taken from it, negative where the weight
// is too large. weights: ShareWeights; local.
std::vector<mpc::Shared> RoomOfWeights(mpc::Engine& engine, const Task& task,
                                       const std::vector<mpc::Shared>& weights);

// by_holder: ShareCounts; weights: RoomOfWeights, where they are compared. Empty where engine.self()
// is empty.
std::optional<CountAnswers> CheckCounts(mpc::Engine& engine, const Task& task,
                                        const std::vector<mpc::Shared>& by_holder,
                                        const std::vector<mpc::Shared>& weights, uint64_t min_rows,
                                        uint64_t min_cell, const SealedClusters& clusters = {});

// Of hidden rows. rows: empty where engine.self() is; failures: 1 x 1, checks of tables and outcome that
// do not hold. Cost: mpc/functions/small_cells.h up to twice and back to the ring, a comparison, one
// opening.
struct HiddenAnswers {
  std::optional<bool> rows;
  mpc::Shared failures;
};
HiddenAnswers CheckHiddenCounts(mpc::Engine& engine, const Task& task,
                                const std::vector<mpc::Shared>& by_holder, uint64_t min_rows,
                                uint64_t min_cell);

// Of all holders, 1 x 1 each; events of an outcome of 0 or 1, clusters of errors of clusters, else
// empty.
struct SharedTotals {
  mpc::Shared rows, events, clusters;
};
SharedTotals TotalsFrom(mpc::Engine& engine, const Task& task,
                        const std::vector<mpc::Shared>& by_holder, const SealedClusters& clusters);
// The rows alone; by_holder may be of some holders.
mpc::Shared RowsFrom(mpc::Engine& engine, const Task& task,
                     const std::vector<mpc::Shared>& by_holder);

}  // namespace partita::methods::glm
