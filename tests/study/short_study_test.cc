// The shortest study file: what it leaves out, how values are written, and that it is read back as what
// was meant.
#include "study/file/short_study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/file/toml_text.h"
#include "tests/study/all_methods.h"

namespace partita::study::short_study_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ShortStudy Example() {
  ShortStudy study;
  study.name = "example";
  study.site = "ignore";
  study.missing = "complete";
  study.engine = "dealer";
  study.parties = {{"north", true, true, {}, {}},
                   {"south", true, false, {}, 120},
                   {"helper", false, false, {}, {}}};
  study.dictionary = ParseDictionaryDraft(
      "[[variable]]\nname = \"x\"\ntype = \"numeric\"\nlower = 0.5\nupper = 10\n"
      "[[variable]]\nname = \"g\"\ntype = \"factor\"\nlevels = [\"a \\\"b\\\"\", \"c\\\\d\"]\n"
      "missing_codes = [\"-9\"]\n",
      "dictionary.toml");
  study.analysis = {{"method", "\"mle\""},
                    {"protocol", "\"pooled-moments\""},
                    {"function", "\"regression\""},
                    {"model", TomlText("x ~ g.c_d")},
                    {"release", "[\"moments\"]"}};
  return study;
}

TEST(ShortStudyTest, IsReadBackAsMeantAndHasNoDefaults) {
  const std::string text = ShortStudyText(Example());
  const StudyFile study = ParseStudyFile(text, "study.toml");
  EXPECT_EQ(study.name, "example");
  ASSERT_EQ(study.parties.size(), 3u);
  EXPECT_TRUE(study.parties[0].receiver);
  EXPECT_TRUE(study.parties[2].dealer);
  EXPECT_EQ(study.blocks[0].count, std::nullopt);
  EXPECT_EQ(study.blocks[1].count, 120);
  EXPECT_EQ(study.dictionary.columns[0].lower, 0.5);
  EXPECT_EQ(study.dictionary.columns[1].levels, (std::vector<std::string>{"a \"b\"", "c\\d"}));
  EXPECT_EQ(study.dictionary.columns[1].missing_codes, std::vector<std::string>{"-9"});
  for (const char* left_out : {"#", "title", "[table]", "[network]", "[disclosure]", "columns"})
    EXPECT_THAT(text, Not(HasSubstr(left_out))) << left_out;
}

TEST(ShortStudyTest, WhatIsDeclaredIsReadBack) {
  ShortStudy example = Example();
  EXPECT_THAT(ShortStudyText(example), Not(HasSubstr("[study]")));
  example.declared = {"Whether \"x\" helps", "EK 2026/117", "", "a@example.org"};
  const std::string text = ShortStudyText(example);
  EXPECT_THAT(text, Not(HasSubstr("legal_basis")));
  EXPECT_EQ(ParseStudyFile(text, "study.toml").declared, example.declared);
}

TEST(ShortStudyTest, AReceiverMayHoldNothing) {
  ShortStudy example = Example();
  example.engine = "replicated";
  example.parties[0].receiver = false;
  example.parties[2] = {"analyst", false, true, {}, {}};
  const StudyFile study = ParseStudyFile(ShortStudyText(example), "study.toml");
  EXPECT_TRUE(study.parties[2].receiver);
  EXPECT_FALSE(study.parties[2].dealer);
  EXPECT_FALSE(study.parties[2].holder);
}

TEST(ShortStudyTest, CommonRowsAndTheFormOfTablesAreSaid) {
  ShortStudy example = Example();
  example.common_rows = 300;
  example.parties[0].columns = {"x"};
  example.parties[1].columns = {"g"};
  example.dictionary.key = "id";
  example.dictionary.separator = ';';
  example.dictionary.decimal = ',';
  const StudyFile study = ParseStudyFile(ShortStudyText(example), "study.toml");
  ASSERT_EQ(study.blocks.size(), 1u);
  EXPECT_EQ(study.blocks[0].count, 300);
  EXPECT_EQ(study.parties[1].columns, std::vector<std::string>{"g"});
  EXPECT_EQ(study.table.key, "id");
  EXPECT_EQ(study.table.separator, ';');
  EXPECT_EQ(study.table.decimal, ',');
}

TEST(ShortStudyTest, TablesOfTheAnalysisFollowItsKeys) {
  ShortStudy example = Example();
  example.analysis.insert(example.analysis.begin(), {"privacy.epsilon", "1"});
  example.analysis.emplace_back("robust", "true");
  example.analysis.emplace_back("privacy.delta", "1e-6");
  const std::string text = ShortStudyText(example);
  EXPECT_TRUE(text.ends_with("robust = true\n\n[analysis.privacy]\nepsilon = 1\ndelta = 1e-6\n"))
      << text;
}

TEST(ShortStudyTest, TextsAreWrittenAsToml) {
  EXPECT_EQ(TomlText("a\"\\\t"), R"("a\"\\\t")");
  EXPECT_EQ(TomlText("y ~ x\nz ~ y"), "\"\"\"\ny ~ x\nz ~ y\"\"\"");
  EXPECT_EQ(TomlTexts({"a", "b"}), R"(["a", "b"])");
  for (const char* value : {"1", "-2.5", "true", "[1, 2]", "\"a\"", "{a = 1}", "2020-01-01"})
    EXPECT_TRUE(IsTomlValue(value)) << value;
  for (const char* value : {"", "yes", "1 2", "1\nother = 2", ".5", "[1", "\u00e4", "\u2003"})
    EXPECT_FALSE(IsTomlValue(value)) << value;
  EXPECT_TRUE(IsTomlBound("1e3", false));
  EXPECT_TRUE(IsTomlBound("2020-01-31", true));
  EXPECT_FALSE(IsTomlBound("2020-01-31", false));
  EXPECT_FALSE(IsTomlBound("true", false));
}

}  // namespace
}  // namespace partita::study::short_study_test
