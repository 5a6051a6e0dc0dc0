// The paper's own formulation of a step (Tajeddine et al., Algorithm 3 with eqs. 18 to 30): every
// entry of every row's gradient is computed on shares, squared, clipped and added up. The baseline
// that step.h is compared with; the result is the same up to its precision.
//
// Method    r_nk = a_nk / den_n; g_nkj = r_nk d_nkj, d masked by its holder in every step; rows are
//           clipped by ClipRows (mpc/functions/norm.h) to C (1 - 2^-16).
// Errors    Densities at 30 fraction bits, everything else at 40. A row with den below 2^-24 has no
//           responsibilities: it adds its -pi, clipped. Entries of d are bounded by
//           max_square^(1/2).
// Cost      N_b K J products and cuts, K J N_b masked numbers of each holder.
#pragma once

#include "methods/mixture/step.h"

namespace partita::methods::mixture {

// K x (1 + J) at kGridBits, without noise. own: by holder, set at that holder.
mpc::Shared PaperSum(mpc::Engine& engine, const StepDesign& design,
                     const StepParameters& parameters,
                     const std::optional<HolderValues>& own_values,
                     const std::vector<StatisticReader>& own);

}  // namespace partita::methods::mixture
