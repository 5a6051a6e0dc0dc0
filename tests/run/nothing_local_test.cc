// Nothing local leaves a host: runs that fail in every way that could be thought of, and all that
// their parties put on the wire, read byte by byte. No path, no name of a user or a host, no count
// of rows, no cell, no word of a library and no text of an error may be there.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "methods/prepare_study.h"
#include "net/hello.h"
#include "net/memory_transport.h"
#include "net/stop.h"
#include "run/ahead/correlations.h"
#include "run/approval/approval_files.h"
#include "run/ledger/run_ledger.h"
#include "run/party/build_plan.h"
#include "run/party/party.h"
#include "tests/privacy/ledger/crash_vfs.h"
#include "tests/run/recorded_streams.h"
#include "tests/run/reference_study.h"
#include "tests/thorough.h"

namespace partita::run::nothing_local_test {
namespace {

namespace fs = std::filesystem;
using partita::testing::RecordedStreams;
using partita::testing::RecordingTransport;
using privacy::ledger::CrashDisk;

constexpr char kPlanted[] = "Melusine of row 17, /home/melusine/melusine.csv: out of memory";
constexpr char kCell[] = "Quasimodo";
constexpr char kDisk[] = "nothing-local";
constexpr size_t kRows = 37;

// --- studies ------------------------------------------------------------------------------------

std::string Columns(const std::string& engine) {
  std::string text = R"(partita = 1
name = "small"
[[party]]
name = "north"
roles = ["holder", "receiver"]
columns = ["x1", "x2"]
[[party]]
name = "south"
roles = ["holder"]
columns = ["x3"]
[[rows]]
name = "all"
count = 37
[table]
key = "id"
)";
  for (const char* name : {"x1", "x2", "x3"}) {
    text += fmt::format("[[variable]]\nname = \"{}\"\ntype = \"numeric\"\nlower = -9\nupper = 9\n",
                        name);
  }
  if (engine == "dealer") text += "[[party]]\nname = \"helper\"\nroles = [\"dealer\"]\n";
  return text + fmt::format(
                    "[design]\nsite = \"ignore\"\nmissing = \"refuse\"\n[engine]\nname = "
                    "\"{}\"\n",
                    engine);
}

std::string Rows(const std::string& engine) {
  std::string text = "partita = 1\nname = \"small\"\n";
  for (const char* party : {"north", "south"}) {
    text += fmt::format(
        "[[party]]\nname = \"{0}\"\nroles = [\"holder\"{1}]\nrows = [\"{0}\"]\n"
        "[[rows]]\nname = \"{0}\"\ncount = 37\n",
        party, std::string(party) == "north" ? ", \"receiver\"" : "");
  }
  text += R"([[variable]]
name = "x1"
type = "numeric"
lower = -9
upper = 9
[[variable]]
name = "y"
type = "integer"
lower = 0
upper = 1
[[variable]]
name = "r"
type = "factor"
levels = ["no", "yes"]
)";
  if (engine == "dealer") text += "[[party]]\nname = \"helper\"\nroles = [\"dealer\"]\n";
  return text + fmt::format(
                    "[design]\nsite = \"ignore\"\nmissing = \"refuse\"\n[engine]\nname = "
                    "\"{}\"\n",
                    engine);
}

constexpr char kMoments[] =
    "[[analysis]]\nmethod = \"mle\"\nprotocol = \"pooled-moments\"\nrelease = [\"moments\"]\n"
    "function = \"sem\"\nmodel = \"\"\"\nx3 ~ x1 + x2\n\"\"\"\n";
constexpr char kPrivate[] =
    "[analysis.privacy]\nepsilon = 1\ndelta = 1e-6\nadjacency = \"replace\"\n";
constexpr char kSealed[] =
    "[[analysis]]\nmethod = \"mle\"\nprotocol = \"sealed\"\nrelease = [\"estimates\", "
    "\"standard-errors\"]\nfunction = \"sem\"\nmodel = \"\"\"\nx3 ~ x1 + x2\n\"\"\"\n";
constexpr char kMixture[] =
    "[[analysis]]\nmethod = \"mixture\"\ncolumns = [\"x1\", \"x3\"]\ncomponents = 2\n"
    "iterations = 6\ncheckpoint_every = 2\nlearning_rate = 0.05\nsynthetic_rows = 10\n"
    "synthetic_sets = 1\n[analysis.batch]\nmode = \"poisson\"\nsize = 8\n[analysis.privacy]\n"
    "noise_multiplier = 1.5\ndelta = 1e-5\nadjacency = \"replace\"\n";
constexpr char kChain[] =
    "[[analysis]]\nmethod = \"mcmc\"\nprotocol = \"decisions\"\nmodel = \"logistic\"\n"
    "outcome = \"y\"\nrelease = [\"decisions\"]\npredictors = [\"x1\"]\nchains = 2\nwarmup = 20\n"
    "draws = 20\nthin = 1\n[analysis.priors]\nintercept = \"normal(0, 5)\"\n";
std::string Classifier(const std::string& protocol) {
  return fmt::format(
      "[[analysis]]\nmethod = \"classify\"\nprotocol = \"{}\"\noutcome = \"r\"\npositive = "
      "\"yes\"\npredictors = [\"x1\"]\nintercept = true\nrow_norm = 1\nlambda = 0.1\n{}"
      "[analysis.privacy]\nepsilon = 4\ndelta = 1e-4\nadjacency = \"replace\"\n",
      protocol,
      protocol == "dp-sgd"
          ? "iterations = 6\nstep = 4\nsampling_rate = 0.5\nclip_norm = 0.8\noptimiser = \"sgd\"\n"
          : "");
}

struct Kind {
  std::string name, text;
};
std::vector<Kind> Kinds() {
  return {{"moments/dealer", Columns("dealer") + kMoments},
          {"moments/ot", Columns("ot") + kMoments},
          {"private moments/dealer", Columns("dealer") + kMoments + kPrivate},
          {"private moments/ot", Columns("ot") + kMoments + kPrivate},
          {"sealed/dealer", Columns("dealer") + kSealed},
          {"mixture/dealer", Columns("dealer") + kMixture},
          {"mcmc/dealer", Rows("dealer") + kChain},
          {"dp-sgd/dealer", Rows("dealer") + Classifier("dp-sgd")},
          {"local-aggregation/ot", Rows("ot") + Classifier("local-aggregation")}};
}

// --- faults -------------------------------------------------------------------------------------

// Throws at the call number `at`, as a method that says what it saw might.
class ThrowingProgress : public Progress {
 public:
  ThrowingProgress(uint64_t at, size_t kind) : at_(at), kind_(kind) {}
  void Phase(std::string_view) override { Count(); }
  void Step(uint64_t, uint64_t) override { Count(); }
  void CheckCancelled() override { Count(); }
  uint64_t calls() const { return calls_; }

  // Errors of every code, and what is not ours.
  static constexpr size_t kKinds = static_cast<size_t>(ErrorCode::kInternal) + 4;
  static constexpr size_t kMemory = kKinds - 3;

 private:
  void Count() {
    if (calls_++ != at_) return;
    if (kind_ == kKinds - 1) throw fs::filesystem_error(kPlanted, kPlanted, std::error_code());
    if (kind_ == kKinds - 2) throw std::runtime_error(kPlanted);
    if (kind_ == kMemory) throw std::bad_alloc();
    throw Error(static_cast<ErrorCode>(kind_), kPlanted, kPlanted);
  }

  uint64_t at_, calls_ = 0;
  size_t kind_;
};

constexpr uint64_t kNever = UINT64_MAX;

struct Faults {
  size_t failing_party = 0;
  uint64_t throw_at = kNever;  // of the failing party's progress
  size_t throw_kind = 0;
  std::function<void()> before_connect = [] {};  // at the failing party
};

class NothingLocalTest : public ::testing::Test {
 protected:
  NothingLocalTest() : folder_(partita::testing::MakeTemporaryFolder("nothing-local")) {
    WriteTables();
    words_ = {folder_.string(),    "Melusine", "melusine", kCell,         "No such file",
              "Permission denied", "SQLite",   "sqlite",   "database",    "disk",
              "malformed",         "OpenSSL",  "nlohmann", "parse error", "std::",
              "terminate",         "what()",   "memory",   ".csv",        ".ledger",
              ".correlations",     "/tmp/",    "/home",    " rows",       "row ",
              " 37 rows",          "line ",    "column '", "ledger of",   "budget of"};
    // Names of fewer than four letters occur in random bytes.
    const auto add_name = [this](const std::string& name) {
      if (name.size() >= 4) words_.push_back(name);
    };
    if (const passwd* user = ::getpwuid(::geteuid())) add_name(user->pw_name);
    char host[256] = {};
    if (::gethostname(host, sizeof host - 1) == 0) add_name(host);
  }
  ~NothingLocalTest() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  fs::path Data(const std::string& party) const { return folder_ / (party + ".csv"); }
  fs::path Ledger(const std::string& party) const { return folder_ / (party + ".ledger"); }
  fs::path Store(const std::string& party) const { return folder_ / (party + ".correlations"); }
  fs::path ApprovalOf(const std::string& party) const {
    return folder_ / ("approval-" + party + ".json");
  }

  // Tables that serve all studies.
  void WriteTables() const {
    for (const char* party : {"north", "south"}) {
      std::ofstream csv(Data(party));
      csv << "id,x1,x2,x3,y,r\n";
      for (size_t i = 0; i < kRows; ++i) {
        const double x1 = static_cast<double>(i * 37 % 41) / 10 - 2;
        const double x2 = static_cast<double>((i * 23 + 5) % 43) / 10 - 2;
        const double noise = static_cast<double>((i * 29 + 11) % 31) / 10 - 1.5;
        csv << fmt::format("p{:03},{:.1f},{:.1f},{:.3f},{},{}\n", i, x1, x2, x1 - x2 / 4 + noise,
                           i % 2, x1 + noise > 0 ? "yes" : "no");
      }
    }
  }
  static void Replace(const fs::path& file, const std::string& from, const std::string& to) {
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    std::string all = text.str();
    const size_t at = all.find(from);
    ASSERT_NE(at, std::string::npos);
    std::ofstream(file) << all.replace(at, from.size(), to);
  }

  // All parties as threads. Returns how many ended with an error. progress: the failing party's.
  size_t RunAll(const Study& study, const Faults& how, uint64_t* calls = nullptr) {
    const std::vector<std::string> names = OnlineNames(study);
    RecordedStreams streams(names.size());
    std::vector<std::unique_ptr<net::Transport>> transports =
        net::MakeMemoryTransports(names, random_);
    std::vector<std::string> errors(names.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < names.size(); ++i) {
      threads.emplace_back([&, i] {
        const bool fails = i == how.failing_party;
        ThrowingProgress progress(fails ? how.throw_at : kNever, how.throw_kind);
        try {
          RunOne(
              study, i, fails ? how.before_connect : [] {},
              std::make_unique<RecordingTransport>(std::move(transports[i]), streams), progress);
        } catch (const std::exception& error) {
          errors[i] = error.what();
        }
        transports[i].reset();
        if (fails && calls != nullptr) *calls = progress.calls();
      });
    }
    for (std::thread& thread : threads) thread.join();
    ends_.clear();
    for (const std::string& error : errors) ends_ += error + "; ";
    const auto failed = static_cast<size_t>(
        std::count_if(errors.begin(), errors.end(), [](const auto& e) { return !e.empty(); }));
    // Nothing else tells that a party could not read its table.
    for (const Bytes& bytes : streams.Payloads(net::FrameType::kHello)) {
      const net::Hello hello = net::DecodeHello(bytes, "recorded");
      if (hello.name == "south") {
        EXPECT_NE(hello.commitment, crypto::Digest{});
      }
    }
    Judge(streams, failed, errors[how.failing_party]);
    return failed;
  }

  void RunOne(const Study& study, size_t self, const std::function<void()>& before_connect,
              std::unique_ptr<net::Transport> transport, Progress& progress) {
    crypto::SystemRandom random;
    const std::string name = OnlineNames(study)[self];
    const std::unique_ptr<Approvals> approvals =
        identities_.empty() ? UnsignedApprovals(random)
                            : SignedApprovals({ApprovalOf(name), identities_[self], fingerprints_});
    std::optional<RunLedger> ledger;
    if (fs::exists(Ledger(name)))
      ledger.emplace(LedgerOptions{Ledger(name), "visits"}, crypto::Identity{});
    PartyInput input;
    input.party = self;
    input.data = Data(name);
    input.fingerprints = fingerprints_;
    input.approvals = approvals.get();
    input.ledger = ledger ? &*ledger : nullptr;
    input.correlations = Store(name);
    RunParty(
        study, input,
        [&](bool) {
          before_connect();
          return std::move(transport);
        },
        random, progress);
  }

  // What peers were sent of a run of which `failed` parties ended with an error.
  void Judge(const RecordedStreams& streams, size_t failed, const std::string& own) {
    EXPECT_EQ(FirstFound(streams, words_), "") << "in a run that ended with: " << own;
    for (const Bytes& bytes : streams.Payloads(net::FrameType::kAbort)) {
      const std::optional<net::Stop> stop = net::DecodeStop(bytes, 8);
      ASSERT_TRUE(stop) << ToHex(bytes);
      reasons_.insert(stop->reason);
      ++stops_;
    }
    read_ += streams.bytes();
    failing_runs_ += failed > 0 ? 1 : 0;
    if (!own.empty()) own_.insert(own);
  }
  void Report(const std::string& what) const {
    fmt::print("{}: {} failing runs, {} reasons to stop, {} bytes read, {} own messages\n", what,
               failing_runs_, stops_, read_, own_.size());
  }

  void OpenAccount(const std::string& party, const std::string& epsilon) {
    privacy::ledger::Policy policy;
    policy.table = "visits";
    policy.outside.epsilon = epsilon;
    policy.outside.delta = "1e-6";
    policy.insider = policy.outside;
    policy.exact = privacy::ledger::ExactRule::kAllowed;
    // On the disk in memory; what is in the folder is the name.
    std::ofstream(Ledger(party)).flush();
    const privacy::ledger::LedgerOptions file{.file = Ledger(party), .vfs = kDisk};
    privacy::ledger::SqliteLedger::Create(file);
    privacy::ledger::SqliteLedger(file).OpenAccount(policy, random_, {"steward", 0});
  }

  // Certificates and an approval for everybody.
  void ApproveAll(const Study& study) {
    for (const std::string& name : PartyNames(study)) {
      identities_.push_back(crypto::MakeIdentity({.name = name}));
      fingerprints_.push_back(crypto::Fingerprint(*identities_.back().certificate));
    }
    const study::ApprovalTerms terms =
        TermsOf(study, StudyIdentityOf(study, fingerprints_), BuildPlan(study));
    for (size_t i = 0; i < identities_.size(); ++i) {
      const std::string name = PartyNames(study)[i];
      ApprovalRequest request;
      request.party = name;
      request.identity = identities_[i];
      request.fingerprints = fingerprints_;
      if (study.parties[i].holder) request.data = Data(name);
      SaveApproval(MakeApproval(study, terms, request, random_), ApprovalOf(name));
    }
  }

  const fs::path folder_;
  std::vector<std::string> words_;
  std::vector<crypto::Identity> identities_;
  std::vector<std::string> fingerprints_;
  crypto::SystemRandom random_;
  uint64_t failing_runs_ = 0, stops_ = 0, read_ = 0;
  std::string ends_;                   // how the parties of the last run ended
  std::set<std::string> own_;          // what the failing party itself was told
  std::set<net::StopReason> reasons_;  // what was told of stops
};

std::unique_ptr<const Study> Prepared(const std::string& text) {
  return methods::PrepareStudy(methods::ParseStudyFile(text, "study.toml"));
}

// What is read would be found if it were there.
TEST_F(NothingLocalTest, WhatIsSentWouldBeFound) {
  RecordedStreams streams(2);
  std::vector<std::unique_ptr<net::Transport>> transports =
      net::MakeMemoryTransports({"north", "south"}, random_);
  RecordingTransport north(std::move(transports[0]), streams);
  for (const std::string& word : words_) {
    streams.Of(0, 1).clear();
    north.Write(1, Bytes(100));
    EXPECT_EQ(FirstFound(streams, {word}), "");
    const std::string text = "we say of it: " + word + " to all";
    north.Write(1, Bytes(text.begin(), text.end()));
    north.Write(1, Bytes(100));
    EXPECT_EQ(FirstFound(streams, {word}), word);
  }
}

// Every method: errors of every code and foreign exceptions, all with the same planted text, at
// places that lie evenly over the whole run of every party.
TEST_F(NothingLocalTest, WhateverIsThrownNothingOfItIsSent) {
  size_t kind = 0;
  for (const Kind& of : Kinds()) {
    SCOPED_TRACE(of.name);
    const std::unique_ptr<const Study> study = Prepared(of.text);
    for (size_t party = 0; party < OnlineNames(*study).size(); ++party) {
      uint64_t calls = 0;
      Faults how{.failing_party = party};
      ASSERT_EQ(RunAll(*study, how, &calls), 0u) << ends_;
      ASSERT_GT(calls, 0u);
      const uint64_t tried = Thorough() ? 8 : 4;
      std::set<uint64_t> places;
      for (uint64_t place = 0; place < tried; ++place) {
        places.insert(std::min(calls - 1, place));
        places.insert(calls * place / tried);
      }
      for (const uint64_t at : places) {
        how.throw_at = at;
        how.throw_kind = kind++ % ThrowingProgress::kKinds;
        EXPECT_GT(RunAll(*study, how), 0u) << "call " << at;
      }
    }
  }
  EXPECT_GE(failing_runs_, Thorough() ? 200u : 100u);
  EXPECT_GE(stops_, failing_runs_ / 2);
  Report("thrown at every method");
}

// How much memory a table takes is no fault of it; in a private study peers are told neither.
TEST_F(NothingLocalTest, MemoryThatRunsOutIsNotBlamedOnTheTable) {
  for (const bool is_private : {false, true}) {
    const std::unique_ptr<const Study> study =
        Prepared(Columns("dealer") + kMoments + (is_private ? kPrivate : ""));
    reasons_.clear();
    bool while_reading = false;
    for (uint64_t at = 1; at < 4 && !while_reading; ++at) {  // the first calls are of reading
      Faults how{.failing_party = 1, .throw_at = at, .throw_kind = ThrowingProgress::kMemory};
      EXPECT_GT(RunAll(*study, how), 0u);
      while_reading =
          ends_.find("there is not enough memory to read the table") != std::string::npos;
    }
    EXPECT_TRUE(while_reading) << ends_;
    EXPECT_TRUE(
        reasons_.contains(is_private ? net::StopReason::kNoPart : net::StopReason::kFailed));
    EXPECT_FALSE(reasons_.contains(net::StopReason::kData));
    EXPECT_EQ(ends_.find("bad_alloc"), std::string::npos) << ends_;
  }
}

// Faults of files, of every file that a party has.
TEST_F(NothingLocalTest, FilesThatAreWrong) {
  const std::unique_ptr<const Study> study = Prepared(Columns("dealer") + kMoments + kPrivate);
  const auto fails = [&](const std::string& what, const std::function<void()>& before_connect) {
    SCOPED_TRACE(what);
    Faults how{.failing_party = 1};
    how.before_connect = before_connect;
    EXPECT_GT(RunAll(*study, how), 0u);
  };
  const auto with_table = [&](const std::string& what, const std::function<void()>& spoil) {
    spoil();
    fails(what, [] {});
    WriteTables();
  };
  ASSERT_EQ(RunAll(*study, {}), 0u) << ends_;
  const fs::path table = Data("south");
  with_table("no table", [&] { fs::remove(table); });
  with_table("a folder", [&] { fs::remove(table), fs::create_directory(table); });
  fs::remove(table);
  WriteTables();
  with_table("no number", [&] { Replace(table, "p003,", std::string("p003,") + kCell + "\n"); });
  // Cells out of bounds stop no study that promises privacy.
  Replace(table, "-0.", "-4711.");
  EXPECT_EQ(RunAll(*study, {.failing_party = 1}), 0u) << ends_;
  WriteTables();
  with_table("no column", [&] { Replace(table, "x3", kCell); });
  with_table("no key twice", [&] { Replace(table, "p004", "p003"); });
  with_table("a row too few", [&] { Replace(table, "p036", ""); });
  with_table("other keys", [&] { Replace(table, "p004", kCell); });
  with_table("no text", [&] { Replace(table, "id,", "\xff\xfe\x01"); });

  ApproveAll(*study);
  ASSERT_EQ(RunAll(*study, {}), 0u) << ends_;
  with_table("another table", [&] { Replace(table, "p004,", "p004, "); });
  const fs::path approval = ApprovalOf("south"), salt = SecretPath(approval);
  fs::rename(salt, folder_ / "kept");
  fails("no salt", [] {});
  std::ofstream(salt) << "no salt";
  fails("a damaged salt", [] {});
  fs::remove(salt);
  fs::rename(folder_ / "kept", salt);
  Replace(approval, "south", "sooth");
  fails("a changed approval", [] {});
  std::ofstream(approval) << "{\"" << kCell;
  fails("a damaged approval", [] {});
  fs::remove(approval);
  fails("no approval", [] {});
  // The study promises privacy: which of these it was, nobody is told. A party without an approval
  // does not come at all.
  reasons_.erase(net::StopReason::kClosed);
  EXPECT_EQ(reasons_, std::set{net::StopReason::kNoPart});
  Report("files");
}

// A ledger without room, one that is damaged, and a disk that is full at
// each of its writes.
TEST_F(NothingLocalTest, LedgersThatFail) {
  CrashDisk disk(kDisk);
  sqlite3_vfs_register(sqlite3_vfs_find(kDisk), 1);
  const std::unique_ptr<const Study> study = Prepared(Columns("dealer") + kMoments + kPrivate);
  Faults how{.failing_party = 1};

  OpenAccount("south", "0.001");
  EXPECT_GT(RunAll(*study, how), 0u);
  disk.Load({});
  OpenAccount("south", "1000");
  const CrashDisk::Image empty = disk.Save();
  // With what the host has seen of it, or the ledger would be refused as an old copy.
  const fs::path seen = Ledger("south").string() + ".seen", kept = folder_ / "kept.seen";
  if (fs::exists(seen)) fs::copy_file(seen, kept);
  const auto restore = [&] {
    disk.Load(empty);
    fs::remove(seen);
    if (fs::exists(kept)) fs::copy_file(kept, seen);
  };
  const uint64_t before = disk.operations();
  ASSERT_EQ(RunAll(*study, how), 0u) << ends_;
  const uint64_t writes = disk.operations() - before;

  disk.Load({});
  EXPECT_GT(RunAll(*study, how), 0u) << "no account";
  for (const auto failure : {CrashDisk::Failure::kNoSpace, CrashDisk::Failure::kIo}) {
    for (uint64_t write = 1; write <= writes; ++write) {
      restore();
      disk.FailAt(write, failure);
      RunAll(*study, how);
      EXPECT_TRUE(disk.failed()) << write << ": " << ends_;
    }
  }
  for (size_t page = 0; page < 4; ++page) {
    restore();
    CrashDisk::Image image = disk.Save();
    for (auto& [name, bytes] : image) {
      for (size_t i = page * 4096; i < bytes.size(); ++i) bytes[i] = 'M';
    }
    disk.Load(image);
    EXPECT_GT(RunAll(*study, how), 0u) << page;
  }
  EXPECT_GE(failing_runs_, writes);
  Report("ledgers");
}

TEST_F(NothingLocalTest, StoresOfCorrelations) {
  std::string text = Columns("dealer") + kMoments;
  text.insert(text.find("[[analysis]]"), "correlations = \"stored\"\n");
  const std::unique_ptr<const Study> study = Prepared(text);
  Faults how{.failing_party = 1};
  EXPECT_GT(RunAll(*study, how), 0u) << "no store";
  EXPECT_EQ(reasons_, std::set{net::StopReason::kCorrelations});
  std::ofstream(Store("south")) << std::string(5000, 'M');
  EXPECT_GT(RunAll(*study, how), 0u) << "a damaged store";
  fs::remove(Store("south"));
  fs::create_directory(Store("south"));
  EXPECT_GT(RunAll(*study, how), 0u) << "a folder";
  fs::remove(Store("south"));

  // The preparation of one, too.
  const std::vector<std::string> names = PartyNames(*study);
  for (size_t kind = 0; kind <= ThrowingProgress::kKinds; ++kind) {
    RecordedStreams streams(names.size());
    std::vector<std::unique_ptr<net::Transport>> transports =
        net::MakeMemoryTransports(names, random_);
    std::vector<std::string> errors(names.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < names.size(); ++i) {
      threads.emplace_back([&, i] {
        ThrowingProgress progress(i == 1 && kind > 0 ? 3 : kNever, kind - 1);
        crypto::SystemRandom random;
        PrepareInput input;
        input.party = i;
        input.store = Store(names[i]);
        auto transport = std::make_unique<RecordingTransport>(std::move(transports[i]), streams);
        try {
          PrepareCorrelations(
              *study, input, [&] { return std::move(transport); }, random, progress);
        } catch (const std::exception& error) {
          errors[i] = error.what();
        }
        transport.reset();
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(errors[1].empty(), kind == 0) << errors[1];
    Judge(streams, errors[1].empty() ? 0 : 1, errors[1]);
    for (const std::string& name : names) fs::remove(Store(name));
  }
  Report("correlations");
}

}  // namespace
}  // namespace partita::run::nothing_local_test
