// The dictionary that a site keeps of a table: what is read, written again and refused, what others see of it, and
// where a study departs from it.
#include "study/file/site_dictionary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "study/file/dictionary_compare.h"
#include "study/file/dictionary_draft.h"

namespace partita::study::site_dictionary_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kPupils = R"([[variable]]
name = "age"
type = "integer"
lower = 5
upper = 20
unit = "years"
description = "at the first of September"

[[variable]]
name = "class"
type = "ordered"
levels = ["low", "middle", "high"]
missing_codes = ["?"]

[[variable]]
name = "born"
type = "date"
lower = 2000-01-31
upper = "2020-12-31"

[[variable]]
name = "income"
type = "numeric"
peers = "hidden"

[[variable]]
name = "stay"
type = "survival"
time = "months"
event = "left"
lower = 0
upper = 120
peers = "hidden"
)";

SiteDictionary Pupils() { return ParseSiteDictionary(kPupils, "pupils.toml"); }

std::string Refusal(const std::string& text) {
  try {
    ParseSiteDictionary(text, "d.toml");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    return error.message() + "; " + error.hint();
  }
  return "";
}

data::ColumnSchema Column(const std::string& name) {
  const data::Schema schema = CompleteColumns(Pupils());
  return *schema.Find(name);
}

TEST(SiteDictionaryTest, ReadsWhatPeopleWrite) {
  const SiteDictionary pupils = Pupils();
  ASSERT_EQ(pupils.variables.size(), 5U);
  const SiteVariable& age = pupils.variables[0];
  EXPECT_EQ(age.lower, "5");
  EXPECT_EQ(age.unit, "years");
  EXPECT_EQ(age.description, "at the first of September");
  EXPECT_FALSE(age.hidden);
  EXPECT_THAT(pupils.variables[1].levels, ElementsAre("low", "middle", "high"));
  EXPECT_EQ(pupils.variables[2].lower, "2000-01-31");
  EXPECT_EQ(pupils.variables[2].upper, "2020-12-31");
  EXPECT_TRUE(pupils.variables[3].hidden);
  EXPECT_TRUE(pupils.variables[4].hidden);
  EXPECT_EQ(pupils.variables[4].event, "left");
}

TEST(SiteDictionaryTest, WritesWhatItRead) {
  const SiteDictionary pupils = Pupils();
  EXPECT_EQ(ParseSiteDictionary(SiteDictionaryText(pupils), "again.toml"), pupils);
  EXPECT_EQ(ParseSiteDictionary("", "empty.toml"), SiteDictionary());
  // A draft has a part of the table's own.
  EXPECT_EQ(ParseSiteDictionary("[table]\nseparator = \";\"\n" + kPupils, "t.toml"), pupils);
}

// A visible variable is one of a study file; a hidden one may say nothing, but nothing wrong.
TEST(SiteDictionaryTest, RefusesWhatNoStudyCanUse) {
  const auto with = [](const std::string& keys) {
    return Refusal("[[variable]]\nname = \"x\"\n" + keys);
  };
  EXPECT_THAT(with("type = \"numeric\"\n"), HasSubstr("needs the key 'lower'"));
  EXPECT_EQ(with("type = \"numeric\"\npeers = \"hidden\"\n"), "");
  EXPECT_THAT(with("type = \"numeric\"\nlower = 1\npeers = \"hidden\"\n"), HasSubstr("'upper'"));
  EXPECT_THAT(with("type = \"factor\"\nlevels = [\"a\"]\npeers = \"hidden\"\n"),
              HasSubstr("2 to 1000 levels"));
  EXPECT_THAT(with("type = \"float\"\npeers = \"hidden\"\n"), HasSubstr("type = \"numeric\""));
  EXPECT_THAT(with("type = \"numeric\"\nlower = 0\nupper = 1\npeers = \"some\"\n"),
              HasSubstr("'peers'"));
  EXPECT_THAT(with("type = \"numeric\"\nlower = 0\nupper = 1\nseen = 3\n"), HasSubstr("'seen'"));
  EXPECT_THAT(Refusal(kPupils + "[[variable]]\nname = \"age\"\ntype = \"numeric\"\n"
                                "peers = \"hidden\"\n"),
              HasSubstr("'age' is there twice"));
  EXPECT_THAT(Refusal("[engine]\nname = \"dealer\"\n"), HasSubstr("'engine'"));
}

TEST(SiteDictionaryTest, SaysOfEveryVariableWhatIsWrong) {
  SiteDictionary pupils = Pupils();
  EXPECT_THAT(ProblemsOf(pupils), IsEmpty());
  pupils.variables[0].upper = "4";
  pupils.variables[1].missing_codes = {"low"};
  pupils.variables[2].lower = "31.1.2000";
  pupils.variables[3].name = "age";
  const std::vector<DictionaryProblem> problems = ProblemsOf(pupils);
  ASSERT_EQ(problems.size(), 4U);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(problems[i].variable, i);
    // Nothing of a place that the page does not have.
    EXPECT_THAT(problems[i].message, Not(HasSubstr("dictionary:")));
    EXPECT_FALSE(problems[i].hint.empty());
  }
  EXPECT_THAT(problems[0].message, HasSubstr("'upper' of 'age' must be above 'lower'"));
  pupils.variables[4].event = "";
  EXPECT_EQ(ProblemsOf(pupils).back().message, "this variable needs the key 'event'");
  EXPECT_THAT(problems[1].message, HasSubstr("is a level and a missing code"));
  EXPECT_THAT(problems[3].message, HasSubstr("another variable 'age'"));
}

// Whatever is typed stays within its value.
TEST(SiteDictionaryTest, TypedTextsWriteNoOtherKey) {
  for (const std::string text : {"1\npeers = \"visible\"", "\"", "\\", "1 # \"", "\"\"\"", "]",
                                 "\r", "inf", "0x10", "007", "1e400", "\xe2\x80\xae", "'''"}) {
    SiteDictionary one;
    one.variables.resize(1);
    SiteVariable& variable = one.variables[0];
    variable.name = "x";
    variable.type = "numeric";
    variable.upper = "3";
    variable.hidden = true;
    variable.lower = variable.unit = variable.description = text;
    variable.missing_codes = {text};
    std::vector<DictionaryProblem> problems;
    ASSERT_NO_THROW(problems = ProblemsOf(one)) << text;
    if (problems.empty()) {
      const SiteDictionary read = ParseSiteDictionary(SiteDictionaryText(one), "d.toml");
      ASSERT_EQ(read.variables.size(), 1U);
      EXPECT_TRUE(read.variables[0].hidden) << text;
      EXPECT_EQ(read.variables[0].description, text);
    }
    variable.lower = "0";
    variable.name = text;
    // A number that is none is a good name.
    ASSERT_EQ(ProblemsOf(one).size(), text == "inf" ? 0U : 1U) << text;
  }
}

TEST(SiteDictionaryTest, OthersSeeNothingOfWhatIsHidden) {
  const std::string offered = OfferedText(Pupils());
  for (const char* hidden : {"income", "stay", "months", "left", "peers", "hidden"})
    EXPECT_THAT(offered, Not(HasSubstr(hidden)));
  const DictionaryDraft draft = ParseDictionaryDraft(offered, "offered.toml");
  ASSERT_EQ(draft.variables.size(), 3U);
  EXPECT_EQ(draft.variables[0].values.at("unit"), "\"years\"");
  EXPECT_FALSE(LacksBounds(draft.variables[2]));
  // `partita study new --dictionary` takes the site's file itself, and leaves the same out.
  const DictionaryDraft own = ParseDictionaryDraft(kPupils, "pupils.toml");
  ASSERT_EQ(own.variables.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(own.variables[i].name, draft.variables[i].name);
    EXPECT_FALSE(own.variables[i].values.contains("description"));
  }
}

TEST(SiteDictionaryTest, SaysWhatSavingChanges) {
  const SiteDictionary before = Pupils();
  EXPECT_THAT(ChangesBetween(before, before), IsEmpty());
  SiteDictionary after = before;
  after.variables[0].upper = "25";
  after.variables[0].hidden = true;
  after.variables[1].levels = {"high", "middle", "low"};
  after.variables[3].hidden = false;
  after.variables.erase(after.variables.begin() + 4);
  SiteVariable sex;
  sex.name = "sex";
  sex.type = "factor";
  after.variables.push_back(sex);
  EXPECT_THAT(
      ChangesBetween(before, after),
      ElementsAre("'age': hidden from other sites now; upper bound '25' instead of '20'",
                  "'class': levels in another order", "'income': visible for other sites now",
                  "'sex': new, visible for other sites",
                  "'stay': taken out, and no longer hidden"));
  SiteDictionary turned = before;
  std::swap(turned.variables[0], turned.variables[1]);
  EXPECT_THAT(ChangesBetween(before, turned), ElementsAre("the variables are in another order"));
}

TEST(SiteDictionaryTest, SaysWhereAStudyDeparts) {
  data::Schema asked;
  asked.columns = {Column("age"), Column("class"), Column("born")};
  EXPECT_THAT(DifferencesFrom(Pupils(), asked), IsEmpty());
  asked.columns[0].upper = 120;
  asked.columns[0].unit = "months";
  asked.columns[1].levels = {"low", "high"};
  asked.columns[1].missing_codes = {};
  asked.columns[2].type = data::ColumnType::kNumeric;
  data::ColumnSchema more;
  more.name = "hours";
  asked.columns.push_back(more);
  more.name = "pid";
  more.type = data::ColumnType::kKey;
  asked.columns.push_back(more);
  EXPECT_THAT(DifferencesFrom(Pupils(), asked),
              ElementsAre("'age' is in [5, 120] in the study, [5, 20] in the dictionary",
                          "'age' has the unit 'months' in the study, 'years' in the dictionary",
                          "'class' has in the study not the levels 'middle' of the dictionary",
                          "'class' has the missing codes '?', which the study does not know",
                          "'born' is numeric in the study, date in the dictionary",
                          "'hours' is not in the dictionary"));
  asked.columns = {Column("class")};
  asked.columns[0].levels = {"high", "middle", "low"};
  EXPECT_THAT(DifferencesFrom(Pupils(), asked),
              ElementsAre("'class' has in the study its levels in another order"));
}

// By another case of letters, which some databases take for the same column, or by the columns of a survival variable.
TEST(SiteDictionaryTest, FindsWhatIsHidden) {
  EXPECT_THAT(HiddenAmong(Pupils(), {"age", "class", "born", "hours"}), IsEmpty());
  EXPECT_THAT(HiddenAmong(Pupils(), {"age", "income", "INCOME", "months", "Left", "incomes"}),
              ElementsAre("income", "INCOME", "months", "Left"));
}

}  // namespace
}  // namespace partita::study::site_dictionary_test
