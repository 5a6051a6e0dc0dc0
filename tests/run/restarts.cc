#include "tests/run/restarts.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <thread>

#include "net/memory_transport.h"
#include "tests/run/reference_study.h"

namespace partita::testing {
namespace {

namespace fs = std::filesystem;

// A party's thread that may be killed.
class Blade {
 public:
  Blade(fs::path home, std::optional<uint64_t> at, std::atomic<bool>& all, bool takes_all)
      : home_(std::move(home)), at_(at), all_(all), takes_all_(takes_all) {}

  // Something happens. False: not to this party any more.
  bool Event() {
    if (!dead_ && ((at_ && count_ == *at_) || all_)) Die();
    ++count_;
    return !dead_;
  }
  bool alive() {
    if (!dead_ && all_) Die();
    return !dead_;
  }
  bool dead() const { return dead_; }
  uint64_t count() const { return count_; }
  // What was there when it died.
  fs::path Remains() const { return home_.string() + ".remains"; }

 private:
  void Die() {
    dead_ = true;
    fs::remove_all(Remains());
    fs::copy(home_, Remains(), fs::copy_options::recursive);
    if (takes_all_) all_ = true;
  }

  fs::path home_;
  std::optional<uint64_t> at_;
  std::atomic<bool>& all_;
  bool takes_all_, dead_ = false;
  uint64_t count_ = 0;
};

thread_local Blade* blade = nullptr;
std::atomic<int> live = 0;  // how many Restarts there are

class KillableTransport : public net::Transport {
 public:
  KillableTransport(std::unique_ptr<net::Transport> inner, Blade& own)
      : inner_(std::move(inner)), own_(own) {}

  net::PartyIndex self() const override { return inner_->self(); }
  const std::vector<std::string>& names() const override { return inner_->names(); }
  net::Io Write(net::PartyIndex to, ByteView bytes) override {
    if (!own_.Event()) Stop();
    return inner_->Write(to, bytes);
  }
  bool Flush(net::PartyIndex to) override {
    if (!own_.alive()) Stop();
    return inner_->Flush(to);
  }
  net::Io Read(net::PartyIndex from, std::span<uint8_t> out) override {
    const net::Io io = inner_->Read(from, out);
    if (!own_.alive()) Stop();
    return io;
  }
  void Wait(std::span<const net::Interest> interests, std::chrono::nanoseconds timeout) override {
    if (!own_.alive()) Stop();
    inner_->Wait(interests, timeout);
  }
  const crypto::Key& PairwiseSecret(net::PartyIndex peer) const override {
    return inner_->PairwiseSecret(peer);
  }

 private:
  [[noreturn]] static void Stop() { throw Error(ErrorCode::kCancelled, "killed by the test"); }

  std::unique_ptr<net::Transport> inner_;
  Blade& own_;
};

class CountingProgress : public Progress {
 public:
  explicit CountingProgress(std::map<std::string, uint64_t>& steps) : steps_(steps) {}
  void Phase(std::string_view name) override { phase_ = name; }
  void Step(uint64_t, uint64_t) override { ++steps_[phase_]; }
  void CheckCancelled() override {}

 private:
  std::map<std::string, uint64_t>& steps_;
  std::string phase_;
};

}  // namespace

// Every sync of the process passes here: SQLite's and our own. Only processes are killed, never the
// machine, and what a process wrote outlives it without reaching the disk: while parties are
// restarted nothing waits for that.
int SyncOf(long number, int descriptor) {
  if (blade != nullptr) blade->Event();
  return live > 0 ? 0 : static_cast<int>(::syscall(number, descriptor));
}

bool Attempt::AnyOutcome() const {
  for (const auto& [party, end] : ends) {
    if (end.outcome) return true;
  }
  return false;
}

std::string Attempt::Failures() const {
  std::string failures;
  for (const auto& [party, end] : ends) {
    if (!end.outcome) failures += party + ": " + (end.error ? end.error->message() : "?") + "; ";
  }
  return failures;
}

Restarts::Restarts(const run::Study& study, const std::map<std::string, std::string>& tables,
                   const std::string& epsilon)
    : study_(study), folder_(MakeTemporaryFolder("restarts")) {
  ++live;
  for (const std::string& name : run::PartyNames(study)) fs::create_directories(Home(name));
  privacy::ledger::Policy policy;
  policy.table = "registry";
  policy.outside.epsilon = epsilon;
  policy.outside.delta = "1e-3";
  policy.outside.approximate_delta = "5e-4";
  policy.outside.adjacency = privacy::Adjacency::kReplace;
  policy.insider = policy.outside;
  for (const auto& [holder, csv] : tables) {
    std::ofstream(Home(holder) + "/data.csv") << csv;
    const privacy::ledger::LedgerOptions options{.file = Home(holder) + "/ledger"};
    privacy::ledger::SqliteLedger::Create(options);
    privacy::ledger::SqliteLedger(options).OpenAccount(policy, random_, {"steward", 0});
  }
}

Restarts::~Restarts() {
  --live;
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::vector<std::string> Restarts::holders() const {
  std::vector<std::string> names;
  for (const study::Party& party : study_.parties) {
    if (party.holder) names.push_back(party.name);
  }
  return names;
}

privacy::ledger::Standing Restarts::StandingOf(const std::string& holder) const {
  return privacy::ledger::SqliteLedger({.file = Home(holder) + "/ledger"}).StandingOf("registry");
}

Attempt Restarts::Run(const std::optional<Kill>& kill) {
  const std::vector<std::string> names = run::PartyNames(study_);
  std::vector<std::unique_ptr<net::Transport>> transports =
      net::MakeMemoryTransports(names, random_);
  Attempt attempt;
  std::atomic<bool> all = false;
  std::vector<std::unique_ptr<Blade>> blades;
  for (const std::string& name : names) {
    attempt.ends[name];
    attempt.events[name];
    attempt.steps[name];
    std::optional<uint64_t> at;
    if (kill && kill->party == name) at = kill->event;
    blades.push_back(std::make_unique<Blade>(Home(name), at, all, kill && kill->all));
  }
  const auto run = [&](size_t i) {
    const std::string& name = names[i];
    crypto::SystemRandom random;
    CountingProgress progress(attempt.steps.at(name));
    Attempt::End& end = attempt.ends.at(name);
    std::unique_ptr<net::Transport> transport =
        std::make_unique<KillableTransport>(std::move(transports[i]), *blades[i]);
    blade = blades[i].get();
    try {
      const std::unique_ptr<run::Approvals> approvals = run::UnsignedApprovals(random);
      std::optional<run::RunLedger> ledger;
      if (fs::exists(Home(name) + "/ledger"))
        ledger.emplace(run::LedgerOptions{Home(name) + "/ledger", ""}, crypto::Identity{});
      run::PartyInput input;
      input.party = i;
      input.data = Home(name) + "/data.csv";
      input.approvals = approvals.get();
      input.ledger = ledger ? &*ledger : nullptr;
      input.state = Home(name) + "/run";
      end.outcome = run::RunParty(
          study_, input, [&](bool) { return std::move(transport); }, random, progress);
    } catch (const Error& error) {
      end.error = error;
    }
    transport.reset();
    blade = nullptr;
  };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < names.size(); ++i) threads.emplace_back(run, i);
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < names.size(); ++i) {
    attempt.events[names[i]] = blades[i]->count();
    if (!blades[i]->dead()) continue;
    Attempt::End& end = attempt.ends[names[i]];
    end = {};
    end.killed = true;
    fs::remove_all(Home(names[i]));
    fs::rename(blades[i]->Remains(), Home(names[i]));
  }
  return attempt;
}

}  // namespace partita::testing

extern "C" {
int fsync(int descriptor) { return partita::testing::SyncOf(SYS_fsync, descriptor); }
int fdatasync(int descriptor) { return partita::testing::SyncOf(SYS_fdatasync, descriptor); }
}
