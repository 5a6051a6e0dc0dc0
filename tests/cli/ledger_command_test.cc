// partita ledger, as a steward meets it: an account, studies that are charged to it by real
// processes and countersigned by their peers, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"
#include "tests/thorough.h"

namespace partita::testing::ledger_command_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kUsageExit = 2;

class LedgerCommandTest : public ::testing::Test {
 protected:
  const std::vector<std::string> parties_ = {"north", "south", "dealer"};

  std::string Home(const std::string& party) const { return folder_.path() + "/" + party; }
  std::string Ledger(const std::string& party) const { return Home(party) + "/ledger.sqlite"; }
  std::string Roster() const { return folder_.path() + "/roster.toml"; }

  ProcessResult Open(const std::string& party, std::vector<std::string> more = {}) {
    std::filesystem::create_directories(Home(party));
    std::vector<std::string> arguments = {"ledger", "open",      Ledger(party), "--table",
                                          "visits", "--epsilon", "3",           "--delta",
                                          "1e-6",   "--by",      "Ada"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Partita(arguments);
  }
  nlohmann::json Show(const std::string& party) {
    const ProcessResult shown = Partita({"ledger", "show", Ledger(party), "--format", "json"});
    EXPECT_EQ(shown.exit_code, 0) << shown.out;
    return nlohmann::json::parse(shown.out)["data"]["tables"][0];
  }
  void MakePrivate() {
    StudyFolder::Write(folder_.study_file(), StudyFolder::Read(folder_.study_file()) +
                                                 "\n[analysis.privacy]\nepsilon = 1\ndelta = 1e-6\n"
                                                 "adjacency = \"replace\"\n");
  }
  void MakeIdentities() {
    for (const std::string& party : parties_) {
      ASSERT_EQ(Partita({"cert", "new", party, "--folder", Home(party)}).exit_code, 0);
      ASSERT_EQ(Partita({"cert", "roster", Roster(), "--certificate", Home(party) + "/cert.pem",
                         "--address", FreeAddress()})
                    .exit_code,
                0);
    }
  }
  ProcessResult Approve(const std::string& party, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {
        "study",     "approve", folder_.study_file(), "--party",  party,    "--folder",
        Home(party), "--yes",   "--accept-useless",   "--roster", Roster(), "--force"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Partita(arguments);
  }
  // Every party that has a ledger names it.
  std::map<std::string, ProcessResult> RunAll() {
    std::map<std::string, std::unique_ptr<Process>> processes;
    for (const std::string& party : parties_) {
      std::vector<std::string> arguments = {
          PartitaProgram(),   "study",  "join",     folder_.study_file(),
          "--party",          party,    "--folder", Home(party),
          "--roster",         Roster(), "--wait",   "20s",
          "--accept-useless", "--force"};
      if (std::filesystem::exists(Ledger(party)))
        arguments.insert(arguments.end(), {"--ledger", Ledger(party)});
      processes[party] = std::make_unique<Process>(arguments);
    }
    std::map<std::string, ProcessResult> results;
    for (auto& [party, process] : processes) results[party] = process->Wait();
    return results;
  }

  StudyFolder folder_;
};

TEST_F(LedgerCommandTest, AStudyIsChargedAndCountersigned) {
  MakePrivate();
  MakeIdentities();
  for (const std::string party : {"north", "south"}) ASSERT_EQ(Open(party).exit_code, 0);
  const ProcessResult approved = Approve("north", {"--ledger", Ledger("north")});
  EXPECT_EQ(approved.exit_code, 0) << approved.err;
  EXPECT_THAT(approved.out, HasSubstr("Of the budget against outsiders it takes"));
  for (const std::string party : {"south", "dealer"}) ASSERT_EQ(Approve(party).exit_code, 0);
  for (const auto& [party, result] : RunAll())
    EXPECT_EQ(result.exit_code, 0) << party << ": " << result.err;
  for (const std::string party : {"north", "south"}) {
    const nlohmann::json standing = Show(party);
    EXPECT_EQ(standing["studies_spent"], 1);
    EXPECT_EQ(standing["studies_open"], 0);
    EXPECT_EQ(standing["exact_spent"], 0);
    EXPECT_GT(standing["outside"]["epsilon_after"], 0);
  }
  // The dealer keeps no ledger; the other holder signed.
  const ProcessResult history = Partita({"ledger", "history", Ledger("north"), "--format", "json"});
  ASSERT_EQ(history.exit_code, 0) << history.out;
  std::vector<std::string> kinds;
  const auto shown = nlohmann::json::parse(history.out);
  for (const auto& entry : shown["data"]["entries"]) kinds.push_back(entry["kind"]);
  EXPECT_EQ(kinds, (std::vector<std::string>{"opened", "reserved", "countersigned", "spent"}));
  const ProcessResult verified = Partita({"ledger", "verify", Ledger("north")});
  EXPECT_EQ(verified.exit_code, 0) << verified.err;
  EXPECT_THAT(verified.out, HasSubstr("1 tables, 4 entries"));
  // The report says so.
  const auto result = nlohmann::json::parse(StudyFolder::Read(Home("north") + "/result.json"));
  EXPECT_THAT(result["privacy"].back().get<std::string>(),
              AllOf(HasSubstr("table visits, entry 2"), HasSubstr("countersigned by south")));
}

// Exact results, then a private study: everybody's statement says what came before.
TEST_F(LedgerCommandTest, ExactResultsQualifyLaterStatements) {
  MakeIdentities();
  ASSERT_EQ(Open("south", {"--exact", "allowed"}).exit_code, 0);
  for (const std::string& party : parties_) ASSERT_EQ(Approve(party).exit_code, 0);
  for (const auto& [party, result] : RunAll())
    EXPECT_EQ(result.exit_code, 0) << party << ": " << result.err;
  EXPECT_THAT(Show("south")["qualifications"][0].get<std::string>(), HasSubstr("exact results"));
  MakePrivate();
  ASSERT_EQ(Open("north").exit_code, 0);
  for (const std::string& party : parties_) ASSERT_EQ(Approve(party).exit_code, 0);
  for (const auto& [party, result] : RunAll())
    EXPECT_EQ(result.exit_code, 0) << party << ": " << result.err;
  const auto result = nlohmann::json::parse(StudyFolder::Read(Home("north") + "/result.json"));
  EXPECT_THAT(result["privacy"].dump(),
              HasSubstr("exact results were released before from the table of party south"));
}

TEST_F(LedgerCommandTest, APrivateStudyNeedsALedger) {
  MakePrivate();
  MakeIdentities();
  for (const std::string& party : parties_) ASSERT_EQ(Approve(party).exit_code, 0);
  const ProcessResult refused =
      Partita({"study", "join", folder_.study_file(), "--party", "south", "--folder", Home("south"),
               "--roster", Roster(), "--accept-useless"});
  EXPECT_EQ(refused.exit_code, 5) << refused.err;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("no ledger"), HasSubstr("partita ledger open")));
}

TEST_F(LedgerCommandTest, PricesAStudyWithoutReservingIt) {
  MakePrivate();
  ASSERT_EQ(Open("north").exit_code, 0);
  const ProcessResult priced =
      Partita({"ledger", "price", Ledger("north"), folder_.study_file(), "--format", "json"});
  ASSERT_EQ(priced.exit_code, 0) << priced.out;
  const auto data = nlohmann::json::parse(priced.out)["data"];
  // The study promises eps = 1 against a party that knows its own share.
  EXPECT_GT(data["insider_percent"], 5);
  EXPECT_LT(data["insider_percent"], 40);
  EXPECT_LT(data["outside_percent"], data["insider_percent"]);
  EXPECT_GE(data["studies_left"], 2);
  EXPECT_EQ(Show("north")["sequence"], 1);
}

TEST_F(LedgerCommandTest, RefusesExactResultsUnlessThePolicyAllowsThem) {
  ASSERT_EQ(Open("north").exit_code, 0);
  const ProcessResult refused = Partita({"ledger", "price", Ledger("north"), folder_.study_file()});
  EXPECT_EQ(refused.exit_code, 5) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("visits"));
  // A wider policy needs a reason, and stays in the history.
  const std::vector<std::string> wider = {
      "ledger", "change",  Ledger("north"), "--table", "visits", "--epsilon",
      "3",      "--delta", "1e-6",          "--exact", "5"};
  EXPECT_NE(Partita(wider).exit_code, 0);
  std::vector<std::string> reasoned = wider;
  reasoned.insert(reasoned.end(), {"--why", "the ethics board agreed on 2026-11-02"});
  const ProcessResult changed = Partita(reasoned);
  EXPECT_EQ(changed.exit_code, 0) << changed.err;
  EXPECT_EQ(Partita({"ledger", "price", Ledger("north"), folder_.study_file()}).exit_code, 0);
  EXPECT_EQ(Show("north")["policy_changes"], 1);
}

TEST_F(LedgerCommandTest, RefundsOnlyWithTheStewardsWord) {
  ASSERT_EQ(Open("north").exit_code, 0);
  const std::vector<std::string> refund = {"ledger",
                                           "refund",
                                           Ledger("north"),
                                           "--reservation",
                                           "2",
                                           "--why",
                                           "the host lost power before the run began"};
  EXPECT_THAT(Partita(refund).err, HasSubstr("--nothing-was-sent"));
  std::vector<std::string> stated = refund;
  stated.push_back("--nothing-was-sent");
  const ProcessResult none = Partita(stated);
  EXPECT_NE(none.exit_code, 0) << "there is no such reservation";
  EXPECT_EQ(Show("north")["sequence"], 1);
}

TEST_F(LedgerCommandTest, ExportsAndDetectsDamage) {
  ASSERT_EQ(Open("north").exit_code, 0);
  const std::string chain = folder_.path() + "/chain.json";
  ASSERT_EQ(Partita({"ledger", "export", Ledger("north"), "--output", chain}).exit_code, 0);
  EXPECT_EQ(nlohmann::json::parse(StudyFolder::Read(chain))["entries"].size(), 1u);
  // The auditor has the file alone.
  EXPECT_EQ(Partita({"ledger", "history", chain}).out,
            Partita({"ledger", "history", Ledger("north")}).out);
  std::string text = StudyFolder::Read(chain);
  text.replace(text.find("visits"), 6, "wisits");
  StudyFolder::Write(chain, text);
  const ProcessResult changed = Partita({"ledger", "history", chain});
  EXPECT_NE(changed.exit_code, 0);
  EXPECT_THAT(changed.err, HasSubstr("is not a privacy ledger as Partita exports it"));
  std::string bytes = StudyFolder::Read(Ledger("north"));
  const size_t at = bytes.find("visits");
  ASSERT_NE(at, std::string::npos);
  for (size_t i = at; i != std::string::npos; i = bytes.find("visits", i + 1)) bytes[i] = 'w';
  StudyFolder::Write(Ledger("north"), bytes);
  const ProcessResult damaged = Partita({"ledger", "verify", Ledger("north")});
  EXPECT_NE(damaged.exit_code, 0);
  EXPECT_NE(damaged.err, "");
}

TEST_F(LedgerCommandTest, BadInputIsNamed) {
  const auto error = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"ledger", "open", folder_.path() + "/new.sqlite",
                                          "--table"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProcessResult result = Partita(arguments);
    EXPECT_EQ(result.exit_code, kUsageExit) << result.out;
    EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/new.sqlite"));
    return result.err;
  };
  EXPECT_THAT(error({"visits", "--epsilon", "nan", "--delta", "1e-6"}), HasSubstr("epsilon"));
  EXPECT_THAT(error({"visits", "--epsilon", "-1", "--delta", "1e-6"}), HasSubstr("epsilon"));
  EXPECT_THAT(error({"visits", "--epsilon", "1", "--delta", "1"}), HasSubstr("delta"));
  EXPECT_THAT(error({"visits", "--epsilon", "1", "--delta", "0"}), HasSubstr("delta"));
  EXPECT_THAT(error({"../visits", "--epsilon", "1", "--delta", "1e-6"}), HasSubstr("table"));
  EXPECT_THAT(error({"visits", "--epsilon", "1", "--delta", "1e-6", "--exact", "some"}),
              HasSubstr("--exact some"));
  EXPECT_THAT(Partita({"ledger", "show", "/nowhere/ledger"}).err, HasSubstr("partita ledger open"));
  ASSERT_EQ(Open("north").exit_code, 0);
  EXPECT_NE(Open("north").exit_code, 0) << "the table has an account";
}

// Eight stewards at the same moment, on a ledger that is not there yet.
TEST_F(LedgerCommandTest, OpenedByManyAtOnceItIsMadeOnce) {
  std::filesystem::create_directories(Home("north"));
  for (int round = 0; round < 4; ++round) {
    const std::string file = Home("north") + "/new" + std::to_string(round);
    std::vector<std::unique_ptr<Process>> processes;
    for (int i = 0; i < 8; ++i) {
      const std::string table = round % 2 == 0 ? "visits" : "visits" + std::to_string(i);
      processes.push_back(std::make_unique<Process>(
          std::vector<std::string>{PartitaProgram(), "ledger", "open", file, "--table", table,
                                   "--epsilon", "3", "--delta", "1e-6", "--by", "Ada"}));
    }
    int opened = 0;
    for (const auto& process : processes) {
      const ProcessResult result = process->Wait();
      opened += result.exit_code == 0 ? 1 : 0;
      if (result.exit_code == 0) continue;
      EXPECT_EQ(result.exit_code, kUsageExit) << result.err;
      EXPECT_THAT(result.err, HasSubstr("table visits has an account already"));
    }
    EXPECT_EQ(opened, round % 2 == 0 ? 1 : 8);
    EXPECT_EQ(Partita({"ledger", "verify", file}).exit_code, 0);
  }
  // Nothing is left beside the ledgers but what was seen of them.
  for (const auto& entry : std::filesystem::directory_iterator(Home("north")))
    EXPECT_THAT(entry.path().filename().string(), ::testing::Not(HasSubstr(".new-")));
}

std::string ReadBytes(const std::string& file) { return StudyFolder::Read(file); }

// Everything that reads refuses a ledger in which one byte is another, and what it prints can be
// read: bytes of the damaged file are no text.
TEST_F(LedgerCommandTest, EveryCommandRefusesADamagedLedger) {
  MakePrivate();
  MakeIdentities();
  ASSERT_EQ(Open("north").exit_code, 0);
  const std::string good = ReadBytes(Ledger("north"));
  size_t places = 0;
  for (const std::string& what : {std::string("visits"), std::string("CREATE TABLE entries"),
                                  std::string("accounts"), std::string("journal_head")}) {
    for (size_t at = good.find(what); at != std::string::npos; at = good.find(what, at + 1)) {
      ++places;
      std::string bad = good;
      bad[at + 1] = '\xff';
      StudyFolder::Write(Ledger("north"), bad);
      const std::string export_to = Home("north") + "/chain.json";
      const std::vector<std::vector<std::string>> commands = {
          {"ledger", "show", Ledger("north")},
          {"ledger", "history", Ledger("north")},
          {"ledger", "price", Ledger("north"), folder_.study_file()},
          {"ledger", "verify", Ledger("north")},
          {"ledger", "export", Ledger("north"), "--output", export_to},
          {"ledger", "refund", Ledger("north"), "--reservation", "2", "--why", "no",
           "--nothing-was-sent"},
          {"ledger", "change", Ledger("north"), "--table", "visits", "--epsilon", "2", "--delta",
           "1e-6"},
          {"ledger", "open", Ledger("north"), "--table", "more", "--epsilon", "2", "--delta",
           "1e-6"},
          {"study", "approve", folder_.study_file(), "--party", "north", "--folder", Home("north"),
           "--yes", "--force", "--accept-useless", "--roster", Roster(), "--ledger",
           Ledger("north")},
          {"study", "join", folder_.study_file(), "--party", "north", "--folder", Home("north"),
           "--roster", Roster(), "--accept-useless", "--ledger", Ledger("north")}};
      // Every command meets every damage, for `./test` every second, and both formats by turns.
      bool json = places % 2 == 0;
      size_t number = places;
      for (std::vector<std::string> command : commands) {
        if (number++ % 2 != 0 && !Thorough()) continue;
        if (json) command.insert(command.end(), {"--format", "json"});
        json = !json;
        const ProcessResult result = Partita(command);
        EXPECT_EQ(result.exit_code, 5)
            << command[0] << " " << command[1] << ", byte " << at << ": " << result.err;
        // Throws for bytes that are not UTF-8.
        EXPECT_NO_THROW(nlohmann::json(result.out + result.err).dump());
      }
      EXPECT_FALSE(std::filesystem::exists(export_to));
    }
  }
  EXPECT_GE(places, 6u);
}

// An approval is for one run: the second is refused before anybody is connected.
TEST_F(LedgerCommandTest, AnApprovalIsNotUsedTwice) {
  MakePrivate();
  MakeIdentities();
  for (const std::string party : {"north", "south"}) ASSERT_EQ(Open(party).exit_code, 0);
  for (const std::string& party : parties_) ASSERT_EQ(Approve(party).exit_code, 0);
  for (const auto& [party, result] : RunAll())
    EXPECT_EQ(result.exit_code, 0) << party << ": " << result.err;
  const nlohmann::json before = Show("south");
  const std::map<std::string, ProcessResult> again = RunAll();
  for (const std::string party : {"north", "south"}) {
    EXPECT_EQ(again.at(party).exit_code, 5) << again.at(party).err;
    EXPECT_THAT(
        again.at(party).err,
        AllOf(HasSubstr("the approval of party " + party + " is used up"), HasSubstr("--runs")));
  }
  EXPECT_NE(again.at("dealer").exit_code, 0);
  EXPECT_EQ(Show("south"), before);
  // The record beside the approval set back: the ledger knows.
  const std::string record = folder_.path() + "/approval-small-south.uses";
  std::string text = StudyFolder::Read(record);
  StudyFolder::Write(record, text.substr(0, text.find('\n') + 1));
  EXPECT_EQ(RunAll().at("south").exit_code, 5);
  EXPECT_EQ(Show("south"), before);
}

}  // namespace
}  // namespace partita::testing::ledger_command_test
