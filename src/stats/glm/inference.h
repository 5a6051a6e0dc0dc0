// Tests and intervals of coefficients, from estimates and standard errors alone.
#pragma once

#include <optional>

namespace partita::stats::glm {

struct Inference {
  double statistic = 0, p_value = 0;  // of no effect, two-sided
  double lower = 0, upper = 0;
};
// df: of Student's law; without, the normal law. 0 < confidence < 1.
Inference Infer(double estimate, double standard_error, std::optional<double> df,
                double confidence);

// Of a Wald statistic of k numbers that are all 0: of chi-square with k degrees of freedom, or with df
// that of statistic / k under F with k and df.
double WaldPValue(double statistic, double k, std::optional<double> df);

}  // namespace partita::stats::glm
