// A sealed fit of made-up patients against its twin in the clear, with exactly the messages of the plan.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>

#include "methods/glm/result.h"
#include "methods/glm/sealed/clusters.h"
#include "methods/glm/sealed/fitter.h"
#include "methods/glm/sealed/plan_layout.h"
#include "stats/glm/fit.h"
#include "stats/glm/likelihood.h"
#include "stats/glm/robust.h"
#include "stats/glm/wald.h"
#include "tests/methods/glm/sealed_tables.h"
#include "tests/mpc/harness.h"

namespace partita::methods::glm::testing {

inline std::string Robust(const std::string& text, const char* errors = "robust") {
  return text + fmt::format("errors = \"{}\"\n", errors);
}

inline constexpr double kRounding = 0.5 + 0x1p-9;

struct Ran {
  std::vector<run::CheckOutcome> checks;
  Fitted fitted;
  Collinear collinear;
  std::vector<uint64_t> depth;
  std::optional<CountAnswers> answers;
};

// min_cell: of risk groups.
inline Ran RunSealed(const GlmStudy& study, const SealedRows& rows, uint64_t min_cell = 1) {
  mpc::testing::RunOptions options;
  options.kind = study.file.engine.name;
  options.num_parties = study.num_computing;
  options.releases = ReleasesOf(study);
  Ran ran;
  const auto result = mpc::testing::RunAndComparePlan(options, [&](mpc::Engine& engine, size_t) {
    const std::optional<size_t> self = engine.self();
    const std::vector<OwnBlock> none;
    const std::vector<OwnBlock>& own = self ? rows.blocks[*self] : none;
    const std::vector<Int128> no_counts(NumCounts(study.task));
    const std::vector<Int128>& counts = self ? rows.counts[*self] : no_counts;
    const Task& task = study.task;
    const std::vector<SharedBlock> blocks = ShareBlocks(engine, task, study.layout, own);
    const std::vector<mpc::Shared> by_group =
        CountsByGroup(engine, task, study.layout, blocks, own, counts);
    std::vector<mpc::Shared> room;
    if (ComparesWeights(task.spec)) room = RoomOfWeights(engine, task, study.layout, blocks);
    SealedClusters clusters;
    if (task.spec.clustered())
      clusters = CountClusters(engine, task, study.layout, blocks, own, by_group);
    const std::optional<CountAnswers> answers =
        CheckCounts(engine, task, by_group, room, 1, study.file.disclosure.min_cell, clusters);
    if (answers) {
      EXPECT_EQ(answers->weights, !rows.large_weight);
    }
    const SharedTotals totals = TotalsFrom(engine, task, by_group, clusters);
    SealedSums sums(engine, task, study.layout, blocks, totals);
    SealedFitter fitter(engine, task, sums, totals);
    const Collinear collinear = fitter.First();
    for (int step = 0; step < task.spec.steps; ++step) fitter.Step();
    std::optional<SealedRisk> risk;
    if (!task.spec.cuts.empty())
      risk = SealedRiskOf(engine, task, study.layout, blocks, by_group, min_cell);
    const Fitted fitted = fitter.Finish(risk ? &*risk : nullptr);
    if (!self) return;
    if (*self != study.receiver) {
      EXPECT_FALSE(fitted.model.has_value());
      EXPECT_TRUE(fitted.points.empty());
      return;
    }
    ran.answers = answers;
    ran.fitted = fitted;
    ran.collinear = collinear;
  });
  result.ThrowIfFailed();
  ran.depth = result.depth;
  return ran;
}

// The maximum of the pooled rows.
struct Twin {
  Eigen::VectorXd point;
  Eigen::MatrixXd covariance;
  double deviance = 0, null_deviance = 0, pearson = 0;
};

inline Twin TwinOf(const Task& task, const stats::glm::Rows& rows) {
  const Spec& spec = task.spec;
  const stats::glm::Limits& limits = task.units.limits;
  const Eigen::VectorXd ridge = RidgeOf(spec, rows.count());
  const stats::glm::Maximum maximum = Maximise(spec.law, rows, limits, ridge);
  EXPECT_TRUE(maximum.converged);
  stats::glm::PointSums sums = SumsAt(spec.law, rows, maximum.point, limits);
  AddRidge(sums, maximum.point, ridge);
  const Eigen::Index p = ridge.size();
  Twin twin{maximum.point, {}, sums.deviance, 0, sums.pearson};
  if (spec.robust()) {
    twin.covariance = stats::glm::SandwichCovariance(
        sums.information,
        MeatAt(spec.law, rows, maximum.point, limits, std::numeric_limits<double>::infinity())
            .meat);
  } else {
    const double freedom = rows.count() - static_cast<double>(p);
    const double dispersion = HasDispersion(spec.law) ? sums.pearson / freedom : 1;
    twin.covariance = dispersion * sums.information.ldlt().solve(Eigen::MatrixXd::Identity(p, p));
  }
  stats::glm::Rows ones = rows;
  ones.x = Eigen::MatrixXd::Ones(rows.y.size(), 1);
  twin.null_deviance = FitRows(spec.law, ones, limits, spec.intercept).null_deviance;
  return twin;
}

inline void ExpectStatistics(const Task& task, const FittedModel& told, const Twin& twin) {
  const std::vector<data::ModelTerm>& terms = task.spec.terms;
  ASSERT_EQ(told.statistics.size(), terms.size());
  for (size_t t = 0; t < terms.size(); ++t) {
    const double statistic =
        stats::glm::WaldStatistic(twin.point, twin.covariance, terms[t].columns).value();
    // A point 1e-4 standard errors off in any direction, before it is rounded.
    EXPECT_NEAR(told.statistics[t], statistic,
                std::ldexp(kRounding, -task.grid_bits) + 2e-4 * (1 + statistic))
        << terms[t].name;
  }
}

inline void ExpectTwin(const SealedCase& made) {
  SCOPED_TRACE(made.text.substr(made.text.find("[[analysis]]")));
  const GlmStudy study = SealedStudyOf(made);
  const SealedRows rows = SealedRowsOf(study, made);
  const Ran ran = RunSealed(study, rows);
  const Spec& spec = study.task.spec;
  const Twin twin = TwinOf(study.task, rows.pooled);
  ASSERT_TRUE(ran.fitted.model.has_value());
  const FittedModel& told = *ran.fitted.model;
  EXPECT_TRUE(ran.collinear.columns.empty());
  ASSERT_TRUE(told.converged);
  EXPECT_EQ(told.rows, static_cast<uint64_t>(rows.pooled.count()));
  const double events =
      rows.pooled.copies ? rows.pooled.weights.dot(rows.pooled.y) : rows.pooled.y.sum();
  EXPECT_EQ(told.clusters, rows.clusters);
  EXPECT_EQ(told.events, spec.law.binary ? static_cast<uint64_t>(events) : 0);
  for (Eigen::Index j = 0; j < rows.pooled.x.cols(); ++j) {
    SCOPED_TRACE(spec.columns[static_cast<size_t>(j)].name);
    const double error = std::sqrt(twin.covariance(j, j)), step = told.steps[j];
    const double exponent = std::log2(step), wanted = std::log2(error) - study.task.grid_bits;
    EXPECT_LE(exponent, wanted + 0.01);
    EXPECT_GT(exponent, wanted - 1.01);
    // 1e-4 of a standard error before it is rounded.
    EXPECT_NEAR(ran.fitted.points.back()[j], twin.point[j], kRounding * step + 1e-4 * error);
    EXPECT_NEAR(told.standard_errors[j], error, kRounding * step + 1e-4 * error);
    EXPECT_EQ(std::remainder(ran.fitted.points.back()[j], step), 0);
  }
  ExpectStatistics(study.task, told, twin);
  if (NumTotals(spec) == 0) {
    EXPECT_TRUE(told.totals.empty());
    return;
  }
  const ModelFit fit = FitOf(study.task, told.rows, told.events, told.totals);
  const bool gaussian = spec.law.family == stats::glm::Family::kGaussian;
  const double unit = gaussian ? spec.outcome.scale * spec.outcome.scale * spec.weight_unit() : 1;
  const double total = std::ldexp(kRounding, -study.task.grid_bits) + 2e-4;
  const auto n = static_cast<double>(told.rows);
  EXPECT_NEAR(fit.deviance, twin.deviance * unit,
              gaussian ? twin.deviance * unit * total / n : total);
  ASSERT_TRUE(fit.null_deviance || (spec.law.binary && !spec.offsets.empty()) ||
              spec.weights_kind == study::WeightsKind::kPrecision);
  if (spec.law.family == stats::glm::Family::kGamma) {
    const double freedom = n - static_cast<double>(rows.pooled.x.cols());
    EXPECT_NEAR(fit.dispersion, twin.pearson / freedom, total / freedom);
    const double constant = stats::glm::OwnConstant(spec.law, rows.pooled);
    EXPECT_NEAR(fit.log_likelihood.value(),
                stats::glm::LogLikelihood(spec.law, {n, fit.deviance, constant}), total);
  }
  if (fit.null_deviance) {
    EXPECT_NEAR(*fit.null_deviance, twin.null_deviance * unit,
                gaussian ? twin.null_deviance * unit * total / n : total);
  }
}

}  // namespace partita::methods::glm::testing
