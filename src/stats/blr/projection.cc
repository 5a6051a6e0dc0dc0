#include "stats/blr/projection.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "stats/blr/posterior.h"
#include "stats/blr/variates.h"

namespace partita::stats::blr {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

double GridPoint(const ThresholdSearch& search, size_t k) {
  if (search.grid == 1) return search.lowest;
  return search.lowest + (search.highest - search.lowest) * static_cast<double>(k) /
                             static_cast<double>(search.grid - 1);
}

// One auxiliary data set, in standard deviations of its columns.
struct Auxiliary {
  MatrixXd x;
  VectorXd y, beta;
  double target_stddev = 0;
};

Auxiliary DrawAuxiliary(const ThresholdSearch& search, Variates& variates) {
  const auto n = static_cast<Index>(search.num_rows), d = static_cast<Index>(search.features);
  Auxiliary data{MatrixXd(n, d), VectorXd(n), VectorXd(d), 0};
  for (double& value : data.x.reshaped()) value = variates.Normal();
  for (double& value : data.beta) value = std::sqrt(search.slope_variance) * variates.Normal();
  data.y = data.x * data.beta;
  for (double& value : data.y) value += std::sqrt(search.noise_variance) * variates.Normal();
  data.target_stddev = std::sqrt(data.y.squaredNorm() / static_cast<double>(n));
  return data;
}

MatrixXd SymmetricNoise(Index size, Variates& variates) {
  MatrixXd noise(size, size);
  for (Index i = 0; i < size; ++i)
    for (Index j = i; j < size; ++j) noise(i, j) = noise(j, i) = variates.Normal();
  return noise;
}

}  // namespace

BudgetSplit SplitBudget(const NoiseRequest& budget, double share) {
  if (!(share > 0 && share < 1)) {
    throw Error(ErrorCode::kUsage, "a budget cannot be split at " + std::to_string(share),
                "give the first release a share between 0 and 1");
  }
  BudgetSplit split{budget, budget};
  split.first.epsilon = budget.epsilon * share;
  split.first.delta = budget.delta * share;
  // Differences that do not round up over the budget.
  split.second.epsilon = (budget.epsilon - split.first.epsilon) * (1 - 1e-15);
  split.second.delta = (budget.delta - split.first.delta) * (1 - 1e-15);
  return split;
}

std::vector<double> MarginalStddevs(const Design& design, std::span<const Int128> noised_squares,
                                    size_t num_rows, double floor) {
  if (noised_squares.size() != design.features.size() + 1 || num_rows == 0) {
    throw Error(ErrorCode::kInternal, "sums of squares of another number of columns");
  }
  std::vector<double> stddevs;
  for (size_t j = 0; j < noised_squares.size(); ++j) {
    const Column& column = j < design.features.size() ? design.features[j] : design.target;
    const double mean_square =
        std::ldexp(static_cast<double>(noised_squares[j]), -kSumFractionBits) /
        static_cast<double>(num_rows);
    stddevs.push_back(column.bound * std::sqrt(std::max(mean_square, floor)));
  }
  return stddevs;
}

Design ProjectedDesign(const Design& design, std::span<const double> stddevs,
                       const Thresholds& thresholds) {
  Design projected = design;
  for (size_t j = 0; j <= design.features.size(); ++j) {
    const bool target = j == design.features.size();
    Column& column = target ? projected.target : projected.features[j];
    column.bound =
        std::min(column.bound, (target ? thresholds.target : thresholds.features) * stddevs[j]);
  }
  return projected;
}

Thresholds SearchThresholds(const ThresholdSearch& search, const NoiseRequest& statistics,
                            crypto::RandomSource& source) {
  if (search.num_rows == 0 || search.features == 0 || search.grid == 0 || search.data_sets == 0 ||
      search.noise_draws == 0 || !(search.lowest > 0) || search.highest < search.lowest) {
    throw Error(ErrorCode::kBadInput, "a threshold search without rows, columns or grid",
                "give positive sizes and 0 < lowest <= highest");
  }
  Variates variates(source);
  const auto d = static_cast<Index>(search.features), grid = static_cast<Index>(search.grid);
  Design design;
  design.features.assign(search.features, Column{"x", 1, 0});
  design.target = {"y", 1, 0};
  const double stddev = std::sqrt(DesignStatisticsNoise(design, statistics).variance);
  MatrixXd errors = MatrixXd::Zero(grid, grid);  // features x target
  for (size_t set = 0; set < search.data_sets; ++set) {
    const Auxiliary data = DrawAuxiliary(search, variates);
    MatrixXd targets(data.y.size(), grid);
    for (Index t = 0; t < grid; ++t) {
      const double bound = GridPoint(search, static_cast<size_t>(t)) * data.target_stddev;
      targets.col(t) = data.y.cwiseMax(-bound).cwiseMin(bound);
    }
    std::vector<std::pair<MatrixXd, VectorXd>> noises;
    for (size_t draw = 0; draw < search.noise_draws; ++draw) {
      MatrixXd gram = SymmetricNoise(d, variates);
      VectorXd cross(d);
      for (double& value : cross) value = variates.Normal();
      noises.emplace_back(std::move(gram), std::move(cross));
    }
    for (Index f = 0; f < grid; ++f) {
      const double bound = GridPoint(search, static_cast<size_t>(f));
      const MatrixXd clipped = data.x.cwiseMax(-bound).cwiseMin(bound);
      const MatrixXd gram = clipped.transpose() * clipped;
      const MatrixXd cross = clipped.transpose() * targets;
      for (const auto& [gram_noise, cross_noise] : noises) {
        // Noise in raw units is that in scaled units times the bounds of the two columns.
        MatrixXd precision =
            RepairGram(gram + stddev * bound * bound * gram_noise, Repair::kAbsolute) /
            search.noise_variance;
        precision.diagonal().array() += 1 / search.slope_variance;
        const Eigen::LLT<MatrixXd> llt(precision);
        for (Index t = 0; t < grid; ++t) {
          const double target_bound =
              GridPoint(search, static_cast<size_t>(t)) * data.target_stddev;
          const VectorXd estimate =
              llt.solve(cross.col(t) + stddev * bound * target_bound * cross_noise) /
              search.noise_variance;
          errors(f, t) += std::sqrt(2 / M_PI) *
                          std::sqrt(search.noise_variance + (estimate - data.beta).squaredNorm());
        }
      }
    }
  }
  Index f = 0, t = 0;
  const double best = errors.minCoeff(&f, &t);
  return {GridPoint(search, static_cast<size_t>(f)), GridPoint(search, static_cast<size_t>(t)),
          best / static_cast<double>(search.data_sets * search.noise_draws)};
}

}  // namespace partita::stats::blr
