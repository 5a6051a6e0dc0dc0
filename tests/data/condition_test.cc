// Which rows conditions select, and which conditions are refused.
#include "data/condition.h"

#include <gtest/gtest.h>

#include "tests/data/expect_error.h"
#include "tests/data/tables.h"

namespace partita::data::condition_test {
namespace {

using testing::ElementsAre;
using Kind = Condition::Kind;

const Schema kDictionary{{Numeric("x", 0, 10), Integer("n", 0, 5), Factor("f", {"a", "b", "c"}),
                          Ordered("o", {"low", "mid", "high"}), Date("d", 0, 100),
                          Survival("os", "t", "e")}};

// Row 5 misses everything.
const std::string kText =
    "x,n,f,o,d,t,e\n"
    "1,1,a,low,1970-01-01,1,0\n"
    "2,2,b,mid,1970-01-11,2,1\n"
    "3,3,c,high,1970-01-21,3,0\n"
    "4,4,a,high,1970-01-31,4,1\n"
    ",,,,,,\n";

Condition Number(const std::string& variable, Kind kind, double number) {
  return {.variable = variable, .kind = kind, .number = number, .is_date = false, .levels = {}};
}

Condition Levels(const std::string& variable, Kind kind, std::vector<std::string> levels) {
  return {variable, kind, 0, false, std::move(levels)};
}

std::vector<int> Selected(const std::vector<Condition>& conditions) {
  for (const Condition& condition : conditions) ValidateCondition(condition, kDictionary);
  const auto rows = SelectRows(Read(kText, kDictionary).table, conditions);
  return {rows.begin(), rows.end()};
}

TEST(ConditionTest, ComparesNumbers) {
  EXPECT_THAT(Selected({Number("x", Kind::kAtLeast, 3)}), ElementsAre(0, 0, 1, 1, 0));
  EXPECT_THAT(Selected({Number("x", Kind::kAtMost, 3)}), ElementsAre(1, 1, 1, 0, 0));
  EXPECT_THAT(Selected({Number("x", Kind::kAbove, 3)}), ElementsAre(0, 0, 0, 1, 0));
  EXPECT_THAT(Selected({Number("x", Kind::kBelow, 3)}), ElementsAre(1, 1, 0, 0, 0));
  EXPECT_THAT(Selected({Number("n", Kind::kIs, 3)}), ElementsAre(0, 0, 1, 0, 0));
  // Not being 3 takes being something.
  EXPECT_THAT(Selected({Number("n", Kind::kIsNot, 3)}), ElementsAre(1, 1, 0, 1, 0));
  EXPECT_THAT(Selected({Number("d", Kind::kBelow, 20)}), ElementsAre(1, 1, 0, 0, 0));
}

TEST(ConditionTest, ComparesLevels) {
  EXPECT_THAT(Selected({Levels("f", Kind::kIs, {"a", "c"})}), ElementsAre(1, 0, 1, 1, 0));
  EXPECT_THAT(Selected({Levels("f", Kind::kIsNot, {"a"})}), ElementsAre(0, 1, 1, 0, 0));
  EXPECT_THAT(Selected({Levels("o", Kind::kIs, {"high"})}), ElementsAre(0, 0, 1, 1, 0));
  EXPECT_THAT(Selected({Levels("o", Kind::kAtLeast, {"mid"})}), ElementsAre(0, 1, 1, 1, 0));
  EXPECT_THAT(Selected({Levels("o", Kind::kAbove, {"mid"})}), ElementsAre(0, 0, 1, 1, 0));
  EXPECT_THAT(Selected({Levels("o", Kind::kAtMost, {"mid"})}), ElementsAre(1, 1, 0, 0, 0));
  EXPECT_THAT(Selected({Levels("o", Kind::kBelow, {"mid"})}), ElementsAre(1, 0, 0, 0, 0));
}

TEST(ConditionTest, AllConditionsMustHold) {
  EXPECT_THAT(Selected({}), ElementsAre(1, 1, 1, 1, 1));
  for (const char* variable : {"x", "n", "f", "o", "d", "os"}) {
    EXPECT_THAT(Selected({Levels(variable, Kind::kPresent, {})}), ElementsAre(1, 1, 1, 1, 0));
  }
  EXPECT_THAT(Selected({Number("x", Kind::kAtLeast, 2), Levels("f", Kind::kIs, {"a", "b"})}),
              ElementsAre(0, 1, 0, 1, 0));
}

TEST(ConditionTest, CompleteRowsMissNothing) {
  const Schema schema{{Numeric("x"), Factor("f", {"a", "b"}), Survival("os", "t", "e"), Key("id")}};
  const Table table =
      Read("x,f,t,e,id\n1,a,1,1,p\n,a,1,1,q\n1,,1,1,r\n1,a,,1,s\n1,a,1,,u\n", schema).table;
  const auto rows = [&](const std::vector<std::string>& names) {
    const auto complete = CompleteRows(table, names);
    return std::vector<int>(complete.begin(), complete.end());
  };
  EXPECT_THAT(rows({}), ElementsAre(1, 1, 1, 1, 1));
  EXPECT_THAT(rows({"x"}), ElementsAre(1, 0, 1, 1, 1));
  EXPECT_THAT(rows({"f", "id"}), ElementsAre(1, 1, 0, 1, 1));
  EXPECT_THAT(rows({"os"}), ElementsAre(1, 1, 1, 0, 0));
  EXPECT_THAT(rows({"x", "f", "os"}), ElementsAre(1, 0, 0, 0, 0));
  ExpectError(ErrorCode::kInternal, "column 'y'", "", [&] { rows({"y"}); });
  ExpectError(ErrorCode::kInternal, "column 'y'", "",
              [&] { SelectRows(table, std::vector<Condition>{Number("y", Kind::kAtLeast, 1)}); });
}

TEST(ConditionTest, ReadsAsASentence) {
  EXPECT_EQ(ConditionText(Number("age", Kind::kAtLeast, 18)), "age >= 18");
  EXPECT_EQ(ConditionText(Number("age", Kind::kAtMost, 0.1)), "age <= 0.1");
  EXPECT_EQ(ConditionText(Levels("sex", Kind::kIs, {"female", "other"})), "sex is female or other");
  EXPECT_EQ(ConditionText(Levels("sex", Kind::kIsNot, {"male"})), "sex is not male");
  EXPECT_EQ(ConditionText(Levels("stage", Kind::kAbove, {"II"})), "stage > II");
  EXPECT_EQ(ConditionText(Levels("income", Kind::kPresent, {})), "income is present");
  Condition date = Number("visit", Kind::kBelow, 30);
  date.is_date = true;
  EXPECT_EQ(ConditionText(date), "visit < 1970-01-31");
}

TEST(ConditionTest, RefusesWhatDoesNotFitTheVariable) {
  struct Case {
    Condition condition;
    std::string message, hint;
  };
  const std::vector<Case> cases = {
      {Number("xx", Kind::kIs, 1), "no variable 'xx'", "did you mean 'x'"},
      {Levels("f", Kind::kIs, {"A1"}), "'A1' is not a level of 'f'", "'a'"},
      {Levels("f", Kind::kIs, {}), "'f' has levels, and the condition names none", "\"a\""},
      {Levels("f", Kind::kAtLeast, {"a"}), "the levels of the factor 'f' have no order", "ordered"},
      {Levels("f", Kind::kIsNot, {"a", "b", "c"}), "no row can satisfy 'f is not a or b or c'", ""},
      {Levels("o", Kind::kAbove, {"high"}), "no row can satisfy 'o > high'", ""},
      {Levels("o", Kind::kBelow, {"low"}), "no row can satisfy 'o < low'", ""},
      {Levels("o", Kind::kAtLeast, {"low", "mid"}), "'o' is compared with 2 levels", "one"},
      {Levels("x", Kind::kIs, {"a"}), "'x' is a number and has no levels", "number"},
      {Levels("d", Kind::kIs, {"a"}), "'d' is a date and has no levels", "date"},
      {Number("x", Kind::kAtLeast, 11), "outside the bounds [0, 10] of 'x'", "dictionary"},
      {Number("x", Kind::kAtMost, -1), "outside the bounds [0, 10] of 'x'", "dictionary"},
      {Number("x", Kind::kIs, std::nan("")), "outside the bounds", "dictionary"},
      {Number("d", Kind::kIs, 101), "outside the bounds [1970-01-01, 1970-04-11]", "dictionary"},
      {Number("x", Kind::kAbove, 10), "no row can satisfy 'x > 10': the bounds are [0, 10]", ""},
      {Number("x", Kind::kBelow, 0), "no row can satisfy 'x < 0'", ""},
      {Number("n", Kind::kIs, 1.5), "'n' is an integer and never 1.5", "whole"},
      {Number("os", Kind::kAtLeast, 1), "'os' is a survival variable", "present"},
  };
  for (const Case& bad : cases) {
    ExpectError(ErrorCode::kBadInput, bad.message, bad.hint,
                [&] { ValidateCondition(bad.condition, kDictionary); });
  }
  const Schema with_key{{Key("id")}};
  ExpectError(ErrorCode::kBadInput, "'id' is a key", "",
              [&] { ValidateCondition(Levels("id", Kind::kPresent, {}), with_key); });
  // The bounds themselves can be met.
  EXPECT_NO_THROW(ValidateCondition(Number("x", Kind::kAtLeast, 10), kDictionary));
  EXPECT_NO_THROW(ValidateCondition(Number("x", Kind::kAtMost, 0), kDictionary));
  EXPECT_NO_THROW(ValidateCondition(Levels("o", Kind::kAtLeast, {"high"}), kDictionary));
}

}  // namespace
}  // namespace partita::data::condition_test
