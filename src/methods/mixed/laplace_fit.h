// The fit of a logistic or Poisson model with a random intercept, a step at a time: points open, rounded; sums stay on
// shares.
//
// Ideal function   (every holder's rows) -> to everybody, whether counts suffice (counts.h), then, which columns
//                  follow from those before them; then the points 0 .. T, coefficients and the standard deviation tau
//                  of groups, each number on a grid of its standard error: 2^-2 for the first four, then 2^-4, the last,
//                  which are the estimates, that of the release rule. To the receiver, or to all where the study says
//                  so, whether the fit converged, the numbers of rows and groups; and if it converged standard errors on
//                  their grids, or of coefficients the covariance matrix in steps of the products of two, and, on an
//                  absolute one, the log-likelihood; else zeros.
// Method           Groups lie within a holder, so that the likelihood by Laplace's approximation
//                  (stats/mixed/laplace.h) is a sum over holders: at a public point each adds up score and
//                  information of its groups in the clear, and the step is solved on shares
//                  (mpc/functions/scoring_step.h), every time from nothing, for tau's information may change much.
// Points           By number (StageOf): 0 from the holders' own fits without groups, 1 a step of the model without groups;
//                  tau is held at 1/2. Then scoring with the expected information, for which tau moves as a step of
//                  its square would (NextTau), but to a quarter at least and to four times at most; where it falls below 1/8
//                  and the square would be negative, tau is 0 from there on. The last two are Newton's.
// Convergence      scoring_path.h, by the observed information; no row's predictor is beyond the family's limits; and
//                  where tau is 0 the likelihood falls from there. Else more steps are needed, or there is no maximum.
// Error            Of what opens as in glm: within the grid of the point.
// Revealed         Releases `disclosure`, `independence`, `iterates`, `estimates`, `fit`, as above and nothing else.
//                  Messages are the same whether it converges or not, and whether tau is 0 or not.
// Cost             T + 2 inputs of q(q + 1)/2 + q + 2 numbers for each holder, q the columns and one, SolveStep as often,
//                  release_grid.h of q numbers for each point; at the end a comparison.
// Timing           constant in shares; not in shapes and bounds (public). Not run by tests/ctime. What a holder computes
//                  of its own rows is not constant.
#pragma once

#include <Eigen/Core>
#include <optional>
#include <vector>

#include "methods/mixed/path_fit.h"
#include "stats/mixed/laplace.h"

namespace partita::methods::mixed {

inline constexpr double kHeldTau = 0.5, kSmallTau = 0.125, kNoTau = 0x1p-6;
// tau of a point from that of the one before and the number that opened.
double NextTau(Stage stage, double from, double opened);

// Largest terms of a row, of which bounds of the sums are made.
struct LaplaceUnits {
  int weight_bits = 0;  // sums are divided by 2^(row_bits + weight_bits)
  double most_fit = 1;  // |log f|, with what a group adds
  stats::glm::Limits limits;
};
LaplaceUnits UnitsOf(const Task& task);

// One process's part. Called in this order; `point` counts from 0 to spec.steps.
class LaplaceFitter {
 public:
  // own: at a holder; not used elsewhere. Must outlive this.
  LaplaceFitter(mpc::Engine& engine, const Task& task, const OwnData& own, SharedTotals totals);

  // Columns that follow from those before them; at the dealer and on the plan engine none.
  std::vector<size_t> First();
  void OpenPoint(int point);
  PathFitted Finish();

 private:
  struct OwnSums;
  OwnSums OwnAt(Stage stage) const;
  void Share(const OwnSums& own);
  void Solve(std::optional<int> point);

  mpc::Engine& engine_;
  const Task& task_;
  const OwnData& own_;
  const SharedTotals totals_;
  const LaplaceUnits units_;
  Eigen::VectorXd at_;  // b, tau

  mpc::Shared information_, score_, outside_, log_likelihood_, slope_;  // of the last point
  mpc::Shared failures_;
  mpc::SolvedStep solved_;
  PathFitted fitted_;
};

}  // namespace partita::methods::mixed
