// What a fit says, in the units of the study's variables, from what opened.
//
// Variances  With nu = n - p, of ML n: sigma^2 = n R / nu, tau^2 = lambda sigma^2, both times the
//            squared unit of the outcome. Let r = -R'/R and v the variance of log lambda, the inverse
//            of the profile's observed information. Of the two logarithms together that gives
//
//              var log sigma^2 = 2 / nu + r^2 v    var log tau^2 = 2 / nu + (1 - r)^2 v
//
//            as R's nlme has them from the Hessian; the correlation within groups is lambda / (1 +
//            lambda), whose logit is log lambda.
// Slopes     psi (stats/mixed/random_slope.h) with its standard errors; deviations in the units of the outcome, and of slopes
//            in those over the column's; the intervals of logarithms and of atanh rho as nlme's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "methods/mixed/fit.h"
#include "methods/mixed/path_fit.h"
#include "stats/glm/inference.h"

namespace partita::methods::mixed {

struct Coefficient {
  std::string term;
  double estimate = 0, standard_error = 0;
  double step = 0;  // of the grid that the estimate is on
  stats::glm::Inference inference;
};

// A positive number with an interval on a logarithmic or logit scale; none where it is 0.
struct Part {
  double value = 0;
  std::optional<double> lower, upper;
};

struct Regression {
  bool converged = false, singular = false;
  // Points on the way, where they open: by term, then the deviation between groups; of a model with a slope
  // those of intercepts, of slopes and within groups, and their correlation.
  std::vector<std::vector<double>> path;
  uint64_t rows = 0, groups = 0;
  std::vector<Coefficient> coefficients;  // none where it did not converge
  // Of the coefficients, in multiples of covariance_steps[i] * covariance_steps[j]; empty where it did not open.
  Eigen::MatrixXd covariance;
  Eigen::VectorXd covariance_steps;
  Part between, within, correlation;  // tau^2, sigma^2; of other models tau^2 alone
  Part slope, slope_correlation;      // the variance of slopes; its correlation with intercepts
  double log_likelihood = 0, aic = 0, bic = 0;  // as lme4 counts parameters and rows
  std::vector<std::string> warnings;            // whole sentences
};

Regression RegressionOf(const Task& task, const OpenedFit& fit);
// fitted: with a model.
Regression RegressionOf(const Task& task, const PathFitted& fitted);

}  // namespace partita::methods::mixed
