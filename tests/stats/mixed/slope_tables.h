// Tables of linear models with a random slope for tests: made-up ones, and those of tests/references/mixed/slopes.json.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "stats/mixed/random_slope.h"

namespace partita::stats::mixed::testing {

struct SlopedTable {
  Eigen::MatrixXd x;
  Eigen::VectorXd y;
  std::vector<uint32_t> clusters;
  Eigen::Index slope = 1;
};

struct DrawnSlopes {
  size_t clusters = 20, most_rows = 8;
  uint64_t design = 0;      // 0: of the seed
  Eigen::VectorXd at = {};  // b, psi; empty: those below
};
// An intercept, the slope's column and a covariate of groups, all in [-1, 1].
inline SlopedTable DrawSloped(uint64_t seed, const DrawnSlopes& drawn) {
  std::mt19937_64 random(seed), of_design(drawn.design == 0 ? seed + 1000 : drawn.design);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(-1, 1);
  Eigen::VectorXd at(7);
  at << 0.2, 0.3, -0.1, std::log(0.2), std::log(0.15), 0.3, std::log(0.1);
  if (drawn.at.size() > 0) at = drawn.at;
  const double s0 = std::exp(at[3]), s1 = std::exp(at[4]), rho = std::tanh(at[5]),
               sigma = std::exp(at[6]);
  std::vector<double> own, of_group, y;
  SlopedTable table;
  for (size_t k = 0; k < drawn.clusters; ++k) {
    const double first = normal(random), second = normal(random), covariate = uniform(of_design);
    const double intercept = s0 * first,
                 slope = s1 * (rho * first + std::sqrt(1 - rho * rho) * second);
    const size_t rows = 2 + of_design() % drawn.most_rows;
    for (size_t m = 0; m < rows; ++m) {
      const double z = uniform(of_design);
      own.push_back(z);
      of_group.push_back(covariate);
      y.push_back(at[0] + intercept + (at[1] + slope) * z + at[2] * covariate +
                  sigma * normal(random));
      table.clusters.push_back(static_cast<uint32_t>(k));
    }
  }
  const auto n = static_cast<Eigen::Index>(y.size());
  table.x.setOnes(n, 3);
  table.x.col(1) = Eigen::Map<const Eigen::VectorXd>(own.data(), n);
  table.x.col(2) = Eigen::Map<const Eigen::VectorXd>(of_group.data(), n);
  table.y = Eigen::Map<const Eigen::VectorXd>(y.data(), n);
  return table;
}

inline SlopedTable TableOfR(const nlohmann::json& of_r) {
  const std::vector<double> y = of_r["y"], x = of_r["x"];
  const auto n = static_cast<Eigen::Index>(y.size());
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  return {Eigen::Map<const RowMajor>(x.data(), n, static_cast<Eigen::Index>(x.size()) / n),
          Eigen::Map<const Eigen::VectorXd>(y.data(), n), of_r["cluster"],
          of_r["slope"].get<Eigen::Index>()};
}

// Groups go to sites in turn.
inline std::vector<SlopedTable> SplitSloped(const SlopedTable& table, size_t sites) {
  std::vector<SlopedTable> split;
  for (size_t s = 0; s < sites; ++s) {
    std::vector<Eigen::Index> rows;
    SlopedTable& own = split.emplace_back();
    own.slope = table.slope;
    for (Eigen::Index i = 0; i < table.y.size(); ++i) {
      const uint32_t cluster = table.clusters[static_cast<size_t>(i)];
      if (cluster % sites != s) continue;
      rows.push_back(i);
      own.clusters.push_back(cluster);
    }
    own.x = table.x(rows, Eigen::all);
    own.y = table.y(rows);
  }
  return split;
}

}  // namespace partita::stats::mixed::testing
