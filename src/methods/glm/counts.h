// Whether few persons stand behind what is to open: counts of rows, compared on shares before
// anything else opens.
//
// Ideal function   (every holder's counts, own_rows.h) -> to everybody one bit for every table:
//                  whether each of its cells is 0 or at least min_cell, over all holders and over
//                  all but each one; of a binomial outcome, whether ones and zeros are at least
//                  min_cell each, in the same way; and whether there are enough rows.
// Enough rows      min_rows, and as many as there are columns and ten more, or three times as many
//                  if that is more.
// Revealed         Release `disclosure`: these bits.
// Cost             mpc/functions/small_cells.h once or twice, one comparison, one opening.
#pragma once

#include <optional>
#include <vector>

#include "methods/glm/task.h"
#include "mpc/engine.h"

namespace partita::methods::glm {

inline constexpr char kDisclosureRelease[] = "disclosure";

uint64_t NumChecks(const Task& task);
uint64_t LeastRows(const Task& task, uint64_t min_rows);

struct CountAnswers {
  std::vector<bool> tables;
  bool outcome = true, rows = true;
};
// by_holder: ShareCounts. Empty where engine.self() is empty.
std::optional<CountAnswers> CheckCounts(mpc::Engine& engine, const Task& task,
                                        const std::vector<mpc::Shared>& by_holder,
                                        uint64_t min_rows, uint64_t min_cell);

// Of all holders, 1 x 1: the rows, and the ones of a binomial outcome (else empty).
mpc::Shared RowsOf(mpc::Engine& engine, const Task& task,
                   const std::vector<mpc::Shared>& by_holder);
mpc::Shared EventsOf(mpc::Engine& engine, const Task& task,
                     const std::vector<mpc::Shared>& by_holder);

}  // namespace partita::methods::glm
