// What a party does with its ledger in two runs, and what must hold wherever the power fails.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/privacy/ledger/crash_vfs.h"
#include "tests/privacy/ledger/fixtures.h"

namespace partita::privacy::ledger {

inline constexpr double kScenarioRho = 0.001;

inline LedgerOptions OnDisk() { return {"/ledger", std::chrono::milliseconds(0), "crash-disk"}; }

// A ledger with one account and one study spent, all durable.
inline CrashDisk::Image StartImage(CrashDisk& disk) {
  disk.Load({});
  CountingRandom random;
  SqliteLedger::Create(OnDisk());
  SqliteLedger ledger(OnDisk());
  ledger.OpenAccount(PolicyOf("visits"), random, Now());
  ledger.Spend("visits", ledger.Reserve(RequestOf("visits", 1, kScenarioRho), Now()).number, Now());
  return disk.Save();
}

// What was acknowledged: entries of the own account, and the largest head witnessed of a peer's.
struct Acknowledged {
  std::vector<std::string> kinds = {"opened", "reserved", "spent"};
  uint64_t witnessed = 0;
};

// One call after the other; each is acknowledged by returning.
inline void PlayScenario(Acknowledged& done) {
  SqliteLedger ledger(OnDisk());
  const Reservation first = ledger.Reserve(RequestOf("visits", 2, kScenarioRho), Now());
  done.kinds.push_back("reserved");
  ledger.Witness({{DigestOf(77), 5, DigestOf(5)}, DigestOf(2), DigestOf(3)}, "north", Now());
  done.witnessed = 5;
  ledger.Spend("visits", first.number, Now());
  done.kinds.push_back("spent");
  const Reservation second = ledger.Reserve(RequestOf("visits", 3, kScenarioRho), Now());
  done.kinds.push_back("reserved");
  ledger.Refund("visits", second.number, NothingSent("the peer went away"), Now());
  done.kinds.push_back("refunded");
}

inline const std::vector<std::string>& WholeScenario() {
  static const std::vector<std::string> kKinds = {"opened", "reserved", "spent",   "reserved",
                                                  "spent",  "reserved", "refunded"};
  return kKinds;
}

// After power is back: nothing acknowledged is lost, at most the call that was under way is there
// besides, everything verifies, and the ledger works. Empty if all is well.
inline std::string WhatIsWrong(const Acknowledged& done) {
  try {
    SqliteLedger ledger(OnDisk());
    ledger.Verify();
    const std::vector<Entry> entries = ledger.Entries("visits");
    if (entries.size() < done.kinds.size()) return "an acknowledged entry is lost";
    if (entries.size() > done.kinds.size() + 1) return "there are entries that nobody made";
    for (size_t i = 0; i < entries.size(); ++i)
      if (EntryKind(entries[i].body) != WholeScenario()[i]) return "the entries are others";
    if (done.witnessed > 0) {
      try {
        ledger.Witness({{DigestOf(77), done.witnessed - 1, DigestOf(4)}, DigestOf(9), DigestOf(9)},
                       "north", Now());
        return "an acknowledged receipt is lost";
      } catch (const Error& error) {
        if (error.code() != ErrorCode::kRefused) throw;
      }
    }
    const Standing before = ledger.StandingOf("visits");
    if (!Fits(before.spent.outside + before.reserved.outside, before.outside.budget))
      return "over the budget";
    // Whatever is still reserved can be spent or refunded, and a new run can reserve.
    for (const auto& [number, reservation] : before.reservations)
      ledger.Refund("visits", number, NothingSent("the power failed"), Now());
    const Reservation next = ledger.Reserve(RequestOf("visits", 99, kScenarioRho), Now());
    ledger.Spend("visits", next.number, Now());
    const Standing after = ledger.StandingOf("visits");
    if (after.studies_spent != before.studies_spent + 1 || !after.reservations.empty())
      return "the ledger does not go on";
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

struct CrashCount {
  uint64_t operations = 0;  // cut points
  uint64_t crashes = 0;
  std::vector<std::string> faults;
};

// Power failures at every operation of the scenario, with `seeds` different survivors each.
inline CrashCount CrashEverywhere(CrashDisk& disk, uint64_t seeds) {
  CrashCount count;
  const CrashDisk::Image start = StartImage(disk);
  for (uint64_t operation = 1;; ++operation) {
    for (uint64_t seed = 0; seed < seeds + 2; ++seed) {
      disk.Load(start);
      disk.FailAt(operation, CrashDisk::Failure::kPower);
      Acknowledged done;
      try {
        PlayScenario(done);
      } catch (const Error&) {
        if (!disk.failed()) throw;
      }
      // Past the last operation: the power fails when all is done.
      const bool last = !disk.failed();
      const auto survivors = seed == 0   ? CrashDisk::Survivors::kNothing
                             : seed == 1 ? CrashDisk::Survivors::kEverything
                                         : CrashDisk::Survivors::kPart;
      disk.Crash(survivors, seed * 1'000'003 + operation);
      const std::string wrong = WhatIsWrong(done);
      ++count.crashes;
      if (!wrong.empty())
        count.faults.push_back("operation " + std::to_string(operation) + ", seed " +
                               std::to_string(seed) + ": " + wrong);
      if (last && seed == seeds + 1) {
        count.operations = operation - 1;
        return count;
      }
    }
  }
}

}  // namespace partita::privacy::ledger
