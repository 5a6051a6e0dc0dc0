// Holders, and a linker if the file has one, with their tables, certificates and approvals, matched by
// threads of this process.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "net/memory_transport.h"
#include "privacy/ledger/sqlite_ledger.h"
#include "run/matching/matching_approval.h"
#include "run/matching/matching_run.h"
#include "run/matching/past_matchings.h"
#include "tests/run/matching/people_file.h"
#include "tests/run/reference_study.h"

namespace partita::testing {

inline const std::string kPairFile = PeopleFile(
    "minimum = 1\n",
    "[[party]]\nname = \"clinic\"\nrows = 60\n[[party]]\nname = \"registry\"\nrows = 80\n"
    "[[party.column]]\nname = \"nid\"\nheader = \"number\"\n");

// By party.
template <typename T>
using OfAll = std::vector<T>;

struct MatchEnd {
  std::optional<run::MatchingOutcome> outcome;
  std::optional<Error> error;
};

class MatchingGroup {
 public:
  // What stands between a party and the network.
  using Wrap =
      std::function<std::unique_ptr<net::Transport>(size_t party, std::unique_ptr<net::Transport>)>;

  explicit MatchingGroup(const std::string& text = kPairFile) {
    names_ = Parse(text).Names();
    for (size_t party = 0; party < names_.size(); ++party) {
      files_.push_back(Parse(text));
      std::filesystem::create_directories(Home(party));
      identities_.push_back(crypto::MakeIdentity({.name = Name(party), .days = 1}));
      fingerprints_.push_back(crypto::Fingerprint(*identities_[party].certificate));
      plans_.push_back(run::PlanMatching(files_[party]));
    }
  }
  ~MatchingGroup() { std::filesystem::remove_all(folder_); }
  MatchingGroup(const MatchingGroup&) = delete;
  MatchingGroup& operator=(const MatchingGroup&) = delete;

  static run::MatchingFile Parse(const std::string& text) {
    return run::ParseMatchingFile(text, "matching.toml");
  }
  const std::vector<std::string>& names() const { return names_; }
  size_t num_holders() const { return files_[0].parties.size(); }
  const std::string& Name(size_t party) const { return names_[party]; }
  std::filesystem::path Home(size_t party) const {
    return std::filesystem::path(folder_) / Name(party);
  }
  std::filesystem::path Table(size_t party) const { return Home(party) / "data.csv"; }
  std::filesystem::path Approval(size_t party) const { return Home(party) / "approval.json"; }
  run::MatchingFile& file(size_t party) { return files_[party]; }
  run::MatchingPlan& plan(size_t party) { return plans_[party]; }
  const crypto::Identity& identity(size_t party) const { return identities_[party]; }
  const std::vector<std::string>& fingerprints() const { return fingerprints_; }

  void Write(size_t party, const std::string& csv) { std::ofstream(Table(party)) << csv; }

  // signer: whose key signs, if not the party's own.
  void Approve(size_t party, uint64_t runs = 1, std::optional<uint64_t> minimum = {}) {
    run::MatchingApprovalRequest request;
    request.party = party;
    request.identity = identities_[party];
    request.fingerprints = fingerprints_;
    request.minimum = minimum;
    request.runs = runs;
    std::optional<match::KeyList> list;
    if (party < num_holders())
      list = run::ReadKeyList(files_[party].parties[party], Table(party).string(), ',');
    run::SaveApproval(
        run::MakeMatchingApproval(files_[party],
                                  run::TermsOfMatching(files_[party], plans_[party], fingerprints_),
                                  request, list ? &*list : nullptr, random_),
        Approval(party));
  }
  void ApproveAll(uint64_t runs = 1) {
    for (size_t party = 0; party < names_.size(); ++party) Approve(party, runs);
  }

  OfAll<MatchEnd> Run(const Wrap& wrap = nullptr) {
    std::vector<std::unique_ptr<net::Transport>> transports =
        net::MakeMemoryTransports(names_, random_);
    OfAll<MatchEnd> ends(names_.size());
    std::vector<std::thread> threads;
    for (size_t party = 0; party < names_.size(); ++party) {
      threads.emplace_back([&, party] {
        run::MatchingInput input;
        input.party = party;
        input.table = Table(party);
        input.past = PastPath(party);
        input.approval = Approval(party);
        input.fingerprints = fingerprints_;
        input.timeout = timeout_;
        if (ledgers_.contains(party)) input.ledger = run::LedgerOptions{ledgers_.at(party), ""};
        std::unique_ptr<net::Transport> own = std::move(transports[party]);
        const run::Connector connect = [&](bool) {
          return wrap ? wrap(party, std::move(own)) : std::move(own);
        };
        crypto::SystemRandom random;
        SilentProgress progress;
        try {
          ends[party].outcome =
              run::RunMatching(files_[party], plans_[party], input, connect, random, progress);
        } catch (const Error& error) {
          ends[party].error = error;
        }
        own.reset();
      });
    }
    for (std::thread& thread : threads) thread.join();
    return ends;
  }

  // With an account of its table for so much, which an insider has, too.
  void OpenLedger(size_t party, const std::string& epsilon, const std::string& delta = "1e-3") {
    ledgers_[party] = Home(party) / "ledger";
    privacy::ledger::SqliteLedger::Create(Ledger(party));
    privacy::ledger::Policy policy;
    policy.table = "people";
    policy.outside.epsilon = epsilon;
    policy.outside.delta = delta;
    policy.outside.approximate_delta = "1e-4";
    policy.insider = policy.outside;
    policy.exact = privacy::ledger::ExactRule::kAllowed;
    privacy::ledger::SqliteLedger(Ledger(party)).OpenAccount(policy, random_, {"steward", 0});
  }
  privacy::ledger::Standing Account(size_t party) {
    return privacy::ledger::SqliteLedger(Ledger(party)).StandingOf("people");
  }

  // How long a run waits for a message that does not come; 20 s.
  void SetTimeout(std::chrono::milliseconds timeout) { timeout_ = timeout; }

  // With results beside the tables.
  OfAll<run::MatchedRows> RunAndSave() {
    ApproveAll();
    const OfAll<MatchEnd> ends = Run();
    OfAll<run::MatchedRows> results(num_holders());
    for (size_t party = 0; party < num_holders(); ++party) {
      if (!ends[party].outcome) {
        ADD_FAILURE() << Name(party) << ": " << ends[party].error->message();
        continue;
      }
      results[party] = ends[party].outcome->matched;
      run::SaveMatchedRows(results[party], run::MatchedRowsPath(Table(party), files_[party].name));
    }
    return results;
  }

  std::filesystem::path PastPath(size_t party) const {
    return run::PastMatchingsPath(Home(party) / "key.pem");
  }
  run::PastMatchings Past(size_t party) { return {PastPath(party), random_}; }

 private:
  privacy::ledger::LedgerOptions Ledger(size_t party) const {
    privacy::ledger::LedgerOptions options;
    options.file = ledgers_.at(party);
    return options;
  }

  const std::string folder_ = MakeTemporaryFolder("matching");
  std::vector<std::string> names_;
  std::chrono::milliseconds timeout_ = std::chrono::seconds(20);
  std::map<size_t, std::filesystem::path> ledgers_;
  OfAll<run::MatchingFile> files_;
  OfAll<run::MatchingPlan> plans_;
  OfAll<crypto::Identity> identities_;
  std::vector<std::string> fingerprints_;
  crypto::SystemRandom random_;
};

}  // namespace partita::testing
