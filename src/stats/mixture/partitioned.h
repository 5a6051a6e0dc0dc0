// The arithmetic of the partitioned protocol without its encryption, as the paper simulates it
// (Tajeddine et al., Section 6.2): densities enter as fixed-point numbers, every product and
// quotient is cut to the grid. For experiments on how precision and renormalisation matter; nothing
// is hidden from anybody here.
#pragma once

#include "stats/mixture/dpvi.h"

namespace partita::stats::mixture {

struct FixedPointOptions {
  int fraction_bits = 32;  // of densities, responsibilities and weights; 8 to 50
  // Each party divides its densities of a row by the largest of them (methods.md, 4.2; the paper's
  // Algorithm 4 raises small ones only, to a threshold). Without it they round to zero and the row
  // is lost, which is Figure 2's curve that does not learn.
  bool renormalise = true;
};

// As PlainGradientSum, with one feature set per party, put together in fixed point. A row whose
// densities all round to zero adds nothing, as division by zero does in the paper's framework.
GradientSum PartitionedGradientSum(const Layout& layout, const Rows& rows,
                                   const ClippedNoise& noise_options,
                                   const FixedPointOptions& fixed_point,
                                   crypto::RandomSource& noise);

}  // namespace partita::stats::mixture
