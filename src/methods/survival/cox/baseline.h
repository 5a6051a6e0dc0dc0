// The cumulative hazard at the middles of the covariates' bounds, at report times, on shares.
//
// Checks    Of every stratum, between two report times the rows that leave with the event, those that
//           leave without, and those that enter where rows enter, and after the last one all that leave
//           and all that enter, are 0 or at least min_cell, over all holders and over all but each one
//           (small_cells.h); else nothing of the stratum opens.
// Method    H is the sum of e / S0 over the terms up to a report time, R's basehaz: by Breslow, or by
//           Efron. Its logarithm opens on a grid of 1 / sqrt(D), D the events up to then: by Cauchy and
//           Schwarz this is at most its standard error with b known, and so at most its own.
// No grid   Where there are no events up to then: H is 0.
// Error     Of log H 2^-40 and, beside it, 2^-46 / H.
// Cost      An input of strata x intervals x 2 or 3 numbers for each holder; small_cells.h; Log and
//           Reciprocal of a number for each stratum and report time, release_grid.h, a product.
// Revealed  Nothing.
// Timing    constant in shares; not in shapes and bounds (public). Not run by tests/ctime.
#pragma once

#include "methods/survival/cox/hazards.h"
#include "mpc/functions/release_grid.h"
#include "run/method/row_holder.h"

namespace partita::methods::survival {

// Numbers of a stratum that are compared with min_cell, and what a holder has of them, by stratum.
size_t NumHazardCounts(const CoxSpec& spec);
std::vector<Int128> HazardCounts(const CoxSpec& spec, const CoxCells& cells, const CoxRows& rows);

struct BaselineTask {
  const CoxSpec& spec;
  const CoxCells& cells;
  uint64_t max_rows = 0;
  int grid_bits = 0;
};
struct GridBaseline {
  mpc::GridRange range;
  mpc::Shared passes;               // strata x 1, 0 or 1
  mpc::Shared reached, log_hazard;  // (strata reports) x 1; in steps of their grids
};
// counts: of each holder, strata NumHazardCounts x 1. holds: 1 x 1; if it is 0 all is 0.
GridBaseline BaselineOnGrid(mpc::Engine& engine, const BaselineTask& task, const CoxTerms& terms,
                            const std::vector<mpc::Shared>& counts, uint64_t min_cell,
                            const mpc::Shared& holds);

}  // namespace partita::methods::survival
