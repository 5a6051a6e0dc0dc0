// Independent priors of unconstrained parameters, written as in brms: "normal(0, 2.5)".
#pragma once

#include <Eigen/Core>
#include <string>
#include <string_view>
#include <vector>

#include "stats/blr/variates.h"

namespace partita::stats::mcmc {

enum class PriorKind {
  kFlat,         // "flat"; improper
  kNormal,       // "normal(mean, sd)"
  kStudentT,     // "student_t(df, mean, scale)"
  kCauchy,       // "cauchy(mean, scale)"
  kExponential,  // "exponential(rate)", of exp(parameter): for logarithms of scales
};

struct Prior {
  PriorKind kind = PriorKind::kFlat;
  double location = 0, scale = 1, df = 1;  // kExponential: scale is 1 / rate
};

// Throws kBadInput, with the forms that there are, for anything else or a scale that is not above
// 0.
Prior ParsePrior(std::string_view text);
std::string PriorText(const Prior& prior);

// Log density up to a constant, with the Jacobian of the logarithm where the prior is of its
// exponential.
double LogPrior(const Prior& prior, double value);
// Sum over the parameters; one value per column of thetas.
Eigen::VectorXd LogPrior(const std::vector<Prior>& priors, const Eigen::MatrixXd& thetas);
// Throws kUsage for a flat prior.
double Draw(const Prior& prior, blr::Variates& variates);

}  // namespace partita::stats::mcmc
