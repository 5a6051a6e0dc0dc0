#include "stats/glm/inference.h"

#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/fisher_f.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace partita::stats::glm {
namespace {

template <typename Law>
Inference Under(const Law& law, double estimate, double standard_error, double confidence) {
  Inference inference;
  // Where sites agree wholly an error can be 0.
  inference.statistic = estimate == 0 ? 0 : estimate / standard_error;
  inference.p_value =
      2 * boost::math::cdf(boost::math::complement(law, std::abs(inference.statistic)));
  const double width =
      boost::math::quantile(boost::math::complement(law, (1 - confidence) / 2)) * standard_error;
  inference.lower = estimate - width;
  inference.upper = estimate + width;
  return inference;
}

}  // namespace

Inference Infer(double estimate, double standard_error, std::optional<double> df,
                double confidence) {
  if (df) return Under(boost::math::students_t(*df), estimate, standard_error, confidence);
  return Under(boost::math::normal(), estimate, standard_error, confidence);
}

double WaldPValue(double statistic, double k, std::optional<double> df) {
  using boost::math::cdf;
  using boost::math::complement;
  if (df) return cdf(complement(boost::math::fisher_f(k, *df), statistic / k));
  return cdf(complement(boost::math::chi_squared(k), statistic));
}

}  // namespace partita::stats::glm
