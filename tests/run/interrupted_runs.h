// Runs of one study by threads, again and again: parties keep ledgers and what they need to go on,
// and one of them may stop in the middle.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "net/memory_transport.h"
#include "run/party/party.h"
#include "tests/run/reference_study.h"

namespace partita::testing {

// Stops the party after so many steps.
class StoppingProgress : public Progress {
 public:
  explicit StoppingProgress(uint64_t stop_after) : stop_after_(stop_after) {}
  void Phase(std::string_view) override { done_ = 0; }
  void Step(uint64_t done, uint64_t) override { done_ = done; }
  void CheckCancelled() override {
    if (done_ >= stop_after_) throw Error(ErrorCode::kCancelled, "stopped by the test");
  }

 private:
  uint64_t stop_after_, done_ = 0;
};

struct End {
  std::optional<run::PartyOutcome> outcome;
  std::optional<Error> error;
};

inline void ExpectAllDone(const std::map<std::string, End>& ends) {
  for (const auto& [party, end] : ends)
    EXPECT_TRUE(end.outcome) << party << ": " << (end.error ? end.error->message() : "");
}

class InterruptedRuns : public ::testing::Test {
 protected:
  void SetUp() override { folder_ = MakeTemporaryFolder("runs"); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path Data(const std::string& party) const { return Path(party, ".csv"); }
  std::filesystem::path State(const std::string& party) const { return Path(party, ".run"); }
  std::filesystem::path Ledger(const std::string& party) const { return Path(party, ".ledger"); }

  // All parties as threads. stop: the party `stopped` stops after so many steps. Ledgers that are
  // there are kept; with_state: every party keeps its state.
  std::map<std::string, End> Run(const run::Study& study, bool with_state = false,
                                 const std::string& stopped = "", uint64_t stop = 0) {
    const std::vector<std::string> names = run::PartyNames(study);
    std::vector<std::unique_ptr<net::Transport>> transports =
        net::MakeMemoryTransports(names, random_);
    std::map<std::string, End> ends;
    for (const std::string& name : names) ends[name];
    std::vector<std::thread> threads;
    for (size_t i = 0; i < names.size(); ++i) {
      threads.emplace_back([&, i, transport = std::move(transports[i])]() mutable {
        crypto::SystemRandom random;
        StoppingProgress progress(names[i] == stopped ? stop : UINT64_MAX);
        End& end = ends.at(names[i]);
        try {
          const std::unique_ptr<run::Approvals> approvals = run::UnsignedApprovals(random);
          std::optional<run::RunLedger> ledger;
          if (std::filesystem::exists(Ledger(names[i])))
            ledger.emplace(run::LedgerOptions{Ledger(names[i]), ""}, crypto::Identity{});
          run::PartyInput input;
          input.party = i;
          input.data = Data(names[i]);
          input.approvals = approvals.get();
          input.ledger = ledger ? &*ledger : nullptr;
          if (with_state) input.state = State(names[i]);
          input.accept_useless = accept_useless_;
          end.outcome = run::RunParty(
              study, input, [&](bool) { return std::move(transport); }, random, progress);
        } catch (const Error& error) {
          end.error = error;
        }
        transport.reset();
      });
    }
    for (std::thread& thread : threads) thread.join();
    return ends;
  }

  void OpenLedger(const std::string& party, const std::string& epsilon) {
    privacy::ledger::Policy policy;
    policy.table = "registry";
    policy.outside.epsilon = epsilon;
    policy.outside.delta = "1e-3";
    policy.outside.approximate_delta = "1e-4";
    policy.outside.adjacency = privacy::Adjacency::kReplace;
    policy.insider = policy.outside;
    privacy::ledger::SqliteLedger::Create({.file = Ledger(party)});
    privacy::ledger::SqliteLedger({.file = Ledger(party)})
        .OpenAccount(policy, random_, {"steward", 0});
  }
  uint64_t StudiesSpent(const std::string& party) {
    return privacy::ledger::SqliteLedger({.file = Ledger(party)})
        .StandingOf("registry")
        .studies_spent;
  }

  std::string folder_;
  crypto::SystemRandom random_;
  bool accept_useless_ = false;

 private:
  std::filesystem::path Path(const std::string& party, const std::string& ending) const {
    return std::filesystem::path(folder_) / (party + ending);
  }
};

}  // namespace partita::testing
