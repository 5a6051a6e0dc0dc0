// Fisher scoring of rows at several holders, a step at a time.
//
// Ideal function   (every holder's rows) -> to everybody, whether counts and rows suffice; then,
//                  whether columns are collinear; then the points b_0 .. b_T, each number on a grid
//                  of its standard error: 2^-2, then 2^-4, the last, which are the estimates, that
//                  of the release rule. To the receiver, or to all where the study says so, whether
//                  the fit converged, the numbers of rows and, of an outcome of 0 or 1, of ones,
//                  of clusters where errors are of these; and if it converged standard errors on their own grid and the totals of
//                  fit_numbers.h and tests of terms (wald.h) on an absolute one, else zeros. Where the study
//                  asks for the covariance matrix of the estimates, it opens in the place of standard errors,
//                  in steps of the products of two grids (mpc/functions/covariance_grid.h).
// Checks           counts.h. Collinear: a variance inflation above 10^6 by the columns before it.
// Method           b_0 is the mean of the holders' own maxima weighted by their information
//                  (stats/glm/sums.h). At every point, which is public, each holder computes score
//                  and information of its rows in the clear and shares them; the step is solved on
//                  shares (mpc/functions/scoring_step.h), so that no sum opens. The points before the last are coarser
//                  than the estimates, which costs nothing: scoring forgets its start
//                  quadratically.
// Convergence      At the last point, once more on shares: the step from there is at most one step
//                  of the estimate's grid, in every coordinate; no row is beyond the limits of
//                  linear predictors; nothing failed in any step (scoring_step.h); a gaussian model
//                  leaves residuals (solve.h). Else the fit did not
//                  converge: more steps are needed, or there is no maximum (separation).
// Revealed         Releases `disclosure`, `independence`, `iterates`, `estimates`, `fit`, as above
//                  and nothing else. Messages are the same whether it converges or not.
// Cost             T + 2 inputs and SolveStep, release_grid.h as often, the roots of p numbers; beside
//                  them, where there is a dispersion, as many Divide (division.h), and at the last
//                  point fit_numbers.h; wald.h where there are terms of several columns.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "methods/glm/counts.h"
#include "methods/glm/fit_numbers.h"
#include "methods/glm/task.h"
#include "mpc/functions/scoring_path.h"

namespace partita::methods::glm {

inline constexpr char kIndependenceRelease[] = "independence", kIteratesRelease[] = "iterates",
                      kEstimatesRelease[] = "estimates", kFitRelease[] = "fit";

uint64_t NumIterate(const Task& task);  // numbers of each opening of a point
uint64_t NumErrors(const Task& task);   // standard errors, or covariances
uint64_t NumFit(const Task& task);

// In the place of a Wald statistic that there is not.
inline constexpr double kNoStatistic = -1;

// Where the answer was not learned, at the dealer and on the plan engine, all are independent.
struct Collinear {
  std::vector<size_t> columns;
};

// Of one penalty of a lasso.
struct LassoCandidate {
  double penalty = 0;  // of the study file
  bool converged = false;
  uint64_t selected = 0;  // coefficients that are not 0
  double bic = 0;         // LassoBic of stats/glm/lasso.h
  Eigen::VectorXd point;
};

struct FittedModel {
  bool converged = false;
  uint64_t rows = 0, events = 0, clusters = 0;
  // Of scaled columns, before small samples are allowed for (result.h); steps of their grids.
  Eigen::VectorXd standard_errors, steps;
  // Of level aggregates, but of a lasso; and where the study asks for it, rounded to multiples of
  // covariance_steps[i] * covariance_steps[j]. Else empty.
  Eigen::MatrixXd covariance;
  Eigen::VectorXd covariance_steps;
  std::vector<double> totals;
  // Wald statistics of spec.terms, before small samples are allowed for; negative: there is none.
  std::vector<double> statistics;
  std::vector<double> risk;  // NumRiskNumbers (risk.h)
  std::vector<LassoCandidate> lasso;
  size_t chosen = 0;  // of these, by the least BIC of those that converged
};

struct Fitted {
  std::vector<Eigen::VectorXd> points;  // as they opened, of scaled columns; the estimates last
  Eigen::VectorXd estimate_steps;       // of the grid of the last
  std::optional<FittedModel> model;     // where it is learned
};

// One process's part. Called in this order; `point` counts from 0 to spec.steps.
class Fitter {
 public:
  // own: at a holder; not used elsewhere. Must outlive this. min_cell: of risk groups.
  Fitter(mpc::Engine& engine, const Task& task, const OwnData& own, SharedTotals totals,
         uint64_t min_cell = 1);

  // Opens which columns are collinear, given those before them.
  Collinear First();
  void OpenPoint(int point);
  Fitted Finish();

 private:
  // point: that is to open next, or none.
  void Solve(mpc::Engine& engine, const SharedSums& sums, std::optional<int> point);

  mpc::Engine& engine_;
  const Task& task_;
  const OwnData& own_;
  const SharedTotals totals_;
  const uint64_t min_cell_;
  mpc::SolvedStep solved_;
  mpc::Shared failures_;
  Eigen::VectorXd at_;
  Fitted fitted_;
};

}  // namespace partita::methods::glm
