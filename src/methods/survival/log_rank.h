// The log-rank test on shares.
//
// Method    With d events among n at risk in a cell, n_g of them in group g, p_g = n_g / n and
//           w = d (n - d) / (n - 1): E_g is the sum of d p_g, V_gh that of w p_g ([g = h] - p_h).
//           V (O - E vanishes against ones: V 1 = 0) is made definite as V + c 1 1', which changes
//           U' V^- U not at all, c its mean diagonal over the groups; a group that is never at risk
//           gets a one on its diagonal. Scaled by the sizes of its diagonal it is
//           inverted in few rounds (mpc/functions/inverse.h); where groups are at risk beside no
//           other it is singular, but O - E vanishes in those directions.
// Result    Observed events as they are; O - E and its standard error on the grid of that error;
//           chi-square on an absolute grid. What a check withholds is for the caller to multiply by its
//           bit.
// Error     Before rounding, in units of the rule's grid: 2^-10 for O - E, 2^-8 for chi-square
//           below 2^10.
// Cost      Divide (division.h) of groups + 1 numbers for every cell, products of cells by groups,
//           a comparison, SizesOf, InvertPositive of as many rows as groups and four products, and
//           beside these Root and the marks of release_grid.h.
// Revealed  Nothing.
#pragma once

#include "methods/survival/risk_sets.h"
#include "mpc/functions/release_grid.h"

namespace partita::methods::survival {

struct GridLogRank {
  mpc::GridRange range;
  mpc::Shared observed;             // groups x 1, whole numbers
  mpc::Shared reached;              // groups x 1; 0: no variance
  mpc::Shared differences, errors;  // groups x 1, in steps of 2^e, units of 2^unit_bits
  mpc::Shared chi_square;           // 1 x 1, in steps of 2^-grid_bits
  int unit_bits = 0;
};
GridLogRank LogRankOnGrid(mpc::Engine& engine, const Task& task, const RiskSets& sets);

}  // namespace partita::methods::survival
