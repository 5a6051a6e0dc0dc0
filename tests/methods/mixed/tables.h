// Tables of linear mixed models for tests, and the protocol's task for a table of numbers.
#pragma once

#include <fmt/format.h>

#include <Eigen/Core>
#include <cmath>
#include <random>
#include <vector>

#include "methods/mixed/fit.h"

namespace partita::methods::mixed::testing {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Columns and outcome in [-1, 1].
struct Table {
  MatrixXd x;
  VectorXd y;
  std::vector<uint32_t> clusters;
};

struct Drawn {
  size_t clusters = 20, most_rows = 8;
  double tau = 0.5, sigma = 1;
};
// An intercept, a covariate of rows and one of clusters.
inline Table Draw(uint64_t seed, const Drawn& drawn) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> y, own, of_cluster;
  Table table;
  for (size_t k = 0; k < drawn.clusters; ++k) {
    const double effect = drawn.tau * normal(random), covariate = uniform(random);
    for (size_t m = 0; m <= random() % drawn.most_rows; ++m) {
      own.push_back(uniform(random));
      of_cluster.push_back(covariate);
      y.push_back((1 + own.back() - 0.5 * covariate + effect + drawn.sigma * normal(random)) / 16);
      table.clusters.push_back(static_cast<uint32_t>(k));
    }
  }
  const auto n = static_cast<Index>(y.size());
  table.x.setOnes(n, 3);
  table.x.col(1) = Eigen::Map<const VectorXd>(own.data(), n);
  table.x.col(2) = Eigen::Map<const VectorXd>(of_cluster.data(), n);
  table.y = Eigen::Map<const VectorXd>(y.data(), n);
  return table;
}

// Clusters go to holders in turn.
inline std::vector<OwnData> SplitUp(const Table& table, size_t holders) {
  std::vector<OwnData> own;
  for (size_t h = 0; h < holders; ++h) {
    std::vector<Index> rows;
    std::vector<uint32_t> clusters;
    for (Index i = 0; i < table.y.size(); ++i) {
      const uint32_t cluster = table.clusters[static_cast<size_t>(i)];
      if (cluster % holders != h) continue;
      rows.push_back(i);
      clusters.push_back(cluster);
    }
    const MatrixXd x = table.x(rows, Eigen::all);
    const VectorXd y = table.y(rows);
    OwnData data;
    data.sums = stats::mixed::SumRows(x, y, clusters);
    data.counts = {static_cast<Int128>(data.sums.clusters.size()),
                   static_cast<Int128>(rows.size())};
    own.push_back(std::move(data));
  }
  return own;
}

inline Task TaskOf(size_t columns, const std::vector<OwnData>& own,
                   stats::mixed::Criterion criterion) {
  Task task;
  task.spec.columns.resize(columns);
  task.spec.criterion = criterion;
  task.spec.group = "cluster";
  task.to = 1;
  for (size_t h = 0; h < own.size(); ++h)
    task.holders.push_back({h, static_cast<uint64_t>(own[h].sums.rows) + h + 1});
  return task;
}

}  // namespace partita::methods::mixed::testing
