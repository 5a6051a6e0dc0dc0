// Robust standard errors of Cox's model on shares, at the estimates (stats/survival/cox_robust.h).
//
// Ideal function   (every holder's rows, the public estimates b, of every term its sums at risk on
//                  shares) -> on shares half the squared robust standard errors, b' V^-1 b with the
//                  robust covariance V, and whether all of this holds.
// Method           With w = e^(x'b), L = sum of h and A = sum of h m over the terms up to a row's cell
//                  (h = 1 / S0 of each event, m the mean at risk), and M, L and A of its own cell, the
//                  row adds to the score
//
//                    u = d (x - M) - w L x + w A              d: 1 with the event, else 0
//
//                  so that the sum of uu' over the rows that leave in a cell is a polynomial of M, L
//                  and A, which stay shared, with coefficients that its holder adds up in the clear:
//                  over those with the event of (1, x, xx'), w (1, x, xx'), and w^2 (1, x, xx'), over
//                  the others of the last. No row stands on shares, and nothing depends on how
//                  many there are. By Efron M is the mean over a cell's terms, and a row with the
//                  event was at risk in them by the part (1 - k/d) only, so that L and A of events
//                  are those of the others less the sums of k/d h and k/d h m.
// Bounds           The w L of a cell's rows sum up to at most the events D of all; so the sums of
//                  (w L)^2 are at most D^2, and everything has a bound that follows. L is at most
//                  e^kMostPredictor (1 + log n), for of k events that are left each weighs at least
//                  e^-kMostPredictor.
// Guards           The sandwich is bounded where the meat is at most 2^20 I in every direction. First
//                  its diagonal is compared with 2^10 that of I, then the trace of I^-1 M with 2^20;
//                  where one is larger, or the fit does not hold, the meat is 0 from there on.
//                  With one coefficient that is a standard error 32 times the model's, with several
//                  at most 1024 times.
// Error            L, A: 2^-41; L^2 and L A: 2^-37 with 2^22 rows, 2^-45 below 2^18; the meat 2^-56 in
//                  units of 2^unit_bits; the test 2^-20 of itself.
// Cost             An input of cells x (p + 2 (1 + p + p(p + 1)/2)) numbers for each holder, by Efron
//                  three times the last; products with cuts of p numbers for each term and twice as
//                  many for each cell, Gram products over the cells, four comparisons; SolveStep with the
//                  meat beside that of the test.
// Revealed         Nothing.
// Timing           constant in shares; not in shapes and bounds (public). Not run by tests/ctime.
// Not here         Times of entry and clusters: pairs of cells would be as many as rows (units.h).
#pragma once

#include "methods/survival/cox/hazards.h"
#include "mpc/functions/scoring_step.h"
#include "run/method/row_holder.h"

namespace partita::methods::survival {

// Of b' V^-1 b where V is singular.
inline constexpr double kNoTest = -1;

struct RobustTask {
  const CoxCells& cells;
  const std::vector<run::RowHolder>& holders;
  size_t most_ties = 1;
  size_t columns = 0;
  int unit_bits = 1;  // ceil(log2 of all rows)
  // Of units.h: as many units as each holder may have; whether rows enter late.
  std::vector<uint64_t> units;
  bool late = false;
};

// The meat is at most so many times the square of the rows.
inline constexpr double kMostOfSum = 0x1p4;

// Sums of uu': p x p, at most kMostOfSum rows^2, at mpc::kMeatBits - unit_bits. own: LeavingSumsAt
// at a holder, else empty.
mpc::Shared RobustMeat(mpc::Engine& engine, const RobustTask& task, const CoxTerms& terms,
                       const LeavingSums& own);

struct RobustErrors {
  mpc::Shared variances;    // p x 1, as SolvedStep has them
  mpc::Shared covariances;  // p x p, likewise; empty unless the sums ask for them
  mpc::Shared wald;         // 1 x 1, at kRobustWaldBits, at most MostOfRobustWald; kNoTest
  mpc::Shared holds;        // 1 x 1, 0 or 1
};
inline constexpr int kRobustWaldBits = 40;
double MostOfRobustWald(const RobustTask& task);

// sums, solved: at the estimates `at`, of the model; holds: 1 x 1, 0 or 1, whether they are.
RobustErrors SolveRobust(mpc::Engine& engine, const RobustTask& task, const mpc::Shared& meat,
                         const mpc::ScoringSums& sums, const Eigen::VectorXd& at,
                         const mpc::SolvedStep& solved, const mpc::Shared& holds);

}  // namespace partita::methods::survival
