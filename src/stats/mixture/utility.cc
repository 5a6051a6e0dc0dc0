#include "stats/mixture/utility.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace partita::stats::mixture {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr size_t kCells = 10;

size_t NumCells(const Feature& feature) {
  if (feature.family == Family::kCategorical) return feature.levels;
  return feature.family == Family::kBernoulli ? 2 : kCells;
}

size_t CellOf(const Feature& feature, double x) {
  const auto cut = [](double share) {
    return static_cast<size_t>(std::clamp(std::floor(share * kCells), 0.0, kCells - 1.0));
  };
  switch (feature.family) {
    case Family::kCategorical:
    case Family::kBernoulli:
      return static_cast<size_t>(x);
    case Family::kBeta:
      return cut(x);
    case Family::kGaussian:
      return cut((x + 1) / 2);
    case Family::kPoisson:
      return cut(x / feature.scale / kCells);
  }
  throw Error(ErrorCode::kInternal, "unknown family of a feature");
}

std::vector<std::vector<size_t>> CellsOf(const Layout& layout, const Values& values) {
  if (values.size() != layout.features.size() || values.front().empty()) {
    throw Error(ErrorCode::kUsage, "a table to compare has no row, or not the model's columns");
  }
  std::vector<std::vector<size_t>> cells(values.size());
  for (size_t f = 0; f < values.size(); ++f) {
    for (const double x : values[f]) cells[f].push_back(CellOf(layout.features[f], x));
  }
  return cells;
}

VectorXd Shares(const std::vector<size_t>& cells, size_t count) {
  VectorXd shares = VectorXd::Zero(static_cast<Index>(count));
  for (const size_t cell : cells) shares(static_cast<Index>(cell)) += 1;
  return shares / static_cast<double>(cells.size());
}

double CramersV(const std::vector<size_t>& first, const std::vector<size_t>& second,
                size_t num_first, size_t num_second) {
  const auto n = static_cast<double>(first.size());
  MatrixXd joint = MatrixXd::Zero(static_cast<Index>(num_first), static_cast<Index>(num_second));
  for (size_t i = 0; i < first.size(); ++i)
    joint(static_cast<Index>(first[i]), static_cast<Index>(second[i])) += 1 / n;
  const VectorXd rows = joint.rowwise().sum(), columns = joint.colwise().sum();
  const double used_rows = static_cast<double>((rows.array() > 0).count());
  const double used_columns = static_cast<double>((columns.array() > 0).count());
  double phi2 = -1;  // sum of joint^2 / (row * column), minus 1
  for (Index i = 0; i < joint.rows(); ++i) {
    for (Index j = 0; j < joint.cols(); ++j) {
      if (joint(i, j) > 0) phi2 += joint(i, j) * joint(i, j) / (rows(i) * columns(j));
    }
  }
  if (used_rows < 2 || used_columns < 2 || n < 2) return 0;
  const double corrected = std::max(0.0, phi2 - (used_rows - 1) * (used_columns - 1) / (n - 1));
  const double r = used_rows - std::pow(used_rows - 1, 2) / (n - 1);
  const double c = used_columns - std::pow(used_columns - 1, 2) / (n - 1);
  return std::sqrt(std::min(1.0, corrected / (std::min(r, c) - 1)));
}

// A design of few entries per row: an intercept, indicators of levels, numbers.
struct SparseRows {
  Index num_columns = 1;
  size_t per_row = 1;
  std::vector<std::pair<Index, double>> entries;  // per_row for each row
  std::vector<double> target;

  std::pair<Index, double> Entry(size_t row, size_t i) const { return entries[row * per_row + i]; }
  double Linear(size_t row, const VectorXd& beta) const {
    double sum = 0;
    for (size_t i = 0; i < per_row; ++i) sum += Entry(row, i).second * beta(Entry(row, i).first);
    return sum;
  }
};

SparseRows DesignOf(const Layout& layout, const Values& values, size_t target, size_t level) {
  SparseRows rows;
  std::vector<Index> first(values.size(), 0);
  for (size_t f = 0; f < values.size(); ++f) {
    if (f == target) continue;
    first[f] = rows.num_columns;
    const Feature& feature = layout.features[f];
    rows.num_columns +=
        feature.family == Family::kCategorical ? static_cast<Index>(feature.levels) : 1;
    ++rows.per_row;
  }
  for (size_t n = 0; n < values.front().size(); ++n) {
    rows.entries.emplace_back(0, 1.0);
    for (size_t f = 0; f < values.size(); ++f) {
      if (f == target) continue;
      const Feature& feature = layout.features[f];
      const double x = values[f][n];
      if (feature.family == Family::kCategorical) {
        rows.entries.emplace_back(first[f] + static_cast<Index>(x), 1.0);
      } else {
        rows.entries.emplace_back(first[f], x / feature.scale);
      }
    }
    rows.target.push_back(values[target][n] == static_cast<double>(level) ? 1 : 0);
  }
  return rows;
}

double InverseLogit(double z) { return 1 / (1 + std::exp(-z)); }

VectorXd FitLogistic(const SparseRows& rows) {
  constexpr double kRidge = 1;
  VectorXd beta = VectorXd::Zero(rows.num_columns);
  for (int iteration = 0; iteration < 50; ++iteration) {
    MatrixXd hessian = kRidge * MatrixXd::Identity(rows.num_columns, rows.num_columns);
    VectorXd gradient = -kRidge * beta;
    hessian(0, 0) = 1e-6;  // the intercept is not shrunk
    gradient(0) = -1e-6 * beta(0);
    for (size_t n = 0; n < rows.target.size(); ++n) {
      const double p = InverseLogit(rows.Linear(n, beta));
      const double weight = std::max(p * (1 - p), 1e-9);
      for (size_t i = 0; i < rows.per_row; ++i) {
        const auto [a, x] = rows.Entry(n, i);
        gradient(a) += x * (rows.target[n] - p);
        for (size_t j = 0; j <= i; ++j) {
          const auto [b, y] = rows.Entry(n, j);
          hessian(a, b) += weight * x * y;  // a >= b: entries of a row have increasing columns
        }
      }
    }
    const VectorXd step = hessian.selfadjointView<Eigen::Lower>().llt().solve(gradient);
    // Far from the optimum a full step can overshoot.
    const double largest = step.cwiseAbs().maxCoeff();
    beta += step * std::min(1.0, 4 / std::max(largest, 1e-300));
    if (largest < 1e-8) break;
  }
  return beta;
}

// The probability that a positive row scores above a negative one, ties half.
double Auc(const std::vector<double>& scores, const std::vector<double>& target) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] < scores[b]; });
  double ranks = 0, positives = 0;
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin;
    while (end < order.size() && scores[order[end]] == scores[order[begin]]) ++end;
    const double rank = (static_cast<double>(begin) + static_cast<double>(end) + 1) / 2;
    for (size_t i = begin; i < end; ++i) {
      ranks += target[order[i]] * rank;
      positives += target[order[i]];
    }
    begin = end;
  }
  const double negatives = static_cast<double>(target.size()) - positives;
  if (positives == 0 || negatives == 0) return 0.5;
  return (ranks - positives * (positives + 1) / 2) / (positives * negatives);
}

}  // namespace

std::vector<MarginalDistance> CompareMarginals(const Layout& layout, const Values& real,
                                               const Values& synthetic) {
  const auto first = CellsOf(layout, real), second = CellsOf(layout, synthetic);
  std::vector<MarginalDistance> distances;
  for (size_t f = 0; f < layout.features.size(); ++f) {
    const size_t count = NumCells(layout.features[f]);
    const VectorXd shares = Shares(first[f], count), drawn = Shares(second[f], count);
    distances.push_back({layout.features[f].name,
                         (shares - drawn).lpNorm<1>() / 2,
                         {shares.begin(), shares.end()},
                         {drawn.begin(), drawn.end()}});
  }
  return distances;
}

double PairDistance(const Layout& layout, const Values& real, const Values& synthetic) {
  const auto coarse = [&](const Values& values) {
    std::vector<std::vector<size_t>> cells = CellsOf(layout, values);
    for (size_t f = 0; f < cells.size(); ++f) {
      const size_t count = NumCells(layout.features[f]);
      if (count <= kCells) continue;
      for (size_t& cell : cells[f]) cell = cell * kCells / count;
    }
    return cells;
  };
  const auto ours = coarse(real), theirs = coarse(synthetic);
  const auto shares = [](const std::vector<size_t>& first, const std::vector<size_t>& second) {
    std::vector<size_t> pairs(first.size());
    for (size_t i = 0; i < first.size(); ++i) pairs[i] = first[i] * kCells + second[i];
    return Shares(pairs, kCells * kCells);
  };
  double sum = 0;
  size_t pairs = 0;
  for (size_t a = 0; a < ours.size(); ++a) {
    for (size_t b = a + 1; b < ours.size(); ++b, ++pairs)
      sum += (shares(ours[a], ours[b]) - shares(theirs[a], theirs[b])).cwiseAbs().sum() / 2;
  }
  return pairs == 0 ? 0 : sum / static_cast<double>(pairs);
}

std::vector<Association> CompareAssociations(const Layout& layout, const Values& real,
                                             const Values& synthetic) {
  const auto first = CellsOf(layout, real), second = CellsOf(layout, synthetic);
  std::vector<Association> associations;
  for (size_t a = 0; a < layout.features.size(); ++a) {
    for (size_t b = a + 1; b < layout.features.size(); ++b) {
      const size_t rows = NumCells(layout.features[a]), columns = NumCells(layout.features[b]);
      associations.push_back({layout.features[a].name, layout.features[b].name,
                              CramersV(first[a], first[b], rows, columns),
                              CramersV(second[a], second[b], rows, columns)});
    }
  }
  return associations;
}

PredictionScore TrainAndTest(const Layout& layout, const Values& train, const Values& test,
                             const std::string& target, size_t level) {
  const auto found = std::find_if(layout.features.begin(), layout.features.end(),
                                  [&](const Feature& feature) { return feature.name == target; });
  if (found == layout.features.end()) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("the model has no column '{}' to predict", target),
                "name one of its columns that has levels");
  }
  const bool has_levels =
      found->family == Family::kCategorical || found->family == Family::kBernoulli;
  if (!has_levels || level >= NumCells(*found)) {
    throw Error(ErrorCode::kBadInput, fmt::format("column '{}' has no level {}", target, level),
                "name a column that has levels, and one of them");
  }
  const auto f = static_cast<size_t>(found - layout.features.begin());
  const SparseRows train_rows = DesignOf(layout, train, f, level);
  const SparseRows test_rows = DesignOf(layout, test, f, level);
  const VectorXd beta = FitLogistic(train_rows);
  PredictionScore score;
  std::vector<double> scores;
  const auto count = static_cast<double>(test_rows.target.size());
  for (size_t n = 0; n < test_rows.target.size(); ++n) {
    const double z = test_rows.Linear(n, beta), y = test_rows.target[n];
    score.accuracy += ((z > 0) == (y == 1) ? 1 : 0) / count;
    const double margin = y == 1 ? z : -z;
    score.log_loss +=
        (margin > 0 ? std::log1p(std::exp(-margin)) : -margin + std::log1p(std::exp(margin))) /
        count;
    scores.push_back(z);
  }
  score.auc = Auc(scores, test_rows.target);
  return score;
}

}  // namespace partita::stats::mixture
