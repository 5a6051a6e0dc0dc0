#include "stats/mcmc/targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"

namespace partita::stats::mcmc {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

[[noreturn]] void BadRow(Index row, const std::string& what) {
  throw Error(ErrorCode::kBadData, fmt::format("row {}: {}", row + 1, what));
}

void CheckSizes(const MatrixXd& x, const VectorXd& y) {
  if (x.rows() != y.size() || x.cols() == 0) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{} outcomes for a table of {} by {}", y.size(), x.rows(), x.cols()));
  }
  for (Index i = 0; i < x.rows(); ++i) {
    if (!x.row(i).allFinite() || !std::isfinite(y(i))) BadRow(i, "a value is not a number");
  }
}

double Softplus(double z) { return z > 0 ? z + std::log1p(std::exp(-z)) : std::log1p(std::exp(z)); }

void CheckCounts(const VectorXd& y) {
  for (Index i = 0; i < y.size(); ++i) {
    if (y(i) < 0 || y(i) != std::floor(y(i))) BadRow(i, "the outcome is not a count");
  }
}

class Linear : public LocalTarget {
 public:
  Linear(MatrixXd x, VectorXd y) : x_(std::move(x)), y_(std::move(y)) { CheckSizes(x_, y_); }
  size_t dimension() const override { return static_cast<size_t>(x_.cols()) + 1; }
  VectorXd LogLikelihood(const MatrixXd& thetas) const override {
    const Index k = x_.cols();
    const MatrixXd residuals = y_.replicate(1, thetas.cols()) - x_ * thetas.topRows(k);
    VectorXd values(thetas.cols());
    for (Index c = 0; c < thetas.cols(); ++c) {
      const double log_sigma = thetas(k, c);
      values(c) = -static_cast<double>(y_.size()) * log_sigma -
                  0.5 * std::exp(-2 * log_sigma) * residuals.col(c).squaredNorm();
    }
    return values;
  }
  MatrixXd ByRow(const MatrixXd& thetas) const override {
    const Index k = x_.cols();
    MatrixXd values = y_.replicate(1, thetas.cols()) - x_ * thetas.topRows(k);
    for (Index c = 0; c < thetas.cols(); ++c) {
      const double log_sigma = thetas(k, c);
      values.col(c) = -log_sigma - 0.5 * std::exp(-2 * log_sigma) * values.col(c).array().square();
    }
    return values;
  }

 private:
  MatrixXd x_;
  VectorXd y_;
};

// Sum over rows of a function of the row's outcome and linear predictor.
template <typename Term>
class Glm : public LocalTarget {
 public:
  Glm(MatrixXd x, VectorXd y, size_t extra, Term term)
      : x_(std::move(x)), y_(std::move(y)), extra_(extra), term_(std::move(term)) {
    CheckSizes(x_, y_);
  }
  size_t dimension() const override { return static_cast<size_t>(x_.cols()) + extra_; }
  VectorXd LogLikelihood(const MatrixXd& thetas) const override {
    const MatrixXd predictors = x_ * thetas.topRows(x_.cols());
    VectorXd values = VectorXd::Zero(thetas.cols());
    for (Index c = 0; c < thetas.cols(); ++c) {
      const double last = thetas(thetas.rows() - 1, c);
      for (Index i = 0; i < y_.size(); ++i) values(c) += term_(i, y_(i), predictors(i, c), last);
    }
    return values;
  }
  MatrixXd ByRow(const MatrixXd& thetas) const override {
    MatrixXd values = x_ * thetas.topRows(x_.cols());
    for (Index c = 0; c < thetas.cols(); ++c) {
      const double last = thetas(thetas.rows() - 1, c);
      for (Index i = 0; i < y_.size(); ++i) values(i, c) = term_(i, y_(i), values(i, c), last);
    }
    return values;
  }

 private:
  MatrixXd x_;
  VectorXd y_;
  size_t extra_;
  Term term_;
};

template <typename Term>
TargetPtr MakeGlm(MatrixXd x, VectorXd y, size_t extra, Term term) {
  return std::make_unique<Glm<Term>>(std::move(x), std::move(y), extra, std::move(term));
}

void CheckSurvival(const SurvivalRows& rows) {
  CheckSizes(rows.x, rows.time);
  if (rows.event.size() != rows.time.size()) {
    throw Error(ErrorCode::kUsage, "there are not as many events as times");
  }
  for (Index i = 0; i < rows.time.size(); ++i) {
    if (!(rows.time(i) > 0)) BadRow(i, "the time is not above 0");
    if (rows.event(i) != 0 && rows.event(i) != 1) BadRow(i, "the event is neither 0 nor 1");
  }
}

// Rows sorted by time, the longest first, so that a risk set is a prefix.
class Cox : public LocalTarget {
 public:
  explicit Cox(const SurvivalRows& rows) {
    CheckSurvival(rows);
    std::vector<Index> order(static_cast<size_t>(rows.time.size()));
    std::iota(order.begin(), order.end(), Index{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](Index a, Index b) { return rows.time(a) > rows.time(b); });
    x_ = rows.x(order, Eigen::all);
    time_ = rows.time(order);
    event_ = rows.event(order);
  }
  size_t dimension() const override { return static_cast<size_t>(x_.cols()); }
  VectorXd LogLikelihood(const MatrixXd& thetas) const override {
    const MatrixXd predictors = x_ * thetas;
    VectorXd values(thetas.cols());
    for (Index c = 0; c < thetas.cols(); ++c) values(c) = One(predictors.col(c));
    return values;
  }

 private:
  double One(const VectorXd& predictor) const {
    const double largest = predictor.size() == 0 ? 0 : predictor.maxCoeff();
    double value = 0, at_risk = 0;
    for (Index begin = 0; begin < time_.size();) {
      Index end = begin;
      double tied = 0, events = 0;
      for (; end < time_.size() && time_(end) == time_(begin); ++end) {
        const double weight = std::exp(predictor(end) - largest);
        at_risk += weight;
        if (event_(end) == 0) continue;
        tied += weight;
        events += 1;
        value += predictor(end) - largest;
      }
      for (double l = 0; l < events; ++l) value -= std::log(at_risk - l / events * tied);
      begin = end;
    }
    return value;
  }

  MatrixXd x_;
  VectorXd time_, event_;
};

class Own : public LocalTarget {
 public:
  Own(size_t dimension, std::function<double(const VectorXd&)> log_likelihood)
      : dimension_(dimension), log_likelihood_(std::move(log_likelihood)) {}
  size_t dimension() const override { return dimension_; }
  VectorXd LogLikelihood(const MatrixXd& thetas) const override {
    VectorXd values(thetas.cols());
    for (Index c = 0; c < thetas.cols(); ++c) values(c) = log_likelihood_(thetas.col(c));
    return values;
  }

 private:
  size_t dimension_;
  std::function<double(const VectorXd&)> log_likelihood_;
};

}  // namespace

Eigen::MatrixX2d LocalTarget::Parts(const MatrixXd& thetas) const {
  Eigen::MatrixX2d parts = Eigen::MatrixX2d::Zero(thetas.cols(), 2);
  parts.col(0) = LogLikelihood(thetas);
  return parts;
}

MatrixXd LocalTarget::ByRow(const MatrixXd& /*thetas*/) const {
  throw Error(ErrorCode::kRefused, "this likelihood is not a sum over rows",
              "nothing bounds what one person contributes: choose a regression whose rows are "
              "independent, or make no claim of differential privacy");
}

TargetPtr LinearTarget(MatrixXd x, VectorXd y) {
  return std::make_unique<Linear>(std::move(x), std::move(y));
}

TargetPtr LogisticTarget(MatrixXd x, VectorXd y) {
  for (Index i = 0; i < y.size(); ++i) {
    if (y(i) != 0 && y(i) != 1) BadRow(i, "the outcome is neither 0 nor 1");
  }
  return MakeGlm(std::move(x), std::move(y), 0,
                 [](Index, double outcome, double predictor, double) {
                   return outcome * predictor - Softplus(predictor);
                 });
}

TargetPtr PoissonTarget(MatrixXd x, VectorXd y) {
  CheckCounts(y);
  return MakeGlm(std::move(x), std::move(y), 0,
                 [](Index, double outcome, double predictor, double) {
                   return outcome * predictor - std::exp(predictor);
                 });
}

TargetPtr NegativeBinomialTarget(MatrixXd x, VectorXd y) {
  CheckCounts(y);
  return MakeGlm(
      std::move(x), std::move(y), 1, [](Index, double outcome, double predictor, double log_size) {
        const double size = std::exp(log_size);
        // log Gamma(y + s) - log Gamma(s) - (y + s) log(1 + mu / s) + y log(mu / s)
        return std::lgamma(outcome + size) - std::lgamma(size) -
               (outcome + size) * Softplus(predictor - log_size) + outcome * (predictor - log_size);
      });
}

TargetPtr WeibullTarget(SurvivalRows rows) {
  CheckSurvival(rows);
  VectorXd log_time = rows.time.array().log();
  return MakeGlm(
      std::move(rows.x), std::move(log_time), 1,
      [event = std::move(rows.event)](Index i, double outcome, double predictor, double log_sigma) {
        const double z = (outcome - predictor) * std::exp(-log_sigma);
        return event(i) * (z - log_sigma) - std::exp(z);
      });
}

TargetPtr CoxTarget(const SurvivalRows& rows) { return std::make_unique<Cox>(rows); }

TargetPtr OwnTarget(size_t dimension, std::function<double(const VectorXd&)> log_likelihood) {
  return std::make_unique<Own>(dimension, std::move(log_likelihood));
}

}  // namespace partita::stats::mcmc
