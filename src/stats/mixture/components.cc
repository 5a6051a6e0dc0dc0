#include "stats/mixture/components.h"

#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace partita::stats::mixture {
namespace {

using Eigen::ArrayXd;
using Eigen::ArrayXXd;
using Eigen::Index;

double Logistic(double z) {
  return z >= 0 ? 1 / (1 + std::exp(-z)) : std::exp(z) / (1 + std::exp(z));
}

void Categorical(Index first, Index levels, const ArrayXXd& rho, Components& out) {
  auto log_p = out.natural.middleCols(first, levels);
  auto p = out.level_square.middleCols(first, levels);
  const ArrayXd top = rho.middleCols(first, levels).rowwise().maxCoeff();
  log_p = rho.middleCols(first, levels).colwise() - top;
  p = log_p.exp();
  const ArrayXd total = p.rowwise().sum();
  log_p.colwise() -= total.log();
  p.colwise() /= total;
  out.slope.middleCols(first, levels).setOnes();
  out.offset.middleCols(first, levels) = -p;
  const ArrayXd squares = p.square().rowwise().sum();
  p = 1 - 2 * p;
  p.colwise() += squares;
}

void Bernoulli(Index j, const ArrayXXd& rho, Components& out) {
  for (Index k = 0; k < rho.rows(); ++k) {
    const double z = rho(k, j);
    out.natural(k, j) = z;
    out.log_normaliser(k) += z > 0 ? z + std::log1p(std::exp(-z)) : std::log1p(std::exp(z));
    out.slope(k, j) = 1;
    out.offset(k, j) = -Logistic(z);
  }
}

// The derivative of log B(a, b) with respect to a is digamma(a) - digamma(a + b).
void Beta(Index j, const ArrayXXd& rho, Components& out) {
  for (Index k = 0; k < rho.rows(); ++k) {
    const double a = Softplus(rho(k, j)), b = Softplus(rho(k, j + 1));
    out.natural(k, j) = a - 1;
    out.natural(k, j + 1) = b - 1;
    out.log_normaliser(k) +=
        boost::math::lgamma(a) + boost::math::lgamma(b) - boost::math::lgamma(a + b);
    const double both = boost::math::digamma(a + b);
    const double da = Logistic(rho(k, j)), db = Logistic(rho(k, j + 1));
    out.slope(k, j) = da;
    out.offset(k, j) = -da * (boost::math::digamma(a) - both);
    out.slope(k, j + 1) = db;
    out.offset(k, j + 1) = -db * (boost::math::digamma(b) - both);
  }
}

// log F = (log tau - log 2 pi - tau (x - m)^2) / 2
void Gaussian(Index j, const ArrayXXd& rho, Components& out) {
  out.has_below = true;
  for (Index k = 0; k < rho.rows(); ++k) {
    const double m = rho(k, j), tau = Softplus(rho(k, j + 1)), dtau = Logistic(rho(k, j + 1));
    out.natural(k, j) = tau * m;
    out.natural(k, j + 1) = -0.5 * tau;
    out.log_normaliser(k) += 0.5 * (tau * m * m - std::log(tau) + std::log(2 * std::numbers::pi));
    out.slope(k, j) = tau;
    out.offset(k, j) = -tau * m;
    out.slope(k, j + 1) = -0.5 * dtau;
    out.below(k, j + 1) = dtau * m;
    out.offset(k, j + 1) = 0.5 * dtau * (1 / tau - m * m);
  }
}

// With the rate c lambda: log F = (x / c) c log lambda - c lambda + x log c - log x!
void Poisson(Index j, double c, const ArrayXXd& rho, Components& out) {
  for (Index k = 0; k < rho.rows(); ++k) {
    const double lambda = Softplus(rho(k, j)), dlambda = Logistic(rho(k, j));
    out.natural(k, j) = c * std::log(lambda);
    out.log_normaliser(k) += c * lambda;
    out.slope(k, j) = dlambda * c / lambda;
    out.offset(k, j) = -dlambda * c;
  }
}

enum class Prior { kLogGamma, kLogistic, kNormal };

// Of the parameter that belongs to statistic j of a feature.
Prior PriorOf(const Feature& feature, size_t j) {
  if (feature.family == Family::kCategorical) return Prior::kLogGamma;
  if (feature.family == Family::kGaussian && j == 0) return Prior::kNormal;
  return Prior::kLogistic;
}

}  // namespace

Components MakeComponents(const Layout& layout, const ArrayXXd& rho) {
  const auto columns = static_cast<Index>(layout.num_columns);
  if (rho.cols() != columns || rho.rows() < 1) {
    throw Error(ErrorCode::kUsage, "the parameters do not have one column per statistic");
  }
  if (!rho.allFinite()) {
    throw Error(ErrorCode::kBadInput, "a parameter of the mixture model is not finite",
                "lower the learning rate or the cap of the log-scale");
  }
  const ArrayXXd zero = ArrayXXd::Zero(rho.rows(), columns);
  Components out{zero, ArrayXd::Zero(rho.rows()), zero, zero, zero, false, zero};
  for (size_t f = 0; f < layout.features.size(); ++f) {
    const Feature& feature = layout.features[f];
    const auto first = static_cast<Index>(layout.first[f]);
    switch (feature.family) {
      case Family::kCategorical:
        Categorical(first, static_cast<Index>(feature.levels), rho, out);
        break;
      case Family::kBernoulli:
        Bernoulli(first, rho, out);
        break;
      case Family::kBeta:
        Beta(first, rho, out);
        break;
      case Family::kGaussian:
        Gaussian(first, rho, out);
        break;
      case Family::kPoisson:
        Poisson(first, feature.scale, rho, out);
        break;
    }
  }
  return out;
}

ArrayXd LogSoftmax(const ArrayXd& logits) {
  const ArrayXd shifted = logits - logits.maxCoeff();
  return shifted - std::log(shifted.exp().sum());
}

double LogPrior(const Layout& layout, const ArrayXXd& theta) {
  double sum = (theta.col(0) - theta.col(0).exp()).sum();
  for (size_t f = 0; f < layout.features.size(); ++f) {
    for (size_t j = 0; j < NumStatistics(layout.features[f]); ++j) {
      const auto z = theta.col(1 + static_cast<Index>(layout.first[f] + j));
      switch (PriorOf(layout.features[f], j)) {
        case Prior::kLogGamma:
          sum += (z - z.exp()).sum();
          break;
        case Prior::kLogistic:  // log s(z) + log s(-z), stable
          sum -= (z.abs() + 2 * (-z.abs()).exp().log1p()).sum();
          break;
        case Prior::kNormal:
          sum -= 0.5 * z.square().sum();
          break;
      }
    }
  }
  return sum;
}

ArrayXXd LogPriorGradient(const Layout& layout, const ArrayXXd& theta) {
  ArrayXXd gradient(theta.rows(), theta.cols());
  gradient.col(0) = 1 - theta.col(0).exp();
  for (size_t f = 0; f < layout.features.size(); ++f) {
    const auto first = 1 + static_cast<Index>(layout.first[f]);
    const auto count = static_cast<Index>(NumStatistics(layout.features[f]));
    if (layout.features[f].family == Family::kCategorical) {
      gradient.middleCols(first, count) = 1 - theta.middleCols(first, count).exp();
      continue;
    }
    for (Index j = 0; j < count; ++j) {
      const auto z = theta.col(first + j);
      if (PriorOf(layout.features[f], static_cast<size_t>(j)) == Prior::kNormal) {
        gradient.col(first + j) = -z;
      } else {
        gradient.col(first + j) = -(0.5 * z).tanh();  // 1 - 2 s(z)
      }
    }
  }
  return gradient;
}

double Softplus(double z) {
  const double value = z > 0 ? z + std::log1p(std::exp(-z)) : std::log1p(std::exp(z));
  return std::max(value, 1e-10);
}

}  // namespace partita::stats::mixture
