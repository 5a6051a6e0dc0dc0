// Runs of one study by threads, in which parties are killed and all start again: what a kill leaves
// is what was in the party's folder at that moment, as for a process that is ended by SIGKILL.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "crypto/random.h"
#include "privacy/ledger/sqlite_ledger.h"
#include "run/party/party.h"

namespace partita::testing {

// At one event of a party: before it hands bytes to its transport, and before every fsync or
// fdatasync of its thread, numbered from 0.
struct Kill {
  std::string party;
  uint64_t event = 0;
  bool all = false;  // and everybody else as soon as they do anything
};

struct Attempt {
  struct End {
    std::optional<run::PartyOutcome> outcome;
    std::optional<Error> error;
    bool killed = false;
  };
  std::map<std::string, End> ends;
  std::map<std::string, uint64_t> events;  // by party
  // By party and phase of its progress: how often a step of it was reported.
  std::map<std::string, std::map<std::string, uint64_t>> steps;

  bool AnyOutcome() const;
  // What went wrong with those who did not end well; empty: nothing.
  std::string Failures() const;
};

// The parties' folders, from the first attempt to the last.
class Restarts {
 public:
  // tables: CSV by holder, each of which keeps a ledger with this budget. study: borrowed.
  Restarts(const run::Study& study, const std::map<std::string, std::string>& tables,
           const std::string& epsilon);
  ~Restarts();
  Restarts(const Restarts&) = delete;
  Restarts& operator=(const Restarts&) = delete;

  Attempt Run(const std::optional<Kill>& kill = {});

  privacy::ledger::Standing StandingOf(const std::string& holder) const;
  std::vector<std::string> holders() const;

 private:
  std::string Home(const std::string& party) const { return folder_ + "/" + party; }

  const run::Study& study_;
  std::string folder_;
  crypto::SystemRandom random_;
};

}  // namespace partita::testing
