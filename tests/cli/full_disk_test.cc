// A disk without room for the result: found before anything opens; and a result that cannot be
// written although there was room is kept elsewhere or printed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "privacy/ledger/sqlite_ledger.h"
#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"

namespace partita::testing::full_disk_test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Limits every file of the program to 1 MB (units of 512 bytes), as a disk that has no more.
std::vector<std::string> OnASmallDisk(const std::vector<std::string>& program) {
  std::vector<std::string> arguments = {"/bin/sh", "-c", "ulimit -f 2048; exec \"$0\" \"$@\""};
  arguments.insert(arguments.end(), program.begin(), program.end());
  return arguments;
}

class FullDiskTest : public ::testing::Test {
 protected:
  const std::vector<std::string> parties_ = {"north", "south", "dealer"};
  std::string Home(const std::string& party) const { return folder_.path() + "/" + party; }
  std::string Ledger(const std::string& party) const { return Home(party) + "/ledger.sqlite"; }
  std::string Roster() const { return folder_.path() + "/roster.toml"; }

  std::vector<std::string> Simulate(const std::string& output) const {
    return {PartitaProgram(), "study", "simulate",    folder_.study_file(),
            "--output",       output,  "--in-process"};
  }
  static ProcessResult Run(const std::vector<std::string>& arguments) {
    return Process(arguments).Wait();
  }

  StudyFolder folder_;
};

// Nobody's ledger has so much as a reservation.
TEST_F(FullDiskTest, IsFoundBeforeAnythingOpens) {
  StudyFolder::Write(folder_.study_file(), StudyFolder::Read(folder_.study_file()) +
                                               "\n[analysis.privacy]\nepsilon = 1\ndelta = 1e-6\n"
                                               "adjacency = \"replace\"\n");
  for (const std::string& party : parties_) {
    fs::create_directories(Home(party));
    ASSERT_EQ(Partita({"cert", "new", party, "--folder", Home(party)}).exit_code, 0);
    ASSERT_EQ(Partita({"cert", "roster", Roster(), "--certificate", Home(party) + "/cert.pem",
                       "--address", FreeAddress()})
                  .exit_code,
              0);
    if (party == "dealer") continue;
    ASSERT_EQ(Partita({"ledger", "open", Ledger(party), "--table", "visits", "--epsilon", "10",
                       "--delta", "1e-5", "--by", "Ada"})
                  .exit_code,
              0);
  }
  for (const std::string& party : parties_) {
    ASSERT_EQ(Partita({"study", "approve", folder_.study_file(), "--party", party, "--folder",
                       Home(party), "--roster", Roster(), "--yes", "--accept-useless"})
                  .exit_code,
              0);
  }
  const auto join = [&](bool small_disk) {
    std::map<std::string, std::unique_ptr<Process>> processes;
    for (const std::string& party : parties_) {
      std::vector<std::string> arguments = {
          PartitaProgram(),  "study",  "join",     folder_.study_file(),
          "--party",         party,    "--folder", Home(party),
          "--roster",        Roster(), "--wait",   small_disk ? "2s" : "20s",
          "--accept-useless"};
      if (party != "dealer") arguments.insert(arguments.end(), {"--ledger", Ledger(party)});
      const bool small = small_disk && party == "north";
      processes[party] = std::make_unique<Process>(small ? OnASmallDisk(arguments) : arguments);
    }
    std::map<std::string, ProcessResult> results;
    for (auto& [party, process] : processes) results[party] = process->Wait();
    return results;
  };
  auto results = join(true);
  EXPECT_EQ(results["north"].exit_code, 10) << results["north"].err;
  EXPECT_THAT(results["north"].err, AllOf(HasSubstr("result.json"), HasSubstr("nothing was opened"),
                                          HasSubstr("--output")));
  EXPECT_EQ(results["south"].exit_code, 3) << results["south"].err;
  for (const std::string party : {"north", "south"}) {
    const auto standing =
        privacy::ledger::SqliteLedger({.file = Ledger(party)}).StandingOf("visits");
    EXPECT_EQ(standing.spent, privacy::ledger::Totals{}) << party;
    EXPECT_EQ(standing.reserved, privacy::ledger::Totals{}) << party;
  }
  // Nothing is left of what was tried, and with room the same study runs.
  for (const auto& entry : fs::directory_iterator(Home("north")))
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr("result.json")));
  results = join(false);
  for (const auto& [party, result] : results)
    EXPECT_EQ(result.exit_code, 0) << party << ": " << result.err;
  for (const auto& entry : fs::directory_iterator(Home("north")))
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr("result.json.")));
}

TEST_F(FullDiskTest, OfASimulationToo) {
  const std::string output = folder_.path() + "/result.json";
  const ProcessResult result = Run(OnASmallDisk(Simulate(output)));
  EXPECT_EQ(result.exit_code, 10) << result.err;
  EXPECT_THAT(result.err, HasSubstr("nothing was opened"));
  EXPECT_FALSE(fs::exists(output));
}

// The page cannot be written over a folder of its name, which --force does not look at.
TEST_F(FullDiskTest, AResultThatCannotBeWrittenIsKeptElsewhere) {
  const std::string output = folder_.path() + "/out/result.json";
  fs::create_directories(folder_.path() + "/out/report.html/in-the-way");
  const std::string elsewhere = folder_.path() + "/elsewhere";
  fs::create_directories(elsewhere);
  std::vector<std::string> arguments = Simulate(output);
  arguments.insert(arguments.begin(), {"/usr/bin/env", "TMPDIR=" + elsewhere});
  arguments.push_back("--force");
  const ProcessResult result = Run(arguments);
  EXPECT_EQ(result.exit_code, 10) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("report.html"), HasSubstr("is kept in " + elsewhere)));
  ASSERT_NE(fs::directory_iterator(elsewhere), fs::directory_iterator());
  const fs::path kept = fs::directory_iterator(elsewhere)->path();
  EXPECT_EQ(nlohmann::json::parse(StudyFolder::Read(kept / "result.json"))["status"], "converged");
  EXPECT_TRUE(fs::exists(kept / "report.html"));
  EXPECT_EQ(fs::status(kept).permissions(), fs::perms::owner_all);

  // Nowhere else either: it is printed, whole.
  arguments[1] = "TMPDIR=" + folder_.path() + "/nowhere";
  const ProcessResult printed = Run(arguments);
  EXPECT_EQ(printed.exit_code, 10) << printed.err;
  EXPECT_THAT(printed.err, HasSubstr("printed above"));
  const size_t begin = printed.out.find("\n{");
  ASSERT_NE(begin, std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(printed.out.substr(begin))["status"], "converged");
}

}  // namespace
}  // namespace partita::testing::full_disk_test
