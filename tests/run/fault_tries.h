// Whatever fails in a run, and wherever: no release without its charge at every holder, no charge
// taken back after an ok, no other result, nothing local at a peer.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/run/fault_studies.h"

namespace partita::testing {

struct FaultCounts {
  uint64_t points = 0, opened = 0, refunded = 0, lost = 0, restarts = 0;
};

// Every `stride`-th fault, beginning with number `first`, or fewer, evenly spread, where that would
// be more than `most`. lost: runs in which somebody was charged and nobody could open anything.
inline FaultCounts TryFaults(const FaultScenario& scenario, size_t first, size_t stride,
                             size_t most = SIZE_MAX) {
  FaultRuns runs(scenario.make());
  FaultCounts counts;
  const std::vector<Fault> faults = runs.EveryFault();
  if (most < faults.size()) stride = std::max(stride, (faults.size() + most - 1) / most);
  for (size_t k = first; k < faults.size(); k += stride) {
    const std::vector<RunEnd> ends = runs.Run(faults[k]);
    for (const std::string& violation : runs.Violations(faults[k], ends))
      ADD_FAILURE() << violation;
    if (runs.study().goes_on) {
      for (const std::string& violation : runs.Violations(faults[k], runs.GoOn(), true))
        ADD_FAILURE() << violation;
      ++counts.restarts;
    }
    bool opened = false, refunded = false, charged = false;
    for (size_t i = 0; i < ends.size(); ++i) {
      opened = opened || runs.CouldOpen(i, ends[i]);
      refunded = refunded || ends[i].ledger.refunded > 0;
      charged = charged || ends[i].ledger.spent > 0;
    }
    ++counts.points;
    counts.opened += opened ? 1 : 0;
    counts.refunded += refunded ? 1 : 0;
    counts.lost += charged && !opened ? 1 : 0;
  }
  std::filesystem::remove_all(runs.study().folder);
  printf(
      "%-28s %-14s %6zu faults, %5zu tried: %5zu after which somebody could open, %5zu with a "
      "refund, %4zu charged for nothing, %4zu gone on with\n",
      scenario.method.c_str(), scenario.engine.c_str(), faults.size(),
      static_cast<size_t>(counts.points), static_cast<size_t>(counts.opened),
      static_cast<size_t>(counts.refunded), static_cast<size_t>(counts.lost),
      static_cast<size_t>(counts.restarts));
  fflush(stdout);
  return counts;
}

// Runs of these take a second or more.
inline bool HasLongRuns(const FaultScenario& scenario) {
  const std::string& method = scenario.method;
  for (const char* long_one : {"mixture", "mcmc", "classify approximate-minima", "glm iterates",
                               "mixed", "survival cox"}) {
    if (method.starts_with(long_one)) return true;
  }
  return method.find("sealed") != std::string::npos || method == "glm of columns" ||
         method == "hidden glm";
}

// Of every scenario, or of those whose name contains $PARTITA_FAULTS_OF, for work on one of them;
// of those with long runs at most `most_of_long` faults.
inline void TryAllFaults(size_t stride, size_t most, size_t most_of_long) {
  FaultCounts all;
  size_t number = 0;
  for (const FaultScenario& scenario : FaultScenarios()) {
    if (const char* only = std::getenv("PARTITA_FAULTS_OF");
        only != nullptr &&
        (scenario.method + ", " + scenario.engine).find(only) == std::string::npos)
      continue;
    const size_t limit = HasLongRuns(scenario) ? most_of_long : most;
    if (limit == 0) continue;
    const FaultCounts counts = TryFaults(scenario, number++ % stride, stride, limit);
    all.points += counts.points;
    all.opened += counts.opened;
    all.refunded += counts.refunded;
    all.lost += counts.lost;
    all.restarts += counts.restarts;
    // Faults on both sides of the ok were tried.
    if (counts.points < 100) continue;
    EXPECT_GT(counts.opened, 0u) << scenario.method << ", " << scenario.engine;
    EXPECT_GT(counts.refunded, 0u) << scenario.method << ", " << scenario.engine;
  }
  printf(
      "fault points: %zu (somebody could open: %zu, refunded: %zu, charged for nothing: %zu), "
      "restarts: %zu\n",
      static_cast<size_t>(all.points), static_cast<size_t>(all.opened),
      static_cast<size_t>(all.refunded), static_cast<size_t>(all.lost),
      static_cast<size_t>(all.restarts));
}

}  // namespace partita::testing
