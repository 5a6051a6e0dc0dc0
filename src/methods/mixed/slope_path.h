// The fit of a linear model with a random intercept and slope, a step at a time: points open, rounded; sums stay on shares.
//
// Ideal function   (every holder's rows) -> to everybody, whether counts suffice (counts.h), then, which columns follow from
//                  those before them; then the points 0 .. T, coefficients and psi (stats/mixed/random_slope.h), each number on
//                  a grid of its standard error: 2^-2 for the first four, then 2^-4, the last, which are the estimates, that of
//                  the release rule. To the receiver, or to all where the study says so, whether the fit converged, the numbers
//                  of rows and groups; and if it converged standard errors on their grids, or of coefficients the
//                  covariance matrix in steps of the products of two, and, on an absolute one, the (restricted)
//                  log-likelihood; else zeros.
// Method           Groups lie within a holder, so that the likelihood is a sum over holders of functions of each group's
//                  moments: no approximation is in it. At a public point each holder adds up score and information, of REML
//                  also A_k and A_kl, in the clear; what REML adds (reml.h), and the step, are computed on shares.
// Points           0: psi is the mean of what holders find alone, weighted by its information, and b of generalised least
//                  squares with it. Then Fisher scoring, the step taken as one of the variances and the covariance
//                  (AfterScoring); the last two are Newton's.
// Units            Coefficients are divided by the power of two next to sigma, 2^-3 at the first point, so that a row's
//                  information of them is about 1; sums are divided by 2^(row_bits + kWeightBits).
// Errors           Of coefficients from X'V^-1 X at the estimates, of psi from the observed information of all: those of lme4
//                  and nlme.
// Convergence      scoring_path.h; psi is within its limits at the last two points, and no standard error of it is above 2,
//                  which is seen from its grid, that is public. A deviation of 0 or a correlation of 1, lme4's singular fits, are
//                  beyond.
// Error            Of what opens as in glm: within the grid of the point.
// Revealed         Releases `disclosure`, `independence`, `iterates`, `estimates`, `fit`, as above and nothing else. Messages are
//                  the same whether it converges or not.
// Cost             T + 2 inputs of q(q + 1)/2 + q + 2 numbers for each holder, q = p + 4, of REML 7 p(p + 1) more; SolveStep as
//                  often, of REML reml.h; release_grid.h of q numbers for each point; at the end a SolveStep of p columns.
// Timing           constant in shares; not in shapes and bounds (public). Not run by tests/ctime. What a holder computes of its
//                  own rows is not constant.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "methods/mixed/path_fit.h"
#include "methods/mixed/reml.h"

namespace partita::methods::mixed {

inline constexpr int kSlopeWeightBits = 7;
inline constexpr double kMostPsiError = 2;

// One process's part. Called in this order; `point` counts from 0 to spec.steps.
class SlopeFitter {
 public:
  // own: at a holder; not used elsewhere. Must outlive this.
  SlopeFitter(mpc::Engine& engine, const Task& task, const OwnData& own, SharedTotals totals);

  // Columns that follow from those before them; at the dealer and on the plan engine none.
  std::vector<size_t> First();
  void OpenPoint(int point);
  PathFitted Finish();

 private:
  struct OwnAt;
  OwnAt OwnSumsAt(Stage stage) const;
  void Share(Stage stage);
  // next: the point that is to open, or none.
  void Solve(Stage stage, std::optional<int> next);
  Eigen::VectorXd InUnits(const Eigen::VectorXd& point) const;
  int UnitBits() const { return task_.row_bits() + kSlopeWeightBits; }

  mpc::Engine& engine_;
  const Task& task_;
  const OwnData& own_;
  const SharedTotals totals_;
  Eigen::VectorXd at_;  // b, psi
  int unit_ = 0;        // b is in 2^unit_
  int lost_ = 0;        // of points that are public: what leaves no fit

  mpc::Shared information_, score_, log_likelihood_, outside_;  // of the last point
  RemlSums reml_;
  RemlTerms terms_;
  mpc::Shared failures_;
  mpc::SolvedStep solved_;
  PathFitted fitted_;
};

}  // namespace partita::methods::mixed
