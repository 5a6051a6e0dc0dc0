// Linear mixed models in the clear: against R's dense likelihood, against closed forms, and at the edges.
#include <gtest/gtest.h>

#include <Eigen/QR>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "stats/mixed/random_intercept.h"
#include "tests/paths.h"

namespace partita::stats::mixed::twin_test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using nlohmann::json;

struct Table {
  MatrixXd x;
  VectorXd y;
  std::vector<uint32_t> clusters;
};

Table TableOf(const json& of_r) {
  const std::vector<double> y = of_r["y"], x = of_r["x"];
  const auto n = static_cast<Index>(y.size());
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  return {Eigen::Map<const RowMajor>(x.data(), n, static_cast<Index>(x.size()) / n),
          Eigen::Map<const VectorXd>(y.data(), n), of_r["cluster"]};
}

Profile FitOf(const Table& table, Criterion criterion) {
  const RowSums sums = SumRows(table.x, table.y, table.clusters);
  return Fit(std::span(&sums, 1), criterion);
}

void ExpectNear(double ours, double wanted, double relative) {
  EXPECT_NEAR(ours, wanted, relative * std::max(std::abs(wanted), 1e-6));
}

TEST(MixedTwin, IsRs) {
  std::ifstream file(FixturePath("references/mixed/mixed.json"));
  const json tables = json::parse(file);
  size_t fits = 0;
  for (const auto& [name, of_r] : tables.items()) {
    const Table table = TableOf(of_r);
    for (const json& wanted : of_r["fits"]) {
      SCOPED_TRACE(name + (wanted["reml"] ? " REML" : " ML"));
      const Profile fit = FitOf(table, wanted["reml"] ? Criterion::kReml : Criterion::kMl);
      ExpectNear(fit.sigma_squared, wanted["sigma_squared"], 1e-5);
      ExpectNear(fit.tau_squared, wanted["tau_squared"], 1e-5);
      for (size_t i = 0; i < wanted["estimate"].size(); ++i) {
        const auto k = static_cast<Index>(i);
        EXPECT_NEAR(fit.estimates[k], wanted["estimate"][i].get<double>(),
                    1e-6 * fit.standard_errors[k]);
        ExpectNear(fit.standard_errors[k], wanted["standard_error"][i], 1e-5);
      }
      ExpectNear(fit.criterion, wanted["criterion"], 1e-9);
      ExpectNear(IntraclassCorrelation(fit), wanted["icc"], 1e-5);
      ExpectNear(Aic(fit), wanted["aic"], 1e-9);
      ++fits;
    }
  }
  EXPECT_EQ(fits, 6u);
}

// nlme's and lme4's fits of tables that they come with and of the example (packages.R).
TEST(MixedTwin, IsThatOfRsPackages) {
  std::ifstream file(FixturePath("references/mixed/packages.json"));
  const json tables = json::parse(file);
  EXPECT_EQ(tables.size(), 6u);
  for (const auto& [name, of_r] : tables.items()) {
    const Table table = TableOf(of_r);
    for (const json& wanted : of_r["fits"]) {
      SCOPED_TRACE(name + (wanted["reml"] ? " REML" : " ML"));
      const Profile fit = FitOf(table, wanted["reml"] ? Criterion::kReml : Criterion::kMl);
      ExpectNear(fit.sigma_squared, wanted["sigma_squared"], 1e-5);
      ExpectNear(fit.sigma_squared, wanted["lme_sigma_squared"], 1e-5);
      ExpectNear(fit.tau_squared, wanted["tau_squared"], 1e-5);
      // nlme prints it with seven digits.
      ExpectNear(fit.tau_squared, wanted["lme_tau_squared"], 1e-5);
      for (size_t i = 0; i < wanted["estimate"].size(); ++i) {
        const auto k = static_cast<Index>(i);
        for (const char* of : {"", "lme_"}) {
          EXPECT_NEAR(fit.estimates[k], wanted[std::string(of) + "estimate"][i].get<double>(),
                      1e-5 * fit.standard_errors[k]);
        }
        ExpectNear(fit.standard_errors[k], wanted["standard_error"][i], 1e-5);
      }
      ExpectNear(fit.criterion, wanted["criterion"], 1e-9);
      ExpectNear(-fit.criterion / 2, wanted["lme_log_likelihood"], 1e-9);
      ExpectNear(Aic(fit), wanted["aic"], 1e-9);
    }
  }
}

// k clusters of m rows: of a balanced table REML is the analysis of variance, sigma^2 the mean square
// within and tau^2 (between - within) / m.
TEST(MixedTwin, IsTheAnalysisOfVariance) {
  constexpr size_t kClusters = 12, kRows = 5;
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  Table table;
  table.x.setOnes(kClusters * kRows, 1);
  table.y.setZero(kClusters * kRows);
  for (size_t k = 0; k < kClusters; ++k) {
    const double effect = normal(random);
    for (size_t m = 0; m < kRows; ++m) {
      table.y[static_cast<Index>(k * kRows + m)] = 3 + effect + normal(random);
      table.clusters.push_back(static_cast<uint32_t>(k));
    }
  }
  const double mean = table.y.mean();
  double between = 0, within = 0;
  for (size_t k = 0; k < kClusters; ++k) {
    const VectorXd own = table.y.segment(static_cast<Index>(k * kRows), kRows);
    between += kRows * std::pow(own.mean() - mean, 2) / (kClusters - 1);
    within += (own.array() - own.mean()).square().sum() / (kClusters * (kRows - 1));
  }
  ASSERT_GT(between, within);
  const Profile fit = FitOf(table, Criterion::kReml);
  ExpectNear(fit.sigma_squared, within, 1e-8);
  ExpectNear(fit.tau_squared, (between - within) / kRows, 1e-8);
  ExpectNear(fit.estimates[0], mean, 1e-12);
  ExpectNear(fit.standard_errors[0], std::sqrt(between / (kClusters * kRows)), 1e-8);
}

Table Draw(uint64_t seed, size_t clusters, size_t most_rows, double tau) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> x, y;
  Table table;
  for (size_t k = 0; k < clusters; ++k) {
    const double effect = tau * normal(random);
    for (size_t m = 0; m <= random() % most_rows; ++m) {
      x.push_back(normal(random));
      y.push_back(1 + 0.5 * x.back() + effect + normal(random));
      table.clusters.push_back(static_cast<uint32_t>(7 * k + 3));
    }
  }
  const auto n = static_cast<Index>(x.size());
  table.x.setOnes(n, 2);
  table.x.col(1) = Eigen::Map<const VectorXd>(x.data(), n);
  table.y = Eigen::Map<const VectorXd>(y.data(), n);
  return table;
}

// Sums of holders are those of the pooled rows, whatever holder has which clusters; a holder may have
// no row, or a single cluster.
TEST(MixedTwin, AddsUpHolders) {
  const Table table = Draw(2, 20, 6, 0.8);
  std::vector<std::vector<Index>> rows(4);
  for (Index i = 0; i < table.y.size(); ++i) {
    const uint32_t cluster = table.clusters[static_cast<size_t>(i)];
    rows[cluster == 3 ? 2 : cluster % 2].push_back(i);
  }
  std::vector<RowSums> sites;
  for (const std::vector<Index>& own : rows) {
    std::vector<uint32_t> clusters;
    for (const Index i : own) clusters.push_back(table.clusters[static_cast<size_t>(i)]);
    sites.push_back(SumRows(table.x(own, Eigen::all), table.y(own), clusters));
  }
  EXPECT_EQ(sites[2].clusters.size(), 1u);
  EXPECT_EQ(sites[3].rows, 0);
  for (const Criterion criterion : {Criterion::kReml, Criterion::kMl}) {
    const Profile apart = Fit(sites, criterion), pooled = FitOf(table, criterion);
    ExpectNear(apart.tau_squared, pooled.tau_squared, 1e-7);
    ExpectNear(apart.sigma_squared, pooled.sigma_squared, 1e-9);
    ExpectNear(apart.criterion, pooled.criterion, 1e-12);
    for (Index i = 0; i < 2; ++i) ExpectNear(apart.estimates[i], pooled.estimates[i], 1e-9);
  }
}

TEST(MixedTwin, SlopesAreDerivatives) {
  const Table table = Draw(3, 15, 5, 0.5);
  const RowSums sums = SumRows(table.x, table.y, table.clusters);
  for (const Criterion criterion : {Criterion::kReml, Criterion::kMl}) {
    for (const double lambda : {0.01, 0.3, 5.0}) {
      const double h = 1e-4 * lambda;
      const auto at = [&](double l) { return ProfileAt(SumsAt(sums, l), l, criterion); };
      const double slope = (at(lambda + h).criterion - at(lambda - h).criterion) / (2 * h);
      EXPECT_NEAR(at(lambda).slope, slope, 1e-5 * (1 + std::abs(slope)));
    }
  }
}

// One row in every cluster: the two variances cannot be told apart, and their sum is that of the
// residuals.
TEST(MixedTwin, SingleRowsHaveTheSumOfVariances) {
  Table table = Draw(4, 40, 1, 1);
  const Profile fit = FitOf(table, Criterion::kReml);
  const VectorXd b = table.x.colPivHouseholderQr().solve(table.y);
  const double residual =
      (table.y - table.x * b).squaredNorm() / static_cast<double>(table.y.size() - table.x.cols());
  ExpectNear(fit.sigma_squared + fit.tau_squared, residual, 1e-8);
}

}  // namespace
}  // namespace partita::stats::mixed::twin_test
