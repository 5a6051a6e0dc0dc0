// Calibration and discrimination of a sealed binomial model (../risk.h), of rows whose predictions nobody knows.
//
// Ideal function   (predictors, probabilities and outcomes of all rows, on shares) -> SharedRisk, on shares.
// Method           The logit rises, so a predicted probability is below a cut point where the linear predictor is below
//                  the cut point's logit, which is public: a comparison of each row and cut point. A group's rows, events
//                  and expected events are differences of what is below its two cut points.
// Bins             (stats/glm/risk.h: 256 of a sixteenth.) With the predictor's bits, 255 from 8 on and 0 below -8, the number of
//                  a row's bin is two digits of 16. Indicators h and l of these, by three layers of ANDs, are made
//                  ring elements, and rows of bin 16 i + j are entry i, j of H' L, events those of H' (y o L).
// Rows left out    have predictor 0, outcome 0 and probability 1/2: of each group of holders their number is taken
//                  from one cell and one bin. Predictors of 0 are cut without an error, since what is cut errs by
//                  less than a step. Frequencies weigh H' L instead; such a row has 0.
// Point            The last one where score and deviance are computed; estimates open one step further, 2^-14 standard errors at
//                  most (fitter.h), so that a row that close to a cut point may be on its other side.
// Error            Predictors 2^-40 (mpc::kStepBits); expected events 2^-39 for each row.
// Cost             IsNegative of G + 1 numbers of each row and LowestBits of one, three rounds of ANDs of 8, 16 and 32
//                  bits, ToRing of G + 31 bits, products of 16 numbers of each row (frequencies: 33), and what they are summed by.
// Memory           about 150 numbers of the ring for each row (four groups, by bench/glm_sealed_bench.cc).
// Timing           constant in shares; not in shapes and bounds (public). Not run by tests/ctime.
// Revealed         Nothing here.
#pragma once

#include <vector>

#include "methods/glm/risk.h"
#include "methods/glm/sealed/layout.h"
#include "methods/glm/sealed/shared_rows.h"

namespace partita::methods::glm {

// What rows have at the last point, n x 1 each, one block below the other.
struct LastRows {
  mpc::Shared predictor;  // at mpc::kStepBits
  mpc::Shared mean;       // at kMeanBits (row_values.h)
};

// The rest, as it is when the fit begins. Of a spec with cuts.
struct SealedRisk {
  const SealedLayout* layout = nullptr;
  const std::vector<SharedBlock>* blocks = nullptr;
  std::vector<mpc::Shared>
      rows_taken;  // 1 x 1 by group of the layout: how many take part, copies counted
  uint64_t min_cell = 0;
};
// counts: CountsByGroup. Local.
SealedRisk SealedRiskOf(mpc::Engine& engine, const Task& task, const SealedLayout& layout,
                        const std::vector<SharedBlock>& blocks,
                        const std::vector<mpc::Shared>& counts, uint64_t min_cell);

// By group of the layout.
SharedRisk SealedRiskAt(mpc::Engine& engine, const Task& task, const SealedRisk& risk,
                        const LastRows& last);

}  // namespace partita::methods::glm
