// Sealed fits of lavaan's references.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "methods/mle/sealed/fit.h"
#include "mpc/replicated_engine.h"
#include "mpc/shamir_engine.h"
#include "tests/mpc/harness.h"
#include "tests/paths.h"
#include "tests/stats/sem_reference.h"

namespace partita::methods::mle::testing {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using mpc::Engine;
using stats::testing::Json;
using stats::testing::Number;

struct Case {
  Json reference;
  stats::ParameterTable table;
  std::vector<stats::GroupMoments> moments;
  VectorXd centre, half_width;  // as a dictionary might say
};

inline Case Load(const std::string& name, bool one_width = false) {
  Case c;
  c.reference = stats::testing::ReadJson(FixturePath("references/sem/" + name + ".json"));
  c.table = stats::testing::TableOf(c.reference);
  c.moments = stats::testing::SampleMoments(c.reference);
  const Index p = c.moments[0].mean.size();
  c.centre = c.half_width = VectorXd::Zero(p);
  for (Index j = 0; j < p; ++j) {
    const double sd = std::sqrt(c.moments[0].covariance(j, j));
    c.half_width(j) = std::exp2(std::ceil(std::log2(4 * sd)));
    c.centre(j) = std::round(c.moments[0].mean(j) / c.half_width(j)) * c.half_width(j);
  }
  // Variables whose names begin alike have one range.
  for (Index j = 0; one_width && j < p; ++j) {
    for (Index i = 0; i < p; ++i) {
      const bool alike = c.table.observed[static_cast<size_t>(i)].front() ==
                         c.table.observed[static_cast<size_t>(j)].front();
      if (alike) c.half_width(j) = std::max(c.half_width(j), c.half_width(i));
    }
  }
  if (one_width) c.centre.setZero();
  return c;
}

// Party 0 brings the moments of the first half of what there is, party 1 the rest.
inline std::vector<SealedSample> Share(Engine& engine, const Case& c) {
  std::vector<SealedSample> samples;
  double total = 0;
  for (const stats::GroupMoments& group : c.moments) total += group.n;
  for (const stats::GroupMoments& group : c.moments) {
    const VectorXd mean = (group.mean - c.centre).cwiseQuotient(c.half_width);
    const MatrixXd scale = c.half_width * c.half_width.transpose();
    const MatrixXd covariance = group.covariance.cwiseQuotient(scale);
    const auto input = [&](const MatrixXd& values) {
      std::vector<mpc::IntMatrix> parts(2);
      std::vector<mpc::PrivateMatrix> inputs;
      for (size_t party = 0; party < 2; ++party) {
        const MatrixXd part = (party == 0 ? 0.3 : 0.7) * values;
        parts[party].shape = {static_cast<size_t>(values.rows()),
                              static_cast<size_t>(values.cols())};
        for (Index r = 0; r < part.rows(); ++r) {
          for (Index col = 0; col < part.cols(); ++col) {
            parts[party].values.push_back(mpc::EncodeFixed(part(r, col), kSealedBits));
          }
        }
        inputs.push_back(mpc::testing::Private(engine, party, parts[party], 1, kSealedBits));
      }
      const auto shared = engine.Input(inputs);
      return engine.Add(shared[0], shared[1]);
    };
    const mpc::Shared weight =
        engine.Public(EncodeMatrix(MatrixXd::Constant(1, 1, group.n / total), kSealedBits));
    samples.push_back({weight, input(mean), input(covariance), samples.size()});
  }
  return samples;
}

// Everything that can be opened.
inline SealedOpenings Openings() { return {"main", 0, true, true}; }

struct Result {
  SealedEstimates estimates;
  uint64_t rounds = 0;
  double seconds = 0;
};

inline mpc::testing::RunOptions SealedOptions(const SealedModel& model,
                                              const SealedOpenings& openings,
                                              const std::string& kind, size_t parties) {
  mpc::testing::RunOptions options;
  options.kind = kind;
  options.num_parties = parties;
  options.releases = SealedReleases(model, openings, "party0");
  if (kind == "replicated") options.make = mpc::MakeReplicatedEngine;
  if (kind == "shamir") options.make = mpc::MakeShamirEngine;
  return options;
}

inline Result RunSealed(const Case& c, const SealedModel& model, const SealedOpenings& openings,
                        const mpc::testing::RunOptions& options) {
  Result result;
  const auto start = std::chrono::steady_clock::now();
  const auto run = mpc::testing::RunAll(options, [&](Engine& engine, size_t) {
    SilentProgress progress;
    const SealedEstimates estimates =
        FitSealed(engine, model, openings, Share(engine, c), progress);
    if (engine.self() == 0u) {
      result.estimates = estimates;
    } else {
      EXPECT_EQ(estimates.x.size(), 0);
    }
  });
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  run.ThrowIfFailed();
  result.rounds = run.depth[0];
  return result;
}

inline Result RunSealed(const Case& c, const SealedModel& model, const std::string& kind,
                        size_t parties) {
  return RunSealed(c, model, Openings(), SealedOptions(model, Openings(), kind, parties));
}

// Chi-squares within 1e-4, as pooled moments must give them, and the log-likelihood per row.
inline void ExpectScalars(const Case& c, const SealedModel& model,
                          const SealedEstimates& estimates) {
  ASSERT_TRUE(estimates.scalars);
  double n = 0;
  for (const stats::GroupMoments& group : c.moments) n += group.n;
  const Json& fit = c.reference["fit"];
  EXPECT_NEAR(n * estimates.scalars->chisq, Number(fit["chisq"]), 1e-4);
  EXPECT_NEAR(n * estimates.scalars->baseline_chisq, Number(fit["baseline.chisq"]), 1e-4);
  double given = 0, units = 0;
  for (Index j = 0; j < c.half_width.size(); ++j) {
    const bool covariate = std::find(model.covariates.begin(), model.covariates.end(),
                                     static_cast<size_t>(j)) != model.covariates.end();
    if (c.table.fixed_x && covariate) {
      ++given;
    } else {
      units += 2 * std::log(c.half_width(j));
    }
  }
  const double p = static_cast<double>(c.half_width.size()) - given;
  const double log_2pi = std::log(2 * std::acos(-1.0));
  const double logl = -0.5 * n * (p * (log_2pi + 1) + units + estimates.scalars->saturated);
  EXPECT_NEAR(logl - 0.5 * n * estimates.scalars->chisq, Number(fit["logl"]), 1e-6 * n);
}

inline void ExpectReference(const Case& c, const SealedModel& model,
                            const SealedEstimates& estimates) {
  EXPECT_TRUE(estimates.converged);
  ASSERT_EQ(estimates.x.size(), static_cast<Index>(model.opened.size()));
  VectorXd x = VectorXd::Zero(model.ram.num_parameters);
  for (size_t i = 0; i < model.opened.size(); ++i) {
    x(model.opened[i]) = estimates.x(static_cast<Index>(i));
  }
  ASSERT_EQ(estimates.deviations.size(), estimates.x.size());
  VectorXd deviation = VectorXd::Zero(model.ram.num_parameters);
  for (size_t i = 0; i < model.opened.size(); ++i) {
    deviation(model.opened[i]) = estimates.deviations(static_cast<Index>(i));
  }
  double n = 0;
  for (const stats::GroupMoments& group : c.moments) n += group.n;
  ExpectScalars(c, model, estimates);
  const auto rows = stats::testing::KeptRows(c.reference);
  size_t compared = 0;
  for (size_t r = 0; r < rows.size(); ++r) {
    if (!rows[r]["free"].get<bool>()) continue;
    const int k = model.ram.row_parameter[r];
    ASSERT_GE(k, 0);
    double value = model.ram.parameter_unit(k) * x(k);
    EXPECT_NEAR(value, Number(rows[r]["est"]), 1e-4 * Number(rows[r]["se"]))
        << rows[r]["lhs"] << rows[r]["op"] << rows[r]["rhs"];
    EXPECT_NEAR(model.ram.parameter_unit(k) * deviation(k) / std::sqrt(n), Number(rows[r]["se"]),
                1e-4 * Number(rows[r]["se"]))
        << rows[r]["lhs"] << rows[r]["op"] << rows[r]["rhs"];
    ++compared;
  }
  EXPECT_GT(compared, 0u);
}

inline void ExpectLavaan(const std::string& name, size_t iterations,
                         const std::string& kind = "dealer", bool one_width = false) {
  const Case c = Load(name, one_width);
  SealedModel model = PrepareSealed(c.table, c.centre, c.half_width);
  model.iterations = iterations;
  const Result result = RunSealed(c, model, kind, kind == "dealer" ? 2 : 3);
  ExpectReference(c, model, result.estimates);
}

}  // namespace partita::methods::mle::testing
