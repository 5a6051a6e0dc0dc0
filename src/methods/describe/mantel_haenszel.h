// Mantel and Haenszel's odds ratio of two groups and its test, with holders as strata, on shares.
//
// Input     Of every variable of two values, and of every holder's own table of group and value, the
//           terms of stats/tables/two_by_two.h, which the holder computes in the clear: what opens
//           of all holders are sums of these, so that no holder's table opens.
// Method    With sums R, S, U = sum P R, W = sum P S + Q R, Z = sum Q S the logarithm of the odds ratio
//           is log R - log S with the variance of Robins, Breslow and Greenland
//
//             U / (2 R^2) + W / (2 R S) + Z / (2 S^2) = (u / R + w (1 / R + 1 / S) + z / S) / 2
//
//           of u = U / R, w = W / (R + S), z = Z / S, all at most 1. The test's root is the excess
//           over the root of its variance; that and the correction for continuity, 1/2 over the
//           same root, open on the absolute grid 2^-grid_bits, since the first one's standard error is 1.
// Error     Before rounding, of the logarithm 2^-36, of its error 2^-18, of the roots 2^-20.
// Withheld  The odds ratio where R or S is below 2^-6, as with a zero in every stratum; the test where
//           its variance is below 2^-20.
// Cost      division.h, logarithm.h, reciprocal.h of a few numbers for each variable, release_grid.h.
// Revealed  Nothing.
// Timing    constant in shares; not in shapes and bounds (public). Not run by tests/ctime.
#pragma once

#include <optional>
#include <vector>

#include "methods/describe/layout.h"
#include "mpc/functions/release_grid.h"
#include "stats/tables/two_by_two.h"

namespace partita::methods::describe {

inline constexpr int kStratumBits = 40;
inline constexpr size_t kStratumTerms = 7;

// The variables that are described by counts of two values.
std::vector<size_t> TwoValued(const Spec& spec);

// counts: of a holder, rows of the layout x 2 groups. kStratumTerms for each of TwoValued.
std::vector<Int128> OwnStratum(const Spec& spec, const std::vector<Int128>& counts);

// A row for each variable of TwoValued.
struct StrataOnGrid {
  mpc::GridRange range;
  mpc::Shared reached, log_ratios, errors;  // in steps of their grids
  mpc::Shared roots;                        // of tests, then of corrections, one below the other
};
// terms: of all holders, variables x kStratumTerms at kStratumBits.
StrataOnGrid StrataOf(mpc::Engine& engine, const mpc::Shared& terms, double max_rows,
                      int grid_bits);

// From what opened: the logarithm of the odds ratio with its standard error (0: none), the root and
// its correction (0: none).
struct OpenedStrata {
  double log_ratio = 0, error = 0, root = 0, correction = 0;
};
stats::tables::MantelHaenszel OverStrata(const OpenedStrata& opened);

}  // namespace partita::methods::describe
