// Steps of a fixed number: what protocol `sealed` does on shares (methods/mle/sealed/direction.h,
// trial.h), in the clear.
//
// A step tries d of I d = gradient by the expected information, whose steps come near from public
// starts, parts of it and its mean parameters alone; after the first steps before them d of H d =
// gradient, by the observed one where it is positive definite and near the expected one, which
// converges quadratically: scoring is linear, with incomplete rows as is an EM, which takes the same
// inverses (Lange 1995), at the rate of the information that is missing. It takes the first that is
// proved to have positive definite covariances and does not raise the discrepancy, or stays. The
// samples of incomplete rows are those of their patterns, so that the fixed point is the
// full-information estimate.
//
// Inverses, of informations and covariances, are as rough as those of a sealed fit, so that both go
// the same way.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "stats/sem/information.h"
#include "stats/sem/objective.h"
#include "tests/stats/scoring_derivatives.h"

namespace partita::stats {

struct ScoringSteps {
  std::size_t expected = 2;
  std::size_t observed = 10;  // after them
};

struct ScoringEnd {
  Eigen::VectorXd x;
  double value = 0;  // Discrepancy at x
  // Largest |gradient| / sqrt(information): times sqrt(n), standard errors from the minimum.
  double scaled_gradient = 0;
};

namespace scoring {

inline constexpr std::array<double, 2> kNewtonSizes = {1, 0.5};
inline constexpr std::array<double, 4> kScoringSizes = {1, 0.5, 0.25, 0.0625};
// Of twice the discrepancy: near the minimum it falls by less than it is rounded by; mean
// parameters alone have to be worth it.
inline constexpr double kMostRise = 0x1p-24, kMeansDrop = 0x1p-4;

inline double OnGrid(double value, int bits) {
  return std::ldexp(std::floor(std::ldexp(value, bits)), -bits);
}

inline MatrixXd Symmetric(const MatrixXd& matrix) { return (matrix + matrix.transpose()) / 2; }

// (unit + l I)^-1 for a diagonal of at most 1.001, as mpc/functions/inverse.h makes it.
inline MatrixXd RoughInverse(const MatrixXd& unit) {
  const MatrixXd identity = MatrixXd::Identity(unit.rows(), unit.rows());
  const double smallest = 0x1p-16 * static_cast<double>(unit.rows());
  const double largest = 1.001 * static_cast<double>(unit.rows()) + smallest;
  const double scale = std::exp2(-std::ceil(std::log2(largest)));
  const double start = OnGrid(2 / (scale * largest + scale * smallest), 20);
  double error = std::max(std::abs(1 - start * scale * smallest),  //
                          std::abs(1 - start * scale * largest));
  MatrixXd residual = identity - start * scale * (unit + smallest * identity);
  MatrixXd inverse = start * scale * identity;
  while (error > 0x1p-8) {
    const double weight = OnGrid(2 / (2 - error * error), 8);
    inverse = weight * inverse * (identity + residual);
    residual = (1 - weight) * identity + weight * residual * residual;
    error = std::max(weight - 1, std::abs(1 - weight + weight * error * error));
  }
  return Symmetric(inverse);
}

// 2^(-e/2) of entries from 2^(e-1) to 2^e.
inline VectorXd ScalesOf(const VectorXd& diagonal) {
  VectorXd scale(diagonal.size());
  for (Index k = 0; k < scale.size(); ++k) {
    int exponent = 0;
    std::frexp(diagonal(k), &exponent);
    scale(k) = OnGrid(std::exp2(-0.5 * exponent) + 0x1p-28, 27);  // to the nearest
  }
  return scale;
}

inline MatrixXd Scaled(const VectorXd& scale, const MatrixXd& matrix) {
  return scale.asDiagonal() * matrix * scale.asDiagonal();
}

// What a full step subtracts.
struct Directions {
  VectorXd scoring, newton;
  bool newton_descends = false;
};

inline Directions DirectionsBy(const Derivatives& derivatives, bool newton) {
  const VectorXd scale = ScalesOf(derivatives.expected.diagonal());
  const VectorXd gradient = scale.cwiseProduct(derivatives.gradient);
  const MatrixXd rough = RoughInverse(Scaled(scale, derivatives.expected));
  Directions directions;
  directions.scoring = scale.cwiseProduct(rough * gradient);
  if (!newton) return directions;
  // The series of E = I - a Y H up to E^15.
  const MatrixXd identity = MatrixXd::Identity(rough.rows(), rough.rows());
  const MatrixXd observed = Scaled(scale, derivatives.observed);
  const MatrixXd residual = identity - 13.0 / 16 * rough * observed;
  VectorXd solved = 13.0 / 16 * rough * gradient;
  MatrixXd power = residual;
  for (int doubling = 0; doubling < 3; ++doubling) {
    solved += power * solved;
    power = power * power;
  }
  solved += power * solved;
  directions.newton = scale.cwiseProduct(solved);
  directions.newton_descends =
      observed.squaredNorm() < 0x1p12 && residual.squaredNorm() < 16 && power.squaredNorm() < 0.81;
  return directions;
}

// Of the model's observed variables, over the rows of all samples that have them; of complete rows
// of the first sample.
inline VectorXd DeviationsOf(const SemObjective& objective) {
  const std::vector<GroupSample>& samples = objective.samples;
  const bool complete = std::all_of(samples.begin(), samples.end(), [](const GroupSample& sample) {
    return sample.observed.empty();
  });
  if (complete) return samples.front().covariance.diagonal().cwiseSqrt();
  VectorXd weight = VectorXd::Zero(objective.model.num_observed), mean = weight, second = weight;
  for (const GroupSample& sample : samples) {
    for (std::size_t i = 0; i < sample.observed.size(); ++i) {
      const auto at = static_cast<Index>(i);
      const double value = sample.mean(at);
      weight(sample.observed[i]) += sample.weight;
      mean(sample.observed[i]) += sample.weight * value;
      second(sample.observed[i]) += sample.weight * (sample.covariance(at, at) + value * value);
    }
  }
  return (second.cwiseQuotient(weight) - mean.cwiseQuotient(weight).cwiseAbs2()).cwiseSqrt();
}

class Steps {
 public:
  Steps(const SemObjective& objective, const VectorXd& start)
      : objective_(objective), deviations_(DeviationsOf(objective)), x_(start) {
    for (const SampleMoments& sample : MomentsAt(objective_, deviations_, x_))
      inverses_.push_back(Symmetric(sample.covariance.inverse()));
  }

  void Take(bool newton) {
    const Directions directions =
        DirectionsBy(DerivativesBy(objective_, deviations_, inverses_, x_), newton);
    const Tried here = Try(x_);
    found_ = false;
    for (const double size : kNewtonSizes) {
      if (directions.newton_descends) Consider(x_ - size * directions.newton, here, kMostRise);
    }
    for (const double size : kScoringSizes) {
      Consider(x_ - size * directions.scoring, here, kMostRise);
      if (size == 1 && objective_.model.meanstructure)
        Consider(x_ - OfMeans(directions.scoring), here, -kMeansDrop);
    }
    if (found_) x_ = next_;
    inverses_ = found_ ? next_inverses_ : here.inverses;
  }

  const VectorXd& x() const { return x_; }

 private:
  struct Tried {
    bool proved = true;
    double value = 0;
    std::vector<MatrixXd> inverses;
  };

  // Inverses by the series of E = I - X R up to E^15; twice the discrepancy up to a constant.
  Tried Try(const VectorXd& x) const {
    Tried tried;
    const std::vector<SampleMoments> moments = MomentsAt(objective_, deviations_, x);
    for (std::size_t s = 0; s < moments.size(); ++s) {
      const auto& [r, second, distance] = moments[s];
      const MatrixXd identity = MatrixXd::Identity(r.rows(), r.rows());
      const MatrixXd e = identity - inverses_[s] * r;
      const MatrixXd e2 = e * e, e4 = e2 * e2;
      const MatrixXd inverse = Symmetric((identity + e4 * e4) * (identity + e4) * (identity + e2) *
                                         (identity + e) * inverses_[s]);
      MatrixXd power = e;
      double log_ratio = 0;
      for (int k = 1; k <= 16; ++k, power *= e) log_ratio -= power.trace() / k;
      const bool good = r.diagonal().maxCoeff() < 16 && distance.norm() < 0x1p10 &&
                        e.squaredNorm() < 16 && e4.squaredNorm() < 0.25 &&
                        inverse.diagonal().maxCoeff() < 0x1p14;
      tried.proved = tried.proved && good;
      tried.value +=
          objective_.samples[s].weight * (log_ratio + second.cwiseProduct(inverse).sum());
      tried.inverses.push_back(inverse);
    }
    return tried;
  }

  void Consider(const VectorXd& x, const Tried& here, double most) {
    if (found_) return;
    const Tried tried = Try(x);
    if (!tried.proved || !(tried.value - here.value <= most)) return;
    found_ = true;
    next_ = x;
    next_inverses_ = tried.inverses;
  }

  VectorXd OfMeans(const VectorXd& step) const {
    VectorXd alone = step;
    for (const RamGroup& group : objective_.model.groups) {
      for (const RamCell& cell : group.cells) {
        if (cell.matrix != RamMatrix::kMean) alone(cell.parameter) = 0;
      }
    }
    return alone;
  }

  const SemObjective& objective_;
  VectorXd deviations_, x_;
  std::vector<MatrixXd> inverses_;
  bool found_ = false;
  VectorXd next_;
  std::vector<MatrixXd> next_inverses_;
};

}  // namespace scoring

// start: where the discrepancy is finite. Throws kInternal for a start that is no covariance.
inline ScoringEnd ScoreSteps(const SemObjective& objective, const Eigen::VectorXd& start,
                             const ScoringSteps& steps) {
  scoring::Steps at(objective, start);
  for (std::size_t t = 0; t < steps.expected + steps.observed; ++t) at.Take(t >= steps.expected);
  ScoringEnd end{at.x(), 0, 0};
  Eigen::VectorXd gradient;
  end.value = DiscrepancyWithGradient(objective, end.x, gradient);
  const Eigen::MatrixXd information = ExpectedInformation(objective, end.x);
  for (Eigen::Index k = 0; k < gradient.size(); ++k) {
    end.scaled_gradient =
        std::max(end.scaled_gradient, std::abs(gradient[k]) / std::sqrt(information(k, k)));
  }
  return end;
}

}  // namespace partita::stats
