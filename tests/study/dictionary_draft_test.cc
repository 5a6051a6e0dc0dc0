// Drafts of dictionaries as the table's owner has them: what is kept, what is missing, what is refused.
#include "study/file/dictionary_draft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "data/describe.h"
#include "study/file/short_study.h"

namespace partita::study::dictionary_draft_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

DictionaryDraft OfTable(const std::string& csv) {
  return ParseDictionaryDraft(
      data::DraftDictionary(data::ProfileTable(data::FromText(csv), "t.csv", {})), "draft.toml");
}

TEST(DictionaryDraftTest, TakesWhatADraftOfATableSays) {
  const DictionaryDraft draft = OfTable("age;weight;sex\n31;70,5;f\n25;81,25;m\n44;NA;f\n");
  EXPECT_EQ(draft.separator, ';');
  EXPECT_EQ(draft.decimal, ',');
  ASSERT_EQ(draft.variables.size(), 3u);
  EXPECT_EQ(draft.variables[0].type, "integer");
  EXPECT_TRUE(LacksBounds(draft.variables[0]));
  EXPECT_EQ(draft.variables[1].values.at("missing_codes"), "[ \"NA\" ]");
  EXPECT_EQ(draft.variables[2].levels, (std::vector<std::string>{"f", "m"}));
  EXPECT_FALSE(LacksBounds(draft.variables[2]));
  EXPECT_FALSE(LacksLevels(draft.variables[2]));
}

TEST(DictionaryDraftTest, NothingSeenInTheTableGoesIntoAStudy) {
  ShortStudy study;
  study.dictionary = OfTable("age,sex\n31,f\n25,m\n117,f\n");
  const std::string text = ShortStudyText(study);
  for (const char* seen : {"117", "25", "rows, ", "rare", "#"})
    EXPECT_THAT(text, Not(HasSubstr(seen))) << seen;
}

TEST(DictionaryDraftTest, OneLevelIsTooFew) {
  EXPECT_TRUE(LacksLevels(OfTable("sex\nf\nf\n").variables.at(0)));
}

TEST(DictionaryDraftTest, AStudyFileIsADictionaryToo) {
  const DictionaryDraft draft = ParseDictionaryDraft(
      "partita = 1\nname = \"s\"\n[table]\nkey = \"id\"\n[[variable]]\nname = \"d\"\n"
      "type = \"date\"\nlower = 2000-01-01\nupper = \"2030-12-31\"\n[engine]\nname = \"ot\"\n",
      "study.toml");
  EXPECT_EQ(draft.key, "id");
  EXPECT_EQ(draft.variables.at(0).values.at("lower"), "2000-01-01");
  EXPECT_EQ(draft.variables.at(0).values.at("upper"), "\"2030-12-31\"");
  EXPECT_FALSE(LacksBounds(draft.variables.at(0)));
}

void ExpectRefused(const std::string& text, const std::string& what) {
  try {
    ParseDictionaryDraft(text, "draft.toml");
    ADD_FAILURE() << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_THAT(error.what(), HasSubstr(what));
  }
}

TEST(DictionaryDraftTest, SaysWhereItIsWrong) {
  ExpectRefused("[[variable]]\nname = \"x\"\ntype = \"numeric\"\nlowre = 0\n", "draft.toml:4:1");
  ExpectRefused("[[variable]]\nname = \"2x\"\ntype = \"numeric\"\n", "draft.toml:2:8");
  ExpectRefused("[[variable]]\nname = \"x\"\n", "type");
  ExpectRefused("name = ", "draft.toml:1");
  ExpectRefused("age,sex\n30,f\n", "draft.toml is no dictionary");
  ExpectRefused("[table]\nseparator = \";\"\n", "variable");
}

}  // namespace
}  // namespace partita::study::dictionary_draft_test
