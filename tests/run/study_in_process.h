// A study from its text through the whole path, all parties in this process.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "methods/prepare_study.h"
#include "run/party/build_plan.h"
#include "run/simulate/simulate.h"
#include "tests/paths.h"
#include "tests/run/reference_study.h"
#include "tests/run/results.h"

namespace partita::testing {

inline std::unique_ptr<const run::Study> Prepare(const std::string& text) {
  return methods::PrepareStudy(methods::ParseStudyFile(text, "study.toml"));
}

// Of every party with rows a table, in the order of the roster.
inline std::vector<run::PartyEnd> RunStudy(const run::Study& study,
                                           const std::vector<std::string>& tables) {
  const std::filesystem::path folder = MakeTemporaryFolder("study");
  std::vector<std::filesystem::path> data(study.parties.size());
  for (size_t p = 0; p < tables.size(); ++p) {
    data[p] = folder / fmt::format("{}.csv", p);
    std::ofstream(data[p]) << tables[p];
  }
  SilentProgress progress;
  auto ends = run::SimulateInProcess(study, data, {}, progress);
  std::filesystem::remove_all(folder);
  return ends;
}

inline std::vector<run::PartyEnd> RunStudy(const std::string& text,
                                           const std::vector<std::string>& tables) {
  return RunStudy(*Prepare(text), tables);
}

inline std::vector<run::PartyOutcome> Outcomes(std::vector<run::PartyEnd> ends) {
  std::vector<run::PartyOutcome> outcomes;
  for (run::PartyEnd& end : ends) {
    if (end.error) {
      ADD_FAILURE() << end.party << ": " << end.error->message();
      continue;
    }
    outcomes.push_back(*std::move(end.outcome));
  }
  return outcomes;
}

inline void ExpectPlannedTraffic(const std::vector<run::PartyOutcome>& outcomes) {
  uint64_t bytes = 0;
  for (const run::PartyOutcome& outcome : outcomes) {
    for (const net::PhaseTraffic& phase : outcome.traffic) {
      for (const net::LinkTraffic& link : phase.links) bytes += link.bytes_sent;
    }
  }
  EXPECT_EQ(bytes, study::Totals(outcomes.front().plan).bytes);
}

inline nlohmann::json ResultOf(const run::PartyOutcome& outcome) {
  return nlohmann::json::parse(DocumentOf(outcome).json);
}

}  // namespace partita::testing
