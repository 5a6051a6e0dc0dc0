// Every kind of bad input, as a user meets it: the whole program, real processes, one thing wrong.
// Each gets a precise error naming party, place and remedy; the others are told that the party
// stopped and nothing about its data; nothing hangs; no result is written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"

namespace partita::testing::bad_input_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class BadInputTest : public ::testing::Test {
 protected:
  ProcessResult Simulate() {
    return Partita(
        {"study", "simulate", folder_.study_file(), "--output", folder_.path() + "/result.json"});
  }
  void ExpectNothingWritten() {
    EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/result.json"));
  }

  // A table error: exit code 7, the owner's message has `details`, no other party's line has them.
  void ExpectDataError(const std::string& owner, const std::vector<std::string>& details) {
    const ProcessResult result = Simulate();
    EXPECT_EQ(result.exit_code, 7) << result.err;
    std::string owners, others;
    std::istringstream lines(result.err);
    for (std::string line; std::getline(lines, line);) {
      (line.rfind(owner + ": ", 0) == 0 ? owners : others) += line + "\n";
    }
    for (const std::string& detail : details) {
      EXPECT_THAT(owners, HasSubstr(detail));
      EXPECT_THAT(others, Not(HasSubstr(detail)));
    }
    EXPECT_THAT(others, HasSubstr(owner));  // the others are told who stopped
    ExpectNothingWritten();
  }

  void ExpectUsageError(const std::vector<std::string>& details) {
    const ProcessResult result = Simulate();
    EXPECT_EQ(result.exit_code, 2) << result.err;
    for (const std::string& detail : details) EXPECT_THAT(result.err, HasSubstr(detail));
    ExpectNothingWritten();
    EXPECT_EQ(Partita({"study", "plan", folder_.study_file()}).exit_code, 2);
  }

  StudyFolder folder_;
};

TEST_F(BadInputTest, TheUnspoiledStudyRuns) {
  const ProcessResult result = Simulate();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(std::filesystem::exists(folder_.path() + "/result.json"));
}

TEST_F(BadInputTest, UnknownVariableInTheModel) {
  folder_.Edit(folder_.study_file(), "x3 ~ x1 + x2", "x3 ~ x1 + xx2");
  ExpectUsageError({"study.toml:", "'xx2'", "x2"});
}

TEST_F(BadInputTest, ModelSyntaxError) {
  folder_.Edit(folder_.study_file(), "x3 ~ x1 + x2", "x3 ~ x1 + * x2");
  ExpectUsageError({"study.toml:"});
}

TEST_F(BadInputTest, StudyFileSyntaxError) {
  folder_.Edit(folder_.study_file(), "name = \"small\"", "name = small");
  ExpectUsageError({"study.toml:2"});
}

TEST_F(BadInputTest, UnknownKeyInTheStudyFile) {
  folder_.Edit(folder_.study_file(), "key = \"id\"", "key = \"id\"\nseperator = \",\"");
  ExpectUsageError({"study.toml:25", "seperator", "separator"});
}

TEST_F(BadInputTest, OverlapAndHoleInThePartition) {
  folder_.Edit(folder_.study_file(), "columns = [\"x3\"]", "columns = [\"x2\", \"x3\"]");
  ExpectUsageError({"x2", "north", "south"});
  folder_.Edit(folder_.study_file(), "columns = [\"x2\", \"x3\"]", "columns = [\"x3\"]");
  folder_.Edit(folder_.study_file(), "columns = [\"x1\", \"x2\"]", "columns = [\"x1\"]");
  ExpectUsageError({"x2"});
}

TEST_F(BadInputTest, DuplicatedKey) {
  folder_.Edit(folder_.data("south"), "p007,", "p008,");
  ExpectDataError("south", {"p008"});
}

TEST_F(BadInputTest, RowListsDiffer) {
  folder_.Edit(folder_.data("south"), "p007,", "p990,");
  const ProcessResult result = Simulate();
  EXPECT_EQ(result.exit_code, 7) << result.err;
  EXPECT_THAT(result.err, HasSubstr("row lists of block"));
  // No row is named, to anybody.
  EXPECT_THAT(result.err, AllOf(Not(HasSubstr("p007")), Not(HasSubstr("p990"))));
  ExpectNothingWritten();
}

TEST_F(BadInputTest, WrongNumberOfRows) {
  folder_.Edit(folder_.data("south"), "p007,", "p007,1.0\np991,");
  ExpectDataError("south", {"41"});
}

TEST_F(BadInputTest, MissingValue) {
  folder_.Edit(folder_.data("north"), "p001,1.7", "p001,");
  ExpectDataError("north", {"x1"});
}

TEST_F(BadInputTest, NonNumericCell) {
  folder_.Edit(folder_.data("north"), "p001,1.7", "p001,tall");
  ExpectDataError("north", {"data.csv:3", "x1", "tall"});
}

TEST_F(BadInputTest, ValueOutsideTheBounds) {
  folder_.Edit(folder_.data("north"), "p001,1.7", "p001,10.5");
  ExpectDataError("north", {"x1", "first at line"});
}

TEST_F(BadInputTest, ConstantColumn) {
  std::string table = "id,x3\n";
  for (int i = 0; i < 40; ++i)
    table += "p" + std::string(i < 10 ? "00" : "0") + std::to_string(i) + ",1.5\n";
  StudyFolder::Write(folder_.data("south"), table);
  ExpectDataError("south", {"x3"});
}

TEST_F(BadInputTest, WholeRowsRunWithoutKeysAndCounts) {
  folder_.MakeHorizontal();
  const ProcessResult result = Simulate();
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

// Constant over all holders together: only the receiver can know, and only it is told.
TEST_F(BadInputTest, ConstantPooledColumnIsTheReceiversBusiness) {
  folder_.MakeHorizontal();
  for (const char* party : {"north", "south"}) {
    std::istringstream lines(StudyFolder::Read(folder_.data(party)));
    std::string table, line;
    std::getline(lines, table);
    table += "\n";
    while (std::getline(lines, line)) table += line.substr(0, line.rfind(',')) + ",1.5\n";
    StudyFolder::Write(folder_.data(party), table);
  }
  const ProcessResult result = Simulate();
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_THAT(result.err, HasSubstr("north: error:"));
  EXPECT_THAT(result.err, HasSubstr("x3"));
  EXPECT_THAT(result.err, Not(HasSubstr("south")));
  EXPECT_THAT(result.err, Not(HasSubstr("dealer")));
  ExpectNothingWritten();
}

TEST_F(BadInputTest, AnEarlierResultIsNotOverwritten) {
  const std::string result = folder_.path() + "/result.json";
  StudyFolder::Write(result, "mine");
  const ProcessResult refused = Simulate();
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("exists already"), HasSubstr("--force")));
  EXPECT_EQ(StudyFolder::Read(result), "mine");
  EXPECT_EQ(
      Partita({"study", "simulate", folder_.study_file(), "--output", result, "--force"}).exit_code,
      0);
  EXPECT_NE(StudyFolder::Read(result), "mine");
}

TEST_F(BadInputTest, AResultFolderThatCannotBeWrittenIsNoticedBeforeTheRun) {
  // A file is where the folder should be.
  const ProcessResult result = Partita({"study", "simulate", folder_.study_file(), "--output",
                                        folder_.study_file() + "/results/result.json"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("cannot write to " + folder_.study_file() + "/results"),
                                HasSubstr("name a file in another folder")));
}

// The disk is full after 512 bytes: no truncated study file stays, so that it can be tried again.
TEST_F(BadInputTest, AStudyFileThatDoesNotFitIsNotLeftThere) {
  const std::string file = folder_.path() + "/does_not_fit.toml";
  Process process({"/bin/sh", "-c",
                   "trap '' XFSZ; ulimit -f 1; exec \"$0\" study new --commented \"$1\"",
                   PartitaProgram(), file});
  const ProcessResult result = process.Wait();
  EXPECT_EQ(result.exit_code, 10) << result.err;
  EXPECT_THAT(result.err, HasSubstr("cannot write the study file " + file));
  EXPECT_FALSE(std::filesystem::exists(file));
}

// 200 MB are not enough for millions of rows.
TEST_F(BadInputTest, TooLittleMemoryIsCalledByItsName) {
  folder_.MakeHorizontal();
  const ProcessResult result =
      Process({"/bin/sh", "-c", "ulimit -v 200000; exec \"$0\" \"$@\"", PartitaProgram(), "data",
               "mock", "--study", folder_.study_file(), "--output", folder_.path() + "/mock",
               "--rows", "5000000"})
          .Wait();
  EXPECT_EQ(result.exit_code, 10);
  EXPECT_THAT(result.err, HasSubstr("error: there is not enough memory to go on\n"));
}

TEST_F(BadInputTest, AnotherSeparatorIsNamed) {
  std::string table = StudyFolder::Read(folder_.data("south"));
  std::replace(table.begin(), table.end(), ',', ';');
  StudyFolder::Write(folder_.data("south"), table);
  const std::string hint = "write separator = \";\" under [table] in the study file";
  ExpectDataError("south", {"the header has no column 'x3'", hint});
  const std::vector<std::string> check = {
      "data", "check", folder_.data("south"), "--study", folder_.study_file(), "--party", "south"};
  const ProcessResult misread = Partita(check);
  EXPECT_EQ(misread.exit_code, 7);
  // The line breaks within the hint.
  EXPECT_THAT(misread.out, AllOf(HasSubstr("write separator"), HasSubstr("under [table]")));
  // Read as it is, there is no other problem.
  std::vector<std::string> as_it_is = check;
  as_it_is.insert(as_it_is.end(), {"--separator", ";"});
  const ProcessResult read = Partita(as_it_is);
  EXPECT_EQ(read.exit_code, 7);
  EXPECT_THAT(read.out, AllOf(HasSubstr("40 rows, 1 problem,"),
                              HasSubstr("the study reads tables with the separator ',', not with "
                                        "';'")));
  folder_.Edit(folder_.study_file(), "key = \"id\"", "key = \"id\"\nseparator = \";\"");
  EXPECT_EQ(Partita(check).exit_code, 0);
  EXPECT_EQ(Partita(as_it_is).exit_code, 0);
}

TEST_F(BadInputTest, MissingColumn) {
  folder_.Edit(folder_.data("south"), "id,x3", "id,x_3");
  ExpectDataError("south", {"x3", "x_3"});
}

TEST_F(BadInputTest, FewerRowsThanParameters) {
  folder_.Edit(folder_.study_file(), "count = 40", "count = 3");
  for (const char* party : {"north", "south"}) {
    std::istringstream lines(StudyFolder::Read(folder_.data(party)));
    std::string table, line;
    for (int i = 0; i < 4 && std::getline(lines, line); ++i) table += line + "\n";
    StudyFolder::Write(folder_.data(party), table);
  }
  ExpectUsageError({"3 rows"});
}

// Enough for the covariances of three variables, not for three regressions and two variances.
TEST_F(BadInputTest, ParametersAreCountedBeforeTheRun) {
  folder_.Edit(folder_.study_file(), "count = 40", "count = 5");
  folder_.Edit(folder_.study_file(), "x3 ~ x1 + x2", "x3 ~ x1 + x2\nx1 ~ x2");
  const ProcessResult result = Partita({"study", "validate", folder_.study_file()});
  EXPECT_EQ(result.exit_code, 2) << result.out;
  EXPECT_THAT(result.err, HasSubstr("5 rows are not more than the 5 free parameters of analysis"));
}

TEST_F(BadInputTest, NoTableForAParty) {
  std::filesystem::remove(folder_.data("south"));
  const ProcessResult result = Simulate();
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("south"), HasSubstr("--data")));
}

TEST_F(BadInputTest, JsonErrorsAreOneObject) {
  folder_.Edit(folder_.study_file(), "x3 ~ x1 + x2", "x3 ~ x1 + xx2");
  const ProcessResult result =
      Partita({"study", "validate", folder_.study_file(), "--format", "json"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.out, AllOf(HasSubstr("\"status\": \"error\""),
                                HasSubstr("\"error_code\": \"bad-input\"")));
}

}  // namespace
}  // namespace partita::testing::bad_input_test
