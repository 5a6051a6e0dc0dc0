// What fits whose points open have in common: their stages and grids, sums of holders at a public point on shares, what
// opened.
#pragma once

#include <Eigen/Core>
#include <optional>
#include <vector>

#include "methods/mixed/counts.h"
#include "mpc/functions/scoring_path.h"

namespace partita::methods::mixed {

inline constexpr char kIteratesRelease[] = "iterates", kEstimatesRelease[] = "estimates";
inline constexpr int kCoarsePoints = 4, kCoarseGridBits = 2, kPathGridBits = 4;

// Of models with slopes without kHeld.
enum class Stage { kOwnFits, kHeld, kScoring, kNewton };
Stage StageOf(const Task& task, int point);  // 0 .. spec.steps
int GridBitsOf(const Task& task, int point);
// Of points after the first kCoarsePoints but the last: a last grid that is finer than the rule's wants a path to it.
int LaterGridBits(const Task& task);

// Numbers of a point, and of kFitRelease.
uint64_t NumOfPoint(const Task& task);
uint64_t NumOfPathFit(const Task& task);

struct PathModel {
  bool converged = false;
  uint64_t rows = 0, groups = 0;
  Eigen::VectorXd standard_errors;  // as of points; of an intercept's deviation of 0 of nothing
  // Of coefficients, on the products of covariance_steps, of a spec with one; else empty.
  Eigen::MatrixXd covariance;
  Eigen::VectorXd covariance_steps;
  double log_likelihood = 0;  // of REML the restricted one; of scaled columns and outcome
};
struct PathFitted {
  // Of scaled columns, and of a linear model a scaled outcome; then the deviation of intercepts, or psi
  // (stats/mixed/random_slope.h).
  std::vector<Eigen::VectorXd> points;
  Eigen::VectorXd estimate_steps;  // of the grids of the last
  std::optional<PathModel> model;  // where it is learned
};

// A sum that each holder makes of its own rows.
struct OwnSum {
  mpc::Shape shape;
  int fraction_bits = 0;
  double most = 1;         // of a row
  Eigen::VectorXd values;  // at a holder, row by row
  mpc::Shared* sum = nullptr;
};
// Over all holders, in one input. Numbers beyond what a holder's rows can make are cut, and counted with
// its `outside`. Returns how many there are, over all holders.
mpc::Shared ShareSums(mpc::Engine& engine, const Task& task, std::vector<OwnSum> sums,
                      uint64_t outside);

// The upper triangle, row by row.
Eigen::VectorXd Packed(const Eigen::MatrixXd& matrix);
Eigen::VectorXd VectorOf(const std::vector<double>& values);
std::vector<double> NumbersOf(const Eigen::VectorXd& vector);
// Whether this process has rows.
bool HoldsRows(const mpc::Engine& engine, const Task& task);
// By column, whether it follows from those before it; empty at the dealer and on the plan engine.
std::vector<size_t> OpenCollinear(mpc::Engine& engine, const Task& task,
                                  const mpc::SolvedStep& solved);
// What opens at the end, of the standard errors' variances and the likelihood. fitted: with its points.
void OpenFit(mpc::Engine& engine, const Task& task, const SharedTotals& totals,
             const mpc::ErrorsOnGrid& told, PathFitted& fitted);

}  // namespace partita::methods::mixed
