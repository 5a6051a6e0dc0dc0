// The command line's conventions: help, formats, exit codes, and that every verb does what the
// README says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"
#include "tests/paths.h"

namespace partita::testing::commands_test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(CommandsTest, EveryCommandHasHelp) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{},
                                             {"demo"},
                                             {"study"},
                                             {"study", "new"},
                                             {"study", "validate"},
                                             {"study", "plan"},
                                             {"study", "simulate"},
                                             {"study", "join"},
                                             {"study", "report"},
                                             {"study", "approve"},
                                             {"study", "reject"},
                                             {"study", "approval"},
                                             {"cert"},
                                             {"cert", "new"},
                                             {"cert", "show"},
                                             {"cert", "roster"},
                                             {"data"},
                                             {"data", "describe"},
                                             {"data", "check"},
                                             {"data", "compare"},
                                             {"data", "mock"},
                                             {"doctor"},
                                             {"sem"},
                                             {"sem", "fit"},
                                             {"sem", "anova"},
                                             {"sem", "modindices"},
                                             {"sem", "measures"},
                                             {"privacy"},
                                             {"privacy", "eps"},
                                             {"privacy", "sigma"},
                                             {"privacy", "steps"},
                                             {"privacy", "curve"},
                                             {"privacy", "compose"},
                                             {"privacy", "compare"},
                                             {"study", "rehearse"},
                                             {"collection"},
                                             {"collection", "node"},
                                             {"collection", "check"},
                                             {"collection", "plan"},
                                             {"compute"},
                                             {"client"},
                                             {"client", "keygen"},
                                             {"client", "register"},
                                             {"client", "invite"},
                                             {"client", "submit"},
                                             {"aggregate"}}) {
    std::vector<std::string> arguments = command;
    arguments.push_back("--help");
    const ProcessResult result = Partita(arguments);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.out, HasSubstr("--help"));
    EXPECT_EQ(result.err, "");
  }
}

TEST(CommandsTest, WrongUsageIsExitCodeTwo) {
  EXPECT_EQ(Partita({}).exit_code, 2);
  EXPECT_EQ(Partita({"study", "plan"}).exit_code, 2);
  EXPECT_EQ(Partita({"study", "plan", "study.toml", "--nonsense"}).exit_code, 2);
  EXPECT_EQ(Partita({"study", "plan", "/nowhere/study.toml"}).exit_code, 2);
  EXPECT_EQ(Partita({"frobnicate"}).exit_code, 2);
}

TEST(CommandsTest, UnknownWordsAreNamedWithTheNearest) {
  const auto expect = [](const std::vector<std::string>& arguments, const std::string& message,
                         const std::string& hint) {
    const ProcessResult result = Partita(arguments);
    EXPECT_EQ(result.exit_code, 2) << message;
    EXPECT_EQ(result.out, "") << message;
    EXPECT_EQ(result.err, "error: " + message + "\nhint: " + hint + "\n");
  };
  const std::vector<std::vector<std::string>> endings = {{}, {"--help"}};
  for (const std::vector<std::string>& ending : endings) {
    const auto with = [&](std::vector<std::string> arguments) {
      arguments.insert(arguments.end(), ending.begin(), ending.end());
      return arguments;
    };
    expect(with({"nosuch"}), "partita has no command 'nosuch'", "see partita --help");
    expect(with({"studdy"}), "partita has no command 'studdy'",
           "did you mean 'study'? see partita --help");
    expect(with({"study", "simulat"}), "partita study has no command 'simulat'",
           "did you mean 'simulate'? see partita study --help");
    expect(with({"study", "plan", "--lateny", "5ms"}),
           "partita study plan has no option '--lateny'",
           "did you mean '--latency'? see partita study plan --help");
    expect(with({"study", "plan", "a.toml", "b.toml"}),
           "partita study plan has no argument 'b.toml'", "see partita study plan --help");
  }
  expect({"study", "plan", "--lateny=5ms"}, "partita study plan has no option '--lateny=5ms'",
         "did you mean '--latency'? see partita study plan --help");
  // What only the program says to itself is not proposed.
  expect({"study", "join", "--listen-descriptr", "3"},
         "partita study join has no option '--listen-descriptr'", "see partita study join --help");
}

TEST(CommandsTest, ArgumentsAreText) {
  const ProcessResult result = Partita({"study", "plan", "caf\xe9.toml"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("argument 3 is not UTF-8 text"));
}

// The program alone, as somebody has it who copied it.
TEST(CommandsTest, TheDemonstrationNeedsNothingBeside) {
  StudyFolder folder;
  const std::string alone = folder.path() + "/alone", kept = folder.path() + "/kept";
  std::filesystem::create_directory(alone);
  std::filesystem::copy_file(PartitaProgram(), alone + "/partita");
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {alone + "/partita", "demo", "--in-process"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Process(arguments).Wait();
  };
  const ProcessResult demo = run({});
  EXPECT_EQ(demo.exit_code, 0) << demo.err;
  EXPECT_THAT(demo.err, HasSubstr("partita demo --folder"));
  const ProcessResult keeping = run({"--partition", "horizontal", "--folder", kept});
  EXPECT_EQ(keeping.exit_code, 0) << keeping.err;
  for (const char* file : {"study.toml", "north/data.csv", "south/data.csv", "west/data.csv"}) {
    EXPECT_EQ(
        StudyFolder::Read(kept + "/" + file),
        StudyFolder::Read(SourcePath(std::string("examples/three_factor/horizontal/") + file)))
        << file;
  }
  const ProcessResult again = run({"--folder", kept});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, AllOf(HasSubstr("exists already"), HasSubstr("--force")));
}

TEST(CommandsTest, TemplatesAreValidStudies) {
  StudyFolder folder;
  for (const char* kind : {"horizontal", "vertical"}) {
    const std::string file = folder.path() + "/" + kind + ".toml";
    EXPECT_EQ(Partita({"study", "new", file, "--commented", "--partition", kind}).exit_code, 0);
    const ProcessResult validated = Partita({"study", "validate", file, "--format", "json"});
    EXPECT_EQ(validated.exit_code, 0) << validated.out;
    EXPECT_EQ(nlohmann::json::parse(validated.out)["data"]["partition"], kind);
    EXPECT_EQ(Partita({"study", "new", file, "--commented"}).exit_code, 2)
        << "an existing file is not overwritten";
  }
  const std::string mixture = folder.path() + "/mixture.toml";
  EXPECT_EQ(Partita({"study", "new", mixture, "--commented", "--method", "mixture", "--partition",
                     "horizontal"})
                .exit_code,
            2);
  EXPECT_EQ(Partita({"study", "new", mixture, "--commented", "--method", "mixture"}).exit_code, 0);
  const ProcessResult validated = Partita({"study", "validate", mixture, "--format", "json"});
  EXPECT_EQ(validated.exit_code, 0) << validated.out;
  EXPECT_EQ(nlohmann::json::parse(validated.out)["data"]["variables"], 6);
  const std::string noised = folder.path() + "/private.toml";
  EXPECT_EQ(Partita({"study", "new", noised, "--commented", "--private", "--partition", "vertical"})
                .exit_code,
            2);
  EXPECT_EQ(Partita({"study", "new", noised, "--commented", "--private"}).exit_code, 0);
  EXPECT_THAT(ReadFile(noised, 1 << 20, "the study file"), HasSubstr("[analysis.privacy]"));
  const ProcessResult both =
      Partita({"study", "new", folder.path() + "/both.toml", "--commented", "--party", "north"});
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.err, HasSubstr("--party is not for --commented"));
  EXPECT_EQ(Partita({"study", "new", folder.path() + "/both.toml", "--private"}).exit_code, 2);
}

TEST(CommandsTest, ValidateWarnsOfOutcomesOfTwoValues) {
  StudyFolder folder;
  const std::vector<std::string> as_json = {"study", "validate", folder.study_file(), "--format",
                                            "json"};
  EXPECT_EQ(nlohmann::json::parse(Partita(as_json).out)["data"]["warnings"],
            nlohmann::json::array());
  folder.Edit(folder.study_file(), "type = \"numeric\"\nlower = -10\nupper = 10",
              "type = \"integer\"\nlower = 0\nupper = 1");
  folder.Edit(folder.study_file(), "function = \"sem\"", "function = \"regression\"");
  folder.Edit(folder.study_file(), "x3 ~ x1 + x2", "x1 ~ x2 + x3");
  const ProcessResult valid = Partita({"study", "validate", folder.study_file()});
  EXPECT_EQ(valid.exit_code, 0) << valid.err;
  EXPECT_THAT(valid.out, HasSubstr("Warning: analysis 'main': the outcome 'x1' is 0 or 1"));
  EXPECT_EQ(nlohmann::json::parse(Partita(as_json).out)["data"]["warnings"].size(), 1U);
}

TEST(CommandsTest, PlanSaysWhoLearnsWhat) {
  StudyFolder folder;
  const ProcessResult text = Partita(
      {"study", "plan", folder.study_file(), "--latency", "20ms", "--bandwidth", "100Mbit/s"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(
      text.out,
      AllOf(HasSubstr("north (holder and receiver) learns"), HasSubstr("sufficient-statistics"),
            HasSubstr("dealer (dealer) learns: nothing beyond this plan"), HasSubstr("20ms")));
  const auto json = nlohmann::json::parse(
      Partita({"study", "plan", folder.study_file(), "--format", "json"}).out);
  EXPECT_EQ(json["status"], "done");
  EXPECT_EQ(json["data"]["releases"][1]["to"], "north");
}

TEST(CommandsTest, PlanEstimatesForEveryLatency) {
  StudyFolder folder;
  const std::vector<std::string> command = {"study",     "plan",      "--latency",
                                            "0ms",       "--latency", "5ms",
                                            "--latency", "100ms",     folder.study_file()};
  const ProcessResult text = Partita(command);
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, ContainsRegex("phase +rounds +0ms +5ms +100ms\n"));
  std::vector<std::string> as_json = command;
  as_json.insert(as_json.end(), {"--format", "json"});
  const auto data = nlohmann::json::parse(Partita(as_json).out)["data"];
  ASSERT_EQ(data["estimates"].size(), 3U);
  const double sending = data["estimates"][0]["seconds"];
  const double rounds = data["totals"]["rounds"];
  EXPECT_GT(rounds, 0);
  EXPECT_NEAR(data["estimates"][1]["seconds"], sending + 0.005 * rounds, 1e-9);
  EXPECT_NEAR(data["estimates"][2]["seconds"], sending + 0.1 * rounds, 1e-9);
  EXPECT_EQ(data["estimates"][2]["latency_seconds"], 0.1);
}

TEST(CommandsTest, ProcessesAndThreadsAgreeAndReportReadsBack) {
  StudyFolder folder;
  const std::string a = folder.path() + "/a.json", b = folder.path() + "/b.json";
  const ProcessResult processes =
      Partita({"study", "simulate", folder.study_file(), "--output", a, "--quiet"});
  ASSERT_EQ(processes.exit_code, 0) << processes.err;
  ASSERT_EQ(
      Partita({"study", "simulate", folder.study_file(), "--output", b, "--in-process"}).exit_code,
      0);
  const auto first = nlohmann::json::parse(StudyFolder::Read(a)),
             second = nlohmann::json::parse(StudyFolder::Read(b));
  EXPECT_EQ(first["analyses"][0]["parameters"], second["analyses"][0]["parameters"])
      << "opened moments are exact: the same to the last bit";
  const ProcessResult report = Partita({"study", "report", a});
  EXPECT_EQ(report.exit_code, 0) << report.err;
  EXPECT_EQ(report.out, processes.out);
  // Tables that are all in one hand: what a holder keeps of exact studies is not begun.
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path()))
    EXPECT_THAT(entry.path().string(), Not(HasSubstr("row-sets")));
}

TEST(CommandsTest, WritesPagesAndTables) {
  StudyFolder folder;
  const std::string result = folder.path() + "/result.json", page = folder.path() + "/report.html";
  const std::string csv = folder.path() + "/estimates.csv", again = folder.path() + "/again.html";
  const std::string plan = folder.path() + "/plan.html";
  const auto simulate = [&](const std::string& option) {
    return Partita({"study", "simulate", folder.study_file(), "--output", result, option});
  };
  ASSERT_EQ(simulate("--quiet").exit_code, 0);
  const std::string html = StudyFolder::Read(page);
  EXPECT_THAT(html, AllOf(HasSubstr("<!DOCTYPE html>"), HasSubstr("NOT differentially private"),
                          HasSubstr("x3 ~ x1")));
  struct stat status {};
  ASSERT_EQ(::stat(page.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  // Neither file is overwritten unasked.
  std::filesystem::remove(result);
  const ProcessResult refused = simulate("--quiet");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("report.html exists already"));
  ASSERT_EQ(simulate("--force").exit_code, 0);

  ASSERT_EQ(Partita({"study", "report", result, "--html", again, "--csv", csv}).exit_code, 0);
  EXPECT_EQ(StudyFolder::Read(again), StudyFolder::Read(page));
  EXPECT_THAT(StudyFolder::Read(csv), HasSubstr(",x3,~,x1,"));
  ASSERT_EQ(Partita({"study", "plan", folder.study_file(), "--html", plan}).exit_code, 0);
  const auto json = nlohmann::json::parse(
      Partita({"study", "plan", folder.study_file(), "--format", "json"}).out);
  EXPECT_THAT(StudyFolder::Read(plan), HasSubstr(json["data"]["plan_hash"].get<std::string>()));
  EXPECT_EQ(Partita({"study", "report", result, "--html", plan + "/a.html"}).exit_code, 2);
  // A folder that is missing is made.
  const std::string below = folder.path() + "/new/folder/a.html";
  EXPECT_EQ(Partita({"study", "report", result, "--html", below}).exit_code, 0);
  EXPECT_EQ(StudyFolder::Read(below), StudyFolder::Read(page));
}

TEST(CommandsTest, JsonIsOneObjectOnStandardOutput) {
  StudyFolder folder;
  const ProcessResult result =
      Partita({"study", "simulate", folder.study_file(), "--format", "json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto envelope = nlohmann::json::parse(result.out);
  EXPECT_EQ(envelope["schema_version"], 1);
  EXPECT_EQ(envelope["status"], "done");
  EXPECT_TRUE(envelope["data"]["analyses"][0].contains("parameters"));
}

TEST(CommandsTest, TheTimeLimitEndsARun) {
  StudyFolder folder;
  const ProcessResult result =
      Partita({"study", "simulate", folder.study_file(), "--latency", "10s", "--timeout", "300ms"});
  EXPECT_EQ(result.exit_code, 4) << result.err;
  EXPECT_THAT(result.err, HasSubstr("time limit"));
}

TEST(CommandsTest, LatencyIsAddedAndThePlanForeseesIt) {
  StudyFolder folder;
  const ProcessResult slow = Partita({"study", "simulate", folder.study_file(), "--latency",
                                      "100ms", "--format", "json", "--in-process"});
  ASSERT_EQ(slow.exit_code, 0) << slow.err;
  double seconds = 0;
  uint64_t rounds = 0;
  const auto data = nlohmann::json::parse(slow.out)["data"];
  for (const auto& phase : data["traffic"]) {
    seconds += phase["seconds"].get<double>();
    rounds += phase["rounds"].get<uint64_t>();
  }
  EXPECT_GE(seconds, 0.1 * static_cast<double>(rounds));
}

TEST(CommandsTest, KeysStayPrivateAndAreNotOverwritten) {
  StudyFolder folder;
  const std::string home = folder.path() + "/home";
  ASSERT_EQ(Partita({"cert", "new", "north", "--folder", home}).exit_code, 0);
  struct stat status {};
  ASSERT_EQ(::stat((home + "/key.pem").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  const std::string key = StudyFolder::Read(home + "/key.pem");
  EXPECT_EQ(Partita({"cert", "new", "north", "--folder", home}).exit_code, 2);
  EXPECT_EQ(StudyFolder::Read(home + "/key.pem"), key);
  const auto shown =
      nlohmann::json::parse(Partita({"cert", "show", home + "/cert.pem", "--format", "json"}).out);
  EXPECT_EQ(shown["data"]["party"], "north");
  EXPECT_EQ(shown["data"]["fingerprint"].get<std::string>().size(), 64u);
}

}  // namespace
}  // namespace partita::testing::commands_test
