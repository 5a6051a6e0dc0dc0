#include "stats/sem/bootstrap.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "crypto/kdf.h"
#include "crypto/prg.h"
#include "stats/blr/variates.h"
#include "stats/quantile.h"

namespace partita::stats {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

GroupMoments Draw(const VectorXd& mean, const MatrixXd& root, double n, blr::Variates& variates) {
  const Index p = mean.size();
  MatrixXd bartlett = MatrixXd::Zero(p, p);
  VectorXd normal(p);
  for (Index i = 0; i < p; ++i) {
    normal[i] = variates.Normal();
    bartlett(i, i) = std::sqrt(2 * variates.Gamma((n - 1 - static_cast<double>(i)) / 2));
    for (Index j = 0; j < i; ++j) bartlett(i, j) = variates.Normal();
  }
  const MatrixXd factor = root * bartlett;
  return {n, mean + root * normal / std::sqrt(n), factor * factor.transpose() / n};
}

BootstrapInterval IntervalOf(std::vector<double> values, double level) {
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (const double value : values) mean += value / n;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {std::sqrt(squares / (n - 1)), Quantile(values, (1 - level) / 2),
          Quantile(values, (1 + level) / 2)};
}

bool IsDrawn(const Parameter& row) { return row.free > 0 || row.op == ":="; }

void RequireDraws(const SemFit& fit, size_t draws) {
  if (draws < kMinBootstrapDraws) {
    throw Error(ErrorCode::kBadInput, fmt::format("{} draws are too few for an interval", draws),
                fmt::format("draw at least {}, better 1000", kMinBootstrapDraws));
  }
  if (fit.converged) return;
  throw Error(ErrorCode::kBadInput, "a fit that did not converge cannot be drawn from",
              "look at the warnings of the fit first");
}

}  // namespace

GroupMoments DrawMoments(const VectorXd& mean, const MatrixXd& covariance, double n,
                         crypto::RandomSource& random) {
  blr::Variates variates(random);
  return Draw(mean, covariance.llt().matrixL(), n, variates);
}

Bootstrap ParametricBootstrap(const ParameterTable& table, const std::vector<double>& num_rows,
                              const SemFit& fit, size_t draws, double level, Progress& progress) {
  RequireDraws(fit, draws);
  crypto::Prg random(crypto::DeriveKey(crypto::Key(), "parametric bootstrap"));
  blr::Variates variates(random);
  std::vector<MatrixXd> roots;
  for (const MatrixXd& covariance : fit.implied_covariance)
    roots.emplace_back(covariance.llt().matrixL());
  std::vector<std::vector<double>> values(table.rows.size());
  Bootstrap bootstrap;
  progress.Phase("bootstrap");
  for (; bootstrap.draws < draws; ++bootstrap.draws) {
    progress.CheckCancelled();
    progress.Step(bootstrap.draws, draws);
    std::vector<GroupMoments> moments;
    for (size_t g = 0; g < roots.size(); ++g)
      moments.push_back(Draw(fit.implied_mean.at(g), roots[g], num_rows.at(g), variates));
    SilentProgress silent;
    const SemFit drawn = FitSem(table, moments, {}, silent);
    if (!drawn.converged) {
      ++bootstrap.failed;
      continue;
    }
    for (size_t r = 0; r < table.rows.size(); ++r) {
      if (IsDrawn(table.rows[r])) values[r].push_back(drawn.estimates[r].estimate);
    }
  }
  if (10 * bootstrap.failed > draws) {
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("{} of {} fits to drawn samples did not converge", bootstrap.failed, draws),
        "the model is close to not identified at this number of rows: simplify it");
  }
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  for (size_t r = 0; r < table.rows.size(); ++r) {
    bootstrap.intervals.push_back(values[r].empty() ? BootstrapInterval{kNaN, kNaN, kNaN}
                                                    : IntervalOf(values[r], level));
  }
  return bootstrap;
}

}  // namespace partita::stats
