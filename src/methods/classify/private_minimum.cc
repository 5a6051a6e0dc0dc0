#include "methods/classify/private_minimum.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "methods/classify/noised_sum.h"
#include "privacy/sampling/discrete_gaussian.h"
#include "privacy/sampling/discrete_gaussian_mechanism.h"
#include "stats/erm/objective_noise.h"

namespace partita::methods::classify {
namespace {

double Stddev(const privacy::DistributedNoise& noise) {
  return std::ldexp(privacy::StddevUpperBound(noise.share_variance), -kMinimumBits);
}

bool IsShare(double share) { return share > 0 && share < 1; }

[[noreturn]] void RefuseShares() {
  throw Error(ErrorCode::kUsage, "the shares of the budget must be between 0 and 1");
}

// All of the budget to the linear noise.
PrivateMinimum Perturb(const MinimumBudget& budget, double lambda, std::vector<uint64_t> party_rows,
                       size_t dimension, double tolerance) {
  if (!IsShare(budget.gaussian_share)) RefuseShares();
  const auto parties = static_cast<uint32_t>(party_rows.size());
  PrivateMinimum design;
  design.task.party_rows = std::move(party_rows);
  design.task.dimension = dimension;
  design.task.tolerance = tolerance;
  const uint64_t rows = TotalRows(design.task);
  const privacy::Epsilon minimum_epsilon(budget.epsilon);
  // Without slack the determinants may need less than what is left to them.
  const double spare = minimum_epsilon.value() -
                       stats::erm::DeterminantEpsilon(lambda, rows, stats::erm::MaxCurvature({}));
  const double rest =
      std::max(budget.gaussian_share * minimum_epsilon.value(), spare * (1 - 1e-12));
  const stats::erm::Slack slack =
      stats::erm::SlackLeaving(rest, minimum_epsilon, lambda, rows, stats::erm::MaxCurvature({}));
  design.slack = slack.delta_slack;
  design.task.lambda = lambda + slack.delta_slack;

  // What rounding eta costs goes off delta first; half of it is far more than enough.
  const double minimum_delta = budget.delta * (1 - 1e-6);
  design.linear_stddev = stats::erm::ObjectiveNoise(stats::erm::NoiseRule::kLinearModel, dimension,
                                                    rest, privacy::Delta(minimum_delta));
  const double grid_stddev = std::ldexp(design.linear_stddev, kMinimumBits);
  const double gap = static_cast<double>(dimension) / (8 * grid_stddev * grid_stddev);
  if (gap > 1e-6 * budget.delta) {
    throw Error(ErrorCode::kUsage, "the linear noise is too small for its grid",
                "use a smaller epsilon or a larger delta");
  }
  const privacy::NoiseSharing sharing{parties, budget.known_shares};
  design.linear = privacy::ShareNoise(privacy::VarianceOfStddev(grid_stddev), sharing, dimension);
  design.bounds.linear = kLargestShare * Stddev(design.linear);
  design.task.largest = LargestCoefficient(
      design.task.lambda, rows,
      design.bounds.linear *
          std::sqrt(static_cast<double>(parties) * static_cast<double>(dimension)));
  design.task.iterations = IterationsFor(design.task.lambda, tolerance, design.task.largest);

  const double rounding =
      std::ldexp(std::sqrt(static_cast<double>(dimension)) * parties, -kMinimumBits - 1) /
      static_cast<double>(rows);
  design.gamma = tolerance + GradientError(design.task) + rounding;
  return design;
}

}  // namespace

PrivateMinimum DesignMinimum(const MinimumBudget& budget, double lambda,
                             std::vector<uint64_t> party_rows, size_t dimension, double tolerance) {
  if (!IsShare(budget.output_share)) RefuseShares();
  // What StateMinimum rounds up, so that the statement keeps to what was asked.
  constexpr double kRoundedUp = 1e-11;
  const double epsilon = budget.epsilon * (1 - kRoundedUp);
  const double output_epsilon = budget.output_share * epsilon;
  const double output_delta = budget.output_share * budget.delta;
  PrivateMinimum design = Perturb({epsilon - output_epsilon, budget.delta - output_delta,
                                   budget.output_share, budget.gaussian_share, budget.known_shares},
                                  lambda, std::move(party_rows), dimension, tolerance);
  const privacy::L2Sensitivity apart(2 * design.gamma / design.task.lambda * (1 + 1e-12));
  const privacy::GridVariance variance = privacy::CalibrateDiscreteGaussian(
      privacy::ToGrid(apart, kMinimumBits, dimension, 0), dimension,
      privacy::Epsilon(output_epsilon), privacy::Delta(output_delta));
  design.output = privacy::ShareNoise(variance, design.linear.sharing, dimension);
  design.bounds.output = kLargestShare * Stddev(*design.output);
  return design;
}

PrivateMinimum DesignObjective(const MinimumBudget& budget, double lambda,
                               std::vector<uint64_t> party_rows, size_t dimension,
                               double tolerance) {
  PrivateMinimum design = Perturb(budget, lambda, std::move(party_rows), dimension, tolerance);
  design.bounds.output = std::ldexp(1.0, -kMinimumBits);  // of zeros
  return design;
}

OwnMinimum OwnPart(const PrivateMinimum& design, stats::erm::LabelledRows rows,
                   crypto::RandomSource& random) {
  OwnMinimum own{std::move(rows), std::vector<Int128>(design.task.dimension),
                 std::vector<Int128>(design.task.dimension)};
  privacy::DiscreteGaussian(design.linear.share_variance).Sample(random, own.linear_noise);
  if (design.output) {
    privacy::DiscreteGaussian(design.output->share_variance).Sample(random, own.output_noise);
  }
  return own;
}

}  // namespace partita::methods::classify
