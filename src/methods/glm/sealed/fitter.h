// A regression of which nothing opens but the result, whoever holds which rows and columns.
//
// Ideal function   (every holder's rows and columns) -> to everybody, whether counts and rows suffice
//                  (counts.h), and whether columns are collinear; to the receiver, or to all where
//                  the study says so, whether the fit converged, the numbers of rows and, of an
//                  outcome of 0 or 1, of ones; and if it converged estimates and standard errors on
//                  one grid of the release rule, and the totals of fit_numbers.h and tests of terms
//                  (wald.h) on an absolute one, else zeros.
// Method           Newton's method with a guard. b is the best point so far, d the step from there by
//                  I^-1 U, and b + t d is tried, t = 1 first. What is tried is taken if there
//                  U' d >= -e for e = 2^-4, else t is halved. The log-likelihood is concave in every
//                  model of this level (beyond the cap of row_values.h, too, with weights, and less a
//                  ridge), so that what is taken
//                  has lost less than t e of it, whatever the data; and t no smaller than half of the
//                  best one gains at least half of what any t would. Near the maximum every full
//                  step passes. A point with a coordinate beyond mpc::kMostCoordinate is not taken
//                  either. The twin in the clear is stats/glm/guarded.h.
// Start            The maximum of the model with the intercept alone; gaussian models are solved in
//                  one step. Gamma: least squares of log y - o; on the way information is that which is
//                  observed, X' diag(y / mu) X, with which steps are Newton's, at the end the expected one.
// Inverses         The first and the last, which name collinear columns and open, each from nothing and
//                  with every column checked (mpc/functions/scoring_step.h); those of the steps
//                  without a check (mpc/functions/inverse.h): with eigenvalues of the correlation
//                  matrix below 2^-23 p they make a step too short, never too long.
// Convergence      At the last point U' I^-1 U < 2^-28 (gamma 2^-34, for a dispersion of 1), so
//                  that no estimate is farther from the maximum than 2^-14 standard errors in a
//                  quadratic model, and the last step is still taken; nothing failed (mpc/functions/scoring_step.h) and no row is beyond the limits; a
//                  gaussian or gamma model leaves residuals (solve.h). In a direction
//                  without a maximum (separation) steps stay longer than 1 in the linear predictor, so
//                  that U' I^-1 U is the inverse of the squared standard error: that of one above
//                  2^14 has no variance (mpc/functions/scoring_step.h).
// Hidden rows      (which match nobody knows, counts.h): checks of counts but rows, and collinear
//                  columns, are failures and open to nobody; ones of the outcome are told only if
//                  the fit converged, since no check of them opened before.
// Steps            Fixed: spec.steps trials and a last step. Messages are the same however it ends.
// Revealed         Releases `disclosure`, `independence` (not of hidden rows), `fit`, as above and nothing
//                  else.
// Tests            of terms are of estimates before they are rounded and of the last point's covariance.
// Risk groups      and the area under the curve are counted at the last point (risk.h), beside its inverse.
// Cost             spec.steps + 2 evaluations (sums.h), two SolveStep, spec.steps inverses of low
//                  depth (gamma: one more) and comparisons of a number, TellFit; wald.h where there
//                  are terms of several columns.
#pragma once

#include <optional>

#include "methods/glm/protocol.h"
#include "methods/glm/sealed/sums.h"

namespace partita::methods::glm {

inline constexpr double kSealedSlack = 0x1p-4, kSealedDecrement = 0x1p-28,
                        kSealedGammaDecrement = 0x1p-34;

uint64_t NumSealedFit(const Task& task);  // numbers of release `fit`

// One process's part: First, spec.steps times Step (none of a gaussian model), Finish.
class SealedFitter {
 public:
  // failures: of hidden rows, HiddenAnswers::failures; else empty.
  SealedFitter(mpc::Engine& engine, const Task& task, SealedSums& sums, SharedTotals totals,
               mpc::Shared failures = {});

  // Opens which columns are collinear, given those before them; of hidden rows nothing.
  Collinear First();
  void Step();
  // risk: of a spec with cuts.
  Fitted Finish(const SealedRisk* risk = nullptr);

 private:
  void Fail(const mpc::Shared& failures);
  // b + t d, and how many of its coordinates are beyond kMostCoordinate, which are 0 instead.
  struct Trial {
    mpc::Shared point, beyond;
  };
  Trial Tried();
  // I^-1 U at the best point.
  mpc::Shared Direction();

  mpc::Engine& engine_;
  const Task& task_;
  SealedSums& sums_;
  const SharedTotals totals_;
  mpc::Shared failures_;  // 1 x 1
  mpc::Shared best_, direction_;
  mpc::Shared fraction_;  // t, 1 x 1: as many fraction bits as there were trials
  SharedSums at_best_;
};

}  // namespace partita::methods::glm
