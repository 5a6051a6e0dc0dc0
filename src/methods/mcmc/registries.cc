#include "methods/mcmc/registries.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "base/error.h"
#include "stats/mcmc/chains.h"
#include "stats/mcmc/diagnostics.h"
#include "stats/mcmc/maximum.h"
#include "stats/mcmc/outcomes.h"
#include "stats/meta/pool.h"

namespace partita::methods::mcmc {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using stats::blr::Variates;

// Of the average size; the last is the largest.
constexpr std::array<double, 7> kSizes = {0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6};
constexpr double kShape = 1.2;  // of the hazard
constexpr double kReach = 6;    // of maxima: log hazard ratios beyond it count as none
constexpr double kNormal = 1.959963984540054;
const std::array<const char*, 5> kAnalyses = {"one stage", "pooled", "two stages, fixed",
                                              "two stages, random", "largest registry"};

struct Interval {
  double estimate = 0, lower = 0, upper = 0;
  double registries = 0;
};

Interval Wald(double estimate, double standard_error, double registries) {
  return {estimate, estimate - kNormal * standard_error, estimate + kNormal * standard_error,
          registries};
}

// Treatment and age; twice as many patients as events.
stats::mcmc::SurvivalRows DrawRegistry(const RegistrySettings& settings, size_t events,
                                       Variates& variates) {
  MatrixXd x(static_cast<Index>(2 * events), 3);  // a column of ones for the baseline
  x.col(0).setOnes();
  for (Index i = 0; i < x.rows(); ++i) {
    x(i, 1) = static_cast<double>(variates.Below(2));
    x(i, 2) = variates.Normal();
  }
  const double sigma = 1 / kShape;
  VectorXd theta(4);
  theta << settings.baseline_sd * variates.Normal(), -sigma * settings.log_hazard_ratio,
      -sigma * settings.age_effect, std::log(sigma);
  const stats::mcmc::SurvivalRows all = stats::mcmc::DrawWeibull(
      x, theta, VectorXd::Constant(x.rows(), std::numeric_limits<double>::infinity()), variates);
  std::vector<double> times(all.time.begin(), all.time.end());
  std::sort(times.begin(), times.end());
  const double end = times[events - 1];
  stats::mcmc::SurvivalRows rows{x.rightCols(2), all.time.cwiseMin(end), VectorXd(x.rows())};
  for (Index i = 0; i < x.rows(); ++i) rows.event(i) = all.time(i) <= end ? 1 : 0;
  return rows;
}

std::vector<stats::mcmc::TargetPtr> DrawRegistries(const RegistrySettings& settings, size_t events,
                                                   Variates& variates) {
  std::vector<stats::mcmc::TargetPtr> registries;
  for (const double size : kSizes) {
    const double share = std::max(1.0, std::round(size * static_cast<double>(events)));
    registries.push_back(
        stats::mcmc::CoxTarget(DrawRegistry(settings, static_cast<size_t>(share), variates)));
  }
  return registries;
}

struct OneStage {
  Interval interval;
  double rhat = 0;
};

OneStage FitOneStage(const std::vector<const stats::mcmc::LocalTarget*>& registries,
                     crypto::RandomSource& random) {
  const std::vector<stats::mcmc::Prior> priors(2, stats::mcmc::ParsePrior("normal(0, 2.5)"));
  stats::mcmc::ChainOptions options;
  options.warmup = 500;
  options.draws = 1000;
  options.thin = 4;
  stats::mcmc::PlainDecisions decisions(registries, priors, options.acceptance, random);
  SilentProgress silent;
  const stats::mcmc::Draws draws =
      stats::mcmc::RunChains(MatrixXd::Zero(2, static_cast<Index>(options.chains)), options,
                             std::ref(decisions), random, silent);
  const stats::mcmc::ParameterSummary s = stats::mcmc::Summarise(draws).front();
  return {{s.mean, s.q2_5, s.q97_5, static_cast<double>(registries.size())}, s.rhat};
}

std::optional<Interval> FitAll(const std::vector<const stats::mcmc::LocalTarget*>& registries) {
  const auto sum = stats::mcmc::OwnTarget(2, [&](const VectorXd& theta) {
    double total = 0;
    for (const stats::mcmc::LocalTarget* registry : registries)
      total += registry->LogLikelihood(theta)(0);
    return total;
  });
  const auto maximum = stats::mcmc::MaximumLikelihood(*sum, VectorXd::Zero(2), kReach);
  if (!maximum) return std::nullopt;
  return Wald(maximum->at(0), std::sqrt(maximum->covariance(0, 0)),
              static_cast<double>(registries.size()));
}

using stats::meta::Estimator;

struct TwoStages {
  std::optional<Interval> fixed, random, largest;
};

TwoStages FitTwoStages(const std::vector<const stats::mcmc::LocalTarget*>& registries) {
  TwoStages result;
  stats::meta::Sites sites;
  for (size_t k = 0; k < registries.size(); ++k) {
    const auto own = stats::mcmc::MaximumLikelihood(*registries[k], VectorXd::Zero(2), kReach);
    if (!own) continue;
    sites.estimates.push_back(own->at(0));
    sites.standard_errors.push_back(std::sqrt(own->covariance(0, 0)));
    if (k + 1 == registries.size())
      result.largest = Wald(sites.estimates.back(), sites.standard_errors.back(), 1);
  }
  if (sites.estimates.empty()) return result;
  const auto pooled = [&](Estimator estimator) {
    const stats::meta::Pooled all = Pool(sites, estimator, false);
    return Wald(all.estimate, all.standard_error, all.sites);
  };
  result.fixed = pooled(Estimator::kFixed);
  result.random = pooled(Estimator::kDerSimonianLaird);
  return result;
}

// Mean of values and the standard error of it.
struct Average {
  double mean = 0, error = 0;
};
Average AverageOf(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  const Eigen::Map<const VectorXd> all(values.data(), static_cast<Index>(values.size()));
  const double mean = all.sum() / n;
  return {mean, std::sqrt((all.array() - mean).square().sum() / ((n - 1) * n))};
}

RegistryRow Summarise(const RegistrySettings& settings, size_t events, const char* analysis,
                      const std::vector<Interval>& intervals) {
  const double truth = settings.log_hazard_ratio;
  std::vector<double> errors, squares, covers, widths, used;
  for (const Interval& one : intervals) {
    errors.push_back(one.estimate - truth);
    squares.push_back(errors.back() * errors.back());
    covers.push_back(one.lower <= truth && truth <= one.upper ? 1 : 0);
    widths.push_back(one.upper - one.lower);
    used.push_back(one.registries);
  }
  const Average bias = AverageOf(errors), coverage = AverageOf(covers);
  RegistryRow row{events, analysis, settings.data_sets, intervals.size()};
  row.bias = bias.mean;
  row.bias_error = bias.error;
  row.rmse = std::sqrt(AverageOf(squares).mean);
  row.coverage = coverage.mean;
  row.coverage_error = coverage.error;
  row.mean_width = AverageOf(widths).mean;
  row.registries_used = AverageOf(used).mean;
  return row;
}

}  // namespace

RegistryResults SimulateRegistries(const RegistrySettings& settings, crypto::RandomSource& random,
                                   Progress& progress) {
  const bool few = std::any_of(settings.events.begin(), settings.events.end(),
                               [](size_t events) { return events < 2; });
  if (settings.data_sets == 0 || settings.events.empty() || few) {
    throw Error(ErrorCode::kUsage, "a simulation needs data sets, and two events per registry");
  }
  Variates variates(random);
  RegistryResults results;
  const uint64_t total = settings.data_sets * settings.events.size();
  uint64_t done = 0;
  for (const size_t events : settings.events) {
    std::array<std::vector<Interval>, kAnalyses.size()> intervals;
    const auto keep = [&](size_t analysis, const std::optional<Interval>& interval) {
      if (interval) intervals[analysis].push_back(*interval);
    };
    for (size_t set = 0; set < settings.data_sets; ++set) {
      progress.Step(done++, total);
      progress.CheckCancelled();
      const std::vector<stats::mcmc::TargetPtr> owned = DrawRegistries(settings, events, variates);
      std::vector<const stats::mcmc::LocalTarget*> registries;
      for (const stats::mcmc::TargetPtr& one : owned) registries.push_back(one.get());
      const OneStage one_stage = FitOneStage(registries, random);
      results.largest_rhat = std::max(results.largest_rhat, one_stage.rhat);
      const TwoStages two_stages = FitTwoStages(registries);
      keep(0, one_stage.interval);
      keep(1, FitAll(registries));
      keep(2, two_stages.fixed);
      keep(3, two_stages.random);
      keep(4, two_stages.largest);
    }
    for (size_t k = 0; k < kAnalyses.size(); ++k) {
      results.rows.push_back(Summarise(settings, events, kAnalyses[k], intervals[k]));
    }
  }
  return results;
}

}  // namespace partita::methods::mcmc
