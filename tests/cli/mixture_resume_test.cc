// A study of method mixture between processes over TLS, one of which is killed in the middle: all
// join again, and the study ends, is charged once, and gives its result again when asked again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "methods/dpvi/run.h"
#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"

namespace partita::testing::mixture_resume_test {
namespace {

constexpr int kIterations = 60;

const std::string kAnalysis = R"([[analysis]]
method = "mixture"
components = 2
iterations = 60
checkpoint_every = 1
synthetic_rows = 20
[analysis.batch]
mode = "poisson"
size = 10
[analysis.privacy]
noise_multiplier = 3
delta = 1e-5
adjacency = "replace"
)";

using ::testing::AnyOf;

using Processes = std::map<std::string, std::unique_ptr<Process>>;
using Results = std::map<std::string, ProcessResult>;

class MixtureResumeTest : public ::testing::Test {
 protected:
  const std::vector<std::string> parties_ = {"north", "south", "dealer"};

  std::string Home(const std::string& party) const { return folder_.path() + "/" + party; }
  std::string Ledger(const std::string& party) const { return Home(party) + "/ledger.sqlite"; }
  std::string Roster() const { return folder_.path() + "/roster.toml"; }

  void SetUp() override {
    std::string study = StudyFolder::Read(folder_.study_file());
    StudyFolder::Write(folder_.study_file(),
                       study.substr(0, study.find("[[analysis]]")) + kAnalysis);
    for (const std::string& party : parties_) {
      Succeeds({"cert", "new", party, "--folder", Home(party)});
      Succeeds({"cert", "roster", Roster(), "--certificate", Home(party) + "/cert.pem", "--address",
                FreeAddress()});
    }
    for (const std::string& party : parties_) {
      if (party != "dealer") {
        Succeeds({"ledger", "open", Ledger(party), "--table", "registry", "--epsilon", "10000",
                  "--delta", "1e-3", "--approximate-delta", "1e-4", "--by", "Ada"});
      }
      Succeeds({"study", "approve", folder_.study_file(), "--party", party, "--folder", Home(party),
                "--roster", Roster(), "--yes", "--accept-useless"});
    }
  }

  static void Succeeds(const std::vector<std::string>& arguments) {
    const ProcessResult result = Partita(arguments);
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }

  Processes Start(const std::vector<std::string>& more) {
    Processes processes;
    for (const std::string& party : parties_) {
      std::vector<std::string> arguments = {
          PartitaProgram(),   "study",  "join",     folder_.study_file(),
          "--party",          party,    "--folder", Home(party),
          "--roster",         Roster(), "--wait",   "60s",
          "--accept-useless", "--force"};
      if (party != "dealer") arguments.insert(arguments.end(), {"--ledger", Ledger(party)});
      arguments.insert(arguments.end(), more.begin(), more.end());
      processes[party] = std::make_unique<Process>(arguments);
    }
    return processes;
  }
  static Results WaitFor(Processes processes) {
    Results results;
    for (auto& [party, process] : processes) results[party] = process->Wait();
    return results;
  }
  // From the beginning to the end.
  void Finish() {
    for (const auto& [party, result] : WaitFor(Start({})))
      ASSERT_EQ(result.exit_code, 0) << party << ": " << result.err;
  }

  // Whether sums were opened for certain, by what the party keeps.
  bool Opened(const std::string& party) const {
    return methods::dpvi::HasCheckpoint(Home(party) + "/small.run");
  }
  nlohmann::json Standing(const std::string& party) {
    const ProcessResult shown = Partita({"ledger", "show", Ledger(party), "--format", "json"});
    EXPECT_EQ(shown.exit_code, 0) << shown.out;
    return nlohmann::json::parse(shown.out)["data"]["tables"][0];
  }
  nlohmann::json Result() const {
    return nlohmann::json::parse(StudyFolder::Read(Home("north") + "/result.json"))["result"];
  }

  StudyFolder folder_;
};

// Latency of 50 ms keeps an iteration, of 30 rounds, above a second: of a minute that the run takes
// at least, the loop below needs to see the first seconds.
TEST_F(MixtureResumeTest, AKilledPartyGoesOn) {
  Processes running = Start({"--latency", "50ms"});
  ASSERT_TRUE(running["south"]->WaitForStandardError("iterations"));
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  while (!Opened("north") || !Opened("south")) {
    ASSERT_LT(std::chrono::steady_clock::now(), give_up) << "no iteration is over";
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  running["south"]->Kill(SIGKILL);
  const Results killed = WaitFor(std::move(running));
  EXPECT_EQ(killed.at("south").exit_code, 128 + SIGKILL);
  // Lost peers; or what another party said of them, whichever came first.
  EXPECT_THAT(killed.at("north").exit_code, AnyOf(5, 9)) << killed.at("north").err;
  EXPECT_THAT(killed.at("dealer").exit_code, AnyOf(5, 9)) << killed.at("dealer").err;
  EXPECT_FALSE(std::filesystem::exists(Home("north") + "/result.json"));
  for (const std::string party : {"north", "south"}) EXPECT_EQ(Standing(party)["studies_spent"], 1);
  const nlohmann::json before = Standing("south")["outside"];

  Finish();
  ASSERT_FALSE(HasFailure());
  const nlohmann::json result = Result();
  EXPECT_EQ(result["openings"], kIterations);  // no more than the plan says, lost ones included
  EXPECT_LT(result["iterations"], kIterations);
  EXPECT_GE(result["iterations"], kIterations - 2);  // one block, and what a peer had begun
  const std::string model = StudyFolder::Read(Home("north") + "/model.json");
  EXPECT_EQ(StudyFolder::Read(Home("south") + "/model.json"), model);
  for (const std::string party : {"north", "south"}) EXPECT_EQ(Standing(party)["studies_spent"], 1);
  EXPECT_EQ(Standing("south")["outside"], before);

  // The run is over: its result again, without an opening or a charge.
  Finish();
  ASSERT_FALSE(HasFailure());
  EXPECT_EQ(Result()["weights"], result["weights"]);
  EXPECT_EQ(Result()["openings"], kIterations);
  EXPECT_EQ(StudyFolder::Read(Home("north") + "/model.json"), model);
  EXPECT_EQ(Standing("south")["outside"], before);
}

}  // namespace
}  // namespace partita::testing::mixture_resume_test
