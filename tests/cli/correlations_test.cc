// Correlations that are prepared, stored and used, as processes on one machine: a run without its
// dealer, the walk-through of the documentation, crashes, restored backups, wrong studies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "mpc/correlation_store.h"
#include "mpc/store_file.h"
#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"
#include "tests/paths.h"

namespace partita::testing::correlations_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

class CorrelationsTest : public ::testing::Test {
 protected:
  CorrelationsTest() {
    folder_.Edit(folder_.study_file(), "name = \"dealer\"\n\n[[analysis]]",
                 "name = \"dealer\"\ncorrelations = \"stored\"\n\n[[analysis]]");
  }

  // Two parties without a dealer.
  void UseTransfers() {
    folder_.Edit(folder_.study_file(), "[[party]]\nname = \"dealer\"\nroles = [\"dealer\"]\n", "");
    folder_.Edit(folder_.study_file(), "name = \"dealer\"", "name = \"ot\"");
    parties_.pop_back();
  }

  std::string Home(const std::string& party) { return folder_.path() + "/" + party; }
  std::string Store(const std::string& party) { return Home(party) + "/small.correlations"; }

  void MakeIdentities() {
    const std::string roster = folder_.path() + "/roster.toml";
    for (const std::string& party : parties_) {
      ASSERT_EQ(Partita({"cert", "new", party, "--folder", Home(party)}).exit_code, 0);
      ASSERT_EQ(Partita({"cert", "roster", roster, "--certificate", Home(party) + "/cert.pem",
                         "--address", FreeAddress()})
                    .exit_code,
                0);
    }
    for (const std::string& party : parties_) fs::copy_file(roster, Home(party) + "/roster.toml");
    Approve(folder_.study_file());
  }
  void Approve(const std::string& study) {
    for (const std::string party : {"north", "south"}) {
      const ProcessResult approved =
          Partita({"study", "approve", study, "--party", party, "--folder", Home(party), "--yes",
                   "--force", "--runs", "9"});  // packages end before approvals do
      ASSERT_EQ(approved.exit_code, 0) << approved.err;
    }
  }

  Arguments Prepare(const std::string& party, const Arguments& more = {}) {
    Arguments arguments = {"correlations", "prepare", folder_.study_file(),
                           "--party",      party,     "--folder",
                           Home(party),    "--wait",  "20s"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  Arguments Join(const std::string& party, const Arguments& more = {}) {
    Arguments arguments = {"study",     "join",   folder_.study_file(),
                           "--party",   party,    "--folder",
                           Home(party), "--wait", "20s"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  static std::unique_ptr<Process> Start(Arguments arguments) {
    arguments.insert(arguments.begin(), PartitaProgram());
    return std::make_unique<Process>(arguments);
  }
  // All at once, until all have ended.
  static std::vector<ProcessResult> RunAll(const std::vector<Arguments>& commands) {
    std::vector<std::unique_ptr<Process>> processes;
    for (const Arguments& arguments : commands) processes.push_back(Start(arguments));
    std::vector<ProcessResult> results;
    for (const auto& process : processes) results.push_back(process->Wait());
    return results;
  }
  std::vector<ProcessResult> PrepareAll(const Arguments& more = {}) {
    std::vector<Arguments> commands;
    for (const std::string& party : parties_) commands.push_back(Prepare(party, more));
    return RunAll(commands);
  }
  std::vector<ProcessResult> JoinBoth(const Arguments& more = {}) {
    fs::remove(Home("north") + "/result.json");
    fs::remove(Home("north") + "/report.html");
    return RunAll({Join("north", more), Join("south", more)});
  }
  static void ExpectAll(const std::vector<ProcessResult>& results, int exit_code) {
    for (const ProcessResult& result : results)
      EXPECT_EQ(result.exit_code, exit_code) << result.err;
  }

  Json Show(const std::string& party) {
    const ProcessResult shown = Partita({"correlations", "show", Store(party), "--format", "json"});
    EXPECT_EQ(shown.exit_code, 0) << shown.err;
    return Json::parse(shown.out)["data"];
  }
  void ExpectStores(uint64_t unspent, uint64_t spent_below) {
    for (const char* party : {"north", "south"}) {
      const Json store = Show(party);
      EXPECT_EQ(store["unspent"], unspent) << party;
      EXPECT_EQ(store["spent_below"], spent_below) << party;
    }
  }
  Json Plan() {
    return Json::parse(
        Partita({"study", "plan", folder_.study_file(), "--format", "json"}).out)["data"];
  }
  std::vector<double> Estimates(const std::string& file) {
    std::vector<double> estimates;
    const Json result = Json::parse(StudyFolder::Read(file));
    for (const Json& row : result["analyses"][0]["parameters"]) {
      if (!row["est"].is_null()) estimates.push_back(row["est"]);
    }
    return estimates;
  }

  StudyFolder folder_;
  Arguments parties_ = {"north", "south", "dealer"};
};

TEST_F(CorrelationsTest, ARunWithoutItsDealerCostsWhatThePlanSays) {
  MakeIdentities();
  const Json plan = Plan();
  const std::vector<ProcessResult> prepared = PrepareAll({"--format", "json"});
  ExpectAll(prepared, 0);
  uint64_t bytes = 0, rounds = 0;
  for (const ProcessResult& result : prepared) {
    const Json data = Json::parse(result.out)["data"];
    bytes += data["bytes_sent"].get<uint64_t>();
    rounds = std::max(rounds, data["rounds"].get<uint64_t>());
  }
  EXPECT_EQ(bytes, plan["preparation_totals"]["bytes"]);
  EXPECT_EQ(rounds, plan["preparation_totals"]["rounds"]);
  ExpectStores(1, 0);

  const std::vector<ProcessResult> joined = JoinBoth({"--format", "json"});
  ExpectAll(joined, 0);
  bytes = rounds = 0;
  for (const ProcessResult& result : joined) {
    uint64_t own_rounds = 0;
    const Json output = Json::parse(result.out);
    for (const Json& phase : output["data"]["traffic"]) {
      bytes += phase["bytes_sent"].get<uint64_t>();
      own_rounds += phase["rounds"].get<uint64_t>();
    }
    rounds = std::max(rounds, own_rounds);
  }
  EXPECT_EQ(bytes, plan["totals"]["bytes"]);
  EXPECT_EQ(rounds, plan["totals"]["rounds"]);
  ExpectStores(0, 1);
  const std::vector<double> estimates = Estimates(Home("north") + "/result.json");

  // Used up: nobody runs without, and it says what to do.
  for (const ProcessResult& result : JoinBoth()) {
    EXPECT_EQ(result.exit_code, 5) << result.err;
    EXPECT_THAT(result.err, HasSubstr("are used up"));
    EXPECT_THAT(result.err, HasSubstr("partita correlations prepare"));
  }
  EXPECT_FALSE(fs::exists(Home("north") + "/result.json"));
  const ProcessResult dealer = Partita(Join("dealer"));
  EXPECT_EQ(dealer.exit_code, 2);
  EXPECT_THAT(dealer.err, HasSubstr("has no part in it"));

  // The same numbers as with a dealer that is there, and as simulated with stored correlations.
  const std::string simulated = folder_.path() + "/simulated.json";
  for (const bool live : {false, true}) {
    if (live) folder_.Edit(folder_.study_file(), "\"stored\"", "\"live\"");
    const ProcessResult run =
        Partita({"study", "simulate", folder_.study_file(), "--output", simulated, "--force"});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const std::vector<double> expected = Estimates(simulated);
    ASSERT_EQ(estimates.size(), expected.size());
    ASSERT_GT(estimates.size(), 2u);
    for (size_t i = 0; i < estimates.size(); ++i) EXPECT_NEAR(estimates[i], expected[i], 1e-9);
  }
}

TEST_F(CorrelationsTest, TwoPartiesMakeTheirTransfersBefore) {
  UseTransfers();
  MakeIdentities();
  const Json plan = Plan();
  const std::vector<ProcessResult> prepared = PrepareAll({"--format", "json"});
  ExpectAll(prepared, 0);
  uint64_t bytes = 0;
  for (const ProcessResult& result : prepared)
    bytes += Json::parse(result.out)["data"]["bytes_sent"].get<uint64_t>();
  EXPECT_EQ(bytes, plan["preparation_totals"]["bytes"]);
  EXPECT_GT(bytes, 5 * plan["totals"]["bytes"].get<uint64_t>());
  ExpectAll(JoinBoth(), 0);
  ExpectStores(0, 1);
}

// Rehearsals compare the counted messages with the planned ones.
TEST_F(CorrelationsTest, RehearsedAndInProcess) {
  const ProcessResult rehearsed = Partita({"study", "rehearse", folder_.study_file()});
  EXPECT_EQ(rehearsed.exit_code, 0) << rehearsed.err << rehearsed.out;
  const ProcessResult threads =
      Partita({"study", "simulate", folder_.study_file(), "--in-process"});
  EXPECT_EQ(threads.exit_code, 0) << threads.err;
}

// An oracle's rows are in the package.
TEST_F(CorrelationsTest, LikelihoodWithoutItsDealer) {
  folder_.Edit(folder_.study_file(), "protocol = \"pooled-moments\"\nrelease = [\"moments\"]",
               "protocol = \"likelihood\"\nrelease = [\"likelihood\"]");
  const ProcessResult run =
      Partita({"study", "simulate", folder_.study_file(), "--in-process", "--format", "json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
}

// Runs what docs/stored-correlations.md shows: the lines of one block at the same time.
TEST_F(CorrelationsTest, TheWalkThroughWorks) {
  MakeIdentities();
  std::istringstream doc(StudyFolder::Read(SourcePath("docs/stored-correlations.md")));
  std::vector<std::vector<Arguments>> blocks(1);
  for (std::string line; std::getline(doc, line);) {
    if (!line.starts_with("    partita ")) {
      if (!blocks.back().empty()) blocks.emplace_back();
      continue;
    }
    Arguments& arguments = blocks.back().emplace_back();
    std::istringstream words(line.substr(12));
    for (std::string word; words >> word;) {
      const bool path =
          word == "study.toml" || word.find('/') != std::string::npos ||
          (!arguments.empty() && (arguments.back() == "--folder" || arguments.back() == "list"));
      arguments.push_back(path ? folder_.path() + "/" + word : word);
    }
  }
  size_t run = 0;
  for (const std::vector<Arguments>& commands : blocks) {
    ExpectAll(RunAll(commands), 0);
    run += commands.size();
  }
  EXPECT_EQ(run, 9u);
  EXPECT_TRUE(fs::exists(Home("north") + "/result.json"));
  EXPECT_EQ(Show("north")["unspent"], 0);
  EXPECT_FALSE(fs::exists(Store("south")));
}

// A party dies in the run: its package is spent at both, the next run takes the next one.
TEST_F(CorrelationsTest, ACrashSpendsThePackageThatItHit) {
  MakeIdentities();
  ExpectAll(PrepareAll({"--count", "2"}), 0);
  {
    auto north = Start(Join("north", {"--latency", "300ms"}));
    auto south = Start(Join("south", {"--latency", "300ms"}));
    ASSERT_TRUE(south->WaitForStandardError("moments"));
    ASSERT_TRUE(north->WaitForStandardError("moments"));
    south->Kill(SIGKILL);
    const ProcessResult result = north->Wait();
    EXPECT_EQ(result.exit_code, 9) << result.err;
    south->Wait();
  }
  ExpectStores(1, 1);
  ExpectAll(JoinBoth(), 0);
  ExpectStores(0, 2);
}

// A file comes back from a backup: it follows the other party's mark.
TEST_F(CorrelationsTest, ARestoredStoreUsesNothingTwice) {
  MakeIdentities();
  ExpectAll(PrepareAll({"--count", "2"}), 0);
  const std::string backup = folder_.path() + "/backup";
  fs::copy_file(Store("south"), backup);
  ExpectAll(JoinBoth(), 0);
  const auto restore = [&](const std::string& party) {
    fs::copy_file(backup, Store(party), fs::copy_options::overwrite_existing);
  };
  restore("south");
  EXPECT_EQ(Show("south")["unspent"], 2);
  ExpectAll(JoinBoth(), 0);
  ExpectStores(0, 2);

  // Both have one, but not the same: an old one here, a new one there.
  fs::remove(backup);
  ExpectAll(PrepareAll(), 0);
  fs::copy_file(Store("north"), backup);
  ExpectAll(JoinBoth(), 0);
  ExpectAll(PrepareAll(), 0);
  restore("north");
  // Who is told by the other before it looks itself learns that it stopped.
  for (const ProcessResult& result : JoinBoth()) {
    EXPECT_TRUE(result.exit_code == 5 || result.exit_code == 9) << result.err;
    EXPECT_THAT(result.err, HasSubstr(result.exit_code == 5 ? "no stored correlations in common"
                                                            : "does not allow this run"));
    EXPECT_THAT(result.err, Not(HasSubstr(Store("north"))));
  }
  EXPECT_EQ(Show("north")["spent_below"], 3) << "the mark came from the south";
  // The next preparation goes on from there.
  ExpectAll(PrepareAll(), 0);
  ExpectAll(JoinBoth(), 0);
}

TEST_F(CorrelationsTest, AStoreIsForOneStudy) {
  MakeIdentities();
  ExpectAll(PrepareAll(), 0);
  const std::string study = StudyFolder::Read(folder_.study_file());
  const auto expect_refused = [&](const std::string& message) {
    Approve(folder_.study_file());
    for (Arguments command : {Join("south", {"--correlations", Store("south")}),
                              Prepare("south", {"--store", Store("south")})}) {
      command.insert(command.end(), {"--timeout", "1m"});
      for (std::string& word : command) word = word == "20s" ? "200ms" : word;
      const ProcessResult result = Partita(command);
      EXPECT_EQ(result.exit_code, 2) << result.err;
      EXPECT_THAT(result.err, HasSubstr(Store("south")));
      EXPECT_THAT(result.err, HasSubstr(message));
      EXPECT_THAT(result.err, HasSubstr("partita correlations prepare"));
    }
  };
  folder_.Edit(folder_.study_file(), "name = \"small\"", "name = \"survey\"");
  expect_refused("was made for study 'small'");
  StudyFolder::Write(folder_.study_file(), study + "# a remark\n");
  expect_refused("was made for another version of study 'small'");
  ExpectStores(1, 0);

  // Two studies side by side: each has a file of its own, and neither uses the other's.
  StudyFolder::Write(folder_.study_file(), study);
  folder_.Edit(folder_.study_file(), "name = \"small\"", "name = \"survey\"");
  Approve(folder_.study_file());
  ExpectAll(PrepareAll(), 0);
  ExpectAll(JoinBoth(), 0);
  ExpectStores(1, 0);
  const ProcessResult list = Partita({"correlations", "list", Home("north"), "--format", "json"});
  const Json data = Json::parse(list.out)["data"];
  ASSERT_EQ(data["stores"].size(), 2u);
  EXPECT_EQ(data["stores"][0]["study"], "small");
  EXPECT_EQ(data["stores"][0]["unspent"], 1);
  EXPECT_EQ(data["stores"][1]["study"], "survey");
  EXPECT_EQ(data["stores"][1]["unspent"], 0);
}

TEST_F(CorrelationsTest, WhatIsRefusedWhenPreparing) {
  MakeIdentities();
  // Different counts.
  std::vector<ProcessResult> results =
      RunAll({Prepare("north"), Prepare("south", {"--count", "2"}), Prepare("dealer")});
  // Who is told by a peer before it looks itself only says so.
  size_t saw = 0;
  for (const ProcessResult& result : results) {
    EXPECT_TRUE(result.exit_code == 5 || result.exit_code == 9) << result.err;
    saw += result.err.find("runs, this one for") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(saw, 0u);
  EXPECT_FALSE(fs::exists(Store("north")));
  for (const char* count : {"0", "1001"}) {
    EXPECT_EQ(Partita(Prepare("north", {"--count", count})).exit_code, 2);
  }

  // One party lost its file.
  ExpectAll(PrepareAll(), 0);
  const Json before = Show("north");
  fs::remove(Store("south"));
  for (const ProcessResult& result : PrepareAll()) {
    EXPECT_TRUE(result.exit_code == 5 || result.exit_code == 9) << result.err;
    if (result.exit_code == 5) {
      EXPECT_THAT(result.err, HasSubstr("were not made together: party north has one, party south "
                                        "has none"));
    }
  }
  const ProcessResult discarded =
      Partita({"correlations", "discard", Store("north"), "--remove", "--format", "json"});
  EXPECT_EQ(discarded.exit_code, 0) << discarded.err;
  const Json data = Json::parse(discarded.out)["data"];
  EXPECT_EQ(data["discarded"], 1);
  ExpectAll(PrepareAll(), 0);
  EXPECT_NE(Show("north")["generation"], before["generation"]);
  EXPECT_EQ(Show("north")["generation"], Show("south")["generation"]);

  // A file of the old generation does not mix with the new.
  const Json shown = Show("north");
  EXPECT_EQ(shown["parties"], 3);

  folder_.Edit(folder_.study_file(), "\"stored\"", "\"live\"");
  const ProcessResult live = Partita(Prepare("north"));
  EXPECT_EQ(live.exit_code, 2);
  EXPECT_THAT(live.err, HasSubstr("does not use stored correlations"));
  EXPECT_EQ(Partita(Join("north", {"--correlations", Store("north")})).exit_code, 2);
}

// The dealer dies, or its user interrupts it: typed ends, and the stores still work.
TEST_F(CorrelationsTest, APreparationWhoseDealerGoes) {
  MakeIdentities();
  for (const int signal : {SIGKILL, SIGINT}) {
    // What is dealt is under way for so long that it cannot be there yet.
    const Arguments slow = {"--latency", "1s", "--count", "3"};
    auto north = Start(Prepare("north", slow)), south = Start(Prepare("south", slow)),
         dealer = Start(Prepare("dealer", slow));
    ASSERT_TRUE(dealer->WaitForStandardError("agree"));
    dealer->Kill(signal);
    EXPECT_EQ(dealer->Wait().exit_code, signal == SIGKILL ? 128 + SIGKILL : 130);
    // Who is told by the other party first names that one.
    size_t saw = 0;
    for (auto* party : {&north, &south}) {
      const ProcessResult result = (*party)->Wait();
      EXPECT_EQ(result.exit_code, 9) << result.err;
      saw += result.err.find("dealer") != std::string::npos ? 1 : 0;
    }
    EXPECT_GT(saw, 0u);
  }
  ExpectAll(PrepareAll(), 0);
  ExpectAll(JoinBoth(), 0);
}

// A preparation was interrupted before the other party had its file.
TEST_F(CorrelationsTest, AnEmptyStoreIsAsGoodAsNone) {
  MakeIdentities();
  ExpectAll(PrepareAll(), 0);
  const Json whole = Show("north");
  const mpc::StoreIdentity identity =
      mpc::CorrelationStore::Open(mpc::OpenStoreFile(Store("north"), false)).identity();
  for (const char* party : {"north", "south"}) fs::remove(Store(party));
  mpc::CorrelationStore::Create(mpc::OpenStoreFile(Store("north"), true), identity);
  ExpectAll(PrepareAll(), 0);
  EXPECT_NE(Show("north")["generation"], whole["generation"]);
  EXPECT_EQ(Show("north")["generation"], Show("south")["generation"]);
  ExpectAll(JoinBoth(), 0);
}

// A party dies while transfers are made; the next preparation goes on with the same stores.
TEST_F(CorrelationsTest, APreparationWhosePeerGoes) {
  UseTransfers();
  MakeIdentities();
  ExpectAll(PrepareAll(), 0);
  {
    auto north = Start(Prepare("north", {"--latency", "300ms"})),
         south = Start(Prepare("south", {"--latency", "300ms"}));
    ASSERT_TRUE(south->WaitForStandardError("make correlations"));
    south->Kill(SIGKILL);
    const ProcessResult result = north->Wait();
    EXPECT_EQ(result.exit_code, 9) << result.err;
    EXPECT_THAT(result.err, HasSubstr("south"));
    south->Wait();
  }
  ExpectStores(1, 0);
  ExpectAll(PrepareAll(), 0);
  ExpectStores(2, 0);
  ExpectAll(JoinBoth(), 0);
  ExpectAll(JoinBoth(), 0);
}

}  // namespace
}  // namespace partita::testing::correlations_test
