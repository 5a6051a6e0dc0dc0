// Inverses of informations in few rounds: the first from nothing, at later points from the last one;
// and which columns of them are true.
//
// Domain    J of p x p, positive semidefinite by its making (sums of Gram matrices), entries at most
//           1. K = diag(d) J diag(d) with the d of the first point: its diagonal is in [1/2, 1) there.
//           First: eigenvalues of K of at least p 2^-22 come out right. Later: those of K_last^-1 K
//           between 2^-5 and 2^5, that is, no direction's information has grown or shrunk by
//           more than that since the last point. Beyond, columns come out wrong and are found out.
// Method    X by InvertRoughly, later by SolveFromGuess (inverse.h) from the last X; F = K X - I; then
//           X - X F, whose residual is F^2.
// Check     Column j is true if |F_ij| <= 2^-12 / p and |X_ij| <= 2^20 for every i, and every K_ii is
//           at most 2^6. With the last two nothing has wrapped, K being semidefinite; so where all
//           columns are true, |X - K^-1| <= 2^-24 |K^-1| after the correction. Columns that others
//           explain (a variance inflation above 2^20, or one of more than 2^22 / p by an eigenvalue
//           that small) are all untrue, whatever their order; others may be true, for on the null
//           space of K what K X lacks of I is the projection onto it. No failure probability.
// Order     Which columns follow from those before them is asked of the leading blocks of K, all at
//           once: the last column of each block's inverse is true, or not.
// Rounds    D = 1 (`dealer`) or 2 (`replicated`): scale 2 D + ceil(log2(w - 1)) + 2 with w bits of J,
//           first 1 + 2 StepsFor(1.001 p, p 2^-22), later 2 (1 + StepsFor(2^5, 2^-5, 2^-30)) products
//           and cuts, F 1, correction 1 + 2; check beside it 4 D + 7 + ceil(log2 w') with w' bits of 6 p. Of the
//           leading blocks those of first and check.
// Bytes     Two products of p x p a step, and 4 p^2 + 2 p comparisons; of the leading blocks p / 3
//           times as many.
// Timing    constant in shares; not in shapes and bounds (public). Not run by tests/ctime.
// Revealed  Nothing.
#pragma once

#include "mpc/engine.h"
#include "mpc/functions/magnitude.h"

namespace partita::mpc {

// Of K and of its inverse; the most that an entry of the inverse may be.
inline constexpr int kScaledInformationBits = 46, kInformationInverseBits = 40;
inline constexpr double kMostInflation = 0x1p20;
// Of diag(J): below, d is 0 and the column is never true. d is at most 2^14.
inline constexpr int kLeastInformationLog2 = -28;

// Of the diagonal of J (p x 1).
SizeClasses InformationSizes(Engine& engine, const Shared& diagonal);
// d, p x 1, at 36 fraction bits; local.
Shared InformationScale(Engine& engine, const SizeClasses& sizes);

struct UncheckedInverse {
  Shared inverse;   // X, p x p
  Shared residual;  // F
};
// scaled: K at kScaledInformationBits. last: the corrected X of the point before, or null.
UncheckedInverse InvertInformation(Engine& engine, const Shared& scaled, const Shared* last);
// X - X F, at kInformationInverseBits.
Shared CorrectedInverse(Engine& engine, const UncheckedInverse& inverse);
// By column, p x 1, how much of what the check looks at is beyond its limits: a number of at most
// 6 p, 0 where the column is true. Rounds: those of the check but IsZero and ToRing.
Shared CountBeyondLimits(Engine& engine, const Shared& scaled, const UncheckedInverse& inverse);
// p x 1, 1 where the column is true.
Shared TrueColumns(Engine& engine, const Shared& scaled, const UncheckedInverse& inverse);

// p x 1, 1 where the column is not explained by those before it, 0 where it is (a variance inflation
// as above).
Shared IndependentOfThoseBefore(Engine& engine, const Shared& scaled);

}  // namespace partita::mpc
