// `study approve`, `reject` and `approval` as a steward meets them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"

namespace partita::testing::approvals_command_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ApprovalsCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int port = 7400;
    for (const char* party : {"north", "south", "dealer"}) {
      ASSERT_EQ(Partita({"cert", "new", party, "--folder", Home(party)}).exit_code, 0);
      ASSERT_EQ(Partita({"cert", "roster", Roster(), "--certificate", Home(party) + "/cert.pem",
                         "--address", "127.0.0.1:" + std::to_string(port++)})
                    .exit_code,
                0);
    }
  }
  std::string Home(const std::string& party) { return folder_.path() + "/" + party; }
  std::string Roster() { return folder_.path() + "/roster.toml"; }
  std::string File() { return folder_.path() + "/approval-small-south.json"; }
  std::string Uses() { return folder_.path() + "/approval-small-south.uses"; }
  std::string Secret() { return folder_.path() + "/approval-small-south.secret.json"; }

  std::vector<std::string> Approve(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"study",       "approve",  folder_.study_file(),
                                          "--party",     "south",    "--folder",
                                          Home("south"), "--roster", Roster()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  nlohmann::json Written() { return nlohmann::json::parse(StudyFolder::Read(File())); }

  // Runs the program at a terminal of its own and types `answer`; everything that it showed.
  ProcessResult AtTerminal(std::vector<std::string> arguments, const std::string& answer) {
    arguments.insert(arguments.begin(), PartitaProgram());
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    int terminal = -1;
    const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
    if (child == 0) {
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    ProcessResult result;
    bool answered = false;
    char buffer[4096];
    ssize_t got = 0;
    while ((got = ::read(terminal, buffer, sizeof buffer)) > 0) {
      result.out.append(buffer, static_cast<size_t>(got));
      if (answered || result.out.find("Type yes: ") == std::string::npos) continue;
      answered = true;
      EXPECT_EQ(::write(terminal, answer.data(), answer.size()),
                static_cast<ssize_t>(answer.size()));
    }
    ::close(terminal);
    int status = 0;
    ::waitpid(child, &status, 0);
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return result;
  }

  StudyFolder folder_;
};

TEST_F(ApprovalsCommandTest, ShowsThePlanAndAsks) {
  const ProcessResult no = AtTerminal(Approve(), "no\n");
  EXPECT_EQ(no.exit_code, 5) << no.out;
  EXPECT_THAT(no.out, AllOf(HasSubstr("north (holder and receiver) learns"),
                            HasSubstr("What will be signed"), HasSubstr("min_cell 5, min_rows 20"),
                            HasSubstr("Approve this study as party south until 20"),
                            HasSubstr("not approved; nothing was written")));
  EXPECT_FALSE(std::filesystem::exists(File()));
  EXPECT_FALSE(std::filesystem::exists(Secret()));
  const ProcessResult yes = AtTerminal(Approve(), "yes\n");
  EXPECT_EQ(yes.exit_code, 0) << yes.out;
  EXPECT_THAT(yes.out, HasSubstr("party south approves the study 'small': " + File()));
  EXPECT_EQ(Written()["decision"], "approve");
}

TEST_F(ApprovalsCommandTest, NeverSignsUnasked) {
  const ProcessResult result = Partita(Approve());
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("there is no terminal"), HasSubstr("--yes")));
  EXPECT_FALSE(std::filesystem::exists(File()));
}

TEST_F(ApprovalsCommandTest, WritesWhatTheStewardAskedFor) {
  const ProcessResult result =
      Partita(Approve({"--yes", "--until", "2099-06-30", "--min-cell", "12", "--min-rows", "40",
                       "--refuse-small-samples", "--output", Home("south")}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string file = Home("south") + "/approval-small-south.json";
  const auto written = nlohmann::json::parse(StudyFolder::Read(file));
  EXPECT_EQ(written["party"], "south");
  EXPECT_EQ(written["min_cell"], 12);
  EXPECT_EQ(written["min_rows"], 40);
  EXPECT_EQ(written["refuse_small_samples"], true);
  EXPECT_EQ(written["valid_until"], "2099-06-30T23:59:59Z");
  EXPECT_EQ(
      written["plan_hash"],
      nlohmann::json::parse(Partita({"study", "plan", folder_.study_file(), "--format", "json"})
                                .out)["data"]["plan_hash"]);
  // The salt is in the secret part alone.
  const auto secret =
      nlohmann::json::parse(StudyFolder::Read(Home("south") + "/approval-small-south.secret.json"));
  EXPECT_EQ(secret["snapshot_commitment"], written["snapshot_commitment"]);
  EXPECT_THAT(StudyFolder::Read(file), Not(HasSubstr(secret["salt"].get<std::string>())));
  EXPECT_THAT(result.out + result.err, Not(HasSubstr(secret["salt"].get<std::string>())));
}

TEST_F(ApprovalsCommandTest, SaysForHowManyRunsItIs) {
  const ProcessResult one = AtTerminal(Approve(), "yes\n");
  EXPECT_THAT(one.out, AllOf(HasSubstr("good for      one run"), HasSubstr("for one run? Type yes"),
                             HasSubstr("it is good for one run, counted in " + Uses())));
  EXPECT_EQ(Written()["runs"], 1);
  ASSERT_EQ(Partita(Approve({"--yes", "--runs", "3", "--force"})).exit_code, 0);
  EXPECT_EQ(Written()["runs"], 3);
  EXPECT_TRUE(std::filesystem::exists(Uses()));
  const ProcessResult shown = Partita({"study", "approval", File(), "--format", "json"});
  ASSERT_EQ(shown.exit_code, 0) << shown.out;
  const auto data = nlohmann::json::parse(shown.out)["data"];
  EXPECT_EQ(data["runs"], 3);
  EXPECT_EQ(data["uses"], 0);
  for (const char* runs : {"0", "1000001", "-1", "many"})
    EXPECT_EQ(Partita(Approve({"--yes", "--runs", runs})).exit_code, 2) << runs;
}

TEST_F(ApprovalsCommandTest, TheDealerApprovesWithoutATable) {
  ASSERT_EQ(Partita({"study", "approve", folder_.study_file(), "--party", "dealer", "--folder",
                     Home("dealer"), "--roster", Roster(), "--yes"})
                .exit_code,
            0);
  const auto written =
      nlohmann::json::parse(StudyFolder::Read(folder_.path() + "/approval-small-dealer.json"));
  EXPECT_TRUE(written["snapshot_commitment"].is_null());
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/approval-small-dealer.secret.json"));
}

TEST_F(ApprovalsCommandTest, MistakesAreNamed) {
  const auto expect = [&](int code, const std::string& message,
                          const std::vector<std::string>& arguments) {
    const ProcessResult result = Partita(arguments);
    EXPECT_EQ(result.exit_code, code) << result.err;
    EXPECT_THAT(result.err, AllOf(HasSubstr("error: "), HasSubstr(message)));
    EXPECT_FALSE(std::filesystem::exists(File()));
  };
  expect(2, "--until soon is not a day", Approve({"--yes", "--until", "soon"}));
  expect(2, "it would have expired at 2001-01-01T23:59:59Z",
         Approve({"--yes", "--until", "2001-01-01"}));
  expect(2, "min_cell = 1 is not from the study's 5", Approve({"--yes", "--min-cell", "1"}));
  expect(2, "neither a study nor an envelope", {"study", "approve", "--party", "south", "--yes"});
  expect(2, "STUDY excludes --envelope", Approve({"--yes", "--envelope", "e.toml"}));
  expect(2, "cannot read the envelope /nowhere.toml",
         {"study", "approve", "--envelope", "/nowhere.toml", "--party", "south", "--yes"});
  expect(2, "has no party 'west'",
         {"study", "approve", folder_.study_file(), "--party", "west", "--folder", Home("south"),
          "--roster", Roster(), "--yes"});
  expect(5, "the certificate does not count for party south",
         {"study", "approve", folder_.study_file(), "--party", "south", "--folder", Home("north"),
          "--roster", Roster(), "--yes"});
  expect(2, "--reason", {"study", "reject", folder_.study_file(), "--party", "south"});
  std::filesystem::remove(folder_.data("south"));
  expect(2, "south/data.csv", Approve({"--yes"}));
}

// A private run can say nothing of a table's rows, so the approval does, to its owner alone;
// whoever approves in spite of it is told what the run will make of them.
TEST_F(ApprovalsCommandTest, OfAPrivateStudyTheTableIsChecked) {
  StudyFolder::Write(folder_.study_file(),
                     StudyFolder::Read(folder_.study_file()) +
                         "[analysis.privacy]\nepsilon = 4\ndelta = 1e-5\nadjacency = "
                         "\"replace\"\nnorm = 1\n");
  const std::vector<std::string> yes = {"--yes", "--accept-useless"};
  const ProcessResult clean = Partita(Approve(yes));
  ASSERT_EQ(clean.exit_code, 0) << clean.err;
  EXPECT_THAT(clean.out + clean.err,
              HasSubstr("40 rows, of which 0 are not in the population, 0 are incomplete and 0 "
                        "contribute nothing; 0 cells moved"));
  std::filesystem::remove(File());

  std::string table = StudyFolder::Read(folder_.data("south"));
  const auto replace = [&](const std::string& key, const std::string& cell) {
    const size_t at = table.find(key + ",") + key.size() + 1;
    table.replace(at, table.find('\n', at) - at, cell);
  };
  replace("p003", "1000");
  replace("p004", "");
  replace("p005", "tall");
  StudyFolder::Write(folder_.data("south"), table);
  const ProcessResult refused = Partita(Approve(yes));
  EXPECT_EQ(refused.exit_code, 7) << refused.out;
  EXPECT_THAT(
      refused.err,
      AllOf(
          HasSubstr("2 contribute nothing; 1 cells moved to their bounds, 2 faulty in another way"),
          HasSubstr("column 'x3': 1 cell outside the bounds (first at line 5)"),
          HasSubstr("--accept-faults")));
  EXPECT_FALSE(std::filesystem::exists(File()));
  const ProcessResult accepted = Partita(Approve({"--yes", "--accept-useless", "--accept-faults"}));
  EXPECT_EQ(accepted.exit_code, 0) << accepted.err;
  EXPECT_THAT(accepted.out, HasSubstr("2 contribute nothing"));
  EXPECT_THAT(StudyFolder::Read(File()), Not(HasSubstr("contribute")));
  std::filesystem::remove(File());

  // What would stop the run stops here, whatever is accepted.
  StudyFolder::Write(folder_.data("south"), table + "p003,1\n");
  const ProcessResult stopped = Partita(Approve({"--yes", "--accept-useless", "--accept-faults"}));
  EXPECT_EQ(stopped.exit_code, 7);
  EXPECT_THAT(stopped.err, HasSubstr("has 41 rows of block 'all', but the study declares 40"));
  EXPECT_FALSE(std::filesystem::exists(File()));
}

// What the run would say of the table is said here already.
TEST_F(ApprovalsCommandTest, ATableThatTheRunWouldRefuseIsNotApproved) {
  folder_.Edit(folder_.data("south"), "p007,", "p007,tall");
  const ProcessResult refused = Partita(Approve({"--yes"}));
  EXPECT_EQ(refused.exit_code, 7) << refused.err;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("data.csv:9"), HasSubstr("tall")));
  EXPECT_FALSE(std::filesystem::exists(File()));
}

// `plan`, `approve`, `approval` and a result call a hash by one name, and different ones differently.
TEST_F(ApprovalsCommandTest, EveryHashHasOneName) {
  const ProcessResult approved = Partita(Approve({"--yes"}));
  ASSERT_EQ(approved.exit_code, 0) << approved.err;
  const std::string result = folder_.path() + "/result.json";
  ASSERT_EQ(Partita({"study", "simulate", folder_.study_file(), "--output", result}).exit_code, 0);
  const std::string shown = Partita({"study", "plan", folder_.study_file()}).out + approved.out +
                            Partita({"study", "approval", File()}).out;
  std::map<std::string, std::set<std::string>> by_name;
  static const std::regex line("([a-z]+( [a-z]+)?)( SHA-256|  +)\\s*([0-9a-f]{64})");
  for (std::sregex_iterator at(shown.begin(), shown.end(), line), end; at != end; ++at)
    by_name[(*at)[1].str()].insert((*at)[4].str());
  std::set<std::string> names, hashes;
  for (const auto& [name, values] : by_name) {
    names.insert(name);
    EXPECT_EQ(values.size(), 1u) << name;
    EXPECT_TRUE(hashes.insert(*values.begin()).second) << name;
  }
  EXPECT_THAT(names, ElementsAre("agreement", "plan", "signed by", "study file", "table"));

  const auto json = nlohmann::json::parse(StudyFolder::Read(result));
  EXPECT_EQ(json["plan"]["study_file_hash"], *by_name["study file"].begin());
  EXPECT_EQ(json["hashes"]["plan"], *by_name["plan"].begin());
  EXPECT_EQ(Written()["agreement_hash"], *by_name["agreement"].begin());
  EXPECT_FALSE(json["hashes"].contains("study_file"));
}

TEST_F(ApprovalsCommandTest, ShowsAndVerifies) {
  ASSERT_EQ(Partita(Approve({"--yes"})).exit_code, 0);
  const ProcessResult alone = Partita({"study", "approval", File()});
  EXPECT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_THAT(alone.out, AllOf(HasSubstr("decision      approve"),
                               HasSubstr("The signature is good; the certificate was not compared "
                                         "with a roster")));
  const ProcessResult compared =
      Partita({"study", "approval", File(), "--roster", Roster(), "--study", folder_.study_file()});
  EXPECT_EQ(compared.exit_code, 0) << compared.err;
  EXPECT_THAT(compared.out, HasSubstr("the certificate is the roster's"));
  EXPECT_EQ(Partita({"study", "approval", File(), "--study", folder_.study_file()}).exit_code, 2);

  StudyFolder::Write(folder_.path() + "/other.toml",
                     StudyFolder::Read(folder_.study_file()) + "#\n");
  const ProcessResult other = Partita({"study", "approval", File(), "--roster", Roster(), "--study",
                                       folder_.path() + "/other.toml"});
  EXPECT_EQ(other.exit_code, 5);
  EXPECT_THAT(other.err, HasSubstr("is for another study file or roster"));

  folder_.Edit(File(), "\"min_rows\": 20", "\"min_rows\": 21");
  const ProcessResult forged = Partita({"study", "approval", File()});
  EXPECT_EQ(forged.exit_code, 5);
  EXPECT_THAT(forged.err, HasSubstr("it was changed after it was signed"));
  EXPECT_EQ(forged.out, "");
}

}  // namespace
}  // namespace partita::testing::approvals_command_test
