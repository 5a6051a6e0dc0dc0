// Schemas: what is refused, and that the digest covers every field.
#include "data/schema.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "data/suggest.h"
#include "data/table.h"
#include "data/utf8.h"
#include "tests/data/expect_error.h"
#include "tests/data/tables.h"

namespace partita::data::schema_test {
namespace {

using testing::ElementsAre;

Schema Example() {
  Schema schema{
      {Key("id"), Numeric("x", -1, 1), Integer("age", 0, 120), Factor("f", {"a", "b", "c"})}};
  schema.columns[1].unit = "points";
  schema.columns[2].missing_codes = {"-9"};
  schema.columns[3].reference = "b";
  return schema;
}

TEST(SchemaTest, AGoodSchemaPassesAndIsSearched) {
  EXPECT_NO_THROW(ValidateSchema(Example()));
  const Schema schema = Example();
  EXPECT_EQ(schema.Find("age")->upper, 120);
  EXPECT_EQ(schema.Find("Age"), nullptr);
}

TEST(SchemaTest, TypesBeyondNumbersAndFactors) {
  const Schema good{{Ordered("stage", {"I", "II"}),
                     Ordered("pain", {"no", "yes"}, Contrasts::kScores), Date("visit", 0, 100),
                     Survival("os", "months", "died"), Numeric("x")}};
  EXPECT_NO_THROW(ValidateSchema(good));
  struct Case {
    std::string message;
    std::function<void(Schema&)> spoil;
  };
  const std::vector<Case> cases = {
      {"ordered 'stage' has fewer than two levels", [](Schema& s) { s.columns[0].levels = {"I"}; }},
      {"a bound of date 'visit' is not a day", [](Schema& s) { s.columns[2].lower = 0.5; }},
      {"a bound of date 'visit' is not a day", [](Schema& s) { s.columns[2].upper = 2932897; }},
      {"survival variable 'os' allow negative times", [](Schema& s) { s.columns[3].lower = -1; }},
      {"survival variable 'os' needs two columns",
       [](Schema& s) { s.columns[3].event_column = ""; }},
      {"survival variable 'os' has one column",
       [](Schema& s) { s.columns[3].event_column = "months"; }},
      {"column 'x' of survival variable 'os' is also another variable",
       [](Schema& s) { s.columns[3].time_column = "x"; }},
      {"'x' has columns of time and event but is of type numeric",
       [](Schema& s) { s.columns[4].time_column = "t"; }},
      {"the contrasts of 'x' do not go with its type numeric",
       [](Schema& s) { s.columns[4].contrasts = Contrasts::kSum; }},
      {"the contrasts of 'stage' do not go with its type factor",
       [](Schema& s) { s.columns[0].type = ColumnType::kFactor; }},
  };
  for (const Case& bad : cases) {
    Schema schema = good;
    bad.spoil(schema);
    ExpectError(ErrorCode::kBadInput, bad.message, "", [&] { ValidateSchema(schema); });
  }
}

TEST(SchemaTest, EveryMistakeIsNamed) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::nan("");
  struct Case {
    std::string message;
    std::function<void(Schema&)> spoil;
  };
  const std::vector<Case> cases = {
      {"no columns", [](Schema& s) { s.columns.clear(); }},
      {"max_rows_per_person is 0", [](Schema& s) { s.max_rows_per_person = 0; }},
      {"two columns named 'x'", [](Schema& s) { s.columns[3].name = "x"; }},
      {"column 2 of the schema has no name", [](Schema& s) { s.columns[1].name = ""; }},
      {"is not plain UTF-8", [](Schema& s) { s.columns[1].name = "x\xFF"; }},
      {"is not plain UTF-8", [](Schema& s) { s.columns[1].name = "x\ny"; }},
      {"'x ' begins or ends with a space", [](Schema& s) { s.columns[1].name = "x "; }},
      {"bounds [-inf, 1] of column 'x' are not finite",
       [&](Schema& s) { s.columns[1].lower = -inf; }},
      {"are not finite", [&](Schema& s) { s.columns[1].upper = nan; }},
      {"are not finite", [](Schema& s) { s.columns[1] = Numeric("x", -1.7e308, 1.7e308); }},
      {"bounds [1, 1] of column 'x' are not in order", [](Schema& s) { s.columns[1].lower = 1; }},
      {"bounds [2, 1] of column 'x' are not in order", [](Schema& s) { s.columns[1].lower = 2; }},
      {"integer column 'age' are not whole", [](Schema& s) { s.columns[2].upper = 1.5; }},
      {"integer column 'age' are not whole", [](Schema& s) { s.columns[2].upper = 1e17; }},
      {"factor 'f' has fewer than two levels",
       [](Schema& s) { s.columns[3] = Factor("f", {"a"}); }},
      {"lists the level 'a' twice", [](Schema& s) { s.columns[3].levels[2] = "a"; }},
      {"has a level that is empty", [](Schema& s) { s.columns[3].levels[0] = ""; }},
      {"the reference 'z' of factor 'f' is not one",
       [](Schema& s) { s.columns[3].reference = "z"; }},
      {"'a' is both a level and a missing code",
       [](Schema& s) { s.columns[3].missing_codes = {"a"}; }},
      {"column 'x' has levels but is not a factor",
       [](Schema& s) {
         s.columns[1].levels = {"a", "b"};
       }},
      {"column 'x' has levels but is not a factor",
       [](Schema& s) { s.columns[1].reference = "a"; }},
      {"key column 'id' has missing codes", [](Schema& s) { s.columns[0].missing_codes = {"-9"}; }},
  };
  for (const Case& c : cases) {
    Schema schema = Example();
    c.spoil(schema);
    ExpectError(ErrorCode::kBadInput, c.message, "", [&] { ValidateSchema(schema); });
  }
}

TEST(SchemaTest, TheDigestCoversEveryField) {
  const std::vector<std::function<void(Schema&)>> changes = {
      [](Schema&) {},
      [](Schema& s) { s.max_rows_per_person = 2; },
      [](Schema& s) { s.columns.pop_back(); },
      [](Schema& s) { std::swap(s.columns[0], s.columns[1]); },
      [](Schema& s) { s.columns[1].name = "y"; },
      [](Schema& s) { s.columns[1].type = ColumnType::kInteger; },
      [](Schema& s) { s.columns[1].lower = -2; },
      [](Schema& s) { s.columns[1].upper = std::nextafter(1.0, 2.0); },
      [](Schema& s) { s.columns[1].unit = "point"; },
      [](Schema& s) {
        s.columns[3].levels = {"a", "bc"};
      },
      [](Schema& s) {
        s.columns[3].levels = {"ab", "c"};
      },
      [](Schema& s) { s.columns[3].reference = "c"; },
      [](Schema& s) { s.columns[3].missing_codes = {"z"}; },
      [](Schema& s) {
        s.columns[2].missing_codes = {"-", "9"};
      },
  };
  std::set<crypto::Digest> digests;
  for (const auto& change : changes) {
    Schema schema = Example();
    change(schema);
    EXPECT_EQ(SchemaDigest(schema), SchemaDigest(schema));
    digests.insert(SchemaDigest(schema));
  }
  EXPECT_EQ(digests.size(), changes.size());
}

TEST(SuggestTest, NearestNames) {
  const std::vector<std::string> names = {"visual", "textual", "speed", "x1", "x2"};
  EXPECT_EQ(Nearest("visaul", names), "visual");
  EXPECT_EQ(Nearest("SPEED", names), "speed");
  EXPECT_EQ(Nearest("x3", names), "x1");
  EXPECT_EQ(Nearest("age", names), "");
  EXPECT_EQ(SuggestionHint("age", {}), "");
  EXPECT_EQ(SuggestionHint("spede", names), "did you mean 'speed'?");
  const std::vector<std::string> many(12, "abcdefgh");
  EXPECT_THAT(SuggestionHint("z", many), testing::EndsWith("'abcdefgh', ..."));
}

TEST(TableTest, GetFindsColumnsAndSuggests) {
  Table table = Read("x1,x2\n1,2\n", {{Numeric("x1"), Numeric("x2")}}).table;
  EXPECT_THAT(table.Get("x2").numbers, ElementsAre(2.0));
  ExpectError(ErrorCode::kBadInput, "the table has no column 'X2'", "did you mean 'x2'?",
              [&] { table.Get("X2"); });
}

TEST(Utf8Test, WellFormedTexts) {
  for (std::string_view text :
       {"", "a", "\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
        "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
  // Stray continuation, overlong forms, surrogates, beyond U+10FFFF, truncated.
  for (std::string_view text : {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80",
                                "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xC2",
                                "\xE2\x82", "\xF0\x9F\x98", "a\xC3(", "\xFF"}) {
    EXPECT_FALSE(IsUtf8(text)) << text;
  }
  EXPECT_EQ(CountCodePoints("a\xC3\xA9\xE2\x82\xAC\xFF"), 4u);
  EXPECT_EQ(Printable("a\nb\x7F\xFF\xC3\xA9"), "a?b\?\?\xC3\xA9");
  EXPECT_EQ(Printable(std::string(41, 'x')), std::string(40, 'x') + "...");
}

}  // namespace
}  // namespace partita::data::schema_test
