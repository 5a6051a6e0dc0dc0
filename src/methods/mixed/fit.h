// The fit of a linear model with a random intercept, on shares from the sums to the rounded result.
//
// Ideal function   (every holder's rows) -> to everybody, whether counts suffice (counts.h), then, which
//                  columns follow from those before them. Then to the receiver, or to all where the
//                  study says so, whether there is a fit, the numbers of rows and groups; and if there
//                  is one, whether lambda is 0 (a singular fit), and on grids of their standard errors
//                  the coefficients, log lambda unless it is 0, and the logarithm of R (profile.h), with
//                  their standard errors, or of the coefficients the covariance matrix in steps of the
//                  products of two grids (mpc/functions/covariance_grid.h); on an absolute grid the criterion but for constants that follow
//                  from the rows, and -R'/R; else zeros.
// Method           Signs of the profile's slope at every point of the ladder; the place where it first
//                  meets zero stays secret, as a column of zeros and a one. There lambda by one step of the
//                  secant and two of Newton's method with the secant's slope, sums by interpolation
//                  (node_sums.h). Where the slope is not negative at the first point lambda is 0.
// Error            Of log lambda 1e-5, where the slope's second derivative is not above ten times the
//                  first; of coefficients 1e-4 standard errors, of R 1e-6, of the criterion 1e-4 for up
//                  to 1e4 groups and rows of at most 2^-56 / R 1e4. Whether lambda is 0 is right but
//                  where R is near Task::LeastResidual and the slope within a hundredth of zero there.
// Standard errors  Of log lambda from the secant's slope, the observed information of the profile, at
//                  most 2^5; of log R sqrt(2 / nu); of coefficients from X at lambda. Those of tau^2 and
//                  sigma^2 follow (result.h).
// No fit           Where the slope is negative at the last point (groups explain everything), R is below
//                  Task::LeastResidual, a standard error below the least that has a grid (2^-17,
//                  release_grid.h), K X is not I, or a number is beyond its bounds.
// Revealed         Releases `disclosure`, `independence` and `fit`, as above and nothing else. Messages
//                  are the same whether there is a fit or not.
// Cost             node_sums.h; profile.h once at all points and twice at one; Log of 2 p + 1 numbers
//                  (ML 1), scoring_path.h OnErrorGrid of p + 2 numbers; with a covariance two products of
//                  p^2 numbers beside these.
// Source           stats/mixed/random_intercept.h.
// Timing           constant in shares; not in shapes and bounds (public). Not run by tests/ctime.
#pragma once

#include <Eigen/Core>
#include <optional>
#include <vector>

#include "methods/mixed/profile.h"

namespace partita::methods::mixed {

// Of coefficients of scaled columns: those of release_grid.h.
inline constexpr double kLeastStandardError = 0x1p-17;

uint64_t NumFit(const Task& task);  // numbers that open

struct OpenedFit {
  bool converged = false, singular = false;
  uint64_t rows = 0, groups = 0;
  // Of scaled columns, and steps of their grids.
  Eigen::VectorXd estimates, standard_errors, steps;
  Eigen::MatrixXd covariance;  // on the products of `steps`, of a spec with one; else empty
  double log_lambda = 0, log_lambda_error = 0, log_lambda_step = 0;  // of no singular fit
  double log_residual = 0, log_residual_step = 0;                    // log R
  double criterion = 0;  // nu log R + log |V|, of REML and log |A / n|
  double falls = 0;      // -R'/R by the logarithm of lambda
};

// One process's part. Called in this order.
class Fitter {
 public:
  // own: at a holder; not used elsewhere.
  Fitter(mpc::Engine& engine, const Task& task, const OwnData& own, const SharedTotals& totals);

  // Opens which columns follow from those before them; at the dealer and on the plan engine none.
  std::vector<size_t> OpenCollinear();
  std::optional<OpenedFit> Fit();  // where it is learned

 private:
  struct Place;
  struct Solved;
  Place FindPlace();
  mpc::Shared SolveAt(const mpc::Shared& inverse, const mpc::Shared& means, bool last,
                      Solved& solved);

  mpc::Engine& engine_;
  const Task& task_;
  const mpc::Shared groups_;
  RowNumbers numbers_;
  mpc::Shared means_;  // node_sums.h
  ScaledSums sums_;
};

}  // namespace partita::methods::mixed
