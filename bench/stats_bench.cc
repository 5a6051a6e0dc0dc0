// Fits of structural equation models: the whole of FitSem, standard errors and fit measures
// included. Yardstick: lavaan needs 35 ms (growth, p = 12) and 51 ms (p = 25).
#include <benchmark/benchmark.h>

#include <Eigen/Core>
#include <random>
#include <string>

#include "stats/sem/fit.h"

namespace {

using partita::SilentProgress;
using partita::stats::BuildParameterTable;
using partita::stats::FitSem;
using partita::stats::GroupMoments;
using partita::stats::ParameterTable;
using partita::stats::SemFamily;
using partita::stats::SemFitOptions;
using partita::stats::SemModelOptions;

GroupMoments MomentsOf(const Eigen::MatrixXd& rows) {
  GroupMoments moments;
  moments.n = static_cast<double>(rows.rows());
  moments.mean = rows.colwise().mean().transpose();
  const Eigen::MatrixXd centred = rows.rowwise() - moments.mean.transpose();
  moments.covariance = centred.transpose() * centred / moments.n;
  return moments;
}

// eta = (N(0,1), N(0,1)) L' + (5, .7), L = [1.5 0; .3 .6]; y = eta (1, 0..p-1)' + N(0, 1.3^2).
Eigen::MatrixXd GrowthRows(int n, int p) {
  std::mt19937_64 generator(static_cast<unsigned>(100 + p));
  std::normal_distribution<double> normal;
  Eigen::MatrixXd rows(n, p);
  for (int i = 0; i < n; ++i) {
    const double u = normal(generator), v = normal(generator);
    const double intercept = 5 + 1.5 * u, slope = 0.7 + 0.3 * u + 0.6 * v;
    for (int j = 0; j < p; ++j) rows(i, j) = intercept + slope * j + 1.3 * normal(generator);
  }
  return rows;
}

std::string GrowthModel(int p) {
  std::string intercept = "i =~ ", slope = "s =~ ", residuals;
  for (int j = 0; j < p; ++j) {
    const std::string name = "y" + std::to_string(j), plus = j > 0 ? " + " : "";
    intercept += plus + "1*" + name;
    slope += plus + std::to_string(j) + "*" + name;
    residuals += name + " ~~ e*" + name + "\n";
  }
  return intercept + "\n" + slope + "\n" + residuals;
}

void Fit(benchmark::State& state, const ParameterTable& table, const GroupMoments& moments) {
  SilentProgress progress;
  const SemFitOptions options;
  int iterations = 0;
  for (auto _ : state) {
    const partita::stats::SemFit fit = FitSem(table, {moments}, options, progress);
    if (!fit.converged) state.SkipWithError("did not converge");
    iterations = fit.iterations;
    benchmark::DoNotOptimize(fit.vcov.data());
  }
  state.counters["iterations"] = iterations;
}

void BM_Growth(benchmark::State& state) {
  const int p = static_cast<int>(state.range(0));
  SemModelOptions options;
  options.family = SemFamily::kGrowth;
  Fit(state, BuildParameterTable(GrowthModel(p), options), MomentsOf(GrowthRows(1000, p)));
}
BENCHMARK(BM_Growth)->Arg(12)->Arg(25)->Unit(benchmark::kMillisecond);

// Three factors with three indicators each, 301 rows, loadings and correlations like those of the
// Holzinger-Swineford data.
void BM_ThreeFactors(benchmark::State& state) {
  std::mt19937_64 generator(7);
  std::normal_distribution<double> normal;
  Eigen::MatrixXd rows(301, 9);
  for (Eigen::Index i = 0; i < rows.rows(); ++i) {
    const double common = normal(generator);
    for (Eigen::Index f = 0; f < 3; ++f) {
      const double factor = 0.65 * common + 0.76 * normal(generator);
      for (Eigen::Index j = 0; j < 3; ++j) {
        rows(i, 3 * f + j) = (1 - 0.2 * static_cast<double>(j)) * factor + 0.8 * normal(generator);
      }
    }
  }
  SemModelOptions options;
  options.family = SemFamily::kCfa;
  options.meanstructure = true;
  const std::string model = "a =~ y0 + y1 + y2\nb =~ y3 + y4 + y5\nc =~ y6 + y7 + y8";
  Fit(state, BuildParameterTable(model, options), MomentsOf(rows));
}
BENCHMARK(BM_ThreeFactors)->Unit(benchmark::kMillisecond);

// Every mean and covariance of p variables is a parameter.
void BM_Saturated(benchmark::State& state) {
  const int p = static_cast<int>(state.range(0));
  std::string model;
  for (int i = 0; i < p; ++i) {
    model += "y" + std::to_string(i) + " ~~ y" + std::to_string(i);
    for (int j = i + 1; j < p; ++j) model += " + y" + std::to_string(j);
    model += "\n";
  }
  SemModelOptions options;
  options.meanstructure = true;
  Fit(state, BuildParameterTable(model, options), MomentsOf(GrowthRows(1000, p)));
}
BENCHMARK(BM_Saturated)->Arg(9)->Arg(15)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
