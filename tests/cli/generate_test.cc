// What `partita generate` writes is read by the programs it is for: man, bash, zsh and fish.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "run/simulate/temporary_folder.h"
#include "tests/cli/process.h"

namespace partita::testing::generate_test {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

using Words = std::vector<std::string>;

std::string Read(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

Words Lines(const std::string& text) {
  Words lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// A program of the system and what it says; its standard error goes through `errors`.
ProcessResult RunProgram(const Words& command, const fs::path& errors) {
  std::string line;
  for (const std::string& word : command) {
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += "' ";
  }
  std::FILE* pipe = ::popen((line + "2>" + errors.string()).c_str(), "r");
  ProcessResult result;
  for (int c; (c = std::fgetc(pipe)) != EOF;) result.out += static_cast<char>(c);
  result.exit_code = WEXITSTATUS(::pclose(pipe));
  result.err = Read(errors);
  return result;
}

// Troff's dashes are dashes again, its fonts gone.
std::string Plain(std::string text) {
  for (const std::string escape : {"\\fB", "\\fI", "\\fR", "\\"}) {
    for (size_t at; (at = text.find(escape)) != std::string::npos;) text.erase(at, escape.size());
  }
  return text;
}

// A folder with the manual and the three scripts, made once.
class GenerateTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new run::TemporaryFolder;
    const ProcessResult man = Partita({"generate", "man", (folder_->path() / "man").string()});
    ASSERT_EQ(man.exit_code, 0) << man.err;
    for (const std::string shell : {"bash", "zsh", "fish"}) {
      const ProcessResult script = Partita({"generate", "completion", shell});
      ASSERT_EQ(script.exit_code, 0) << script.err;
      std::ofstream(folder_->path() / shell) << script.out;
    }
  }
  static void TearDownTestSuite() { delete folder_; }

  static fs::path Path(const std::string& name) { return folder_->path() / name; }

  // The options of every command, by the command: "partita study plan".
  static std::map<std::string, Words> Options() {
    std::map<std::string, Words> options;
    for (const fs::directory_entry& page : fs::directory_iterator(Path("man"))) {
      std::string section, command;
      const Words lines = Lines(Read(page));
      for (size_t i = 0; i + 1 < lines.size(); ++i) {
        if (lines[i].starts_with(".SH ")) section = lines[i].substr(4);
        if (lines[i] == ".SH SYNOPSIS") {
          command = Plain(lines[i + 1].substr(0, lines[i + 1].find("\\fR")));
        }
        if (section != "OPTIONS" || lines[i] != ".TP") continue;
        std::istringstream names(Plain(lines[i + 1]));
        for (std::string name; names >> name;) {
          if (name.ends_with(',')) name.pop_back();
          if (name.starts_with('-')) options[command].push_back(name);
        }
      }
    }
    return options;
  }

  // What `shell` prints, with `arguments` after `script`, a line each.
  static Words Shell(const std::string& shell, const std::string& script, const Words& arguments) {
    std::ofstream(Path("script")) << script;
    Words command = {"/usr/bin/" + shell, Path("script").string(), Path(shell).string()};
    // Without the user's own settings.
    if (shell != "bash") command.insert(command.begin() + 1, shell == "zsh" ? "-f" : "-N");
    command.insert(command.end(), arguments.begin(), arguments.end());
    const ProcessResult result = RunProgram(command, Path("errors"));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    return Lines(result.out);
  }

  static Words Bash(const Words& words) {
    return Shell("bash", R"(
source "$1"
COMP_WORDS=("${@:2}")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_partita
[ ${#COMPREPLY[@]} = 0 ] || printf '%s\n' "${COMPREPLY[@]}"
)",
                 words);
  }

  // With what completion offers in zsh replaced by printing it.
  static Words Zsh(const Words& words) {
    return Shell("zsh", R"(
compdef() { }
compadd() { shift; print -l -- $@ }
_files() { print FILES }
_describe() { print -l -- ${(P)2} }
source $1
words=("${@[2,-1]}")
CURRENT=$#words
_partita
)",
                 words);
  }

  static Words Fish(const std::string& line) {
    return Shell("fish", "source $argv[1]\ncomplete -C $argv[2]\n", {line});
  }

 private:
  inline static run::TemporaryFolder* folder_ = nullptr;
};

TEST_F(GenerateTest, ManReadsEveryPageWithoutWarning) {
  size_t pages = 0;
  for (const fs::directory_entry& page : fs::directory_iterator(Path("man"))) {
    ++pages;
    const ProcessResult result = RunProgram(
        {"/usr/bin/man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page.path().string()},
        Path("errors"));
    EXPECT_EQ(result.exit_code, 0) << page;
    EXPECT_EQ(result.err, "") << page;
  }
  EXPECT_GT(pages, 60u);
  const std::string plan = Read(Path("man/partita-study-plan.1"));
  EXPECT_THAT(plan, HasSubstr(".SH SYNOPSIS\n\\fBpartita study plan\\fR [\\fIOPTIONS\\fR] "));
  EXPECT_THAT(plan, HasSubstr("\\fB\\-\\-format\\fR \\fITEXT\\fR\n"));
  EXPECT_THAT(plan, HasSubstr("One of text, json or jsonl.\nDefault: text.\n"));
  EXPECT_THAT(plan, HasSubstr(".SH EXIT STATUS\n.TP\n\\fB0\\fR\n"));
  EXPECT_THAT(plan, HasSubstr(".SH SEE ALSO\n\\fBpartita\\-study\\fR(1)\n"));
  EXPECT_THAT(Read(Path("man/partita-study.1")), HasSubstr("\\fBpartita\\-study\\-plan\\fR(1)\n"));
  // What --help hides is in no page.
  EXPECT_THAT(Read(Path("man/partita-study-join.1")), Not(HasSubstr("listen\\-descriptor")));
}

TEST_F(GenerateTest, BashCompletesEveryOption) {
  const std::map<std::string, Words> options = Options();
  ASSERT_GT(options.size(), 60u);
  // All of them in one shell: a line "COMMAND --" is what is typed, then the answer.
  std::string script = "source \"$1\"\n";
  for (const auto& [command, names] : options) {
    std::istringstream words(command);
    size_t count = 0;
    for (std::string word; words >> word;) ++count;
    script += "COMP_WORDS=(" + command + " -); COMP_CWORD=" + std::to_string(count) +
              "; _partita; echo \"${COMPREPLY[*]}\"\n";
  }
  const Words answers = Shell("bash", script, {});
  ASSERT_EQ(answers.size(), options.size());
  size_t i = 0;
  for (const auto& [command, names] : options) {
    std::istringstream stream(answers[i++]);
    Words offered;
    for (std::string word; stream >> word;) offered.push_back(word);
    EXPECT_THAT(offered, ::testing::UnorderedElementsAreArray(names)) << command;
  }
}

TEST_F(GenerateTest, BashCompletesCommandsAndValues) {
  EXPECT_THAT(Bash({"partita", "stu"}), ElementsAre("study"));
  EXPECT_THAT(Bash({"partita", "study", "pl"}), ElementsAre("plan"));
  EXPECT_THAT(Bash({"partita", "study", "plan", "--format", ""}),
              UnorderedElementsAre("text", "json", "jsonl"));
  EXPECT_THAT(Bash({"partita", "study", "plan", "--format", "=", "js"}),
              UnorderedElementsAre("json", "jsonl"));
  EXPECT_THAT(Bash({"partita", "study", "plan", "--format", "="}),
              UnorderedElementsAre("text", "json", "jsonl"));
  // Nothing of its own: the shell offers files.
  EXPECT_THAT(Bash({"partita", "study", "plan", "stu"}), ElementsAre());
  EXPECT_THAT(Bash({"partita", "study", "plan", "--timeout", ""}), ElementsAre());
}

TEST_F(GenerateTest, ZshCompletesCommandsOptionsAndValues) {
  EXPECT_THAT(Zsh({"partita", ""}), Contains(StartsWith("study:")));
  EXPECT_THAT(Zsh({"partita", "study", ""}), Contains(StartsWith("plan:")));
  const Words options = Zsh({"partita", "study", "plan", "-"});
  const Words names = Options().at("partita study plan");
  for (const std::string& name : names) {
    EXPECT_THAT(options, Contains(StartsWith(name + ":")));
  }
  EXPECT_THAT(Zsh({"partita", "study", "plan", "--format", ""}),
              ElementsAre("text", "json", "jsonl"));
  EXPECT_THAT(Zsh({"partita", "study", "plan", ""}), ElementsAre("FILES"));
  EXPECT_THAT(Zsh({"partita", "study", "plan", "--timeout", ""}), ElementsAre("FILES"));
}

TEST_F(GenerateTest, FishCompletesCommandsOptionsAndValues) {
  EXPECT_THAT(Fish("partita stu"), Contains(StartsWith("study\t")));
  EXPECT_THAT(Fish("partita study pl"), ElementsAre(StartsWith("plan\t")));
  const Words options = Fish("partita study plan --");
  const Words names = Options().at("partita study plan");
  for (const std::string& name : names) {
    if (name.starts_with("--")) {
      EXPECT_THAT(options, Contains(StartsWith(name + "\t")));
    }
  }
  EXPECT_THAT(Fish("partita study plan --format "), IsSupersetOf({StartsWith("text")}));
}

TEST_F(GenerateTest, AnotherShellIsRefused) {
  const ProcessResult result = Partita({"generate", "completion", "tcsh"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("bash"));
}

}  // namespace
}  // namespace partita::testing::generate_test
