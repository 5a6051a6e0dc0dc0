#include "stats/glm/likelihood.h"

#include <cmath>
#include <numbers>

namespace partita::stats::glm {

bool HasConstant(const Law& law) {
  const bool counts = law.family == Family::kPoisson || law.family == Family::kNegativeBinomial;
  return HasLikelihood(law) && (counts || law.family == Family::kGamma);
}

double OwnConstant(const Law& law, const Rows& rows) {
  double sum = 0;
  for (Eigen::Index i = 0; i < rows.y.size(); ++i) {
    const double y = rows.y[i];
    double own = 0;
    if (law.family == Family::kPoisson)
      own = (y > 0 ? y * std::log(y) : 0) - y - std::lgamma(y + 1);
    if (law.family == Family::kNegativeBinomial) {
      const double all = y + law.theta;
      own = std::lgamma(all) - std::lgamma(law.theta) - std::lgamma(y + 1) +
            law.theta * std::log(law.theta / all) + (y > 0 ? y * std::log(y / all) : 0);
    }
    if (law.family == Family::kGamma) own = std::log(y);
    sum += rows.weight(i) * own;
  }
  return sum;
}

double LogLikelihood(const Law& law, const LikelihoodNumbers& numbers) {
  const double n = numbers.rows, half = numbers.deviance / 2;
  switch (law.family) {
    case Family::kGaussian:
      return -n / 2 * (std::log(2 * std::numbers::pi * numbers.deviance / n) + 1);
    case Family::kBinomial:
    case Family::kOrdinal:
    case Family::kMultinomial:
      return -half;
    case Family::kPoisson:
    case Family::kNegativeBinomial:
      return numbers.constant - half;
    case Family::kGamma:
      break;
  }
  // Shape a: the sum of -log y + a (log(y / mu) - y / mu) + a log a - log Gamma(a).
  const double shape = n / numbers.deviance;
  return -numbers.constant - shape * (half + n) +
         n * (shape * std::log(shape) - std::lgamma(shape));
}

}  // namespace partita::stats::glm
