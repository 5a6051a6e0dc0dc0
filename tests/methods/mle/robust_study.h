// Robust standard errors of the references at every process of an engine.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "methods/mle/likelihood/robust.h"
#include "tests/methods/mle/mle_parties.h"
#include "tests/stats/robust_reference.h"

namespace partita::methods::mle::testing {

using stats::testing::Json;
using stats::testing::Number;
using stats::testing::RobustCase;

inline constexpr int kRobustBits = 50;

// A case and who holds what of it.
struct Study {
  RobustCase source;
  MleAnalysis analysis;
  RobustTask task;
  FittedModel fitted;
  size_t num_parties = 2;
  std::vector<RobustLocal> local;                       // by party
  std::vector<std::vector<std::vector<Int128>>> cells;  // by party and block
};

inline RobustLocal LocalOf(const Study& study, size_t process) {
  RobustLocal local = study.local[process];
  if (process >= study.num_parties) return local;
  for (size_t b = 0; b < study.task.moments.blocks.size(); ++b) {
    for (const BlockHolder& holder : study.task.moments.blocks[b].holders) {
      if (holder.party != process) continue;
      local.blocks[b].values = [&cells = study.cells[process][b], width = holder.variables.size()](
                                   size_t first, size_t count, Int128* out) {
        std::copy_n(cells.begin() + static_cast<ptrdiff_t>(first * width), count * width, out);
      };
    }
  }
  return local;
}

struct RobustRun {
  Outcome outcome;
  std::vector<std::optional<stats::RobustFit>> results;
};

inline RobustRun RunStudy(const Study& study, const std::string& engine_name) {
  RobustRun run;
  run.results.resize(study.num_parties + 1);
  run.outcome = RunParties(
      engine_name, study.num_parties, RobustReleases(study.analysis, study.task, "receiver"),
      [&](mpc::Engine& engine, size_t process) {
        engine.BeginPhase("robust");
        run.results[process] =
            RobustStandardErrors(engine, study.analysis, study.task, LocalOf(study, process),
                                 process == study.task.receiver ? &study.fitted : nullptr);
      });
  return run;
}

inline void ExpectLavaan(const Study& study, const stats::RobustFit& robust) {
  for (const Json& row : study.source.reference["parameters"]) {
    SCOPED_TRACE(row.dump());
    const std::optional<size_t> r = stats::testing::FindRow(study.source.table, row);
    if (!r) continue;
    const double se = Number(row["se"]);
    EXPECT_NEAR(robust.estimates[*r].standard_error, se, 1e-5 * se);
  }
  for (const std::string name :
       {"chisq.scaled", "chisq.scaling.factor", "baseline.chisq.scaling.factor"}) {
    const double expected = Number(study.source.reference["fit"][name]);
    if (std::isnan(expected) || study.source.reference["fit"]["df.scaled"] == 0) continue;
    EXPECT_NEAR(robust.fit_measures.at(name), expected, 1e-5 * expected) << name;
  }
}

inline void ExpectPlanned(const Study& study, const std::string& engine_name,
                          const RobustRun& run) {
  mpc::CountingReleaseGate gate;
  gate.Reserve(RobustReleases(study.analysis, study.task, "receiver"));
  mpc::PlanEngine plan(engine_name, study.num_parties, &gate);
  plan.BeginPhase("robust");
  EXPECT_FALSE(RobustStandardErrors(plan, study.analysis, study.task, {}, nullptr));
  for (const auto& count : gate.counts()) EXPECT_EQ(count.opened, 1u);
  const mpc::PhaseCost cost = plan.phases().back();
  for (size_t from = 0; from < run.outcome.traffic.size(); ++from) {
    const net::PhaseTraffic& traffic = run.outcome.traffic[from].back();
    EXPECT_EQ(traffic.rounds, cost.rounds[from]) << "process " << from;
    for (size_t to = 0; to < run.outcome.traffic.size(); ++to) {
      if (from == to) continue;
      EXPECT_EQ(traffic.links[to].bytes_sent, cost.links[from][to].bytes) << from << "->" << to;
    }
  }
}

}  // namespace partita::methods::mle::testing
