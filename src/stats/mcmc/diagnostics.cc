#include "stats/mcmc/diagnostics.h"

#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "stats/quantile.h"

namespace partita::stats::mcmc {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

void CheckDraws(const MatrixXd& draws) {
  if (draws.rows() < 4 || draws.cols() < 1) {
    throw Error(ErrorCode::kUsage, "diagnostics need at least 4 draws of every chain");
  }
}

// Every chain as two; the middle draw of an odd number is left out.
MatrixXd Split(const MatrixXd& draws) {
  const Index half = draws.rows() / 2;
  MatrixXd split(half, 2 * draws.cols());
  split << draws.topRows(half), draws.bottomRows(half);
  return split;
}

// Average ranks, as normal scores (r - 3/8) / (S + 1/4).
MatrixXd NormalScores(const MatrixXd& draws) {
  const Index size = draws.size();
  std::vector<Index> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), Index{0});
  const double* values = draws.data();
  std::sort(order.begin(), order.end(), [&](Index a, Index b) { return values[a] < values[b]; });
  MatrixXd scores(draws.rows(), draws.cols());
  const boost::math::normal normal;
  for (size_t first = 0; first < order.size();) {
    size_t last = first;
    while (last + 1 < order.size() && values[order[last + 1]] == values[order[first]]) ++last;
    const double rank = (static_cast<double>(first) + static_cast<double>(last)) / 2 + 1;
    const double score =
        boost::math::quantile(normal, (rank - 0.375) / (static_cast<double>(size) + 0.25));
    for (size_t k = first; k <= last; ++k) scores.data()[order[k]] = score;
    first = last + 1;
  }
  return scores;
}

struct Variances {
  double within = 0, total = 0;  // W and var-hat-plus
};

Variances VariancesOf(const MatrixXd& chains) {
  const auto n = static_cast<double>(chains.rows());
  const VectorXd means = chains.colwise().mean();
  Variances v;
  for (Index c = 0; c < chains.cols(); ++c) {
    v.within += (chains.col(c).array() - means(c)).square().sum() / (n - 1);
  }
  v.within /= static_cast<double>(chains.cols());
  const double between = chains.cols() < 2 ? 0
                                           : (means.array() - means.mean()).square().sum() /
                                                 static_cast<double>(chains.cols() - 1);
  v.total = (n - 1) / n * v.within + between;
  return v;
}

double Rhat(const MatrixXd& chains) {
  const Variances v = VariancesOf(chains);
  if (v.within == 0) return v.total == 0 ? 1 : HUGE_VAL;
  return std::sqrt(v.total / v.within);
}

double Variance(const VectorXd& values) {
  return (values.array() - values.mean()).square().sum() / static_cast<double>(values.size() - 1);
}

// Geyer's initial monotone sequence on the combined autocorrelations.
double Ess(const MatrixXd& chains) {
  const Index n = chains.rows();
  const auto count = static_cast<double>(chains.size());
  const Variances v = VariancesOf(chains);
  if (v.total == 0) return count;
  const MatrixXd centred = chains.rowwise() - chains.colwise().mean();
  const auto rho = [&](Index lag) {
    double covariance = 0;  // biased, as usual for this estimate
    for (Index c = 0; c < chains.cols(); ++c) {
      covariance += centred.col(c).head(n - lag).dot(centred.col(c).tail(n - lag));
    }
    covariance /= static_cast<double>(n * chains.cols());
    const double unbiased_within = v.within;
    return 1 -
           (unbiased_within - covariance * static_cast<double>(n) / static_cast<double>(n - 1)) /
               v.total;
  };
  double sum = 0, smallest = HUGE_VAL;
  for (Index pair = 0; 2 * pair + 1 < n - 2; ++pair) {
    const double even = pair == 0 ? 1 : rho(2 * pair);
    const double odd = rho(2 * pair + 1);
    if (even + odd < 0) break;
    smallest = std::min(smallest, even + odd);
    sum += smallest;
  }
  const double tau = std::max(2 * sum - 1, 1 / std::log10(count));
  return count / tau;
}

MatrixXd Below(const MatrixXd& draws, double limit) {
  return (draws.array() <= limit).cast<double>();
}

std::vector<double> Flat(const MatrixXd& draws) {
  return {draws.data(), draws.data() + draws.size()};
}

}  // namespace

double RankRhat(const MatrixXd& draws) {
  CheckDraws(draws);
  const MatrixXd split = Split(draws);
  const double median = Quantile(Flat(split), 0.5);
  return std::max(Rhat(NormalScores(split)), Rhat(NormalScores((split.array() - median).abs())));
}

double NestedRhat(const MatrixXd& draws, size_t superchains) {
  const auto groups = static_cast<Index>(superchains);
  if (groups < 2 || draws.cols() % groups != 0 || draws.rows() < 2) {
    throw Error(ErrorCode::kUsage, "superchains are two or more groups of equally many chains");
  }
  const Index members = draws.cols() / groups;
  const VectorXd means = draws.colwise().mean();
  VectorXd of_groups(groups);
  double within = 0;
  for (Index k = 0; k < groups; ++k) {
    const VectorXd own = means.segment(k * members, members);
    of_groups(k) = own.mean();
    if (members > 1) within += Variance(own);
    for (Index c = k * members; c < (k + 1) * members; ++c) {
      within += Variance(draws.col(c)) / static_cast<double>(members);
    }
  }
  within /= static_cast<double>(groups);
  const double between = Variance(of_groups);
  if (within == 0) return between == 0 ? 1 : HUGE_VAL;
  return std::sqrt(1 + between / within);
}

double RankNestedRhat(const MatrixXd& draws, size_t superchains) {
  CheckDraws(draws);
  const MatrixXd split = Split(draws);
  const double median = Quantile(Flat(split), 0.5);
  // First halves stand before second ones, group by group.
  return std::max(NestedRhat(NormalScores(split), 2 * superchains),
                  NestedRhat(NormalScores((split.array() - median).abs()), 2 * superchains));
}

double BulkEss(const MatrixXd& draws) {
  CheckDraws(draws);
  return Ess(NormalScores(Split(draws)));
}

double TailEss(const MatrixXd& draws) {
  CheckDraws(draws);
  const MatrixXd split = Split(draws);
  return std::min(Ess(Below(split, Quantile(Flat(draws), 0.05))),
                  Ess(Below(split, Quantile(Flat(draws), 0.95))));
}

double MeanEss(const MatrixXd& draws) {
  CheckDraws(draws);
  return Ess(Split(draws));
}

double QuantileMcse(const MatrixXd& draws, double probability) {
  CheckDraws(draws);
  std::vector<double> values = Flat(draws);
  const double ess = Ess(Below(Split(draws), Quantile(values, probability)));
  const boost::math::beta_distribution<> law(ess * probability + 1, ess * (1 - probability) + 1);
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  const auto at = [&](double tail) {
    const double place = boost::math::quantile(law, tail) * count;
    return values[std::min(static_cast<size_t>(place), values.size() - 1)];
  };
  return (at(0.8413447460685429) - at(0.15865525393145707)) / 2;
}

std::vector<ParameterSummary> Summarise(const Draws& draws) {
  std::vector<ParameterSummary> summaries;
  const Index parameters = draws.chains.front().cols();
  for (Index j = 0; j < parameters; ++j) {
    MatrixXd own(draws.chains.front().rows(), static_cast<Index>(draws.chains.size()));
    for (size_t c = 0; c < draws.chains.size(); ++c) {
      own.col(static_cast<Index>(c)) = draws.chains[c].col(j);
    }
    const std::vector<double> values = Flat(own);
    ParameterSummary s;
    s.mean = own.mean();
    const auto squares = (own.array() - s.mean).square();
    s.sd = std::sqrt(squares.sum() / static_cast<double>(own.size() - 1));
    s.q2_5 = Quantile(values, 0.025);
    s.median = Quantile(values, 0.5);
    s.q97_5 = Quantile(values, 0.975);
    s.mcse_mean = s.sd / std::sqrt(MeanEss(own));
    // Of sqrt(E (x - mean)^2), by the delta method.
    const MatrixXd square = squares;
    const double sd_of_square = std::sqrt((square.array() - square.mean()).square().mean());
    s.mcse_sd = s.sd == 0 ? 0 : sd_of_square / std::sqrt(MeanEss(square)) / (2 * s.sd);
    s.mcse_median = QuantileMcse(own, 0.5);
    s.rhat = draws.superchains > 0 ? RankNestedRhat(own, draws.superchains) : RankRhat(own);
    s.bulk_ess = BulkEss(own);
    s.tail_ess = TailEss(own);
    summaries.push_back(s);
  }
  return summaries;
}

uint64_t ExpectedDecisions(const ChainOptions& options, size_t parameters) {
  // Decisions per effective draw and dimension (tests/stats/mcmc/continued_test.cc), and
  // effective draws for R-hat below 1.01 in most runs, which are more than kSmallestEss.
  constexpr double kDecisionsPerDraw = 5, kDrawsPerGroup = 150;
  const size_t groups = options.superchains > 0 ? options.superchains : size_t{4};
  const double draws_for_rhat = kDrawsPerGroup * static_cast<double>(groups);
  const double per_draw = kDecisionsPerDraw * static_cast<double>(parameters);
  size_t stage = 0;
  while (stage + 1 < StagesOf(options)) {
    const auto after = static_cast<double>(DecisionsOfStage(options, stage) - options.warmup);
    if (after * static_cast<double>(options.chains) > draws_for_rhat * per_draw) break;
    ++stage;
  }
  return DecisionsBefore(options, stage + 1);
}

bool HasConverged(const ParameterSummary& parameter) {
  return parameter.rhat < kLargestRhat && parameter.bulk_ess > kSmallestEss &&
         parameter.tail_ess > kSmallestEss;
}

bool NeverMoved(const MatrixXd& draws) {
  return (draws.rowwise() - draws.row(0)).cwiseAbs().maxCoeff() == 0;
}

bool HaveConverged(const Draws& draws) {
  constexpr Index kLeastDraws = 4;
  if (draws.chains.front().rows() < kLeastDraws ||
      std::any_of(draws.chains.begin(), draws.chains.end(), NeverMoved))
    return false;
  const std::vector<ParameterSummary> summaries = Summarise(draws);
  return std::all_of(summaries.begin(), summaries.end(), HasConverged);
}

}  // namespace partita::stats::mcmc
