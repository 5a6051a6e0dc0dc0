// Every complete-data reference fit, every partition of it, through the whole path of a study:
// study file, tables with shuffled rows, hello, row order, engine, fit. The bounds are the ones
// that the first release promises (docs/benchmarks.md).
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <tuple>

#include "runtime/simulate.h"
#include "tests/runtime/reference_study.h"

namespace partita {
namespace {

using nlohmann::json;
using testing::ReferenceStudyOptions;

// One run in this process; every party must end well. Returns the receiver's outcome.
std::vector<runtime::PartyEnd> Run(const std::string& study_file) {
  const runtime::MleStudy study = runtime::PrepareMleStudy(study::LoadStudyFile(study_file));
  std::vector<std::filesystem::path> data;
  for (const study::Party& party : study.parties)
    data.push_back(runtime::DefaultDataPath(study_file, party.name));
  SilentProgress progress;
  std::vector<runtime::PartyEnd> ends = runtime::SimulateInProcess(study, data, {}, progress);
  for (const runtime::PartyEnd& end : ends) {
    EXPECT_FALSE(end.error.has_value())
        << end.party << ": " << (end.error ? end.error->message() : "");
  }
  return ends;
}

const runtime::PartyOutcome& Receiver(const std::vector<runtime::PartyEnd>& ends) {
  for (const runtime::PartyEnd& end : ends) {
    if (end.outcome && !end.outcome->results.empty()) return *end.outcome;
  }
  throw Error(ErrorCode::kInternal, "nobody received a result");
}

std::vector<runtime::PartyEnd> RunReference(const json& reference, const json& partition,
                                            const ReferenceStudyOptions& options) {
  const std::string folder = testing::MakeTemporaryFolder("reference");
  std::vector<runtime::PartyEnd> ends =
      Run(testing::WriteReferenceStudy(reference, partition, folder, options));
  std::filesystem::remove_all(folder);
  return ends;
}

using ParameterKey = std::tuple<std::string, std::string, std::string, int>;

std::map<ParameterKey, stats::ParameterEstimate> EstimatesByName(
    const methods::mle::MleResult& result) {
  std::map<ParameterKey, stats::ParameterEstimate> estimates;
  for (size_t i = 0; i < result.table.rows.size(); ++i) {
    const stats::Parameter& row = result.table.rows[i];
    estimates[{row.lhs, row.op, row.rhs, row.group}] = result.fit.estimates[i];
  }
  return estimates;
}

void CompareEstimates(const methods::mle::MleResult& result, const json& reference) {
  const std::map<ParameterKey, stats::ParameterEstimate> estimates = EstimatesByName(result);
  for (const json& row : reference["parameters"]) {
    const std::string op = row["op"];
    if (op == "==")
      continue;  // lavaan writes equal labels as constraints between its own names; here they are
                 // one parameter
    const ParameterKey key{row["lhs"], op, op == "~1" ? "" : row["rhs"].get<std::string>(),
                           op == ":=" ? 0 : row["group"].get<int>()};
    const auto found = estimates.find(key);
    ASSERT_NE(found, estimates.end()) << row.dump();
    const double se = row["se"].is_null() ? 0 : row["se"].get<double>();
    if (se > 0) {
      EXPECT_LE(std::abs(found->second.estimate - row["est"].get<double>()), 1e-4 * se)
          << row.dump();
      EXPECT_LE(std::abs(found->second.standard_error - se), 1e-5 * se) << row.dump();
    } else {
      EXPECT_NEAR(found->second.estimate, row["est"].get<double>(),
                  1e-9 * std::max(1.0, std::abs(row["est"].get<double>())))
          << row.dump();
    }
  }
}

void CompareWithReference(const methods::mle::MleResult& result, const json& reference) {
  CompareEstimates(result, reference);
  double n = 0;
  for (double group : result.group_n) n += group;
  const json& fit = reference["fit"];
  const std::map<std::string, double>& measures = result.fit.fit_measures;
  EXPECT_NEAR(measures.at("logl"), fit["logl"].get<double>(), 1e-6 * n);
  EXPECT_NEAR(measures.at("chisq"), fit["chisq"].get<double>(), 1e-4);
  for (const char* name : {"cfi", "tli", "rmsea", "srmr"}) {
    if (fit[name].is_null()) continue;
    EXPECT_NEAR(measures.at(name), fit[name].get<double>(), 1e-5) << name;
  }
}

// The plan's messages and bytes of every phase and link are the counted ones, and its rounds the
// deepest party's.
void ComparePlanWithTraffic(const std::vector<runtime::PartyEnd>& ends) {
  const study::Plan& plan = ends[0].outcome->plan;
  std::map<std::string, size_t> index;
  for (size_t i = 0; i < ends.size(); ++i) index[ends[i].party] = i;
  ASSERT_EQ(plan.phases.size(), ends[0].outcome->traffic.size());
  for (size_t p = 0; p < plan.phases.size(); ++p) {
    std::map<std::pair<size_t, size_t>, study::PlanLink> planned;
    for (const study::PlanLink& link : plan.phases[p].links)
      planned[{index[link.from], index[link.to]}] = link;
    for (size_t i = 0; i < ends.size(); ++i) {
      const net::PhaseTraffic& traffic = ends[i].outcome->traffic[p];
      EXPECT_EQ(traffic.phase, plan.phases[p].name);
      for (size_t j = 0; j < ends.size(); ++j) {
        if (i == j) continue;
        EXPECT_EQ(traffic.links[j].messages_sent, (planned[{i, j}].messages))
            << traffic.phase << " " << i << "->" << j;
        EXPECT_EQ(traffic.links[j].bytes_sent, (planned[{i, j}].bytes))
            << traffic.phase << " " << i << "->" << j;
        EXPECT_EQ(traffic.links[j].messages_received, (planned[{j, i}].messages)) << traffic.phase;
        EXPECT_EQ(traffic.links[j].bytes_received, (planned[{j, i}].bytes)) << traffic.phase;
      }
    }
  }
  uint64_t planned_rounds = 0, deepest = 0;
  for (const study::PlanPhase& phase : plan.phases) planned_rounds += phase.rounds;
  for (const runtime::PartyEnd& end : ends) {
    uint64_t rounds = 0;
    for (const net::PhaseTraffic& traffic : end.outcome->traffic) rounds += traffic.rounds;
    deepest = std::max(deepest, rounds);
  }
  EXPECT_EQ(planned_rounds, deepest);
}

class ReferenceTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (testing::SharedFolder().empty())
      GTEST_SKIP() << "the reference fits are not beside the repository";
  }
};

TEST_P(ReferenceTest, EveryPartitionAndEngineGivesTheReference) {
  const json reference = testing::LoadReference(GetParam());
  std::map<ParameterKey, stats::ParameterEstimate> first;
  for (const json& partition : reference["partitions"]) {
    for (const std::string engine : {"dealer", "replicated", "ot", "shamir"}) {
      const size_t holders = partition["parties"].size();
      if ((engine == "replicated" && holders != 3) || (engine == "ot" && holders != 2)) continue;
      if (engine == "shamir" && holders < 3) continue;
      SCOPED_TRACE(partition.dump() + " " + engine);
      ReferenceStudyOptions options;
      options.engine = engine;
      const std::vector<runtime::PartyEnd> ends = RunReference(reference, partition, options);
      if (HasFailure()) return;
      const methods::mle::MleResult& result = Receiver(ends).results.front();
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
                              [](const auto& end) { return !end.outcome->results.empty(); }),
                1);
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(CompleteData, ReferenceTest,
                         ::testing::ValuesIn(testing::CompleteDataReferences()),
                         [](const auto& instance) { return instance.param; });

class InvarianceTest : public ReferenceTest {};

TEST_P(InvarianceTest, OrderOfRowsAndPartiesDoesNotMatter) {
  const json reference = testing::LoadReference(GetParam());
  const json partition = reference["partitions"].back();
  const auto base =
      EstimatesByName(Receiver(RunReference(reference, partition, {})).results.front());
  ReferenceStudyOptions other;
  other.shuffle_seed = 99;
  other.reverse_parties = true;
  const auto reordered =
      EstimatesByName(Receiver(RunReference(reference, partition, other)).results.front());
  ASSERT_EQ(base.size(), reordered.size());
  for (const auto& [name, estimate] : base)
    EXPECT_EQ(estimate.estimate, reordered.at(name).estimate);
}

TEST_P(InvarianceTest, UnitsDoNotMatter) {
  const json reference = testing::LoadReference(GetParam());
  const json partition = reference["partitions"].front();
  ReferenceStudyOptions other;
  other.unit_factor = 1000;
  const auto base =
      EstimatesByName(Receiver(RunReference(reference, partition, {})).results.front());
  const auto scaled =
      EstimatesByName(Receiver(RunReference(reference, partition, other)).results.front());
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
  const json reference = testing::LoadReference(GetParam());
  for (const json& partition : reference["partitions"]) {
    for (const std::string engine : {"dealer", "replicated", "ot", "shamir"}) {
      const size_t holders = partition["parties"].size();
      if ((engine == "replicated" && holders != 3) || (engine == "ot" && holders != 2)) continue;
      if (engine == "shamir" && holders < 3) continue;
      SCOPED_TRACE(partition.dump() + " " + engine);
      ReferenceStudyOptions options;
      options.engine = engine;
      options.protocol = "likelihood";
      const std::vector<runtime::PartyEnd> ends = RunReference(reference, partition, options);
      if (HasFailure()) return;
      const methods::mle::MleResult& result = Receiver(ends).results.front();
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
                         ::testing::ValuesIn(testing::CompleteDataReferences()),
                         [](const auto& instance) { return instance.param; });

class GroupHolderTest : public ReferenceTest {};

// The grouping factor at another holder gives the same result: the secret indicators do not depend
// on who holds them.
TEST_P(GroupHolderTest, AnyHolderMayGroup) {
  const json reference = testing::LoadReference(GetParam());
  for (const json& partition : reference["partitions"]) {
    ReferenceStudyOptions options;
    options.last_holder_groups = true;
    const std::vector<runtime::PartyEnd> ends = RunReference(reference, partition, options);
    if (HasFailure()) return;
    CompareWithReference(Receiver(ends).results.front(), reference);
    ComparePlanWithTraffic(ends);
  }
}

INSTANTIATE_TEST_SUITE_P(Groups, GroupHolderTest, ::testing::Values("hs_cfa3_group"),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace partita
