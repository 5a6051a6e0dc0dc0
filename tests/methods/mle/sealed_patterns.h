// Sealed fits of incomplete rows, and the same in the clear.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "methods/mle/sealed/fit.h"
#include "methods/mle/sealed/values.h"
#include "mpc/replicated_engine.h"
#include "stats/sem/constraints.h"
#include "stats/sem/information.h"
#include "tests/mpc/harness.h"
#include "tests/stats/incomplete_rows.h"
#include "tests/stats/scoring.h"

namespace partita::methods::mle::testing {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using mpc::Engine;

struct IncompleteCase {
  stats::testing::IncompleteReference reference;
  VectorXd centre, half_width;  // as a dictionary might say; one width for all variables
  VectorXd mean, deviation;     // of what is there
  double n = 0;
};

inline IncompleteCase CaseOf(stats::testing::IncompleteReference reference) {
  IncompleteCase c;
  c.reference = std::move(reference);
  const stats::GroupMoments available =
      stats::AvailableMoments(c.reference.table, c.reference.patterns, 0);
  c.mean = available.mean;
  c.deviation = available.covariance.diagonal().cwiseSqrt();
  const double width = std::exp2(std::ceil(std::log2(4 * c.deviation.maxCoeff())));
  c.centre = VectorXd::Zero(c.mean.size());
  c.half_width = VectorXd::Constant(c.mean.size(), width);
  for (Index j = 0; j < c.mean.size(); ++j) c.centre(j) = std::round(c.mean(j) / width) * width;
  for (const stats::PatternMoments& pattern : c.reference.patterns) c.n += pattern.moments.n;
  return c;
}

inline IncompleteCase LoadPatterns(const std::string& name) {
  return CaseOf(stats::testing::LoadIncomplete(name));
}

inline SealedModel ModelOf(const IncompleteCase& c, size_t iterations) {
  SealedModel model = PrepareSealed(c.reference.table, c.centre, c.half_width);
  model.iterations = iterations;
  return model;
}

// Party 0 brings a part of every moment, party 1 the rest.
inline mpc::Shared ShareMatrix(Engine& engine, const MatrixXd& values) {
  std::vector<mpc::IntMatrix> parts(2);
  std::vector<mpc::PrivateMatrix> inputs;
  for (size_t party = 0; party < 2; ++party) {
    const MatrixXd part = (party == 0 ? 0.3 : 0.7) * values;
    parts[party].shape = {static_cast<size_t>(values.rows()), static_cast<size_t>(values.cols())};
    for (Index r = 0; r < part.rows(); ++r) {
      for (Index col = 0; col < part.cols(); ++col)
        parts[party].values.push_back(mpc::EncodeFixed(part(r, col), kSealedBits));
    }
    inputs.push_back(mpc::testing::Private(engine, party, parts[party], 1, kSealedBits));
  }
  const auto shared = engine.Input(inputs);
  return engine.Add(shared[0], shared[1]);
}

// And a pattern that no row has.
inline std::vector<SealedSample> SharePatterns(Engine& engine, const IncompleteCase& c) {
  std::vector<SealedSample> samples;
  for (const stats::PatternMoments& pattern : c.reference.patterns) {
    const VectorXd width = c.half_width(pattern.observed);
    const VectorXd mean = (pattern.moments.mean - c.centre(pattern.observed)).cwiseQuotient(width);
    const MatrixXd covariance = pattern.moments.covariance.cwiseQuotient(width * width.transpose());
    const MatrixXd weight = MatrixXd::Constant(1, 1, pattern.moments.n / c.n);
    samples.push_back({ShareMatrix(engine, weight),
                       ShareMatrix(engine, mean),
                       ShareMatrix(engine, covariance),
                       0,
                       {pattern.observed.begin(), pattern.observed.end()}});
  }
  samples.push_back({ShareMatrix(engine, MatrixXd::Zero(1, 1)),
                     ShareMatrix(engine, MatrixXd::Zero(1, 1)),
                     ShareMatrix(engine, MatrixXd::Zero(1, 1)),
                     0,
                     {1}});
  return samples;
}

// The public start of a sealed fit, in the clear.
inline VectorXd StartOf(const IncompleteCase& c, const SealedModel& model) {
  const VectorXd sd = c.deviation.cwiseQuotient(c.half_width);
  const auto unit = [&](int variable) {
    const int source = model.unit_of[static_cast<size_t>(variable)];
    return source < 0 ? 1 : sd(source);
  };
  VectorXd start(model.ram.num_parameters);
  std::vector<bool> known(static_cast<size_t>(start.size()), false);
  for (const stats::RamCell& cell : model.ram.groups[0].cells) {
    if (known[static_cast<size_t>(cell.parameter)]) continue;
    known[static_cast<size_t>(cell.parameter)] = true;
    double units = 1;
    if (cell.matrix == stats::RamMatrix::kRegression) units = unit(cell.row) / unit(cell.column);
    if (cell.matrix == stats::RamMatrix::kCovariance) units = unit(cell.row) * unit(cell.column);
    if (cell.matrix == stats::RamMatrix::kMean && cell.row < model.ram.num_observed)
      units = c.mean(cell.row) / c.half_width(cell.row);
    // The numbers of the start go in as multiples of 1/8.
    start(cell.parameter) = std::round(8 * model.start(cell.parameter)) / 8 * units;
  }
  return start;
}

struct Twin {
  stats::ScoringEnd end;
  VectorXd deviations;  // standard errors times sqrt(n), by the observed information
};

inline Twin FitTwin(const IncompleteCase& c, const SealedModel& model) {
  const std::vector<stats::GroupSample> samples =
      stats::testing::Samples(c.reference.patterns, model.ram.variable_unit);
  const stats::SemObjective objective{model.ram, samples};
  Twin twin;
  twin.end =
      stats::ScoreSteps(objective, StartOf(c, model),
                        {std::min(model.iterations, model.scoring_steps),
                         model.iterations - std::min(model.iterations, model.scoring_steps)});
  const Index k = model.ram.num_parameters;
  twin.deviations = stats::InvertInformation(stats::ObservedInformation(objective, twin.end.x),
                                             stats::TangentSpace(MatrixXd(0, k), k), 1)
                        .covariance.diagonal()
                        .cwiseSqrt();
  return twin;
}

inline SealedOpenings PatternOpenings() {
  SealedOpenings openings{"main", 0, true, false};
  openings.information = stats::Information::kObserved;
  return openings;
}

inline SealedEstimates RunPatterns(const IncompleteCase& c, const SealedModel& model,
                                   const mpc::testing::RunOptions& options) {
  SealedEstimates result;
  const auto run = mpc::testing::RunAll(options, [&](Engine& engine, size_t) {
    SilentProgress progress;
    const SealedEstimates estimates =
        FitSealed(engine, model, PatternOpenings(), SharePatterns(engine, c), progress);
    if (engine.self() == 0u) {
      result = estimates;
    } else {
      EXPECT_EQ(estimates.x.size(), 0);
    }
  });
  run.ThrowIfFailed();
  return result;
}

inline mpc::testing::RunOptions PatternOptions(const SealedModel& model, const std::string& kind) {
  mpc::testing::RunOptions options;
  options.kind = kind;
  options.num_parties = kind == "dealer" ? 2 : 3;
  options.releases = SealedReleases(model, PatternOpenings(), "party0");
  if (kind == "replicated") options.make = mpc::MakeReplicatedEngine;
  return options;
}

// Estimates within 1e-4 standard errors, standard errors within 1e-4 of themselves.
inline void ExpectLavaan(const IncompleteCase& c, const SealedModel& model, const VectorXd& x,
                         const VectorXd& deviations) {
  const auto rows = stats::testing::KeptRows(c.reference.reference);
  size_t compared = 0;
  for (size_t r = 0; r < rows.size(); ++r) {
    if (!rows[r]["free"].get<bool>()) continue;
    const int k = model.ram.row_parameter[r];
    ASSERT_GE(k, 0);
    const double unit = model.ram.parameter_unit(k);
    const double se = stats::testing::Number(rows[r]["se"]);
    EXPECT_NEAR(unit * x(k), stats::testing::Number(rows[r]["est"]), 1e-4 * se);
    EXPECT_NEAR(unit * deviations(k) / std::sqrt(c.n), se, 1e-4 * se);
    ++compared;
  }
  EXPECT_GE(compared, static_cast<size_t>(x.size()));
}

}  // namespace partita::methods::mle::testing
