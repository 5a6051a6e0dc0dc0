// Privacy losses on a grid: a law that dominates a pair, and one that the pair dominates.
//
// Let z = dQ/dP = e^-loss, seen under P. For T independent uses
//   delta(eps) = E_P (1 - e^eps z_1 ... z_T)_+ ,
// and the integrand is, in each z_t with the others held fixed, convex, decreasing, and >= 0. So,
// one use after the other,
//   (U1) a mean-preserving spread of z_t raises delta        (Jensen);
//   (U2) raising a loss, or adding mass, raises delta        (decreasing in z; >= 0);
//   (L1) replacing z_t by its mean over a set of outputs lowers delta (Jensen: post-processing);
//   (L2) lowering a loss, or dropping mass, lowers delta.
//
// Dominating   Spreads every cell onto the grid points that enclose its losses, keeping its mass
//              under P and under Q (U1): this is "connect the dots" (Doroshenko et al. 2022),
//              computed from cell masses and so without differences of delta(eps). Beyond the last
//              grid point the spread goes to the loss +infinity, below the first it raises the loss
//              (U2). The error of the masses is charged by adding it (U2). Per use the variance of
//              the loss grows by spacing^2/6 at most where cells fill the grid.
// Dominated    Collects neighbouring cells, the last one in part, until their merged loss log P/Q
//              is a grid point (L1), errors of masses taken on the low side. If the law has gaps
//              and the balance would need cells further than a few grid steps away, the merged loss
//              is lowered to the grid point below it instead (L2). Atoms at grid points stay by
//              themselves. The variance shrinks by spacing^2/12 where cells fill the grid.
//
// Both are laws of pairs no longer: masses need not add up to 1. That is all right by the above.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "privacy/accounting/loss_cells.h"

namespace partita::privacy {

// P(loss = anchor + spacing (first + i)) = mass[i]. Grid points are meant as real numbers; every
// loss is known to +-loss_slack only (the upper law is to be read as lying higher by it, the lower
// one lower).
struct LossPmf {
  double anchor = 0;
  double spacing = 0;
  int64_t first = 0;
  std::vector<double> mass;
  double infinity = 0;
  double loss_slack = 0;

  double Loss(int64_t i) const { return anchor + spacing * static_cast<double>(first + i); }
};

// A law that needs more points than max_points throws kUsage.
struct LossGrid {
  double anchor = 0;
  double spacing = 0;
  size_t max_points = 50'000'000;
};

LossPmf Dominating(const std::vector<LossCell>& cells, const LossGrid& grid);
// fixed_anchor: atoms lie on the grid as given; else only its spacing is kept.
LossPmf Dominated(const std::vector<LossCell>& cells, const LossGrid& grid, bool fixed_anchor);

// The spacing at most `wanted` that divides the period (if any) and whose multiples are exact
// doubles (if there is no period).
double FittingSpacing(double wanted, double period);

}  // namespace partita::privacy
