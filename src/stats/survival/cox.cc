#include "stats/survival/cox.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <numeric>

namespace partita::stats::survival {
namespace {

constexpr int kMostSteps = 50, kMostHalvings = 30;
constexpr double kShortStep = 1e-9;

// Sums of e^(x'b), of x and of xx' weighted so.
struct Risk {
  explicit Risk(Eigen::Index p)
      : first(Eigen::VectorXd::Zero(p)), second(Eigen::MatrixXd::Zero(p, p)) {}
  void Add(double weight, const Eigen::VectorXd& x) {
    zeroth += weight;
    first += weight * x;
    second.noalias() += weight * x * x.transpose();
  }
  double zeroth = 0;
  Eigen::VectorXd first;
  Eigen::MatrixXd second;
};

// Sums over events, each counted as often as a function of its time says.
class Sums {
 public:
  Sums(const CoxRows& rows, const Eigen::VectorXd& point, Ties ties,
       std::function<double(double)> times)
      : rows_(rows),
        predictor_(rows.x * point),
        ties_(ties),
        times_(std::move(times)),
        at_risk_(point.size()) {
    sums_.score.setZero(point.size());
    sums_.information.setZero(point.size(), point.size());
  }

  CoxSums Add() {
    std::vector<size_t> order(rows_.time.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const auto stratum = [&](size_t row) { return rows_.stratum.empty() ? 0 : rows_.stratum[row]; };
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return stratum(a) != stratum(b) ? stratum(a) < stratum(b) : rows_.time[a] > rows_.time[b];
    });
    // Who has not entered yet leaves the others, from the last on.
    std::vector<size_t> entering = rows_.entry.empty() ? std::vector<size_t>{} : order;
    std::sort(entering.begin(), entering.end(), [&](size_t a, size_t b) {
      return stratum(a) != stratum(b) ? stratum(a) < stratum(b) : rows_.entry[a] > rows_.entry[b];
    });
    size_t entered = 0;
    for (size_t first = 0; first < order.size();) {
      const int layer = stratum(order[first]);
      if (first == 0 || layer != stratum(order[first - 1])) {
        at_risk_ = Risk(sums_.score.size());
        while (entered < entering.size() && stratum(entering[entered]) < layer) ++entered;
      }
      for (; entered < entering.size() && stratum(entering[entered]) == layer &&
             rows_.entry[entering[entered]] >= rows_.time[order[first]];
           ++entered) {
        const auto i = static_cast<Eigen::Index>(entering[entered]);
        at_risk_.Add(-std::exp(predictor_[i]), rows_.x.row(i));
      }
      size_t last = first;
      while (last < order.size() && stratum(order[last]) == stratum(order[first]) &&
             rows_.time[order[last]] == rows_.time[order[first]])
        ++last;
      AddTime({order.begin() + static_cast<std::ptrdiff_t>(first),
               order.begin() + static_cast<std::ptrdiff_t>(last)});
      first = last;
    }
    return std::move(sums_);
  }

 private:
  // Rows that leave at one time; those of later times are at risk already.
  void AddTime(const std::vector<size_t>& rows) {
    Risk tied(sums_.score.size());
    int events = 0;
    const double count = times_(rows_.time[rows.front()]);
    for (const size_t row : rows) {
      const auto i = static_cast<Eigen::Index>(row);
      const double weight = std::exp(predictor_[i]);
      const Eigen::VectorXd x = rows_.x.row(i);
      at_risk_.Add(weight, x);
      if (rows_.event[row] == 0) continue;
      ++events;
      tied.Add(weight, x);
      sums_.log_likelihood += count * predictor_[i];
      sums_.score += count * x;
    }
    for (int k = 0; k < events; ++k) {
      const double gone = ties_ == Ties::kEfron ? static_cast<double>(k) / events : 0;
      const double zeroth = at_risk_.zeroth - gone * tied.zeroth;
      const Eigen::VectorXd mean = (at_risk_.first - gone * tied.first) / zeroth;
      sums_.log_likelihood -= count * std::log(zeroth);
      sums_.score -= count * mean;
      sums_.information +=
          count * ((at_risk_.second - gone * tied.second) / zeroth - mean * mean.transpose());
    }
  }

  const CoxRows& rows_;
  const Eigen::VectorXd predictor_;
  const Ties ties_;
  const std::function<double(double)> times_;
  Risk at_risk_;
  CoxSums sums_;
};

}  // namespace

CoxSums CoxSumsAt(const CoxRows& rows, const Eigen::VectorXd& point, Ties ties) {
  return Sums(rows, point, ties, [](double) { return 1.0; }).Add();
}

ProportionalTest TestProportional(const CoxRows& rows, const Eigen::VectorXd& point, Ties ties,
                                  const std::function<double(double)>& g) {
  const CoxSums plain = CoxSumsAt(rows, point, ties), first = Sums(rows, point, ties, g).Add(),
                second =
                    Sums(rows, point, ties, [&](double time) { return g(time) * g(time); }).Add();
  const Eigen::LDLT<Eigen::MatrixXd> inverse = plain.information.ldlt();
  const Eigen::VectorXd score = first.score - first.information * inverse.solve(plain.score);
  const Eigen::MatrixXd information =
      second.information - first.information * inverse.solve(first.information);
  return {(score.array().square() / information.diagonal().array()).matrix(),
          score.dot(information.ldlt().solve(score))};
}

CoxFit FitCox(const CoxRows& rows, Ties ties) {
  CoxFit fit;
  fit.point.setZero(rows.x.cols());
  CoxSums sums = CoxSumsAt(rows, fit.point, ties);
  fit.null_log_likelihood = sums.log_likelihood;
  fit.score_test = sums.score.dot(sums.information.ldlt().solve(sums.score));
  for (; fit.iterations < kMostSteps && !fit.converged; ++fit.iterations) {
    Eigen::VectorXd step = sums.information.ldlt().solve(sums.score);
    if (!step.allFinite()) break;
    fit.converged = std::sqrt(std::max(0.0, step.dot(sums.score))) < kShortStep;
    if (fit.converged) break;
    CoxSums next = CoxSumsAt(rows, fit.point + step, ties);
    for (int k = 0; k < kMostHalvings && !(next.log_likelihood >= sums.log_likelihood - 1e-9);
         ++k) {
      step /= 2;
      next = CoxSumsAt(rows, fit.point + step, ties);
    }
    fit.point += step;
    sums = std::move(next);
  }
  fit.log_likelihood = sums.log_likelihood;
  fit.wald_test = fit.point.dot(sums.information * fit.point);
  fit.covariance =
      sums.information.ldlt().solve(Eigen::MatrixXd::Identity(rows.x.cols(), rows.x.cols()));
  fit.standard_errors = fit.covariance.diagonal().cwiseSqrt();
  return fit;
}

}  // namespace partita::stats::survival
