// Every complete-data reference fit, every partition of it, through the whole path of a study:
// study file, tables with shuffled rows, hello, row order, engine, fit. The bounds are the ones
// that the first release promises (docs/benchmarks.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "tests/methods/mle/reference_run.h"
#include "tests/run/results.h"
#include "tests/stats/robust_reference.h"
#include "tests/thorough.h"

namespace partita::methods::mle::reference_test {
namespace {

using nlohmann::json;
using partita::testing::ReferenceStudyOptions;
using testing::CompareEstimates;
using testing::ComparePlanWithTraffic;
using testing::CompareWithReference;
using testing::EstimatesByName;
using testing::ParameterKey;
using testing::Receiver;
using testing::RunReference;

class ReferenceTest : public ::testing::TestWithParam<std::string> {};

// For `./test` an engine takes every second partition, or every third, each engine others.
bool IsTried(size_t partition, size_t engine, size_t every) {
  return Thorough() || (partition + engine) % every == 0;
}
const std::vector<std::string> kEngines = {"dealer", "replicated", "ot", "shamir"};

TEST_P(ReferenceTest, EveryPartitionAndEngineGivesTheReference) {
  const json reference = partita::testing::LoadReference(GetParam());
  std::map<ParameterKey, stats::ParameterEstimate> first;
  for (size_t number = 0; number < reference["partitions"].size(); ++number) {
    const json& partition = reference["partitions"][number];
    for (size_t e = 0; e < kEngines.size(); ++e) {
      const std::string& engine = kEngines[e];
      if (!IsTried(number, e, 2)) continue;
      const size_t holders = partition["parties"].size();
      if ((engine == "replicated" && holders != 3) || (engine == "ot" && holders != 2)) continue;
      if (engine == "shamir" && holders < 3) continue;
      SCOPED_TRACE(partition.dump() + " " + engine);
      ReferenceStudyOptions options;
      options.engine = engine;
      const std::vector<run::PartyEnd> ends = RunReference(reference, partition, options);
      if (HasFailure()) return;
      const MleResult& result = partita::testing::MleResultsOf(Receiver(ends)).front();
      CompareWithReference(result, reference);
      ComparePlanWithTraffic(ends);
      // The opened moments are exact, so every engine and every partition gives the same numbers to
      // the last bit.
      const auto estimates = EstimatesByName(result);
      if (first.empty()) first = estimates;
      for (const auto& [name, estimate] : estimates) {
        EXPECT_EQ(estimate.estimate, first[name].estimate)
            << std::get<0>(name) << std::get<1>(name) << std::get<2>(name);
        EXPECT_EQ(estimate.standard_error, first[name].standard_error);
      }
      EXPECT_EQ(std::count_if(ends.begin(), ends.end(),
                              [](const auto& end) {
                                return !partita::testing::MleResultsOf(*end.outcome).empty();
                              }),
                1);
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(CompleteData, ReferenceTest,
                         ::testing::ValuesIn(partita::testing::CompleteDataReferences()),
                         [](const auto& instance) { return instance.param; });

// Incomplete rows, whoever misses the cell: which row misses which cell is told to nobody.
INSTANTIATE_TEST_SUITE_P(IncompleteData, ReferenceTest,
                         ::testing::Values("growth_linear6_fiml", "hs_cfa3_fiml"),
                         [](const auto& instance) { return instance.param; });

// Robust standard errors, rows or columns or both split: lavaan's MLR.
TEST(RobustReferenceTest, EveryPartitionAndEngineGivesTheReference) {
  const json reference = partita::testing::LoadReference("hs_cfa3_mean");
  const stats::testing::RobustCase robust = stats::testing::LoadRobustCase("hs_means");
  for (size_t number = 0; number < reference["partitions"].size(); ++number) {
    const json& partition = reference["partitions"][number];
    for (size_t e = 0; e < kEngines.size(); ++e) {
      const std::string& engine = kEngines[e];
      if (!IsTried(number, e, 3)) continue;
      const size_t holders = partition["parties"].size();
      if ((engine == "replicated" && holders != 3) || (engine == "ot" && holders != 2)) continue;
      if (engine == "shamir" && holders < 3) continue;
      SCOPED_TRACE(partition.dump() + " " + engine);
      ReferenceStudyOptions options;
      options.engine = engine;
      options.robust = true;
      const std::vector<run::PartyEnd> ends = RunReference(reference, partition, options);
      if (::testing::Test::HasFailure()) return;
      const MleResult& result = partita::testing::MleResultsOf(Receiver(ends)).front();
      CompareWithReference(result, reference);
      ASSERT_TRUE(result.robust);
      size_t compared = 0;
      for (const json& row : robust.reference["parameters"]) {
        const std::optional<std::size_t> r = stats::testing::FindRow(result.table, row);
        if (!r) continue;
        ++compared;
        const double se = stats::testing::Number(row["se"]);
        EXPECT_NEAR(result.robust->estimates[*r].standard_error, se, 1e-5 * se) << row.dump();
      }
      EXPECT_EQ(compared, result.table.rows.size());
      const double factor = stats::testing::Number(robust.reference["fit"]["chisq.scaling.factor"]);
      EXPECT_NEAR(result.robust->scaling_factor, factor, 1e-5 * factor);
      ComparePlanWithTraffic(ends);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

class InvarianceTest : public ReferenceTest {};

TEST_P(InvarianceTest, OrderOfRowsAndPartiesDoesNotMatter) {
  const json reference = partita::testing::LoadReference(GetParam());
  const json partition = reference["partitions"].back();
  const auto base = EstimatesByName(
      partita::testing::MleResultsOf(Receiver(RunReference(reference, partition, {}))).front());
  ReferenceStudyOptions other;
  other.shuffle_seed = 99;
  other.reverse_parties = true;
  const auto reordered = EstimatesByName(
      partita::testing::MleResultsOf(Receiver(RunReference(reference, partition, other))).front());
  ASSERT_EQ(base.size(), reordered.size());
  for (const auto& [name, estimate] : base)
    EXPECT_EQ(estimate.estimate, reordered.at(name).estimate);
}

TEST_P(InvarianceTest, UnitsDoNotMatter) {
  const json reference = partita::testing::LoadReference(GetParam());
  const json partition = reference["partitions"].front();
  ReferenceStudyOptions other;
  other.unit_factor = 1000;
  const auto base = EstimatesByName(
      partita::testing::MleResultsOf(Receiver(RunReference(reference, partition, {}))).front());
  const auto scaled = EstimatesByName(
      partita::testing::MleResultsOf(Receiver(RunReference(reference, partition, other))).front());
  ASSERT_EQ(base.size(), scaled.size());
  // Loadings and regressions between variables that all changed units are the same numbers;
  // variances change by 1e6.
  for (const auto& [name, estimate] : base) {
    const std::string& op = std::get<1>(name);
    const double factor = op == "~~" ? 1e6 : op == "~1" ? 1e3 : 1.0;
    const double expected = estimate.estimate * factor;
    EXPECT_NEAR(scaled.at(name).estimate, expected,
                1e-8 * std::max(std::abs(expected), estimate.standard_error * factor))
        << std::get<0>(name) << op << std::get<2>(name);
  }
}

INSTANTIATE_TEST_SUITE_P(SomeModels, InvarianceTest,
                         ::testing::Values("hs_cfa3_mean", "poldem_sem", "growth_linear6"),
                         [](const auto& instance) { return instance.param; });

// Protocol `likelihood`: no moment is opened, and the fit is lavaan's within the accuracy that its
// grid allows. Traffic is that of the plan but for the evaluations, which stop when the fit is
// done.
class LikelihoodTest : public ReferenceTest {};

TEST_P(LikelihoodTest, EveryPartitionAndEngineGivesTheReference) {
  const json reference = partita::testing::LoadReference(GetParam());
  for (size_t number = 0; number < reference["partitions"].size(); ++number) {
    const json& partition = reference["partitions"][number];
    for (size_t e = 0; e < kEngines.size(); ++e) {
      const std::string& engine = kEngines[e];
      if (!IsTried(number, e, 3)) continue;
      const size_t holders = partition["parties"].size();
      if ((engine == "replicated" && holders != 3) || (engine == "ot" && holders != 2)) continue;
      if (engine == "shamir" && holders < 3) continue;
      SCOPED_TRACE(partition.dump() + " " + engine);
      ReferenceStudyOptions options;
      options.engine = engine;
      options.protocol = "likelihood";
      const std::vector<run::PartyEnd> ends = RunReference(reference, partition, options);
      if (HasFailure()) return;
      const MleResult& result = partita::testing::MleResultsOf(Receiver(ends)).front();
      CompareEstimates(result, reference);
      EXPECT_NEAR(result.fit.fit_measures.at("logl"), reference["fit"]["logl"].get<double>(), 1e-3);
      EXPECT_FALSE(result.fit_measures_available);
      ASSERT_TRUE(result.likelihood);
      EXPECT_GT(result.likelihood->usage.rank, 0);
      EXPECT_LE(result.likelihood->usage.rank, result.likelihood->usage.num_statistics);
      for (const mpc::CountingReleaseGate::Count& count : Receiver(ends).releases)
        EXPECT_NE(count.release.id, "moments");
      const study::Plan& plan = ends[0].outcome->plan;
      for (size_t p = 0; p < plan.phases.size(); ++p) {
        const net::PhaseTraffic& traffic = ends[0].outcome->traffic[p];
        uint64_t planned = 0, counted = 0;
        for (const study::PlanLink& link : plan.phases[p].links)
          planned += link.from == ends[0].party ? link.bytes : 0;
        for (const net::LinkTraffic& link : traffic.links) counted += link.bytes_sent;
        if (traffic.phase.starts_with("likelihood")) {
          EXPECT_LE(counted, planned);
        } else {
          EXPECT_EQ(counted, planned) << traffic.phase;
        }
      }
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(CompleteData, LikelihoodTest,
                         ::testing::ValuesIn(partita::testing::CompleteDataReferences()),
                         [](const auto& instance) { return instance.param; });

class GroupHolderTest : public ReferenceTest {};

// The grouping factor at another holder gives the same result: the secret indicators do not depend
// on who holds them.
TEST_P(GroupHolderTest, AnyHolderMayGroup) {
  const json reference = partita::testing::LoadReference(GetParam());
  for (const json& partition : reference["partitions"]) {
    ReferenceStudyOptions options;
    options.last_holder_groups = true;
    const std::vector<run::PartyEnd> ends = RunReference(reference, partition, options);
    if (HasFailure()) return;
    CompareWithReference(partita::testing::MleResultsOf(Receiver(ends)).front(), reference);
    ComparePlanWithTraffic(ends);
  }
}

INSTANTIATE_TEST_SUITE_P(Groups, GroupHolderTest, ::testing::Values("hs_cfa3_group"),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace partita::methods::mle::reference_test
