// One `partita study join` process per role, each with its own folder, as separate hosts would run
// it; and what happens when one of them is not who it should be, runs another study, or dies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"

namespace partita::testing::join_test {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

class JoinTest : public ::testing::Test {
 protected:
  const std::vector<std::string> parties_ = {"north", "south", "dealer"};

  std::string Home(const std::string& party) { return folder_.path() + "/" + party; }

  // Keys, certificates, one roster and everybody's approval, made as the documentation says.
  void MakeIdentities() {
    for (const std::string& party : parties_) {
      addresses_[party] = FreeAddress();
      ASSERT_EQ(Partita({"cert", "new", party, "--folder", Home(party)}).exit_code, 0);
      ASSERT_EQ(Partita({"cert", "roster", Roster(), "--certificate", Home(party) + "/cert.pem",
                         "--address", addresses_[party]})
                    .exit_code,
                0);
    }
    for (const std::string& party : parties_) Approve(party, folder_.study_file(), Roster());
  }
  void Approve(const std::string& party, const std::string& study, const std::string& roster) {
    const ProcessResult approved = Partita({"study", "approve", study, "--party", party, "--folder",
                                            Home(party), "--roster", roster, "--yes", "--force"});
    ASSERT_EQ(approved.exit_code, 0) << approved.err;
  }
  std::string Approval(const std::string& party) {
    return folder_.path() + "/approval-small-" + party + ".json";
  }
  std::string Roster() { return folder_.path() + "/roster.toml"; }

  std::vector<std::string> Arguments(const std::string& party) {
    return {PartitaProgram(), "study",  "join",     folder_.study_file(),
            "--party",        party,    "--folder", Home(party),
            "--roster",       Roster(), "--wait",   "20s"};
  }

  std::map<std::string, ProcessResult> RunAll() {
    std::map<std::string, std::unique_ptr<Process>> processes;
    for (const std::string& party : parties_)
      processes[party] = std::make_unique<Process>(Arguments(party));
    std::map<std::string, ProcessResult> results;
    for (auto& [party, process] : processes) results[party] = process->Wait();
    return results;
  }

  StudyFolder folder_;
  std::map<std::string, std::string> addresses_;
};

TEST_F(JoinTest, OneProcessPerRoleGivesTheSameAsSimulate) {
  MakeIdentities();
  auto results = RunAll();
  for (const auto& [party, result] : results)
    EXPECT_EQ(result.exit_code, 0) << party << ": " << result.err;
  EXPECT_FALSE(std::filesystem::exists(Home("south") + "/result.json"));
  const std::string simulated = folder_.path() + "/simulated.json";
  ASSERT_EQ(Partita({"study", "simulate", folder_.study_file(), "--output", simulated}).exit_code,
            0);
  const auto joined = nlohmann::json::parse(StudyFolder::Read(Home("north") + "/result.json"));
  const auto expected = nlohmann::json::parse(StudyFolder::Read(simulated));
  ASSERT_EQ(joined["analyses"][0]["parameters"].size(),
            expected["analyses"][0]["parameters"].size());
  ASSERT_GT(joined["analyses"][0]["parameters"].size(), 0u);
  for (size_t i = 0; i < joined["analyses"][0]["parameters"].size(); ++i) {
    // The moments of fixed covariates are the sample's, which a result does not repeat.
    if (expected["analyses"][0]["parameters"][i]["est"].is_null()) continue;
    EXPECT_NEAR(joined["analyses"][0]["parameters"][i]["est"].get<double>(),
                expected["analyses"][0]["parameters"][i]["est"].get<double>(), 1e-9);
  }
  EXPECT_NE(joined["run_id"], expected["run_id"]);
}

TEST_F(JoinTest, AnotherPartysCertificateIsRefused) {
  MakeIdentities();
  std::filesystem::copy_file(Home("dealer") + "/cert.pem", Home("south") + "/cert.pem",
                             std::filesystem::copy_options::overwrite_existing);
  std::filesystem::copy_file(Home("dealer") + "/key.pem", Home("south") + "/key.pem",
                             std::filesystem::copy_options::overwrite_existing);
  const ProcessResult south = Process(Arguments("south")).Wait();
  EXPECT_EQ(south.exit_code, 3) << south.err;
  EXPECT_THAT(south.err, HasSubstr("south"));
}

TEST_F(JoinTest, AStrangersCertificateIsRefusedByTheOthers) {
  MakeIdentities();
  // South comes with a key that the others' roster does not list; its own roster does.
  std::filesystem::remove(Home("south") + "/key.pem");
  std::filesystem::remove(Home("south") + "/cert.pem");
  ASSERT_EQ(Partita({"cert", "new", "south", "--folder", Home("south")}).exit_code, 0);
  const std::string own_roster = folder_.path() + "/own.toml";
  std::filesystem::copy_file(Roster(), own_roster);
  ASSERT_EQ(Partita({"cert", "roster", own_roster, "--certificate", Home("south") + "/cert.pem",
                     "--address", addresses_["south"]})
                .exit_code,
            0);
  Approve("south", folder_.study_file(), own_roster);
  std::vector<std::string> arguments = Arguments("south");
  for (std::string& argument : arguments) {
    if (argument == Roster()) argument = own_roster;
    if (argument == "20s") argument = "2s";
  }
  std::vector<std::string> north_arguments = Arguments("north"),
                           dealer_arguments = Arguments("dealer");
  north_arguments.back() = dealer_arguments.back() = "2s";
  Process north(north_arguments), dealer(dealer_arguments), south(arguments);
  const ProcessResult north_result = north.Wait();
  EXPECT_THAT(north_result.exit_code, AnyOf(3, 4)) << north_result.err;
  EXPECT_THAT(north_result.err, HasSubstr("south"));
  EXPECT_THAT(south.Wait().exit_code, AnyOf(3, 4));
  EXPECT_NE(dealer.Wait().exit_code, 0);
}

TEST_F(JoinTest, ADifferentStudyFileStopsBothSides) {
  MakeIdentities();
  const std::string other = folder_.path() + "/other.toml";
  StudyFolder::Write(other, StudyFolder::Read(folder_.study_file()) + "\n# a remark\n");
  std::vector<std::string> arguments = Arguments("south");
  arguments[3] = other;
  Approve("south", other, Roster());
  Process north(Arguments("north")), dealer(Arguments("dealer")), south(arguments);
  const ProcessResult north_result = north.Wait(), south_result = south.Wait();
  EXPECT_EQ(north_result.exit_code, 3) << north_result.err;
  EXPECT_EQ(south_result.exit_code, 3) << south_result.err;
  EXPECT_THAT(north_result.err, HasSubstr("study file"));
  EXPECT_THAT(north_result.err, HasSubstr("south"));
  EXPECT_THAT(south_result.err, HasSubstr("study file"));
  EXPECT_NE(dealer.Wait().exit_code, 0);
}

// What holds a party back before it connects to anybody: exit code 5, at once, with the remedy.
TEST_F(JoinTest, WithoutItsApprovalAPartyDoesNotJoin) {
  MakeIdentities();
  const auto expect_refused = [&](const std::string& message) {
    const ProcessResult result = Process(Arguments("south")).Wait();
    EXPECT_EQ(result.exit_code, 5) << result.err;
    EXPECT_THAT(result.err, HasSubstr("error: " + message));
    EXPECT_THAT(result.err, HasSubstr("hint: "));
  };
  const std::string approved = StudyFolder::Read(Approval("south"));
  std::filesystem::remove(Approval("south"));
  expect_refused("party south has not approved the study: " + Approval("south") +
                 " does not exist");

  StudyFolder::Write(Approval("south"), approved);
  folder_.Edit(Approval("south"), "\"min_cell\": 5", "\"min_cell\": 9");
  expect_refused("the signature of the approval of party south is wrong: it was changed");

  ASSERT_EQ(Partita({"study", "reject", folder_.study_file(), "--party", "south", "--folder",
                     Home("south"), "--roster", Roster(), "--reason", "ask the ethics board first",
                     "--force"})
                .exit_code,
            0);
  expect_refused("party south rejected the study: ask the ethics board first");

  Approve("south", folder_.study_file(), Roster());
  const std::string study = StudyFolder::Read(folder_.study_file());
  StudyFolder::Write(folder_.study_file(), study + "# a remark\n");
  expect_refused("the approval of party south is for another study file or roster");
  StudyFolder::Write(folder_.study_file(), study);

  std::filesystem::copy_file(Approval("north"), Approval("south"),
                             std::filesystem::copy_options::overwrite_existing);
  expect_refused("the approval of party south was signed with a certificate that does not count");
}

TEST_F(JoinTest, ATableThatChangedAfterItsApprovalStopsEverybody) {
  MakeIdentities();
  folder_.Edit(Home("south") + "/data.csv", "p001,", "p001, ");
  auto results = RunAll();
  EXPECT_EQ(results["south"].exit_code, 5) << results["south"].err;
  EXPECT_THAT(results["south"].err,
              HasSubstr("the table of party south has changed since it approved the study"));
  for (const char* other : {"north", "dealer"}) {
    EXPECT_EQ(results[other].exit_code, 9) << results[other].err;
    EXPECT_THAT(results[other].err, HasSubstr("south"));
    EXPECT_THAT(results[other].err, Not(HasSubstr("data.csv")));
  }
  EXPECT_FALSE(std::filesystem::exists(Home("north") + "/result.json"));
}

TEST_F(JoinTest, AnEnvelopeStandsForAnApproval) {
  MakeIdentities();
  const std::string text = folder_.path() + "/small.toml";
  StudyFolder::Write(text, R"(partita_envelope = 1
name = "small"
methods = ["mle"]
protocols = ["pooled-moments"]
functions = ["sem"]
engines = ["dealer"]
receivers = ["north"]
releases = ["moments"]
variables = ["x1", "x2", "x3"]
max_results = 1
valid_until = "2099-12-31"
)");
  const ProcessResult signed_envelope = Partita({"study", "approve", "--envelope", text, "--party",
                                                 "south", "--folder", Home("south"), "--yes"});
  ASSERT_EQ(signed_envelope.exit_code, 0) << signed_envelope.err;
  EXPECT_THAT(signed_envelope.out, HasSubstr("variables     x1, x2, x3"));
  const std::string envelope = folder_.path() + "/envelope-small-south.json";
  std::filesystem::remove(Approval("south"));
  // Everybody waits so long for the others.
  const auto run = [&](const std::string& wait) {
    std::vector<std::string> arguments = Arguments("south"), of_north = Arguments("north"),
                             of_dealer = Arguments("dealer");
    arguments.back() = of_north.back() = of_dealer.back() = wait;
    arguments.insert(arguments.end(), {"--approval", envelope});
    Process north(of_north), dealer(of_dealer), south(arguments);
    north.Wait();
    dealer.Wait();
    return south.Wait();
  };
  const ProcessResult first = run("20s");
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_TRUE(std::filesystem::exists(Home("north") + "/result.json"));
  std::filesystem::remove(Home("north") + "/result.json");
  const ProcessResult shown = Partita({"study", "approval", envelope, "--roster", Roster()});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("used          1 runs"));
  const ProcessResult second = run("1s");  // not all come
  EXPECT_EQ(second.exit_code, 5) << second.err;
  EXPECT_THAT(second.err, HasSubstr("all 1 runs that the envelope allows are used up"));
  EXPECT_FALSE(std::filesystem::exists(Home("north") + "/result.json"));
}

TEST_F(JoinTest, APeerThatDiesIsNamed) {
  MakeIdentities();
  // Latency keeps the parties in the protocol while the dealer is killed in it.
  const auto slow = [&](const std::string& party) {
    std::vector<std::string> arguments = Arguments(party);
    arguments.insert(arguments.end(), {"--latency", "400ms"});
    return arguments;
  };
  Process north(slow("north")), south(slow("south")), dealer(slow("dealer"));
  ASSERT_TRUE(south.WaitForStandardError("row order"));
  south.Kill(SIGKILL);
  const ProcessResult north_result = north.Wait();
  EXPECT_EQ(north_result.exit_code, 9) << north_result.err;
  EXPECT_THAT(north_result.err, HasSubstr("south"));
  EXPECT_EQ(dealer.Wait().exit_code, 9);
  EXPECT_FALSE(std::filesystem::exists(Home("north") + "/result.json"));
}

TEST_F(JoinTest, AnAbsentPartyIsNamedWhenTheWaitIsOver) {
  MakeIdentities();
  std::vector<std::string> north_arguments = Arguments("north"),
                           dealer_arguments = Arguments("dealer");
  north_arguments.back() = dealer_arguments.back() = "1s";
  Process north(north_arguments), dealer(dealer_arguments);
  const ProcessResult result = north.Wait();
  EXPECT_THAT(result.exit_code, AnyOf(3, 4)) << result.err;
  EXPECT_THAT(result.err, HasSubstr("south"));
  EXPECT_THAT(result.err, HasSubstr("north: waiting for south, dealer, for up to 1 s"));
  EXPECT_NE(dealer.Wait().exit_code, 0);
}

TEST_F(JoinTest, InterruptStopsEverybody) {
  MakeIdentities();
  const auto slow = [&](const std::string& party) {
    std::vector<std::string> arguments = Arguments(party);
    arguments.insert(arguments.end(), {"--latency", "400ms"});
    return arguments;
  };
  Process north(slow("north")), south(slow("south")), dealer(slow("dealer"));
  ASSERT_TRUE(north.WaitForStandardError("row order"));
  north.Kill(SIGINT);
  EXPECT_EQ(north.Wait().exit_code, 130);
  const ProcessResult south_result = south.Wait();
  EXPECT_EQ(south_result.exit_code, 9) << south_result.err;
  EXPECT_THAT(south_result.err, HasSubstr("north"));
  EXPECT_EQ(dealer.Wait().exit_code, 9);
}

}  // namespace
}  // namespace partita::testing::join_test
