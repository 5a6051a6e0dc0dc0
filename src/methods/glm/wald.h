// Tests of terms of several columns on shares: Wald statistics of estimates that opened, with a covariance
// that does not.
//
// Method    The covariance of the estimates b is 2^-unit_bits phi D V D: V = mpc::SolvedStep::covariance, D =
//           diag(d), phi the dispersion, or 1. With e = 2^-ceil(s/2), 2^s above V's diagonal at the point
//           before, K = e V e of a term's block, exact but for its cut, and tau = 2^(unit_bits/2) e b / d: W = tau' K^-1 tau / phi. phi is
//           made a mantissa in [1/2, 1) and a power of two, which goes into tau.
// Inverse   As of informations (mpc/functions/information_inverse.h): from nothing at the point before, beside
//           the last one's step; then from that one, with its check of every column.
// No test   A tau above 2^17, that is an |t| = |b| / SE above 2^14 at least; W above 2^30; a column
//           that is not true; a block that is singular (a variance inflation above 2^18 to 2^20, as of more
//           columns than clusters), or whose covariance has changed by more than 2^5 in some direction since the
//           point before; a phi below 2^-29; robust errors whose V is below 2^-24 in a column, that is
//           residuals below 2^-12 of their bound: the statistic is kNoStatistic.
// Error     tau: 2^-28 relative and 2^-30 absolute; K: 2^-47, and that of V times e_i e_j: 2^-41, of
//           robust errors 2^-42 sum_k |X_kj| (sandwich.h); K^-1 as there.
// Sealed    estimates are on shares and not yet rounded; then there is no point before: GuessTerms is of the
//           last one, and its inverse the first of WaldStatistics.
// Rounds    (of `dealer`; elsewhere what together.h adds) GuessTerms: mpc::SizesOf, a product without a cut, a product, InvertInformation and CorrectedInverse; or tau: three
//           products and a comparison. WaldStatistics: a product, InvertInformation, then its check without the
//           way back to the ring, or two products and a comparison; IsZero; ToRing, two products. With a
//           dispersion beside the inverse SizesOf, two products, a comparison and ReciprocalInRange.
// Timing    constant in shares; not in shapes and bounds (public).
// Revealed  Nothing. The statistics open with the fit.
#pragma once

#include <vector>

#include "methods/glm/fit_numbers.h"
#include "mpc/functions/scoring_step.h"

namespace partita::methods::glm {

inline constexpr int kStatisticBits = kTotalBits;
inline constexpr double kMostStatistic = 0x1p30;

// What is ready when the last point's covariance comes.
struct TermGuesses {
  std::vector<mpc::Shared> scales;    // e e', by term
  std::vector<mpc::Shared> inverses;  // K^-1 of the point before, by term; not checked
  mpc::Shared ratios,
      within;  // tau, 0 where it is too large; whether it is not: of all terms' columns
};
// before: at the point before; estimates: as they opened. Of a spec with terms.
TermGuesses GuessTerms(mpc::Engine& engine, const Task& task, const mpc::SolvedStep& before,
                       const Eigen::VectorXd& estimates);
// estimates: on shares, p x 1 at mpc::kStepBits, at most mpc::kMostCoordinate. A cut more where the unit's
// bits are odd.
TermGuesses GuessTerms(mpc::Engine& engine, const Task& task, const mpc::SolvedStep& before,
                       const mpc::Shared& estimates);

// A row for each of spec.terms, at kStatisticBits; at most kMostStatistic + 1. solved: at the
// estimates.
mpc::Shared WaldStatistics(mpc::Engine& engine, const Task& task, const mpc::SolvedStep& solved,
                           const TermGuesses& guesses);

}  // namespace partita::methods::glm
