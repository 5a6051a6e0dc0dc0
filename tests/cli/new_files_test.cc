// No command overwrites a file that it was not told to: every option that names a file to write, as
// the help of all commands shows them, and the commands that choose names themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"
#include "tests/paths.h"

namespace partita::testing::new_files_test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

using Words = std::vector<std::string>;

Words With(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// "study plan --html", for every file that some command below `command` is told to write.
void CollectNewFiles(const Words& command, std::set<std::string>& found) {
  const ProcessResult help = Partita(With(command, {"--help"}));
  ASSERT_EQ(help.exit_code, 0) << help.err;
  std::string name;
  for (const std::string& word : command) name += word + " ";
  static const std::regex subcommand("^  ([a-z][a-z0-9-]*)( .*)?$"), option("^  (\\S+) NEWFILE.*$");
  bool subcommands = false;
  std::istringstream lines(help.out);
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(" ")) subcommands = line == "Subcommands:";
    if (std::regex_match(line, match, option)) found.insert(name + match[1].str());
    if (subcommands && std::regex_match(line, match, subcommand))
      CollectNewFiles(With(command, {match[1].str()}), found);
  }
}

// What each of them needs beside, so that its arguments are complete; no file of these is read.
const std::map<std::string, Words>& NewFiles() {
  static const Words regression = {"rows.csv", "--collection", "sum.toml"};
  static const std::map<std::string, Words> files = {
      {"study new FILE", {}},
      {"study bundle --output", {"study.toml", "--card", "card.toml"}},
      {"study plan --html", {"study.toml"}},
      {"study report --html", {"result.json"}},
      {"study report --csv", {"result.json"}},
      {"study report --moments-out", {"result.json"}},
      {"study refit --html", {"result.json", "--model", "model.lav"}},
      {"study refit --csv", {"result.json", "--model", "model.lav"}},
      {"study refit --output", {"result.json", "--model", "model.lav"}},
      {"data describe --output", {"rows.csv"}},
      {"data freeze --output", {"rows.csv"}},
      {"data check --share", {"rows.csv", "--study", "study.toml", "--party", "north"}},
      {"privacy curve --plot", {"laplace", "--scale", "2", "--delta", "1e-6"}},
      {"privacy curve --csv", {"laplace", "--scale", "2", "--delta", "1e-6"}},
      {"match check --left-out", {"m.toml", "--party", "clinic", "--data", "rows.csv"}},
      {"match show --rows", {"cohort.matched"}},
      {"node record --csv", {}},
      {"ledger export --output", {"ledger.db"}},
      {"bench mpc --output", {}},
      {"regression encode --output", regression},
      {"regression simulate --sum", regression},
      {"regression simulate --html", regression},
      {"regression fit --html", regression},
      {"regression predict --output", With(regression, {"--sum", "sum.json"})},
      {"reproduce dca-figure1b --output", {}},
      {"reproduce dca-figure1b --html", {}},
      {"reproduce dca-figure2 --output", {"--data", "tables"}},
      {"reproduce dca-figure2 --html", {"--data", "tables"}},
      {"reproduce dca-table1 --output", {}},
      {"reproduce dca-table1 --html", {}},
      {"reproduce smle-protocols --output", {}},
      {"reproduce smle-protocols --attacks", {}},
      {"reproduce smle-table1 --output", {}},
      {"reproduce smle-figure5 --output", {}},
      {"reproduce smle-figure5 --html", {}},
      {"reproduce smle-accuracy --output", {}},
      {"reproduce dpvi-figure2 --output", {"--data", "tables"}},
      {"reproduce dpvi-figure2 --model", {"--data", "tables"}},
      {"reproduce dpvi-figure2 --html", {"--data", "tables"}},
      {"reproduce dpvi-figure3 --output", {"--data", "tables"}},
      {"reproduce dpvi-figure3 --model", {"--data", "tables"}},
      {"reproduce dpvi-figure3 --html", {"--data", "tables"}},
      {"reproduce psgd-figure1 --output", {}},
      {"reproduce psgd-figure1 --html", {}},
      {"reproduce psgd-figure2 --output", {"--data", "tables"}},
      {"reproduce psgd-figure2 --html", {"--data", "tables"}},
      {"reproduce aslett-fdp --output", {}},
      {"reproduce aslett-fdp --html", {}},
      {"reproduce registries --output", {}},
      {"reproduce registries --html", {}},
      {"synthetic report --html", {"model.json", "--real", "rows.csv"}},
      {"aggregate --output", {"sum.toml"}},
  };
  return files;
}

TEST(NewFilesTest, EveryFileThatIsNamedIsRefusedIfItExists) {
  std::set<std::string> found, listed;
  CollectNewFiles({}, found);
  for (const auto& [name, more] : NewFiles()) listed.insert(name);
  ASSERT_EQ(found, listed) << "a file that a command writes is tested here";

  StudyFolder folder;
  const std::string file = folder.path() + "/mine";
  StudyFolder::Write(file, "mine");
  for (const auto& [name, more] : NewFiles()) {
    std::istringstream words(name);
    Words command{std::istream_iterator<std::string>(words), {}};
    const std::string option = command.back();
    command.pop_back();
    command = With(command, more);
    if (option.starts_with("--")) command.push_back(option);
    command.push_back(file);
    const ProcessResult refused = Partita(command);
    EXPECT_EQ(refused.exit_code, 2) << name;
    EXPECT_EQ(refused.err, "error: " + file +
                               " exists already\nhint: move it away, name another file, or say "
                               "--force\n")
        << name;
    EXPECT_EQ(StudyFolder::Read(file), "mine") << name;
  }
}

TEST(NewFilesTest, ForceOverwritesWhatIsNamed) {
  StudyFolder folder;
  const std::string file = folder.path() + "/mine";
  const std::vector<Words> commands = {
      {"study", "new", file, "--commented"},
      {"study", "plan", folder.study_file(), "--html", file},
      {"data", "describe", folder.data("north"), "--output", file},
      {"data", "check", folder.data("north"), "--study", folder.study_file(), "--party", "north",
       "--share", file},
      {"privacy", "curve", "laplace", "--scale", "2", "--delta", "1e-6", "--csv", file}};
  for (const Words& command : commands) {
    std::filesystem::remove(file);
    std::filesystem::create_directory(file);
    EXPECT_NE(Partita(With(command, {"--force"})).exit_code, 0) << command[1];
    EXPECT_TRUE(std::filesystem::is_directory(file)) << command[1];
    std::filesystem::remove(file);
    StudyFolder::Write(file, "mine");
    const ProcessResult forced = Partita(With(command, {"--force"}));
    EXPECT_EQ(forced.exit_code, 0) << command[1] << forced.err;
    EXPECT_NE(StudyFolder::Read(file), "mine") << command[1];
  }
}

// What is in a folder is refused as a whole before anything is made.
TEST(NewFilesTest, CommandsThatChooseNamesOverwriteNothing) {
  StudyFolder folder;
  const std::string home = folder.path() + "/home";
  std::filesystem::create_directories(home);
  const auto expect_refused = [&](const Words& command, const std::string& file) {
    StudyFolder::Write(file, "mine");
    const ProcessResult refused = Partita(command);
    EXPECT_EQ(refused.exit_code, 2) << refused.out << refused.err;
    EXPECT_THAT(refused.err,
                AllOf(HasSubstr(file), AnyOf(HasSubstr("exist"), HasSubstr("already"))))
        << file;
    EXPECT_EQ(StudyFolder::Read(file), "mine") << file;
    std::filesystem::remove(file);
  };
  const std::string mixture = SourcePath("examples/synthetic_registry/study.toml"),
                    chains = SourcePath("examples/registry_survival/study.toml");
  for (const char* name : {"result.json", "report.html", "model.json", "synthetic_2.csv"})
    expect_refused({"study", "simulate", mixture, "--output", home + "/result.json"},
                   home + "/" + name);
  expect_refused({"study", "simulate", chains, "--output", home + "/result.json"},
                 home + "/draws.csv");
  expect_refused({"demo", "--folder", home}, home + "/study.toml");
  for (const char* name : {"key.pem", "cert.pem"})
    expect_refused({"cert", "new", "north", "--folder", home}, home + "/" + name);
  for (const char* name : {"client.key", "client.pub"})
    expect_refused({"client", "keygen", "--folder", home}, home + "/" + name);
  expect_refused({"init", "--party", "north", "--address", "127.0.0.1:7400", "--folder", home},
                 home + "/north.card.toml");
  std::filesystem::create_directories(home + "/south");
  expect_refused({"data", "mock", "--study", folder.study_file(), "--output", home},
                 home + "/south/data.csv");
}

// An approval of one study does not take the place of another's, nor of one of the same study.
TEST(NewFilesTest, ApprovalsAreNamedAfterTheirStudies) {
  StudyFolder folder;
  const std::string home = folder.path() + "/south", roster = folder.path() + "/roster.toml";
  for (const std::string party : {"north", "south", "dealer"}) {
    const std::string of_party = folder.path() + "/" + party;
    ASSERT_EQ(Partita({"cert", "new", party, "--folder", of_party}).exit_code, 0);
    ASSERT_EQ(Partita({"cert", "roster", roster, "--certificate", of_party + "/cert.pem",
                       "--address", FreeAddress()})
                  .exit_code,
              0);
  }
  const std::string other = folder.path() + "/other.toml";
  StudyFolder::Write(other, StudyFolder::Read(folder.study_file()));
  folder.Edit(other, "name = \"small\"", "name = \"other\"");
  const auto decide = [&](const std::string& verb, const std::string& study, const Words& more) {
    return Partita(With(
        {"study", verb, study, "--party", "south", "--folder", home, "--roster", roster}, more));
  };
  const std::string small_file = folder.path() + "/approval-small-south.json",
                    other_file = folder.path() + "/approval-other-south.json";
  ASSERT_EQ(decide("approve", folder.study_file(), {"--yes"}).exit_code, 0);
  const std::string approval = StudyFolder::Read(small_file);
  ASSERT_EQ(decide("approve", other, {"--yes"}).exit_code, 0);
  EXPECT_THAT(StudyFolder::Read(other_file), HasSubstr("\"study\": \"other\""));
  EXPECT_EQ(StudyFolder::Read(small_file), approval);

  for (const auto& [verb, more] : std::map<std::string, Words>{
           {"approve", {"--yes"}}, {"reject", {"--reason", "too few rows"}}}) {
    const ProcessResult refused = decide(verb, folder.study_file(), more);
    EXPECT_EQ(refused.exit_code, 2) << verb;
    EXPECT_THAT(refused.err,
                AllOf(HasSubstr(small_file + " exists already"), HasSubstr("--force")));
    EXPECT_EQ(StudyFolder::Read(small_file), approval) << verb;
    EXPECT_EQ(decide(verb, folder.study_file(), With(more, {"--force"})).exit_code, 0) << verb;
    EXPECT_NE(StudyFolder::Read(small_file), approval) << verb;
    StudyFolder::Write(small_file, approval);
  }
}

}  // namespace
}  // namespace partita::testing::new_files_test
