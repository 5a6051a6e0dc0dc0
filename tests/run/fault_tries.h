// Whatever fails in a run, and wherever: no release without its charge at every holder, no charge
// taken back after an ok, no other result, nothing local at a peer.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/run/fault_studies.h"

namespace partita::testing {

struct FaultCounts {
  uint64_t points = 0, opened = 0, refunded = 0, lost = 0, restarts = 0;
};

// After each of these faults. lost: runs in which somebody was charged and nobody could open anything.
inline FaultCounts TryThese(FaultRuns& runs, const std::vector<Fault>& faults) {
  FaultCounts counts;
  for (const Fault& fault : faults) {
    const std::vector<RunEnd> ends = runs.Run(fault);
    for (const std::string& violation : runs.Violations(fault, ends)) ADD_FAILURE() << violation;
    if (runs.study().goes_on) {
      for (const std::string& violation : runs.Violations(fault, runs.GoOn(), true))
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
  return counts;
}

inline void Print(const FaultScenario& scenario, const char* what, size_t faults,
                  const FaultCounts& counts) {
  printf(
      "%-28s %-14s %6zu %s, %5zu tried: %5zu after which somebody could open, %5zu with a "
      "refund, %4zu charged for nothing, %4zu gone on with\n",
      scenario.method.c_str(), scenario.engine.c_str(), faults, what,
      static_cast<size_t>(counts.points), static_cast<size_t>(counts.opened),
      static_cast<size_t>(counts.refunded), static_cast<size_t>(counts.lost),
      static_cast<size_t>(counts.restarts));
  fflush(stdout);
}

inline std::vector<Fault> EveryNth(const std::vector<Fault>& faults, size_t first, size_t stride) {
  std::vector<Fault> some;
  for (size_t k = first; k < faults.size(); k += stride) some.push_back(faults[k]);
  return some;
}

// One fault of every message and every store operation: kinds take turns.
inline std::vector<Fault> InTurns(const std::vector<Fault>& faults) {
  const auto store = [](const Fault& fault) { return fault.kind >= Fault::Kind::kStoreIo; };
  std::vector<Fault> some;
  for (size_t first = 0; first < faults.size();) {
    size_t last = first;
    while (last < faults.size() && faults[last].party == faults[first].party &&
           faults[last].peer == faults[first].peer &&
           faults[last].receives == faults[first].receives &&
           faults[last].number == faults[first].number &&
           store(faults[last]) == store(faults[first]))
      ++last;
    some.push_back(faults[first + some.size() % (last - first)]);
    first = last;
  }
  return some;
}

// Every `stride`-th fault, beginning with number `first`, or fewer, evenly spread, where that would
// be more than `most`.
inline FaultCounts TryFaults(const FaultScenario& scenario, size_t first, size_t stride,
                             size_t most = SIZE_MAX) {
  FaultRuns runs(scenario.make());
  const std::vector<Fault> faults = runs.EveryFault();
  if (most < faults.size()) stride = std::max(stride, (faults.size() + most - 1) / most);
  const FaultCounts counts = TryThese(runs, EveryNth(faults, first, stride));
  std::filesystem::remove_all(runs.study().folder);
  Print(scenario, "faults", faults.size(), counts);
  return counts;
}

// Of every message and store operation, and of altered messages as many, evenly spread; kinds take turns.
inline void TryEveryMessage(const FaultScenario& scenario, size_t most = SIZE_MAX) {
  FaultRuns runs(scenario.make());
  const auto try_some = [&](const char* what, const std::vector<Fault>& faults) {
    const std::vector<Fault> some = InTurns(faults);
    const size_t stride = most < some.size() ? (some.size() + most - 1) / most : 1;
    const FaultCounts counts = TryThese(runs, EveryNth(some, 0, stride));
    Print(scenario, what, faults.size(), counts);
    // Faults on both sides of the ok were tried.
    if (counts.points < 100) return;
    EXPECT_GT(counts.opened, 0u);
    EXPECT_GT(counts.refunded, 0u);
  };
  try_some("faults", runs.EveryFault());
  try_some("alterations", runs.EveryAlteration());
  std::filesystem::remove_all(runs.study().folder);
}

// Of studies whose method begins so, or whose name contains $PARTITA_FAULTS_OF, so many of each.
inline void TryMessagesOf(const std::vector<std::string>& methods, size_t most) {
  const char* only = std::getenv("PARTITA_FAULTS_OF");
  for (const FaultScenario& scenario : FaultScenarios()) {
    const bool wanted = std::any_of(methods.begin(), methods.end(), [&](const std::string& method) {
      return scenario.method.starts_with(method);
    });
    const std::string name = scenario.method + ", " + scenario.engine;
    if (wanted && (only == nullptr || name.find(only) != std::string::npos))
      TryEveryMessage(scenario, most);
  }
}

// Other bytes in the last `messages` of the phase of the last opening, from every party to the receiver: the
// run ends as always, with a result or an error of what opened; with `noticed` with an error.
inline void TryGarbageInTheLastOpening(const FaultScenario& scenario, size_t messages,
                                       int repetitions, bool noticed) {
  constexpr size_t kReceiver = 0;
  FaultRuns runs(scenario.make());
  std::map<size_t, std::vector<Fault>> by_party;
  for (const Fault& fault : runs.EveryAlteration()) {
    if (fault.kind == Fault::Kind::kGarbage && fault.peer == kReceiver &&
        runs.PhaseOf(fault) == "fit")
      by_party[fault.party].push_back(fault);
  }
  ASSERT_FALSE(by_party.empty());
  size_t unlike = 0;
  for (auto& [party, faults] : by_party) {
    ASSERT_GE(faults.size(), messages);
    faults.erase(faults.begin(), faults.end() - static_cast<std::ptrdiff_t>(messages));
    for (const Fault& fault : faults) {
      for (int i = 0; i < repetitions; ++i) {
        const std::vector<RunEnd> ends = runs.Run(fault);
        for (const std::string& violation : runs.Violations(fault, ends))
          ADD_FAILURE() << violation;
        EXPECT_FALSE(noticed && ends[kReceiver].outcome) << Text(fault);
        unlike += ends[kReceiver].error ? 1 : 0;
      }
    }
  }
  EXPECT_GT(unlike, 0u);
  std::filesystem::remove_all(runs.study().folder);
}

// Other bytes in the last `messages` that the first party, which is the receiver, gets of each other one: whatever
// opens then, the run ends with a result or an error of the peers.
inline void TryGarbageAtTheEnd(const FaultScenario& scenario, size_t messages, int repetitions) {
  FaultRuns runs(scenario.make());
  std::map<size_t, std::vector<Fault>> by_party;
  for (const Fault& fault : runs.EveryAlteration()) {
    if (fault.kind == Fault::Kind::kGarbage && fault.peer == 0)
      by_party[fault.party].push_back(fault);
  }
  EXPECT_FALSE(by_party.empty());
  size_t tried = 0, errors = 0;
  for (const auto& [party, faults] : by_party) {
    const size_t first = faults.size() - std::min(messages, faults.size());
    for (size_t k = first; k < faults.size(); ++k) {
      for (int i = 0; i < repetitions; ++i) {
        const std::vector<RunEnd> ends = runs.Run(faults[k]);
        for (const std::string& violation : runs.Violations(faults[k], ends))
          ADD_FAILURE() << violation;
        ++tried;
        errors += ends[0].error ? 1 : 0;
      }
    }
  }
  std::filesystem::remove_all(runs.study().folder);
  printf("%-28s %-14s other bytes at the end: %zu tried, %zu errors\n", scenario.method.c_str(),
         scenario.engine.c_str(), tried, errors);
  fflush(stdout);
}

// Runs of these take a second or more.
inline bool HasLongRuns(const FaultScenario& scenario) {
  const std::string& method = scenario.method;
  for (const char* long_one : {"mixture", "mcmc", "classify approximate-minima", "glm iterates",
                               "mixed", "survival cox"}) {
    if (method.starts_with(long_one)) return true;
  }
  return method.find("sealed") != std::string::npos || method == "hidden glm";
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
