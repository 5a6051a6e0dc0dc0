// partita match check: what the owner of a list is told before anything is sent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"
#include "tests/run/matching/people_file.h"

namespace partita::testing::match_command_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kFile = PeopleFile(
    "",
    "[[party]]\nname = \"clinic\"\nrows = 6\n[[party]]\nname = \"registry\"\nrows = 9\n"
    "[[party.column]]\nname = \"born\"\nheader = \"geboren\"\nformat = \"DD.MM.YYYY\"\n");

constexpr const char* kClinic =
    "nid,name,born,weight\n"
    "0001,Ada,2001-01-01,60\n"
    "1e5,Bo,2001-01-01,70\n"
    ",Cy,2001-01-02,80\n"
    "0004, ADA ,2001-01-01,90\n"
    "0005,Di,01.02.2001,50\n";

class MatchCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    StudyFolder::Write(In("m.toml"), kFile);
    StudyFolder::Write(In("clinic.csv"), kClinic);
  }
  std::string In(const std::string& name) { return folder_.path() + "/" + name; }
  ProcessResult Check(const std::string& party, const std::string& table,
                      std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"match", "check",  In("m.toml"), "--party",
                                          party,   "--data", In(table)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Partita(arguments);
  }

  StudyFolder folder_;
};

TEST_F(MatchCommandTest, ListsEverythingThatWouldBeLeftOutAndRefuses) {
  const ProcessResult refused = Check("clinic", "clinic.csv");
  EXPECT_EQ(refused.exit_code, 7) << refused.err;
  EXPECT_THAT(refused.out, AllOf(HasSubstr("5 of at most 6 rows"),
                                 HasSubstr("line 3, nid: has something other than digits"),
                                 HasSubstr("line 6, born: is no date YYYY-MM-DD"),
                                 HasSubstr("lines 2, 5"), HasSubstr("would be refused")));
  // No text of a cell is printed.
  EXPECT_THAT(refused.out, AllOf(Not(HasSubstr("Ada")), Not(HasSubstr("1e5"))));
}

TEST_F(MatchCommandTest, WhatIsAgreedToBeLeftOutIsWrittenForTheOwner) {
  StudyFolder::Write(In("m.toml"), "duplicates = \"leave-out\"\nfaulty = \"leave-out\"\n" + kFile);
  const ProcessResult accepted =
      Check("clinic", "clinic.csv", {"--left-out", In("left.csv"), "--format", "json"});
  ASSERT_EQ(accepted.exit_code, 0) << accepted.err;
  const nlohmann::json data = nlohmann::json::parse(accepted.out)["data"];
  EXPECT_EQ(data["accepted"], true);
  EXPECT_EQ(data["passes"][0]["usable"], 3);
  EXPECT_EQ(data["passes"][0]["without_key"], 2);
  EXPECT_EQ(data["passes"][1]["usable"], 2);
  EXPECT_EQ(data["passes"][1]["duplicates"], nlohmann::json({{2, 5}}));
  EXPECT_EQ(data["faulty"].size(), 2U);
  EXPECT_EQ(StudyFolder::Read(In("left.csv")),
            "line,pass,why\n"
            "3,,\"nid has something other than digits, blanks and hyphens\"\n"
            "6,,born is no date YYYY-MM-DD\n"
            "2,2,\"lines 2, 5 have one key\"\n"
            "5,2,\"lines 2, 5 have one key\"\n");
  struct stat status {};
  ASSERT_EQ(::stat(In("left.csv").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(MatchCommandTest, EveryPartysTableMayLookDifferent) {
  StudyFolder::Write(In("registry.csv"), "geboren;name;nid\n01.01.2001;ada;0001\n");
  EXPECT_EQ(Check("registry", "registry.csv", {"--separator", ";"}).exit_code, 0);
  EXPECT_EQ(Check("registry", "registry.csv").exit_code, 0);  // found in the header
  const ProcessResult wrong = Check("registry", "registry.csv", {"--separator", ","});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("separator"));
  EXPECT_THAT(Check("registri", "registry.csv").err, HasSubstr("did you mean 'registry'"));
  StudyFolder::Write(In("long.csv"),
                     std::string(kClinic) + "0006,E,2001-01-01,1\n0007,F,2001-01-01,1\n");
  const ProcessResult many = Check("clinic", "long.csv");
  EXPECT_EQ(many.exit_code, 7);
  EXPECT_THAT(many.err, HasSubstr("more than 6 rows"));
}

}  // namespace
}  // namespace partita::testing::match_command_test
