#include "methods/mcmc/predictive_checks.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.h"
#include "stats/mcmc/outcomes.h"

namespace partita::methods::mcmc {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Outcomes of all rows, real or drawn.
struct Outcomes {
  VectorXd value, event;  // event: of survival models
};

struct Statistic {
  std::string name;
  std::function<double(const Outcomes&)> of;
};

double Variance(const VectorXd& values) {
  if (values.size() < 2) return 0;
  return (values.array() - values.mean()).square().sum() / (static_cast<double>(values.size()) - 1);
}

// Kaplan and Meier's estimate at a time.
double SurvivalAt(const Outcomes& rows, double time) {
  std::vector<Index> order(static_cast<size_t>(rows.value.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::sort(order.begin(), order.end(), [&](Index a, Index b) {
    // Events come before censoring at the same time.
    return std::pair(rows.value(a), -rows.event(a)) < std::pair(rows.value(b), -rows.event(b));
  });
  double survival = 1;
  for (size_t i = 0; i < order.size() && rows.value(order[i]) <= time; ++i) {
    if (rows.event(order[i]) > 0) survival *= 1 - 1 / static_cast<double>(order.size() - i);
  }
  return survival;
}

// When rows with an event would have been censored.
class Censoring {
 public:
  explicit Censoring(const Outcomes& rows) : rows_(rows), longest_(rows.value.maxCoeff()) {
    std::vector<Index> order(static_cast<size_t>(rows.value.size()));
    std::iota(order.begin(), order.end(), Index{0});
    // Events come before censoring at the same time.
    std::sort(order.begin(), order.end(), [&](Index a, Index b) {
      return std::pair(rows.value(a), -rows.event(a)) < std::pair(rows.value(b), -rows.event(b));
    });
    double left = 1;
    for (size_t i = 0; i < order.size(); ++i) {
      if (rows.event(order[i]) > 0) continue;
      const double mass = left / static_cast<double>(order.size() - i);
      jumps_.emplace_back(rows.value(order[i]), mass);
      left -= mass;
    }
    jumps_.emplace_back(longest_, left);
  }

  // One time for every row.
  VectorXd Draw(stats::blr::Variates& variates) const {
    VectorXd times = rows_.value;
    for (Index i = 0; i < times.size(); ++i) {
      if (rows_.event(i) > 0) times(i) = DrawAfter(times(i), variates);
    }
    return times;
  }

 private:
  double DrawAfter(double time, stats::blr::Variates& variates) const {
    const auto first = std::find_if(jumps_.begin(), jumps_.end(),
                                    [&](const auto& jump) { return jump.first >= time; });
    double mass = 0;
    for (auto jump = first; jump != jumps_.end(); ++jump) mass += jump->second;
    double at = variates.Uniform() * mass;
    for (auto jump = first; jump != jumps_.end(); ++jump) {
      at -= jump->second;
      if (at < 0) return jump->first;
    }
    return longest_;
  }

  const Outcomes& rows_;
  double longest_;
  std::vector<std::pair<double, double>> jumps_;  // times, ascending, and their mass
};

Statistic Of(std::string name, double (*of)(const VectorXd&)) {
  return {std::move(name), [of](const Outcomes& rows) { return of(rows.value); }};
}

double Mean(const VectorXd& values) { return values.mean(); }
double Smallest(const VectorXd& values) { return values.minCoeff(); }
double Largest(const VectorXd& values) { return values.maxCoeff(); }
double Deviation(const VectorXd& values) { return std::sqrt(Variance(values)); }
double Dispersion(const VectorXd& values) {
  return values.mean() > 0 ? Variance(values) / values.mean() : 0;
}
double Zeros(const VectorXd& values) { return (values.array() == 0).cast<double>().mean(); }

// predictor: of every row, at the mean of the posterior.
std::vector<Statistic> StatisticsOf(ChainModel model, const Outcomes& real,
                                    const VectorXd& predictor) {
  switch (model) {
    case ChainModel::kLinear:
      return {Of("mean", Mean), Of("standard deviation", Deviation), Of("minimum", Smallest),
              Of("maximum", Largest)};
    case ChainModel::kPoisson:
    case ChainModel::kNegativeBinomial:
      return {Of("mean", Mean), Of("variance over mean", Dispersion), Of("share of zeros", Zeros),
              Of("maximum", Largest)};
    case ChainModel::kLogistic: {
      std::vector<Index> order(static_cast<size_t>(predictor.size()));
      std::iota(order.begin(), order.end(), Index{0});
      std::sort(order.begin(), order.end(),
                [&](Index a, Index b) { return predictor(a) < predictor(b); });
      const std::vector<Index> lower(order.begin(), order.begin() + (predictor.size() + 1) / 2);
      return {Of("share of ones", Mean),
              {"share of ones in the half of the rows with the smaller predicted chance",
               [lower](const Outcomes& rows) { return rows.value(lower).mean(); }}};
    }
    case ChainModel::kWeibull: {
      VectorXd times = real.value;
      std::sort(times.begin(), times.end());
      const double middle = times((times.size() - 1) / 2);
      return {{"number of events", [](const Outcomes& rows) { return rows.event.sum(); }},
              {"survival at the middle of the observed times",
               [middle](const Outcomes& rows) { return SurvivalAt(rows, middle); }}};
    }
    case ChainModel::kCox:
      return {};
  }
  throw Error(ErrorCode::kInternal, "unknown model of a chain");
}

Outcomes Draw(ChainModel model, const MatrixXd& x, const VectorXd& theta, const VectorXd& censored,
              stats::blr::Variates& variates) {
  switch (model) {
    case ChainModel::kLinear:
      return {stats::mcmc::DrawLinear(x, theta, variates), {}};
    case ChainModel::kLogistic:
      return {stats::mcmc::DrawLogistic(x, theta, variates), {}};
    case ChainModel::kPoisson:
      return {stats::mcmc::DrawPoisson(x, theta, variates), {}};
    case ChainModel::kNegativeBinomial:
      return {stats::mcmc::DrawNegativeBinomial(x, theta, variates), {}};
    case ChainModel::kWeibull: {
      const stats::mcmc::SurvivalRows drawn =
          stats::mcmc::DrawWeibull(x, theta, censored, variates);
      return {drawn.time, drawn.event};
    }
    case ChainModel::kCox:
      break;
  }
  throw Error(ErrorCode::kInternal, "the model draws no outcomes");
}

// Some of all draws, one per column.
MatrixXd SomeDraws(const stats::mcmc::Draws& draws) {
  std::vector<VectorXd> all;
  for (const MatrixXd& chain : draws.chains) {
    for (Index i = 0; i < chain.rows(); ++i) all.emplace_back(chain.row(i));
  }
  const size_t count = std::min(all.size(), kReplicates);
  MatrixXd some(draws.chains.front().cols(), static_cast<Index>(count));
  for (size_t i = 0; i < count; ++i) some.col(static_cast<Index>(i)) = all[i * all.size() / count];
  return some;
}

PredictiveCheck Summarise(std::string name, double observed, std::vector<double> replicates) {
  std::sort(replicates.begin(), replicates.end());
  const auto n = static_cast<double>(replicates.size());
  PredictiveCheck check{std::move(name), observed};
  double above = 0;
  for (const double value : replicates) {
    check.mean += value / n;
    above += value > observed ? 1 : value == observed ? 0.5 : 0;
  }
  const auto at = [&](double share) {
    return replicates[static_cast<size_t>(std::round(share * (n - 1)))];
  };
  check.lower = at(0.025);
  check.upper = at(0.975);
  check.p_value = above / n;
  return check;
}

}  // namespace

std::vector<PredictiveCheck> CheckPredictions(const ChainSpec& spec, const ChainRows& rows,
                                              const stats::mcmc::Draws& draws,
                                              crypto::RandomSource& random) {
  if (rows.outcome.size() == 0 || draws.chains.empty()) return {};
  const MatrixXd x = DesignOf(spec, rows);
  const MatrixXd thetas = SomeDraws(draws);
  const VectorXd predictor = x * thetas.topRows(x.cols()).rowwise().mean();
  const Outcomes real{rows.outcome, rows.event};
  const std::vector<Statistic> statistics = StatisticsOf(spec.model, real, predictor);
  if (statistics.empty()) return {};
  std::optional<Censoring> censoring;
  if (IsSurvival(spec.model)) censoring.emplace(real);
  stats::blr::Variates variates(random);
  std::vector<std::vector<double>> replicates(statistics.size());
  for (Index i = 0; i < thetas.cols(); ++i) {
    const VectorXd censored = censoring ? censoring->Draw(variates) : VectorXd();
    const Outcomes drawn = Draw(spec.model, x, thetas.col(i), censored, variates);
    for (size_t s = 0; s < statistics.size(); ++s) replicates[s].push_back(statistics[s].of(drawn));
  }
  std::vector<PredictiveCheck> checks;
  for (size_t s = 0; s < statistics.size(); ++s) {
    checks.push_back(
        Summarise(statistics[s].name, statistics[s].of(real), std::move(replicates[s])));
  }
  return checks;
}

}  // namespace partita::methods::mcmc
