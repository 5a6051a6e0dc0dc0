// Runs a method at every process of an engine in threads, with gates that know the releases.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "methods/mle/fit/analysis.h"
#include "mpc/dealer_engine.h"
#include "mpc/ot/ot_engine.h"
#include "mpc/plan_engine.h"
#include "mpc/replicated_engine.h"
#include "mpc/shamir_engine.h"
#include "stats/sem/linear_statistics.h"
#include "tests/net/parties.h"

namespace partita::methods::mle::testing {

struct Outcome {
  std::vector<std::optional<Error>> errors;
  std::vector<std::vector<net::PhaseTraffic>> traffic;                 // by process
  std::vector<std::vector<mpc::CountingReleaseGate::Count>> openings;  // by process
};

using Body = std::function<void(mpc::Engine& engine, size_t process)>;

inline std::unique_ptr<mpc::Engine> MakeEngine(const std::string& name, net::Channel& channel,
                                               mpc::ReleaseGate& gate) {
  if (name == "replicated") return mpc::MakeReplicatedEngine(channel, gate);
  if (name == "shamir") return mpc::MakeShamirEngine(channel, gate);
  if (name == "ot") return mpc::MakeOtEngine(channel, gate);
  return mpc::MakeDealerEngine(channel, gate);
}

inline Outcome RunParties(const std::string& engine_name, size_t num_parties,
                          const std::vector<mpc::Release>& releases, const Body& body) {
  const size_t processes = num_parties + (engine_name == "dealer" ? 1 : 0);
  Outcome outcome;
  outcome.traffic.resize(processes);
  outcome.openings.resize(processes);
  outcome.errors = net::RunChannels(net::MemoryParties(processes), [&](net::Channel& channel) {
    mpc::CountingReleaseGate gate;
    gate.Reserve(releases);
    const auto engine = MakeEngine(engine_name, channel, gate);
    try {
      body(*engine, channel.self());
    } catch (const Error& error) {
      channel.Abort(error);
      throw;
    }
    outcome.traffic[channel.self()] = channel.traffic();
    outcome.openings[channel.self()] = gate.counts();
  });
  return outcome;
}

inline uint64_t Opened(const Outcome& outcome, size_t process, const std::string& id) {
  for (const auto& count : outcome.openings[process]) {
    if (count.release.id == id) return count.opened;
  }
  return 0;
}

// An analysis of a table that was made elsewhere.
inline MleAnalysis AnalysisOf(const stats::ParameterTable& table,
                              const stats::StatisticsScale& scale) {
  MleAnalysis analysis;
  analysis.options.function = "sem";
  analysis.options.name = "main";
  analysis.table = table;
  if (table.groups.size() > 1) analysis.group_levels = table.groups;
  for (size_t i = 0; i < table.observed.size(); ++i) {
    data::DesignColumn column;
    column.schema.name = column.source = table.observed[i];
    const auto at = static_cast<Eigen::Index>(i);
    column.schema.lower = scale.centre[at] - scale.half_width[at];
    column.schema.upper = scale.centre[at] + scale.half_width[at];
    analysis.variables.push_back(column);
  }
  return analysis;
}

}  // namespace partita::methods::mle::testing
