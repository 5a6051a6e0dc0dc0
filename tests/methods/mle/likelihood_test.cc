// Protocol `likelihood` over the engines: every complete-data reference fit of lavaan from shared
// moments, one request and one reply per evaluation, and nothing for anybody but the centre.
#include "methods/mle/likelihood/likelihood.h"

#include <gtest/gtest.h>

#include "mpc/fixed_point.h"
#include "tests/methods/mle/mle_parties.h"
#include "tests/paths.h"
#include "tests/stats/sem_reference.h"

namespace partita::methods::mle::likelihood_test {
namespace {

using stats::testing::Json;
using stats::testing::Number;
using testing::Outcome;

// Bounds that somebody might write down: off centre, unlike from column to column.
stats::StatisticsScale Bounds(const std::vector<stats::GroupMoments>& moments, double width = 1) {
  const Eigen::Index p = moments.front().mean.size();
  stats::StatisticsScale scale{Eigen::VectorXd(p), Eigen::VectorXd(p)};
  for (Eigen::Index i = 0; i < p; ++i) {
    const double sd = std::sqrt(moments.front().covariance(i, i));
    scale.centre[i] = moments.front().mean[i] + (i % 2 == 0 ? 1.3 : -0.6) * sd;
    scale.half_width[i] = width * (5 + 2 * static_cast<double>(i % 3)) * sd;
  }
  return scale;
}

// Integer moments of z, of two variables more than the analysis has: the first and the last.
struct GroupIntegers {
  Int128 n = 0;
  std::vector<Int128> sums, cross;
};

GroupIntegers Integers(const stats::GroupMoments& moments, const stats::StatisticsScale& scale,
                       int bits) {
  const auto p = static_cast<size_t>(moments.mean.size()), q = p + 2;
  GroupIntegers out{static_cast<Int128>(moments.n), std::vector<Int128>(q, 7),
                    std::vector<Int128>(q * q, 7)};
  const Eigen::VectorXd mean = (moments.mean - scale.centre).cwiseQuotient(scale.half_width);
  for (size_t i = 0; i < p; ++i) {
    const auto a = static_cast<Eigen::Index>(i);
    out.sums[1 + i] = mpc::EncodeFixed(moments.n * mean[a], bits);
    for (size_t j = 0; j < p; ++j) {
      const auto b = static_cast<Eigen::Index>(j);
      const double covariance =
          moments.covariance(a, b) / (scale.half_width[a] * scale.half_width[b]);
      out.cross[(1 + i) * q + 1 + j] =
          mpc::EncodeFixed(moments.n * (covariance + mean[a] * mean[b]), 2 * bits);
    }
  }
  return out;
}

struct Case {
  MleAnalysis analysis;
  std::vector<stats::GroupMoments> moments;
  stats::StatisticsScale scale;
  LikelihoodTask task;
  size_t num_parties = 2;
  std::string engine = "dealer";
};

Case MakeCase(const stats::ParameterTable& table, std::vector<stats::GroupMoments> moments,
              double width = 1) {
  Case test;
  test.moments = std::move(moments);
  test.scale = Bounds(test.moments, width);
  test.analysis = testing::AnalysisOf(table, test.scale);
  test.task.name = "main";
  double rows = 0;
  for (const auto& group : test.moments) rows += group.n;
  test.task.max_rows = static_cast<size_t>(rows) + 100;
  return test;
}

// Party i holds an i-th part of every moment.
LikelihoodMoments ShareMoments(mpc::Engine& engine, const Case& test) {
  LikelihoodMoments out;
  for (size_t i = 0; i < test.analysis.variables.size(); ++i) out.variables.push_back(1 + i);
  const auto share = [&](const std::vector<Int128>& values, mpc::Shape shape, int bits) {
    std::vector<mpc::PrivateMatrix> parts;
    for (size_t party = 0; party < test.num_parties; ++party) {
      const double bound = static_cast<double>(test.task.max_rows);
      mpc::PrivateMatrix part{party, shape, bits, bound, nullptr};
      if (engine.self() == party) {
        part.read = [&values, party, &test, shape](size_t first, size_t count, Int128* to) {
          for (size_t k = 0; k < count * shape.cols; ++k) {
            const Int128 whole = values[first * shape.cols + k];
            const auto parties = static_cast<Int128>(test.num_parties);
            *to++ = whole / parties + (party == 0 ? whole % parties : 0);
          }
        };
      }
      parts.push_back(part);
    }
    const std::vector<mpc::Shared> shared = engine.Input(parts);
    mpc::Shared sum = shared[0];
    for (size_t i = 1; i < shared.size(); ++i) {
      sum.bound = 0;
      sum = engine.Add(sum, shared[i]);
    }
    return sum;
  };
  for (const stats::GroupMoments& group : test.moments) {
    const GroupIntegers integers = Integers(group, test.scale, test.task.fraction_bits);
    const size_t q = integers.sums.size();
    out.groups.push_back({share({integers.n}, {1, 1}, 0),
                          share(integers.sums, {1, q}, test.task.fraction_bits),
                          share(integers.cross, {q, q}, 2 * test.task.fraction_bits)});
  }
  return out;
}

struct LikelihoodRun {
  Outcome outcome;
  std::vector<std::optional<MleResult>> results;  // by process
};

LikelihoodRun RunCase(const Case& test) {
  LikelihoodRun run;
  run.results.resize(test.num_parties + 1);
  run.outcome = testing::RunParties(
      test.engine, test.num_parties, LikelihoodReleases(test.analysis, test.task, "centre"),
      [&](mpc::Engine& engine, size_t process) {
        const LikelihoodMoments moments = ShareMoments(engine, test);
        engine.BeginPhase("likelihood");
        SilentProgress progress;
        run.results[process] = FitByLikelihood(engine, test.analysis, test.task, moments, progress);
      });
  return run;
}

struct Reference {
  Json json;
  stats::ParameterTable table;
  std::vector<stats::GroupMoments> moments;
  std::vector<Json> rows;
};

Reference Load(const std::string& name) {
  Reference out;
  out.json = stats::testing::ReadJson(FixturePath("references/sem/" + name + ".json"));
  out.table = stats::testing::TableOf(out.json);
  out.moments = stats::testing::SampleMoments(out.json);
  out.rows = stats::testing::KeptRows(out.json);
  return out;
}

// How far a fit may be from the reference: estimates in standard errors.
void ExpectReference(const MleResult& result, const Reference& reference) {
  ASSERT_TRUE(result.fit.converged) << (result.fit.warnings.empty() ? "" : result.fit.warnings[0]);
  ASSERT_EQ(result.fit.estimates.size(), reference.rows.size());
  for (size_t r = 0; r < reference.rows.size(); ++r) {
    SCOPED_TRACE(reference.rows[r].dump());
    const double se = Number(reference.rows[r]["se"]), estimate = Number(reference.rows[r]["est"]);
    EXPECT_NEAR(result.fit.estimates[r].estimate, estimate,
                se > 0 ? 1e-4 * se : 1e-6 * (1 + std::abs(estimate)));
    EXPECT_NEAR(result.fit.estimates[r].standard_error, se, 1e-5 * se);
  }
  EXPECT_NEAR(result.fit.fit_measures.at("logl"), Number(reference.json["fit"]["logl"]), 1e-5);
}

class LikelihoodReference : public ::testing::TestWithParam<std::string> {
 protected:
  void Check(const std::string& engine, size_t num_parties, size_t centre) {
    const Reference reference = Load(GetParam());
    Case test = MakeCase(reference.table, reference.moments);
    test.engine = engine;
    test.num_parties = num_parties;
    test.task.centre = centre;
    const LikelihoodRun run = RunCase(test);
    ASSERT_EQ(net::Describe(run.outcome.errors), "");
    for (size_t process = 0; process < run.results.size(); ++process) {
      EXPECT_EQ(run.results[process].has_value(), process == centre) << process;
    }
    const MleResult& result = *run.results[centre];
    ExpectReference(result, reference);
    EXPECT_FALSE(result.fit_measures_available);
    const stats::OracleUsage& usage = result.likelihood->usage;
    for (size_t process = 0; process < num_parties; ++process) {
      EXPECT_EQ(testing::Opened(run.outcome, process, GroupSizesRelease(test.task)), 1u);
      EXPECT_EQ(testing::Opened(run.outcome, process, ValueRelease(test.task)),
                static_cast<uint64_t>(usage.values));
      EXPECT_EQ(testing::Opened(run.outcome, process, GradientRelease(test.task)),
                static_cast<uint64_t>(usage.gradients));
    }
    EXPECT_EQ(result.likelihood->leakage_level,
              usage.rank == usage.num_statistics ? "sufficient-statistics" : "likelihood-oracle");
  }
};

TEST_P(LikelihoodReference, TwoPartiesAndADealer) { Check("dealer", 2, 0); }
TEST_P(LikelihoodReference, ThreePartiesAndADealer) { Check("dealer", 3, 2); }
TEST_P(LikelihoodReference, FivePartiesAndADealer) { Check("dealer", 5, 1); }
TEST_P(LikelihoodReference, Replicated) { Check("replicated", 3, 1); }

INSTANTIATE_TEST_SUITE_P(Complete, LikelihoodReference,
                         ::testing::Values("growth_linear6", "growth_openmx5", "growth_predictors",
                                           "hs_cfa3", "hs_cfa3_group", "hs_cfa3_mean",
                                           "hs_cfa3_stdlv", "onefactor", "path_indirect",
                                           "poldem_sem", "poldem_sem_eq", "reg_multiple",
                                           "reg_multiple_fixedx", "reg_simple", "saturated_hs9"),
                         [](const auto& test) { return test.param; });

// A model of three factors with moments of its own, for tests that need no reference.
stats::ParameterTable ThreeFactors(bool means) {
  stats::SemModelOptions options;
  options.family = stats::SemFamily::kCfa;
  options.meanstructure = means;
  return stats::BuildParameterTable("f =~ a1 + a2 + a3\ng =~ b1 + b2 + b3\nh =~ c1 + c2 + c3",
                                    options);
}

stats::GroupMoments MadeUpMoments(double n) {
  stats::GroupMoments moments{n, Eigen::VectorXd(9), Eigen::MatrixXd(9, 9)};
  for (Eigen::Index i = 0; i < 9; ++i) {
    moments.mean[i] = 3 + 0.1 * static_cast<double>(i);
    for (Eigen::Index j = 0; j < 9; ++j) {
      const double loading =
          (0.8 - 0.03 * static_cast<double>(i)) * (0.8 - 0.03 * static_cast<double>(j));
      moments.covariance(i, j) = i == j ? 1 : loading * (i / 3 == j / 3 ? 1 : 0.4);
    }
  }
  moments.covariance(0, 5) = moments.covariance(5, 0) += 0.06;  // not quite the model
  return moments;
}

// By link, from process 0.
std::vector<net::LinkTraffic> LinksOf(const LikelihoodRun& run) {
  return run.outcome.traffic[0].back().links;
}

TEST(LikelihoodTest, AnEvaluationIsOneRequestAndOneReplyWhateverTheNumberOfRows) {
  std::vector<double> bytes;
  for (const double n : {1e3, 1e6}) {
    Case test = MakeCase(ThreeFactors(true), {MadeUpMoments(n)});
    test.num_parties = 3;
    const LikelihoodRun run = RunCase(test);
    ASSERT_EQ(net::Describe(run.outcome.errors), "");
    const stats::OracleUsage usage = run.results[0]->likelihood->usage;
    const auto evaluations = static_cast<uint64_t>(usage.values + usage.gradients);
    for (const size_t peer : {1, 2}) {
      const net::LinkTraffic link = LinksOf(run)[peer];
      EXPECT_EQ(link.messages_sent, evaluations + 1);  // and the stop
      // Replies, the opening of n, and the set-up of the oracle.
      EXPECT_EQ(link.messages_received, evaluations + 2);
      const uint64_t rows = static_cast<uint64_t>(usage.opened_numbers);
      EXPECT_EQ(link.bytes_sent, 8 * (evaluations + 1) + 16 * 54 * rows);
      EXPECT_EQ(link.bytes_received, 16 * (1 + 54 + rows));
    }
    bytes.push_back(static_cast<double>(LinksOf(run)[1].bytes_sent) /
                    static_cast<double>(evaluations));
  }
  EXPECT_EQ(bytes[0], bytes[1]);
}

// Standard deviations of a fiftieth of the half width, and a million rows: what is left of 30 and
// 40 bits is still far below the tolerance.
TEST(LikelihoodTest, NarrowColumnsAndAMillionRows) {
  for (const bool means : {false, true}) {
    SCOPED_TRACE(means);
    const std::vector<stats::GroupMoments> moments = {MadeUpMoments(1e6 - 200)};
    const Case test = MakeCase(ThreeFactors(means), moments, 8);
    const LikelihoodRun run = RunCase(test);
    ASSERT_EQ(net::Describe(run.outcome.errors), "");
    SilentProgress progress;
    const stats::SemFit pooled = stats::FitSem(test.analysis.table, moments, {}, progress);
    const stats::SemFit& fit = run.results[0]->fit;
    ASSERT_TRUE(fit.converged) << fit.warnings[0];
    for (size_t r = 0; r < pooled.estimates.size(); ++r) {
      const double se = pooled.estimates[r].standard_error;
      EXPECT_NEAR(fit.estimates[r].estimate, pooled.estimates[r].estimate, 1e-4 * se);
      EXPECT_NEAR(fit.estimates[r].standard_error, se, 1e-5 * se);
    }
    // Relative to the number of rows.
    EXPECT_NEAR(fit.fit_measures.at("logl"), pooled.fit_measures.at("logl"), 1e-2);
  }
}

TEST(LikelihoodTest, PlanDeclaresWhatTheGateCounts) {
  const Case test = MakeCase(ThreeFactors(false), {MadeUpMoments(500)});
  for (const std::string engine : {"dealer", "replicated"}) {
    mpc::CountingReleaseGate gate;
    gate.Reserve(LikelihoodReleases(test.analysis, test.task, "centre"));
    mpc::PlanEngine plan(engine, 3, &gate);
    Case three = test;
    three.num_parties = 3;
    SilentProgress progress;
    EXPECT_FALSE(
        FitByLikelihood(plan, test.analysis, test.task, ShareMoments(plan, three), progress));
    for (const auto& count : gate.counts()) EXPECT_EQ(count.opened, count.release.max_count);
    ASSERT_EQ(plan.oracles().size(), 1u);
    EXPECT_EQ(plan.oracles()[0].evaluations.size(), 2u);
  }
  const LikelihoodShape shape = ShapeOf(test.analysis);
  EXPECT_EQ(shape.num_statistics, 45u);
  EXPECT_EQ(shape.gradient_rows, 1u + 21);
}

TEST(LikelihoodTest, RunningOutOfEvaluationsIsNoOptimum) {
  Case test = MakeCase(ThreeFactors(false), {MadeUpMoments(500)});
  test.task.max_gradients = 3;
  const LikelihoodRun run = RunCase(test);
  ASSERT_EQ(net::Describe(run.outcome.errors), "");
  EXPECT_FALSE(run.results[0]->fit.converged);
  EXPECT_EQ(run.results[0]->likelihood->usage.gradients, 3);
}

TEST(LikelihoodTest, WeightsLoseBitsToManyRowsAndThenItRefuses) {
  LikelihoodTask task;
  task.max_rows = size_t{1} << 19;
  EXPECT_EQ(WeightFractionBits(task), 40);
  task.max_rows += 1;
  EXPECT_EQ(WeightFractionBits(task), 39);
  task.max_rows = size_t{1} << 29;
  EXPECT_EQ(WeightFractionBits(task), 30);
  task.max_rows += 1;
  EXPECT_THROW(WeightFractionBits(task), Error);
}

TEST(LikelihoodTest, ObservedInformationIsRefusedBeforeAnythingIsSent) {
  Case test = MakeCase(ThreeFactors(false), {MadeUpMoments(500)});
  test.analysis.options.information = stats::Information::kObserved;
  mpc::PlanEngine plan("dealer", 2);
  SilentProgress progress;
  EXPECT_THROW(FitByLikelihood(plan, test.analysis, test.task, {}, progress), Error);
}

TEST(LikelihoodTest, AGroupWithTooFewRowsIsAnErrorAtTheCentre) {
  for (const double n : {0.0, 9.0}) {
    const Case test = MakeCase(ThreeFactors(false), {MadeUpMoments(n)});
    const LikelihoodRun run = RunCase(test);
    ASSERT_TRUE(run.outcome.errors[0]);
    EXPECT_EQ(run.outcome.errors[0]->code(), ErrorCode::kBadInput);
    ASSERT_TRUE(run.outcome.errors[1]);
    EXPECT_EQ(run.outcome.errors[1]->code(), ErrorCode::kPeerLost);
  }
}

}  // namespace
}  // namespace partita::methods::mle::likelihood_test
