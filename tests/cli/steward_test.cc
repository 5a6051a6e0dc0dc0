// A steward's way: describe a table, check it, compare summaries, rehearse the study on mock data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"
#include "tests/paths.h"

namespace partita::testing::steward_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

nlohmann::json DataOf(const ProcessResult& result) {
  return nlohmann::json::parse(result.out)["data"];
}

class StewardTest : public ::testing::Test {
 protected:
  ProcessResult Check(const std::string& party, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {
        "data", "check", folder_.data(party), "--study", folder_.study_file(), "--party", party};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Partita(arguments);
  }
  std::string InFolder(const std::string& name) { return folder_.path() + "/" + name; }

  StudyFolder folder_;
};

TEST_F(StewardTest, DraftsADictionaryThatIsInvalidUntilSomebodyGivesBounds) {
  const std::string table = InFolder("t.csv"), draft = InFolder("dictionary.toml");
  std::string text = "id,x1,x2,x3\n";
  for (int i = 0; i < 40; ++i)
    text += "p" + std::to_string(i) + "," + std::to_string(i % 9) + ".5,1.25,0.5\n";
  StudyFolder::Write(table, text);
  const ProcessResult written = Partita({"data", "describe", table, "--draft", "--output", draft});
  EXPECT_EQ(written.exit_code, 0) << written.err;
  EXPECT_THAT(written.err, HasSubstr("for the owner of the table only"));
  struct stat status {};
  ASSERT_EQ(::stat(draft.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(Partita({"data", "describe", table, "--draft", "--output", draft}).exit_code, 2)
      << "an existing file is not overwritten";

  // The draft in place of the study's own dictionary.
  std::string study = StudyFolder::Read(folder_.study_file());
  std::string entries = StudyFolder::Read(draft);
  entries.erase(0, entries.find("[[variable]]"));
  const size_t from = study.find("[[variable]]"), to = study.find("[design]");
  study.replace(from, to - from, entries + "\n");
  const std::string file = InFolder("drafted.toml");
  StudyFolder::Write(file, study);
  const ProcessResult open = Partita({"study", "validate", file});
  EXPECT_EQ(open.exit_code, 2);
  EXPECT_THAT(open.err, AllOf(HasSubstr("drafted.toml:"), HasSubstr("lower")));
  // With the bounds filled in it is a study.
  for (const char* bound : {"lower = ...", "upper = ..."}) {
    for (int i = 0; i < 3; ++i) {
      folder_.Edit(file, std::string("# ") + bound,
                   bound == std::string("lower = ...") ? "lower = -10 #" : "upper = 10 #");
    }
  }
  const ProcessResult filled = Partita({"study", "validate", file});
  EXPECT_EQ(filled.exit_code, 0) << filled.err;
}

TEST_F(StewardTest, DescribesWithoutDraft) {
  const ProcessResult result =
      Partita({"data", "describe", folder_.data("north"), "--format", "json"});
  ASSERT_EQ(result.exit_code, 0);
  EXPECT_EQ(DataOf(result)["rows"], 40);
  EXPECT_EQ(DataOf(result)["columns"][0]["type"], "key");
  EXPECT_EQ(DataOf(result)["columns"][1]["type"], "numeric");
  EXPECT_TRUE(DataOf(result)["draft"].is_null());
  EXPECT_EQ(Partita({"data", "describe", "/no/such.csv"}).exit_code, 2);
}

TEST_F(StewardTest, ACleanTablePassesItsCheck) {
  const ProcessResult result = Check("north");
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_THAT(result.out, HasSubstr("40 rows, 0 problems, 0 warnings, 0 notes"));
}

TEST_F(StewardTest, AllProblemsAreListedWithTheirLines) {
  folder_.Edit(folder_.data("north"), "p003,", "p003,tall #");
  folder_.Edit(folder_.data("north"), "p005,", "p004,");
  folder_.Edit(folder_.data("north"), "p009,", "p009,99 ");
  const ProcessResult result = Check("north", {"--format", "json"});
  EXPECT_EQ(result.exit_code, 7);
  const auto data = DataOf(result);
  EXPECT_FALSE(data["usable"].get<bool>());
  ASSERT_EQ(data["problems"].size(), 2u);
  EXPECT_EQ(data["problems"][0]["column"], "id");
  EXPECT_EQ(data["problems"][0]["lines"], nlohmann::json({7}));
  EXPECT_EQ(data["problems"][1]["column"], "x1");
  EXPECT_EQ(data["problems"][1]["lines"], nlohmann::json({5, 11}));
  EXPECT_EQ(nlohmann::json::parse(result.out)["status"], "problems");
}

TEST_F(StewardTest, CheckNamesWhatIsWrongWithItsArguments) {
  EXPECT_EQ(Check("north", {"--min-cell", "3"}).exit_code, 2) << "--min-cell needs --share";
  const ProcessResult dealer = Partita({"data", "check", folder_.data("north"), "--study",
                                        folder_.study_file(), "--party", "dealer"});
  EXPECT_EQ(dealer.exit_code, 2);
  EXPECT_THAT(dealer.err, HasSubstr("'dealer' of the study holds no data"));
  const ProcessResult unknown = Partita({"data", "check", folder_.data("north"), "--study",
                                         folder_.study_file(), "--party", "norht"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean 'north'?"));
}

TEST_F(StewardTest, SummariesFindASiteThatMeasuresInOtherUnits) {
  folder_.MakeHorizontal();
  // South's x3 a hundred times as large, and so out of bounds.
  std::istringstream lines(StudyFolder::Read(folder_.data("south")));
  std::string table, line;
  std::getline(lines, table);
  table += "\n";
  while (std::getline(lines, line)) {
    const size_t comma = line.rfind(',');
    table +=
        line.substr(0, comma + 1) + std::to_string(100 * std::stod(line.substr(comma + 1))) + "\n";
  }
  StudyFolder::Write(folder_.data("south"), table);
  const std::string north = InFolder("north.json"), south = InFolder("south.json");
  const ProcessResult shared = Check("north", {"--share", north});
  EXPECT_EQ(shared.exit_code, 0) << shared.out << shared.err;
  EXPECT_THAT(shared.out, HasSubstr("This summary tells the other parties"));
  EXPECT_EQ(Check("south", {"--share", south}).exit_code, 7);
  const ProcessResult compared = Partita({"data", "compare", north, south});
  EXPECT_EQ(compared.exit_code, 7);
  EXPECT_THAT(compared.out, AllOf(HasSubstr("problem: x3 at south: cells"),
                                  HasSubstr("warning: x3 at north, south: the typical size is")));
  EXPECT_THAT(compared.out, Not(HasSubstr("problem: x3 at north")));
  EXPECT_THAT(StudyFolder::Read(north), Not(HasSubstr("p00")));
  EXPECT_EQ(Check("north", {"--share", north}).exit_code, 2) << "nothing is overwritten";
}

TEST_F(StewardTest, MinCellCanOnlyBeRaised) {
  const std::string low = InFolder("low.json"), high = InFolder("high.json");
  Check("north", {"--share", low, "--min-cell", "1"});
  Check("north", {"--share", high, "--min-cell", "11"});
  EXPECT_EQ(nlohmann::json::parse(StudyFolder::Read(low))["min_cell"], 5);
  EXPECT_EQ(nlohmann::json::parse(StudyFolder::Read(high))["min_cell"], 11);
}

TEST_F(StewardTest, CompareRefusesWhatIsNoSummary) {
  const ProcessResult missing = Partita({"data", "compare", "/no/such.json", "/no/other.json"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("cannot read the summary /no/such.json"));
  const std::string study = folder_.study_file();
  const ProcessResult toml = Partita({"data", "compare", study, study});
  EXPECT_EQ(toml.exit_code, 2);
  EXPECT_THAT(toml.err, HasSubstr("no summary of a table"));
}

TEST_F(StewardTest, MockTablesRunTheStudy) {
  const std::string out = InFolder("mock");
  const ProcessResult made =
      Partita({"data", "mock", "--study", folder_.study_file(), "--output", out, "--seed", "7"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  std::filesystem::copy_file(folder_.study_file(), out + "/study.toml");
  const ProcessResult run =
      Partita({"study", "simulate", out + "/study.toml", "--in-process", "--quiet"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  // Real data is never replaced.
  const std::string before = StudyFolder::Read(out + "/north/data.csv");
  const ProcessResult again =
      Partita({"data", "mock", "--study", folder_.study_file(), "--output", out, "--seed", "8"});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr("nothing is overwritten"));
  EXPECT_EQ(StudyFolder::Read(out + "/north/data.csv"), before);
}

TEST_F(StewardTest, RehearsalNeedsNoDataAndAgrees) {
  for (const char* party : {"north", "south"}) std::filesystem::remove(folder_.data(party));
  const ProcessResult result =
      Partita({"study", "rehearse", folder_.study_file(), "--quiet", "--format", "json"});
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  const auto data = DataOf(result);
  EXPECT_TRUE(data["passed"].get<bool>());
  EXPECT_TRUE(data["costs_agree"].get<bool>());
  EXPECT_GE(data["lowest_digits"].get<double>(), 6);
  EXPECT_EQ(data["planned"], data["counted"]);
  EXPECT_EQ(data["messages_planned"], "exactly");
  EXPECT_EQ(data["exact"].size(), 2u * 3) << "estimates and standard errors";
  EXPECT_EQ(data["random"].size(), 0u);
  const ProcessResult text = Partita({"study", "rehearse", folder_.study_file(), "--quiet"});
  EXPECT_THAT(text.out, AllOf(HasSubstr("made-up rows: no data of anybody, no approval, no charge"),
                              HasSubstr("Digits of agreement"), HasSubstr("passed")));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/ledger"));
}

TEST_F(StewardTest, RehearsalOfAPrivateStudySaysWhatIsRandom) {
  const std::string study = SourcePath("examples/synthetic_registry/study.toml");
  const ProcessResult result = Partita(
      {"study", "rehearse", study, "--quiet", "--steps", "3", "--seed", "4", "--format", "json"});
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  const auto data = DataOf(result);
  EXPECT_TRUE(data["made_up"].get<bool>());
  EXPECT_EQ(data["rows"], 800);
  ASSERT_EQ(data["random"].size(), 1u);
  EXPECT_GE(data["random"][0]["p_value"].get<double>(), 1e-6);
  EXPECT_EQ(data["shortened"].size(), 1u);
  const ProcessResult text = Partita({"study", "rehearse", study, "--quiet", "--steps", "3"});
  EXPECT_EQ(text.exit_code, 0) << text.out;
  EXPECT_THAT(text.out, AllOf(HasSubstr("Shortened: 3 of the 120 iterations are rehearsed"),
                              HasSubstr("noise of 3 sums of gradients"), HasSubstr("passed")));
}

// Nobody computes a factor analysis twice to the last bit on different ways.
TEST_F(StewardTest, RehearsalFailsBelowTheDigitsAskedFor) {
  const ProcessResult result =
      Partita({"study", "rehearse", SourcePath("examples/three_factor/horizontal/study.toml"),
               "--quiet", "--digits", "16", "--format", "json"});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_FALSE(DataOf(result)["passed"].get<bool>());
  EXPECT_LT(DataOf(result)["lowest_digits"].get<double>(), 16);
  EXPECT_TRUE(DataOf(result)["costs_agree"].get<bool>());
  EXPECT_EQ(nlohmann::json::parse(result.out)["status"], "problems");
  EXPECT_EQ(Partita({"study", "rehearse", folder_.study_file(), "--digits", "99"}).exit_code, 2);
}

}  // namespace
}  // namespace partita::testing::steward_test
