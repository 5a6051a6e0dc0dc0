// How well the model fits: deviance, null deviance and what the log-likelihood needs, as totals that
// open on an absolute grid.
//
// A holder adds up, with o the offset, D the deviance at the last point:
//
//   gaussian  D; sum and sum of squares of y - o
//   binomial  D
//   poisson   D, c = sum of y log y - y - log y!, sum of y log y - y o, sum of y, sum of e^o
//   gamma     D, c = sum of log y, sum of log y - o, sum of y e^-o
//   negative binomial  D, c of the saturated model at theta
//   ordinal, multinomial  D = -2 log-likelihood
//
// and without an intercept D and c, and the deviance at the offset alone.
//
// Null deviance, with an intercept (the maximum of the model with the intercept alone is known):
//   gaussian  sum of squares - sum^2 / n
//   binomial  without an offset from n and the number of ones, which open; with one it has no closed
//             form and is left out
//   poisson   2 (sum of (y log y - y o) - S log(S / E)), S = sum of y, E = sum of e^o
//   gamma     2 (n log(Q / n) - sum of (log y - o)), Q = sum of y e^-o
// Gaussian deviances open as n log(D / n), on the scale of log-likelihoods as the others are.
//
// All are weighted sums. With sampling weights there are no totals. Without a likelihood (quasi,
// modified poisson) there is no c; with precisions there is no null deviance, as that would need the
// sum of the weights. Negative binomial, ordinal and multinomial models have none: at this theta, or
// without a likelihood of the rows alone, it would need a fit of its own.
//
// Totals    deviance; null deviance, but for binomial with an intercept; c where there is one;
//           Pearson's sum of gamma and of quasi-likelihoods.
// Cost      Log (mpc/functions/logarithm.h) of up to three numbers, two products.
#pragma once

#include <Eigen/Core>
#include <optional>
#include <span>

#include "methods/glm/inputs.h"

namespace partita::methods::glm {

inline constexpr int kFitBits = 30, kSquareBits = 60, kTotalBits = 40;

struct OwnFit {
  Eigen::VectorXd numbers;
  double squares = 0;  // gaussian with an intercept
};
OwnFit OwnFitOf(const Spec& spec, const stats::glm::Rows& rows, double deviance,
                const Eigen::VectorXd& point, const stats::glm::Limits& limits);
// Of a gaussian model.
OwnFit OwnFitOf(const Spec& spec, const stats::glm::GaussianMoments& moments, double deviance);
size_t NumFitInputs(const Spec& spec);

// Whether Pearson's sum is one of the totals: of a gaussian model it is the deviance.
bool HasPearson(const stats::glm::Law& law);

// Whether the null deviance is one of the totals.
bool NullOpens(const Spec& spec);

// Numbers that open.
size_t NumTotals(const Spec& spec);
// NumTotals x 1 at kTotalBits. rows: n, 1 x 1. Of a spec with totals.
struct FitTotals {
  mpc::Shared totals;
  double bound = 0;
};
FitTotals TotalsOf(mpc::Engine& engine, const Task& task, const SharedSums& sums,
                   const mpc::Shared& rows);

struct ModelFit {
  double deviance = 0, dispersion = 1;
  std::optional<double> null_deviance, log_likelihood, aic;
};
// Of a spec with totals. From totals as they opened, in the outcome's units. events: of binomial.
ModelFit FitOf(const Task& task, uint64_t rows, uint64_t events, std::span<const double> totals);

}  // namespace partita::methods::glm
