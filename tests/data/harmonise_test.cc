#include "data/harmonise.h"

#include <fmt/format.h>

#include "tests/data/expect_error.h"
#include "tests/data/tables.h"

namespace partita::data::harmonise_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kMinCell = 5;

Schema Dictionary() {
  ColumnSchema weight = Numeric("weight", 0, 1e6);
  weight.unit = "kg";
  return Schema{{Factor("sex", {"m", "f"}), weight, Integer("visits", 0, 100)}, 1};
}

Partition Sites() {
  const std::vector<std::string> all = {"sex", "weight", "visits"};
  return MakePartition(all, {{"r1", {}}, {"r2", {}}},
                       {{"north", 0, all, {"r1"}}, {"south", 1, all, {"r2"}}});
}

// 40 rows of one site; row(i) is "sex,weight,visits".
template <typename F>
std::string Rows(F row) {
  std::string text = "sex,weight,visits\n";
  for (int i = 0; i < 40; ++i) text += row(i) + "\n";
  return text;
}

std::string Usual(int i) { return fmt::format("{},{}.5,{}", i % 2 ? "m" : "f", 60 + i, i % 4); }

ShareSummary Share(const std::string& text, const std::string& party, size_t index = 0) {
  const TableCheck check =
      CheckTable(FromText(text), "t.csv", Dictionary(), Sites(), index, {}, {});
  return Summarise(check, Dictionary(), "trial", party, kMinCell);
}

std::vector<std::string> Lines(const std::vector<ShareSummary>& summaries) {
  std::vector<std::string> lines;
  for (const HarmonyProblem& problem : Compare(summaries)) {
    std::string parties;
    for (const std::string& party : problem.parties) parties += " " + party;
    lines.push_back(std::string(SeverityName(problem.severity)) + " " + problem.column + parties +
                    ": " + problem.what);
  }
  return lines;
}

std::vector<std::string> AgainstUsual(const std::string& south) {
  return Lines({Share(Rows(Usual), "north"), Share(south, "south", 1)});
}

TEST(HarmoniseTest, ClassesHideSmallCounts) {
  for (uint64_t count : {0u, 1u, 4u}) EXPECT_EQ(ClassOf(count, 1000, 5), ShareClass::kNone);
  EXPECT_EQ(ClassOf(5, 1000, 5), ShareClass::kFew);
  EXPECT_EQ(ClassOf(49, 1000, 5), ShareClass::kFew);
  EXPECT_EQ(ClassOf(50, 1000, 5), ShareClass::kSome);
  EXPECT_EQ(ClassOf(499, 1000, 5), ShareClass::kSome);
  EXPECT_EQ(ClassOf(500, 1000, 5), ShareClass::kMost);
  EXPECT_EQ(ClassOf(995, 1000, 5), ShareClass::kMost);
  for (uint64_t count : {996u, 1000u}) EXPECT_EQ(ClassOf(count, 1000, 5), ShareClass::kAll);
  for (uint64_t count : {0u, 4u}) EXPECT_EQ(ClassOf(count, 4, 5), ShareClass::kSuppressed);
  EXPECT_EQ(ClassOf(0, 0, 1), ShareClass::kSuppressed);
}

TEST(HarmoniseTest, AlikeTablesHaveNoProblems) {
  EXPECT_THAT(AgainstUsual(Rows([](int i) { return Usual(i + 1); })), ElementsAre());
}

TEST(HarmoniseTest, FindsNumbersForLevels) {
  const auto lines =
      AgainstUsual(Rows([](int i) { return fmt::format("{},{}.5,{}", 1 + i % 2, 60 + i, i % 4); }));
  EXPECT_THAT(lines, Contains(AllOf(HasSubstr("problem sex south: coded with numbers"),
                                    HasSubstr("all of the cells"))));
}

TEST(HarmoniseTest, FindsOtherTextsForLevels) {
  const auto lines = AgainstUsual(Rows(
      [](int i) { return fmt::format("{},{}.5,{}", i % 2 ? "male" : "female", 60 + i, i % 4); }));
  EXPECT_THAT(lines,
              Contains("problem sex south: texts that are not levels (all, 2 of them often)"));
}

TEST(HarmoniseTest, FindsADecimalComma) {
  const auto lines = AgainstUsual(
      Rows([](int i) { return fmt::format("{},\"{},5\",{}", i % 2 ? "m" : "f", 60 + i, i % 4); }));
  EXPECT_THAT(lines,
              Contains(HasSubstr("problem weight south: numbers with another decimal mark")));
}

// Weights of one site in another unit, with four decimals.
std::string Scaled(double factor) {
  return Rows([&](int i) {
    return fmt::format("{},{:.4f},{}", i % 2 ? "m" : "f", factor * (60.5123 + i), i % 4);
  });
}

TEST(HarmoniseTest, FindsUnitsThatAreTenOrAThousandTimesApart) {
  EXPECT_THAT(AgainstUsual(Scaled(10)),
              ElementsAre("warning weight north south: the typical size is 32 to 100 at north and "
                          "316 to 1000 at south, about a factor of 10 apart"));
  EXPECT_THAT(AgainstUsual(Scaled(1000)), ElementsAre(HasSubstr("about a factor of 1000 apart")));
  EXPECT_THAT(AgainstUsual(Scaled(0.1)), ElementsAre(HasSubstr("about a factor of 10 apart")));
  // Half as heavy is no other unit, even across the edge of a class.
  EXPECT_THAT(AgainstUsual(Scaled(0.5)), ElementsAre());
}

TEST(HarmoniseTest, OfThreeSitesTheOddOneIsNamed) {
  for (int odd = 0; odd < 3; ++odd) {
    std::vector<ShareSummary> summaries;
    const std::vector<std::string> names = {"north", "south", "west"};
    for (int site = 0; site < 3; ++site)
      summaries.push_back(Share(Scaled(site == odd ? 1000 : 1), names[static_cast<size_t>(site)]));
    EXPECT_THAT(Lines(summaries),
                ElementsAre(HasSubstr("warning weight " + names[static_cast<size_t>(odd)] + ":")));
  }
}

TEST(HarmoniseTest, FindsLevelsThatOneSiteLacks) {
  const auto lines =
      AgainstUsual(Rows([](int i) { return fmt::format("f,{}.5,{}", 60 + i, i % 4); }));
  EXPECT_THAT(lines,
              ElementsAre("warning sex south: the level 'm' is missing or rare here, but not "
                          "elsewhere"));
}

TEST(HarmoniseTest, FindsRoundedNumbersAndFractionsOfIntegers) {
  EXPECT_THAT(AgainstUsual(Rows(
                  [](int i) { return fmt::format("{},{},{}", i % 2 ? "m" : "f", 60 + i, i % 4); })),
              ElementsAre("warning weight south: whole numbers only, where others have decimals"));
  EXPECT_THAT(AgainstUsual(Rows([](int i) {
                return fmt::format("{},{}.5,{}.25", i % 2 ? "m" : "f", 60 + i, i % 4);
              })),
              Contains("problem visits south: numbers that are not whole (all)"));
}

TEST(HarmoniseTest, FindsMissingAndOutOfBounds) {
  EXPECT_THAT(AgainstUsual(Rows([](int i) {
                return fmt::format("{},{},{}", i % 2 ? "m" : "f", i < 30 ? "" : "70.5", i % 4);
              })),
              Contains("warning weight south: most cells are missing here and few elsewhere"));
  EXPECT_THAT(AgainstUsual(Rows([](int i) {
                return fmt::format("{},{}.5,{}", i % 2 ? "m" : "f", 60 + i, i < 8 ? 101 : i % 4);
              })),
              Contains("problem visits south: cells above the bounds (some)"));
  // Fewer than min_cell look like none.
  EXPECT_THAT(AgainstUsual(Rows([](int i) {
                return fmt::format("{},{}.5,{}", i % 2 ? "m" : "f", 60 + i, i < 4 ? 101 : i % 4);
              })),
              ElementsAre());
}

TEST(HarmoniseTest, FindsAMissingColumn) {
  const TableCheck check =
      CheckTable(FromText("sex,visits\nm,1\nf,2\n"), "t.csv", Dictionary(), Sites(), 1, {}, {});
  EXPECT_THAT(Lines({Share(Rows(Usual), "north"),
                     Summarise(check, Dictionary(), "trial", "south", kMinCell)}),
              Contains("problem weight south: the column is not in the file"));
}

TEST(HarmoniseTest, FindsKeysOfAnotherForm) {
  Schema schema{{Numeric("x"), Numeric("y")}, 1};
  const Partition partition = MakePartition({"x", "y"}, {{"all", 20}},
                                            {{"a", 0, {"x"}, {"all"}}, {"b", 1, {"y"}, {"all"}}});
  const auto summary = [&](size_t party, const std::string& column, bool padded) {
    std::string text = "id," + column + "\n";
    for (int i = 1; i <= 20; ++i)
      text += fmt::format("{},{}\n", padded ? fmt::format("{:03}", i) : std::to_string(i), i % 7);
    const TableCheck check =
        CheckTable(FromText(text), "t.csv", schema, partition, party, {"id", ""}, {});
    return Summarise(check, schema, "trial", party == 0 ? "a" : "b", kMinCell);
  };
  EXPECT_THAT(Lines({summary(0, "x", true), summary(1, "y", false)}),
              ElementsAre(HasSubstr("warning id b: keys of another form than at a")));
  EXPECT_THAT(Lines({summary(0, "x", true), summary(1, "y", true)}), ElementsAre());
}

TEST(HarmoniseTest, RefusesSummariesThatDoNotBelongTogether) {
  const ShareSummary north = Share(Rows(Usual), "north");
  ExpectError(ErrorCode::kBadInput, "one summary only", "two or more",
              [&] { Compare(std::vector{north}); });
  ExpectError(ErrorCode::kBadInput, "two summaries are of the party 'north'", "once", [&] {
    Compare(std::vector{north, north});
  });
  ShareSummary other = Share(Rows(Usual), "south", 1);
  other.dictionary[0] = other.dictionary[0] == '0' ? '1' : '0';
  EXPECT_THAT(Lines({north, other}), Contains(HasSubstr("different dictionaries")));
}

TEST(HarmoniseTest, ASummaryTellsNothingOfRows) {
  // A rare level, a strange text, a key-like number and an extreme value: none may be in it.
  const std::string json = ShareJson(Share(Rows([](int i) {
                                             if (i == 3)
                                               return std::string("hermaphrodite,777777.25,3");
                                             return Usual(i);
                                           }),
                                           "north"));
  for (const char* secret : {"hermaphrodite", "777777", "40", "60.5", "99.5"})
    EXPECT_THAT(json, Not(HasSubstr(secret)));
  // It is the same as without that row's peculiarities.
  EXPECT_EQ(json, ShareJson(Share(Rows(Usual), "north")));
}

TEST(HarmoniseTest, DescribesWhatItTells) {
  EXPECT_THAT(DescribeShare(Share(Rows(Usual), "north")),
              AllOf(HasSubstr("sex (factor): missing none; levels in 5 rows or more: m, f"),
                    HasSubstr("weight (numeric, kg): missing none; fractional all; typical size 32 "
                              "to 100"),
                    HasSubstr("none: fewer than 5 cells")));
}

TEST(HarmoniseTest, JsonReadsBackExactly) {
  const std::string json = ShareJson(Share(Rows(Usual), "north"));
  EXPECT_EQ(ShareJson(ParseShare(json, "a.json")), json);
  EXPECT_THAT(Lines({ParseShare(json, "a.json"), Share(Rows(Usual), "south", 1)}), ElementsAre());
}

TEST(HarmoniseTest, RefusesDamagedJson) {
  const std::string json = ShareJson(Share(Rows(Usual), "north"));
  const auto broken = [&](const std::string& from, const std::string& to, const std::string& what) {
    std::string text = json;
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    ExpectError(ErrorCode::kBadInput, what, "--share", [&] { ParseShare(text, "a.json"); });
  };
  broken("{", "", "a.json: no summary of a table: not an object");
  broken("\"partita_share\": 1", "\"partita_share\": 2", "its format is not 1");
  broken("\"party\"", "\"parties\"", "the key 'party' is missing");
  broken("\"study\"", "\"extra\": 1, \"study\"", "unknown or missing keys");
  broken("\"missing\": \"none\"", "\"missing\": \"nine\"",
         "'missing' is not one of the known words");
  broken("\"in_file\": true", "\"in_file\": 1", "'in_file' is neither true nor false");
  broken("\"half_decade\": 3", "\"half_decade\": 41", "'half_decade' is out of range");
  broken("\"half_decade\": 3", "\"half_decade\": -41", "'half_decade' is out of range");
  broken("\"half_decade\": 3", "\"half_decade\": 18446744073709551615",
         "'half_decade' is out of range");
  broken("\"type\": \"factor\"", "\"type\": \"text\"", "'type' is not one of the known words");
  broken("\"north\"", "\"no\\nrth\"", "'party' is not a plain text");
  broken("\"levels\": [", "\"levels\": 3, \"x\": [", "unknown or missing keys");
  ExpectError(ErrorCode::kBadInput, "larger than", "another file",
              [] { ParseShare(std::string(kMaxShareBytes + 1, ' '), "a.json"); });
}

}  // namespace
}  // namespace partita::data::harmonise_test
