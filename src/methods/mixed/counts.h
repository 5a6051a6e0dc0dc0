// Whether few persons stand behind what is to open: counts, compared on shares before anything else
// opens.
//
// Ideal function   (every holder's counts, own_rows.h) -> to everybody one bit for every table:
//                  whether each of its cells is 0 or at least min_cell, over all holders and over all
//                  but each one; whether there are enough groups, enough rows, and enough rows beside
//                  one for each group, without which the two variances cannot be told apart; of an outcome that is
//                  0 or 1 whether both are there often enough; where
//                  sites are the groups, whether each has no rows or enough.
// Enough           Groups: min_cell, in the same way, and three; of sites five, of min_cell rows each,
//                  and five. Rows: min_rows, and as many as
//                  there are columns and ten more, or three times as many if that is more; beside one
//                  for each group ten, with a slope beside two.
// Revealed         Release `disclosure`: these bits.
// Cost             mpc/functions/small_cells.h twice at most, three comparisons at most, one opening.
#pragma once

#include <optional>
#include <vector>

#include "methods/mixed/task.h"

namespace partita::methods::mixed {

inline constexpr char kDisclosureRelease[] = "disclosure", kIndependenceRelease[] = "independence",
                      kFitRelease[] = "fit";
inline constexpr uint64_t kRowsInGroups = 10;

uint64_t NumChecks(const Task& task);
uint64_t EffectsOfGroup(const Task& task);  // 2 with a slope
uint64_t LeastRows(const Task& task, uint64_t min_rows);
uint64_t LeastGroups(const Task& task, uint64_t min_cell);
uint64_t LeastRowsOfSite(uint64_t min_cell);

// own: at a holder; not used elsewhere. By holder, the counts of own_rows.h.
std::vector<mpc::Shared> ShareCounts(mpc::Engine& engine, const Task& task, const OwnData& own);

struct CountAnswers {
  std::vector<bool> tables;
  bool outcome = true, groups = true, rows = true, rows_in_groups = true, rows_of_sites = true;
};
// Empty where engine.self() is empty.
std::optional<CountAnswers> CheckCounts(mpc::Engine& engine, const Task& task,
                                        const std::vector<mpc::Shared>& by_holder,
                                        uint64_t min_rows, uint64_t min_cell);

// Of all holders, 1 x 1 each.
struct SharedTotals {
  mpc::Shared rows, groups;
};
SharedTotals TotalsFrom(mpc::Engine& engine, const Task& task,
                        const std::vector<mpc::Shared>& by_holder);

}  // namespace partita::methods::mixed
