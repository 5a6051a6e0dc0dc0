// Steps and the fit of random_slope.h.
#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "stats/mixed/random_slope.h"

namespace partita::stats::mixed {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr int kSlopeScoringSteps = 40, kMostSlopeSteps = 80;
constexpr double kLeastPart = 1e-6, kPsiGrid = 0x1p20, kMostOfVariance = 16;

double OnGrid(double value) { return std::round(value * kPsiGrid) / kPsiGrid; }

SlopeAt AllAt(std::span<const SlopeSums> sites, const VectorXd& point, Criterion criterion,
              Information information) {
  SlopeAt at = SlopesAt(sites.front(), point, criterion, information);
  for (const SlopeSums& site : sites.subspan(1))
    at += SlopesAt(site, point, criterion, information);
  if (criterion == Criterion::kReml) AddReml(at, information);
  return at;
}

// Coefficients without groups; half of the residual variance is that of rows.
VectorXd Start(std::span<const SlopeSums> sites) {
  MatrixXd xx = sites.front().xx;
  VectorXd xy = sites.front().xy;
  double yy = sites.front().yy, rows = sites.front().rows;
  for (const SlopeSums& site : sites.subspan(1)) {
    xx += site.xx;
    xy += site.xy;
    yy += site.yy;
    rows += site.rows;
  }
  const Index p = xy.size();
  VectorXd point(p + kDeviations);
  const VectorXd b = xx.ldlt().solve(xy);
  const double log_half = std::log(std::max(yy - b.dot(xy), 1e-12 * yy + 1e-300) / rows / 2) / 2;
  point << b, log_half - 0.5, log_half - 0.5, 0, log_half;
  return point;
}

}  // namespace

VectorXd AfterScoring(const VectorXd& at, const VectorXd& opened) {
  const Index p = at.size() - kDeviations;
  VectorXd next = opened;
  const auto from = at.tail(kDeviations);
  const VectorXd step = opened.tail(kDeviations) - from;
  const auto factor = [&](Index k) {
    return std::clamp(1 + 2 * step[k], 1 / kMostOfVariance, kMostOfVariance);
  };
  for (const Index k : {0, 1, 3})
    next[p + k] = OnGrid(
        std::clamp(from[k] + std::log(factor(k)) / 2, kLeastDeviationLog, kMostDeviationLog));
  const double rho = std::tanh(from[2]),
               covariance = rho * (1 + step[0] + step[1]) + (1 - rho * rho) * step[2],
               most = std::tanh(kMostScoredZ);
  const double moved = std::clamp(covariance / std::sqrt(factor(0) * factor(1)), -most, most);
  next[p + 2] = OnGrid(std::atanh(moved));
  return next;
}

bool WithinLimits(const VectorXd& point) {
  const VectorXd psi = point.tail(kDeviations);
  for (const Index k : {0, 1, 3}) {
    if (!(psi[k] >= kLeastDeviationLog && psi[k] <= kMostDeviationLog)) return false;
  }
  return std::abs(psi[2]) <= kMostZ;
}

std::optional<Eigen::Vector4d> OwnDeviations(const SlopeSums& sums) {
  constexpr size_t kFewestOwnGroups = 3;
  constexpr double kFewestOwnRows = 8, kRidge = 1e-4;
  constexpr int kOwnSteps = 12;
  const Index p = sums.xy.size();
  if (sums.groups.size() < kFewestOwnGroups || sums.rows < static_cast<double>(p) + kFewestOwnRows)
    return std::nullopt;
  SlopeSums own = sums;
  own.xx.diagonal().array() += kRidge * sums.rows;
  VectorXd point = Start(std::span(&own, 1));
  for (int step = 0; step < kOwnSteps; ++step) {
    SlopeAt at = SlopesAt(own, point, Criterion::kMl, Information::kExpected);
    at.information.bottomRightCorner(kDeviations, kDeviations).diagonal().array() += kRidge;
    point = AfterScoring(point, point + at.information.ldlt().solve(at.score));
    if (!point.allFinite()) return std::nullopt;
  }
  return point.tail(kDeviations);
}

SlopeFit FitSlopes(std::span<const SlopeSums> sites, Criterion criterion) {
  SlopeFit fit;
  fit.point = Start(sites);
  const Index p = fit.point.size() - kDeviations;
  double rows = 0;
  for (const SlopeSums& site : sites) rows += site.rows;
  // Scoring of variances, then Newton's method, each by steps that are halved until the likelihood rises.
  for (int step = 0; step < kMostSlopeSteps && !fit.converged; ++step) {
    const bool newton = step >= kSlopeScoringSteps;
    const SlopeAt at = AllAt(sites, fit.point, criterion,
                             newton ? Information::kObserved : Information::kExpected);
    const VectorXd direction = at.information.ldlt().solve(at.score);
    const double size = direction.dot(at.score);
    VectorXd next;
    for (double part = 1; part > kLeastPart; part /= 2) {
      const VectorXd moved = fit.point + part * direction;
      next = newton ? moved : AfterScoring(fit.point, moved);
      const double likelihood =
          AllAt(sites, next, criterion, Information::kExpected).log_likelihood;
      if (likelihood >= at.log_likelihood - 1e-9 * (1 + std::abs(at.log_likelihood))) break;
    }
    fit.point = next;
    fit.converged = newton && std::abs(size) < 1e-18 * rows;
  }
  const SlopeAt at = AllAt(sites, fit.point, criterion, Information::kObserved);
  const Eigen::LDLT<MatrixXd> all(at.information),
      fixed(MatrixXd(at.information.topLeftCorner(p, p)));
  fit.converged =
      fit.converged && WithinLimits(fit.point) && all.isPositive() && all.vectorD().minCoeff() > 0;
  const auto errors = [](const Eigen::LDLT<MatrixXd>& of) -> VectorXd {
    return of.solve(MatrixXd::Identity(of.rows(), of.rows())).diagonal().cwiseMax(0).cwiseSqrt();
  };
  fit.covariance = fixed.solve(MatrixXd::Identity(p, p));
  fit.standard_errors.resize(p + kDeviations);
  fit.standard_errors << errors(fixed), errors(all).tail(kDeviations);
  fit.criterion = -2 * at.log_likelihood;
  if (criterion == Criterion::kReml)
    fit.criterion -= static_cast<double>(p) * std::log(2 * std::numbers::pi);
  return fit;
}

}  // namespace partita::stats::mixed
