#include "tests/stats/mcmc/calibration.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "stats/mcmc/diagnostics.h"

namespace partita::stats::mcmc {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr size_t kSeenBetween = 4;
constexpr int kMaxDoublings = 8;
constexpr double kPower = 0.8;

VectorXd DrawParameters(const std::vector<Prior>& priors, blr::Variates& variates) {
  VectorXd theta(static_cast<Index>(priors.size()));
  for (size_t j = 0; j < priors.size(); ++j) {
    theta(static_cast<Index>(j)) = Draw(priors[j], variates);
  }
  return theta;
}

MatrixXd ByChain(const Draws& draws, Index parameter) {
  MatrixXd values(draws.chains.front().rows(), static_cast<Index>(draws.chains.size()));
  for (size_t c = 0; c < draws.chains.size(); ++c) {
    values.col(static_cast<Index>(c)) = draws.chains[c].col(parameter);
  }
  return values;
}

bool IsLongEnough(const Draws& draws) {
  for (Index j = 0; j < draws.chains.front().cols(); ++j) {
    const MatrixXd values = ByChain(draws, j);
    if (BulkEss(values) < 2 * static_cast<double>(values.size()) / kSeenBetween) return false;
  }
  return true;
}

// Every kSeenBetween-th draw counts.
Draws RunUntilIndependent(const CalibrationModel& model, const CalibrationOptions& options,
                          const std::vector<TargetPtr>& parties, crypto::RandomSource& source) {
  std::vector<const LocalTarget*> targets;
  for (const TargetPtr& party : parties) targets.push_back(party.get());
  ChainOptions chain;
  chain.chains = options.chains;
  chain.warmup = options.warmup;
  chain.draws = options.draws * kSeenBetween;
  chain.thin = options.thin / kSeenBetween;
  chain.acceptance = options.acceptance;
  const MatrixXd start = model.start.replicate(1, static_cast<Index>(options.chains));
  for (int doublings = 0; doublings <= kMaxDoublings; ++doublings) {
    PlainDecisions decisions(targets, model.priors, options.acceptance, source);
    SilentProgress silent;
    Draws draws = RunChains(start, chain, std::ref(decisions), source, silent);
    if (IsLongEnough(draws)) return draws;
    chain.thin *= 2;
    chain.warmup *= 2;
  }
  throw Error(ErrorCode::kNotConverged, "the chains of a calibration stay too dependent",
              "begin elsewhere, or choose priors that leave the posterior less room");
}

double RankOf(double value, const Draws& draws, Index parameter) {
  double rank = 0;
  for (const MatrixXd& chain : draws.chains) {
    for (Index i = kSeenBetween - 1; i < chain.rows(); i += kSeenBetween) {
      rank += chain(i, parameter) < value ? 1 : 0;
    }
  }
  return rank;
}

// Of squared distances from the middle of uniform ranks 0 .. largest.
struct SquareLaw {
  double mean = 0, variance = 0, furthest = 0;  // furthest from the mean
};
SquareLaw SquaresOf(size_t largest) {
  const double middle = static_cast<double>(largest) / 2;
  SquareLaw law;
  double fourth = 0;
  for (size_t r = 0; r <= largest; ++r) {
    const double square = std::pow(static_cast<double>(r) - middle, 2);
    law.mean += square / static_cast<double>(largest + 1);
    fourth += square * square / static_cast<double>(largest + 1);
  }
  law.variance = fourth - law.mean * law.mean;
  law.furthest = std::max(middle * middle - law.mean, law.mean);
  return law;
}

// Bernstein: P(|mean of n - its expectation| >= t), both sides.
double BernsteinTail(const SquareLaw& law, double n, double t) {
  return std::min(1.0, 2 * std::exp(-n * t * t / (2 * law.variance + 2.0 / 3 * law.furthest * t)));
}

// The t with that probability.
double BernsteinDistance(const SquareLaw& law, double n, double level) {
  const double log_level = std::log(2 / level);
  const double linear = law.furthest * log_level / (3 * n);
  return linear + std::sqrt(linear * linear + 2 * law.variance * log_level / n);
}

double Solve(const std::function<double(double)>& function, double low, double high) {
  std::uintmax_t steps = 200;
  const auto bracket = boost::math::tools::bisect(
      function, low, high, boost::math::tools::eps_tolerance<double>(30), steps);
  return (bracket.first + bracket.second) / 2;
}

}  // namespace

MatrixXd CalibrationRanks(const CalibrationModel& model, const CalibrationOptions& options,
                          crypto::RandomSource& source, Progress& progress) {
  const bool proper =
      std::none_of(model.priors.begin(), model.priors.end(),
                   [](const Prior& prior) { return prior.kind == PriorKind::kFlat; });
  if (!proper || options.thin == 0 || options.thin % kSeenBetween != 0) {
    throw Error(ErrorCode::kUsage,
                "a calibration needs proper priors and a thinning that 4 divides");
  }
  blr::Variates variates(source);
  MatrixXd ranks(static_cast<Index>(options.data_sets), static_cast<Index>(model.priors.size()));
  for (Index s = 0; s < ranks.rows(); ++s) {
    progress.Step(static_cast<uint64_t>(s), options.data_sets);
    progress.CheckCancelled();
    const VectorXd theta = DrawParameters(model.priors, variates);
    const std::vector<TargetPtr> parties = model.simulate(theta, variates);
    const Draws draws = RunUntilIndependent(model, options, parties, source);
    for (Index j = 0; j < ranks.cols(); ++j) ranks(s, j) = RankOf(theta(j), draws, j);
  }
  return ranks;
}

RankCheck CheckRanks(const VectorXd& ranks, size_t largest) {
  const auto n = static_cast<double>(ranks.size());
  const auto top = static_cast<double>(largest);
  std::vector<double> counts(largest + 1);
  for (const double rank : ranks) {
    if (!(rank >= 0 && rank <= top && rank == std::floor(rank))) {
      throw Error(ErrorCode::kUsage, "a rank is not a whole number within its range");
    }
    counts[static_cast<size_t>(rank)] += 1;
  }
  RankCheck check;
  double below = 0;
  for (size_t k = 0; k < largest; ++k) {
    below += counts[k];
    const boost::math::binomial law(n, static_cast<double>(k + 1) / (top + 1));
    const double at_most = cdf(law, below);
    const double at_least = below == 0 ? 1 : cdf(complement(law, below - 1));
    check.ecdf_p = std::min(check.ecdf_p, 2 * top * std::min(at_most, at_least));
  }
  const SquareLaw law = SquaresOf(largest);
  const double squares = (ranks.array() - top / 2).square().mean();
  check.variance_ratio = squares / law.mean;
  check.variance_p = BernsteinTail(law, n, std::abs(squares - law.mean));
  return check;
}

DetectableErrors SmallestDetectable(size_t data_sets, size_t largest, double level) {
  const auto n = static_cast<double>(data_sets);
  const auto top = static_cast<double>(largest);
  const boost::math::normal normal;
  const double needed = quantile(normal, kPower);
  DetectableErrors errors;
  // The count below the middle has n Phi(shift) expected.
  const boost::math::binomial half(n, 0.5);
  const double border = quantile(complement(half, level / (2 * top)));
  errors.shift = Solve(
      [&](double shift) {
        const double p = cdf(normal, shift);
        return n * p - border - needed * std::sqrt(n * p * (1 - p));
      },
      0, 5);
  // Ranks are binomial given u = Phi(a Z), whose variance is asin(a^2 / (1 + a^2)) / (2 pi).
  const SquareLaw law = SquaresOf(largest);
  const double distance = BernsteinDistance(law, n, level) + needed * std::sqrt(law.variance / n);
  const auto moved = [&](double a) {
    const double v = std::asin(a * a / (1 + a * a)) / (2 * std::numbers::pi);
    return top * top * v + top * (0.25 - v) - law.mean;
  };
  // a: the posterior's true standard deviation over that of the draws.
  errors.narrower = 1 - 1 / Solve([&](double a) { return moved(a) - distance; }, 1, 1e3);
  errors.wider = 1 / Solve([&](double a) { return moved(a) + distance; }, 1e-3, 1) - 1;
  return errors;
}

}  // namespace partita::stats::mcmc
