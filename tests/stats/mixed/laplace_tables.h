// Tables of grouped rows for tests: made-up ones, and those of tests/references/mixed/laplace.json.
#pragma once

#include <Eigen/Core>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "stats/mixed/laplace.h"

namespace partita::stats::mixed::testing {

struct DrawnGroups {
  size_t groups = 20, most_rows = 8;
  double tau = 0.7;
  std::vector<double> b = {0.3, 0.8, -0.5};
  uint64_t design = 0;  // 0: of the seed
};
// An intercept, a covariate of rows and one of groups.
inline GroupedRows DrawGrouped(const glm::Law& law, uint64_t seed, const DrawnGroups& drawn) {
  std::mt19937_64 random(seed), of_design(drawn.design == 0 ? seed + 1000 : drawn.design);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> own, of_group, y;
  GroupedRows rows;
  for (size_t g = 0; g < drawn.groups; ++g) {
    const double effect = drawn.tau * normal(random), covariate = uniform(of_design);
    const size_t size = drawn.groups == 1 ? drawn.most_rows : 1 + of_design() % drawn.most_rows;
    rows.sizes.push_back(static_cast<Eigen::Index>(size));
    for (size_t i = 0; i < size; ++i) {
      own.push_back(uniform(of_design));
      of_group.push_back(covariate);
      const double eta = drawn.b[0] + drawn.b[1] * own.back() + drawn.b[2] * covariate + effect;
      if (law.family == glm::Family::kPoisson) {
        y.push_back(std::poisson_distribution<int>(std::exp(eta))(random));
      } else {
        y.push_back(std::bernoulli_distribution(1 / (1 + std::exp(-eta)))(random) ? 1 : 0);
      }
    }
  }
  const auto n = static_cast<Eigen::Index>(y.size());
  rows.x.setOnes(n, 3);
  rows.x.col(1) = Eigen::Map<const Eigen::VectorXd>(own.data(), n);
  rows.x.col(2) = Eigen::Map<const Eigen::VectorXd>(of_group.data(), n);
  rows.y = Eigen::Map<const Eigen::VectorXd>(y.data(), n);
  return rows;
}

// Groups go to sites in turn.
inline std::vector<GroupedRows> SplitGroups(const GroupedRows& rows, size_t sites) {
  std::vector<GroupedRows> split(sites);
  std::vector<std::vector<Eigen::Index>> places(sites);
  Eigen::Index first = 0;
  for (size_t g = 0; g < rows.sizes.size(); ++g) {
    split[g % sites].sizes.push_back(rows.sizes[g]);
    for (Eigen::Index i = 0; i < rows.sizes[g]; ++i) places[g % sites].push_back(first + i);
    first += rows.sizes[g];
  }
  for (size_t s = 0; s < sites; ++s) {
    split[s].x = rows.x(places[s], Eigen::all);
    split[s].y = rows.y(places[s]);
  }
  return split;
}

inline GroupedRows GroupedOf(const nlohmann::json& of_r) {
  const std::vector<double> y = of_r["y"], x = of_r["x"];
  const std::vector<uint32_t> clusters = of_r["cluster"];
  std::map<uint32_t, std::vector<Eigen::Index>> groups;
  for (size_t i = 0; i < clusters.size(); ++i)
    groups[clusters[i]].push_back(static_cast<Eigen::Index>(i));
  std::vector<Eigen::Index> places;
  GroupedRows rows;
  for (const auto& [name, of_group] : groups) {
    rows.sizes.push_back(static_cast<Eigen::Index>(of_group.size()));
    places.insert(places.end(), of_group.begin(), of_group.end());
  }
  const auto n = static_cast<Eigen::Index>(y.size());
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::MatrixXd all =
      Eigen::Map<const RowMajor>(x.data(), n, static_cast<Eigen::Index>(x.size()) / n);
  rows.x = all(places, Eigen::all);
  rows.y = Eigen::Map<const Eigen::VectorXd>(y.data(), n)(places);
  return rows;
}

}  // namespace partita::stats::mixed::testing
