#include "data/describe.h"

#include <filesystem>
#include <fstream>

#include "tests/data/expect_error.h"

namespace partita::data::describe_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TableProfile Profile(const std::string& text, std::optional<char> separator = {}) {
  return ProfileTable(FromText(text), "t.csv", separator);
}

const ColumnProfile& ColumnOf(const TableProfile& profile, const std::string& name) {
  for (const ColumnProfile& column : profile.columns) {
    if (column.name == name) return column;
  }
  throw Error(ErrorCode::kInternal, "no column " + name);
}

// 30 rows of `value(i)` under the name `name`.
template <typename F>
std::string OneColumn(const std::string& name, F value) {
  std::string text = name + "\n";
  for (int i = 0; i < 30; ++i) text += value(i) + "\n";
  return text;
}

template <typename F>
DraftType TypeOf(const std::string& name, F value) {
  return GuessType(Profile(OneColumn(name, value), ',').columns.at(0));
}

std::string Cycle(int i, const std::vector<std::string>& values) {
  return values[static_cast<size_t>(i) % values.size()];
}

TEST(DescribeTest, FindsTheSeparatorOfTheHeader) {
  for (const auto& [header, separator] : std::vector<std::pair<std::string, char>>{
           {"a;b", ';'}, {"a\tb;c\td", '\t'}, {"\"a, b, c\";d", ';'}, {"a", ','}}) {
    EXPECT_EQ(Profile(header + "\n").separator, separator) << header;
    const std::filesystem::path file =
        std::filesystem::path(::testing::TempDir()) / "describe_test.csv";
    std::ofstream(file) << header << "\n";
    EXPECT_EQ(FindSeparator(file), separator) << header;
    std::filesystem::remove(file);
  }
}

TEST(DescribeTest, GuessesTypes) {
  EXPECT_EQ(TypeOf("age", [](int i) { return std::to_string(18 + i % 7); }), DraftType::kInteger);
  EXPECT_EQ(TypeOf("bmi", [](int i) { return std::to_string(20 + i) + ".5"; }),
            DraftType::kNumeric);
  EXPECT_EQ(TypeOf("sex", [](int i) { return Cycle(i, {"m", "f"}); }), DraftType::kFactor);
  EXPECT_EQ(TypeOf("pain",
                   [](int i) {
                     return Cycle(i, {"mild", "none", "severe"});
                   }),
            DraftType::kOrdered);
  EXPECT_EQ(TypeOf("born", [](int i) { return "1970-01-" + std::to_string(10 + i % 20); }),
            DraftType::kDate);
  EXPECT_EQ(TypeOf("born", [](int i) { return std::to_string(1 + i % 28) + ".01.1970"; }),
            DraftType::kDate);
  EXPECT_EQ(TypeOf("id", [](int i) { return std::to_string(i); }), DraftType::kKey);
  EXPECT_EQ(TypeOf("patient_id", [](int i) { return std::to_string(i); }), DraftType::kKey);
  EXPECT_EQ(TypeOf("code", [](int i) { return "p" + std::to_string(i); }), DraftType::kKey);
  // Different numbers in every row are measurements unless the name says otherwise.
  EXPECT_EQ(TypeOf("weight", [](int i) { return std::to_string(50 + i); }), DraftType::kInteger);
  // A key occurs once.
  EXPECT_EQ(TypeOf("id", [](int i) { return std::to_string(i / 2); }), DraftType::kInteger);
  EXPECT_EQ(TypeOf("note", [](int i) { return "text " + std::to_string(i / 29 + i % 25); }),
            DraftType::kFreeText);
  EXPECT_EQ(TypeOf("gone", [](int) { return std::string("NA"); }), DraftType::kEmpty);
}

TEST(DescribeTest, AFewWordsAmongNumbersAreMissingCodes) {
  std::string text = "x,y\n";
  for (int i = 0; i < 30; ++i)
    text += (i == 3 ? "NA" : i == 4 ? "" : std::to_string(i % 5)) + ",1\n";
  const TableProfile profile = Profile(text);
  const ColumnProfile& x = ColumnOf(profile, "x");
  EXPECT_EQ(GuessType(x), DraftType::kInteger);
  EXPECT_EQ(x.missing_words, 1u);
  EXPECT_EQ(x.empty, 1u);
  EXPECT_EQ(x.present(), 28u);
  EXPECT_THAT(DraftDictionary(profile), HasSubstr("missing_codes = [\"NA\"]"));
}

TEST(DescribeTest, OtherTextsAmongNumbersAreShownToTheOwner) {
  const auto draft = [](int texts) {
    std::string text = "x,y\n";
    for (int i = 0; i < 200; ++i)
      text +=
          (i < texts ? "n.d." + std::string(static_cast<size_t>(i / 2), '!') : std::to_string(i)) +
          ",1\n";
    return DraftDictionary(Profile(text));
  };
  EXPECT_THAT(draft(3),
              HasSubstr("#! 3 cells are not numbers (\"n.d.\", \"n.d.!\"): correct them, or "
                        "add their texts to missing_codes"));
  EXPECT_THAT(draft(14), HasSubstr("(\"n.d.\", \"n.d.!\", \"n.d.!!\", \"n.d.!!!\", "
                                   "\"n.d.!!!!\", ...)"));
}

TEST(DescribeTest, SentinelsLieFarFromTheOtherNumbers) {
  const auto ages = [](const std::string& code) {
    return Profile(OneColumn("age", [&](int i) { return i == 7 ? code : std::to_string(20 + i); }),
                   ',');
  };
  EXPECT_EQ(ColumnOf(ages("-9"), "age").sentinels.count("-9"), 1u);
  EXPECT_EQ(ColumnOf(ages("999"), "age").sentinels.count("999"), 1u);
  EXPECT_EQ(ColumnOf(ages("999"), "age").maximum, 49);
  // 99 is not far from ages up to 98.
  const TableProfile old = Profile(
      OneColumn("age", [](int i) { return i == 7 ? "99" : std::to_string(20 + 3 * i); }), ',');
  EXPECT_TRUE(ColumnOf(old, "age").sentinels.empty());
  EXPECT_EQ(ColumnOf(old, "age").maximum, 107);
  // -9 among other negative numbers is a number.
  const TableProfile cold =
      Profile(OneColumn("t", [](int i) { return std::to_string(i - 15); }), ',');
  EXPECT_TRUE(ColumnOf(cold, "t").sentinels.empty());
  EXPECT_EQ(ColumnOf(cold, "t").minimum, -15);
}

TEST(DescribeTest, FindsSeparatorAndDecimalMark) {
  const TableProfile profile = Profile("a;b\n1,5;x\n2,5;y\n");
  EXPECT_EQ(profile.separator, ';');
  EXPECT_EQ(profile.decimal, ',');
  EXPECT_EQ(GuessType(profile.columns[0]), DraftType::kNumeric);
  EXPECT_THAT(DraftDictionary(profile),
              AllOf(HasSubstr("separator = \";\""), HasSubstr("decimal = \",\"")));
  EXPECT_EQ(Profile("a\tb\n1\t2\n").separator, '\t');
  EXPECT_EQ(Profile("a,b\n1,2\n").separator, ',');
  // The bytes that were looked at for it are read again as the table.
  EXPECT_EQ(Profile("a;b\n1;2\n3;4\n").num_rows, 2u);
}

TEST(DescribeTest, BoundsAreNeverTakenFromData) {
  const std::string draft = DraftDictionary(
      Profile(OneColumn("age", [](int i) { return std::to_string(18 + i % 27); }), ','));
  EXPECT_THAT(draft, HasSubstr("name = \"age\"\n"));
  EXPECT_THAT(draft, HasSubstr("# lower = ..."));
  std::istringstream lines(draft);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_NE(line.rfind("lower", 0), 0u) << line;
    EXPECT_NE(line.rfind("upper", 0), 0u) << line;
    // What was seen stands only in lines that are to be removed.
    if (line.rfind("#!", 0) != 0) {
      EXPECT_THAT(line, AllOf(Not(HasSubstr("18")), Not(HasSubstr("44")), Not(HasSubstr("30"))));
    }
  }
  EXPECT_THAT(draft, HasSubstr("#! in this file from 18 to 44"));
}

TEST(DescribeTest, DraftsFactorsInOrderAndPointsOutRareLevels) {
  std::string text = "pain,sex\n";
  for (int i = 0; i < 30; ++i)
    text +=
        Cycle(i, {"severe", "none", "mild"}) + "," + (i == 0 ? "x" : Cycle(i, {"m", "f"})) + "\n";
  const std::string draft = DraftDictionary(Profile(text));
  EXPECT_THAT(draft, HasSubstr("type = \"ordered\"\nlevels = [\"none\", \"mild\", \"severe\"]"));
  EXPECT_THAT(draft, HasSubstr("levels = [\"f\", \"m\", \"x\"]"));
  EXPECT_THAT(draft, HasSubstr("the level \"x\" stands in 1 row"));
  EXPECT_THAT(draft, Not(HasSubstr("the level \"m\"")));
}

TEST(DescribeTest, QuotesWhatNeedsIt) {
  const std::string draft =
      DraftDictionary(Profile("g,x y\n\"a\"\"b\",1\n\"c\\d\",2\n\"a\"\"b\",3\n\"c\\d\",4\n"));
  EXPECT_THAT(draft, HasSubstr(R"(levels = ["a\"b", "c\\d"])"));
  EXPECT_THAT(draft, HasSubstr("the column \"x y\" cannot be named in a model: rename it, for "
                               "example \"x_y\""));
  EXPECT_THAT(draft, Not(HasSubstr("name = \"x y\"")));
}

TEST(DescribeTest, CountsOuterSpaces) {
  const TableProfile profile = Profile("g,h\n a,1\na ,2\na,3\n");
  EXPECT_EQ(ColumnOf(profile, "g").outer_spaces, 2u);
  EXPECT_EQ(ColumnOf(profile, "g").distinct, 1u);
}

TEST(DescribeTest, RefusesWhatIsNoTable) {
  ExpectError(ErrorCode::kBadData, "t.csv: the file is empty", "name the columns",
              [] { Profile(""); });
  ExpectError(ErrorCode::kBadData, "two columns are named 'a'", "rename", [] { Profile("a,a\n"); });
  ExpectError(ErrorCode::kBadData, "t.csv:3: the record has 3 fields, but the header has 2",
              "--separator", [] { Profile("a,b\n1,2\n1,2,3\n"); });
  ExpectError(ErrorCode::kBadInput, "no-such", "", [] { ProfileTableFile("/no-such", {}); });
}

}  // namespace
}  // namespace partita::data::describe_test
