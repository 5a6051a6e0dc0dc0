// Runs of reference fits through the whole path of a study, and their comparison with lavaan and
// with the plan.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "methods/mle/study/study.h"
#include "methods/prepare_study.h"
#include "run/simulate/simulate.h"
#include "tests/run/reference_study.h"
#include "tests/run/results.h"

namespace partita::methods::mle::testing {

using nlohmann::json;

// One run in this process; every party must end well. Returns the receiver's outcome.
inline std::vector<run::PartyEnd> Run(const std::string& study_file) {
  const MleStudy study = PrepareMleStudy(LoadStudyFile(study_file));
  std::vector<std::filesystem::path> data;
  for (const study::Party& party : study.parties)
    data.push_back(run::DefaultDataPath(study_file, party.name));
  SilentProgress progress;
  std::vector<run::PartyEnd> ends = run::SimulateInProcess(study, data, {}, progress);
  for (const run::PartyEnd& end : ends) {
    EXPECT_FALSE(end.error.has_value())
        << end.party << ": " << (end.error ? end.error->message() : "");
  }
  return ends;
}

inline const run::PartyOutcome& Receiver(const std::vector<run::PartyEnd>& ends) {
  for (const run::PartyEnd& end : ends) {
    if (end.outcome && !partita::testing::MleResultsOf(*end.outcome).empty()) return *end.outcome;
  }
  throw Error(ErrorCode::kInternal, "nobody received a result");
}

inline std::vector<run::PartyEnd> RunReference(
    const json& reference, const json& partition,
    const partita::testing::ReferenceStudyOptions& options) {
  const std::string folder = partita::testing::MakeTemporaryFolder("reference");
  std::vector<run::PartyEnd> ends =
      Run(partita::testing::WriteReferenceStudy(reference, partition, folder, options));
  std::filesystem::remove_all(folder);
  return ends;
}

using ParameterKey = std::tuple<std::string, std::string, std::string, int>;

inline std::map<ParameterKey, stats::ParameterEstimate> EstimatesByName(const MleResult& result) {
  std::map<ParameterKey, stats::ParameterEstimate> estimates;
  for (size_t i = 0; i < result.table.rows.size(); ++i) {
    const stats::Parameter& row = result.table.rows[i];
    estimates[{row.lhs, row.op, row.rhs, row.group}] = result.fit.estimates[i];
  }
  return estimates;
}

inline void CompareEstimates(const MleResult& result, const json& reference) {
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

inline void CompareWithReference(const MleResult& result, const json& reference) {
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
inline void ComparePlanWithTraffic(const std::vector<run::PartyEnd>& ends) {
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
  for (const run::PartyEnd& end : ends) {
    uint64_t rounds = 0;
    for (const net::PhaseTraffic& traffic : end.outcome->traffic) rounds += traffic.rounds;
    deepest = std::max(deepest, rounds);
  }
  EXPECT_EQ(planned_rounds, deepest);
}

}  // namespace partita::methods::mle::testing
