#include "stats/erm/approximate_minima.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace partita::stats::erm {

AmpDesign DesignAmp(const AmpBudget& budget, const Loss& loss, double lambda, size_t rows,
                    double gamma) {
  const auto is_share = [](double share) { return share > 0 && share < 1; };
  if (!is_share(budget.output_share) || !is_share(budget.gaussian_share) || rows == 0 ||
      !(gamma > 0)) {
    throw Error(ErrorCode::kUsage,
                "the shares of the budget must be between 0 and 1, and gamma above 0");
  }
  const double n = static_cast<double>(rows);
  const double epsilon_2 = budget.output_share * budget.epsilon.value();
  const double epsilon_1 = budget.epsilon.value() - epsilon_2;
  const double epsilon_3 = budget.gaussian_share * epsilon_1;
  const double delta_2 = budget.output_share * budget.delta.value();
  const double delta_1 = budget.delta.value() - delta_2;
  const auto factor = [](double delta) { return 1 + std::sqrt(2 * std::log(1 / delta)); };
  AmpDesign design;
  design.lambda = std::max(lambda, 2 * MaxCurvature(loss) / ((epsilon_1 - epsilon_3) * n));
  design.linear_stddev = 2 * kMaxSlope / n * factor(delta_1) / epsilon_3;
  design.output_stddev = gamma / design.lambda * factor(delta_2) / epsilon_2;
  design.gamma = gamma;
  return design;
}

}  // namespace partita::stats::erm
