#include "stats/mixture/variational.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "stats/mixture/components.h"

namespace partita::stats::mixture {
namespace {

using Eigen::ArrayXXd;
using Eigen::Index;

void Require(bool holds, const char* option, const char* range) {
  if (holds) return;
  throw Error(ErrorCode::kBadInput,
              fmt::format("{} of the variational inference is not {}", option, range));
}

// The step of Adam for `gradient`, moments updated.
ArrayXXd AdamStep(const VariationalOptions& options, uint64_t step, const ArrayXXd& gradient,
                  Moments& moments) {
  const auto t = static_cast<double>(step);
  moments.first = options.beta1 * moments.first + (1 - options.beta1) * gradient;
  moments.second = options.beta2 * moments.second + (1 - options.beta2) * gradient.square();
  const double correction1 = 1 - std::pow(options.beta1, t);
  const double correction2 = 1 - std::pow(options.beta2, t);
  return (options.learning_rate / correction1) * moments.first /
         ((moments.second / correction2).sqrt() + options.epsilon);
}

}  // namespace

void CheckOptions(const VariationalOptions& options) {
  Require(options.steps >= 1, "the number of steps", "positive");
  Require(options.learning_rate > 0 && options.learning_rate < 10, "the learning rate",
          "between 0 and 10");
  Require(options.beta1 >= 0 && options.beta1 < 1, "beta1", "in [0, 1)");
  Require(options.beta2 >= 0 && options.beta2 < 1, "beta2", "in [0, 1)");
  Require(options.epsilon > 0, "epsilon of Adam", "positive");
  Require(options.initial_stddev >= 0 && options.initial_stddev <= 10, "the initial deviation",
          "in [0, 10]");
  Require(std::abs(options.initial_log_scale) <= 10, "the initial log-scale", "in [-10, 10]");
  Require(options.max_log_scale >= options.initial_log_scale && options.max_log_scale <= 10,
          "the cap of the log-scale", "between the initial one and 10");
  Require(options.frozen_share >= 0 && options.frozen_share <= 1, "the frozen share", "in [0, 1]");
}

VariationalState StartState(const Layout& layout, size_t components,
                            const VariationalOptions& options, blr::Variates& variates) {
  CheckOptions(options);
  Require(components >= 1, "the number of components", "positive");
  const auto lines = static_cast<Index>(components);
  const auto columns = static_cast<Index>(1 + layout.num_columns);
  const ArrayXXd zero = ArrayXXd::Zero(lines, columns);
  VariationalState state{0,
                         zero,
                         ArrayXXd::Constant(lines, columns, options.initial_log_scale),
                         {zero, zero},
                         {zero, zero}};
  for (Index j = 1; j < columns; ++j) {
    for (Index k = 0; k < lines; ++k) state.mean(k, j) = options.initial_stddev * variates.Normal();
  }
  return state;
}

ArrayXXd DrawEta(const VariationalState& state, blr::Variates& variates) {
  ArrayXXd eta(state.mean.rows(), state.mean.cols());
  for (Index i = 0; i < eta.size(); ++i) eta.data()[i] = variates.Normal();
  return eta;
}

ArrayXXd ThetaAt(const VariationalState& state, const ArrayXXd& eta) {
  return state.mean + state.log_scale.exp() * eta;
}

void Advance(const Layout& layout, const VariationalOptions& options, double num_rows,
             double sampling_rate, const ArrayXXd& eta, const ArrayXXd& theta,
             const ArrayXXd& noisy_sum, VariationalState& state) {
  if (noisy_sum.rows() != theta.rows() || noisy_sum.cols() != theta.cols()) {
    throw Error(ErrorCode::kUsage, "the sum of gradients does not have one entry per parameter");
  }
  const ArrayXXd of_theta = noisy_sum / sampling_rate + LogPriorGradient(layout, theta);
  const ArrayXXd of_log_scale = of_theta * state.log_scale.exp() * eta + 1;
  ++state.step;
  const ArrayXXd mean_step = AdamStep(options, state.step, of_theta / num_rows, state.of_mean);
  const ArrayXXd scale_step =
      AdamStep(options, state.step, of_log_scale / num_rows, state.of_log_scale);
  const bool frozen =
      static_cast<double>(state.step) <= options.frozen_share * static_cast<double>(options.steps);
  const Index moving = theta.cols() - (frozen ? 1 : 0);
  state.mean.rightCols(moving) += mean_step.rightCols(moving);
  auto log_scale = state.log_scale.rightCols(moving);
  log_scale = (log_scale + scale_step.rightCols(moving)).min(options.max_log_scale);
}

double PriorPartOfElbo(const Layout& layout, const VariationalState& state, const ArrayXXd& theta) {
  return LogPrior(layout, theta) + state.log_scale.sum();
}

}  // namespace partita::stats::mixture
