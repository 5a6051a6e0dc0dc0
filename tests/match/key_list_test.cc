#include "match/key_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "base/error.h"

namespace partita::match::key_list_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

KeyRule Rule(KeyRuleKind kind, size_t length = 0) {
  KeyRule rule;
  rule.kind = kind;
  rule.length = length;
  if (kind == KeyRuleKind::kDate) rule.format = "YYYY-MM-DD";
  return rule;
}

KeySpec Spec() {
  KeySpec spec;
  spec.columns = {{"nid", Rule(KeyRuleKind::kDigits, 3)},
                  {"name", Rule(KeyRuleKind::kText)},
                  {"born", Rule(KeyRuleKind::kDate)}};
  spec.passes = {{0}, {1, 2}};
  return spec;
}

KeyCells Cells(const std::string& csv) {
  const std::vector<std::string> columns = {"nid", "name", "born"};
  return ReadKeyColumns(data::FromText(csv), "t.csv", columns, {});
}

constexpr const char* kTable =
    "born,extra,name,nid\r\n"
    "2001-01-01,1e5,Ada,001\r\n"
    "2001-01-01,7,\"Bo, b\",002\r\n"
    ",8,Cy,0 03\r\n"
    "2001-01-01,9, ADA ,004\r\n"
    "2001-01-02,9,ada,12\r\n"
    "2001-01-03,9,Di,\r\n";

TEST(KeyColumnsTest, CellsAreTextsWhateverTheyLookLike) {
  const std::vector<std::string> columns = {"extra", "nid"};
  const KeyCells cells = ReadKeyColumns(data::FromText(kTable), "t.csv", columns, {});
  EXPECT_THAT(cells.columns[0], ElementsAre("1e5", "7", "8", "9", "9", "9"));
  EXPECT_THAT(cells.columns[1], ElementsAre("001", "002", "0 03", "004", "12", ""));
  EXPECT_THAT(cells.lines, ElementsAre(2, 3, 4, 5, 6, 7));
}

std::string MessageOf(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.message() + " | " + error.hint();
  }
  return "nothing";
}

TEST(KeyColumnsTest, NamesWhatIsWrongWithTheTable) {
  const std::vector<std::string> columns = {"nid"};
  const auto read = [&](std::string_view csv, uint64_t rows = 10) {
    data::CsvOptions options;
    options.max_rows = rows;
    return MessageOf([&] { ReadKeyColumns(data::FromText(csv), "t.csv", columns, options); });
  };
  EXPECT_THAT(read("a,b\n1,2\n"), HasSubstr("t.csv has no column 'nid'"));
  EXPECT_THAT(read("a;nid\n1;2\n"), HasSubstr("separator"));
  EXPECT_THAT(read("nid,nid\n1,2\n"), HasSubstr("two columns 'nid'"));
  EXPECT_THAT(read("nid,b\n1\n"), HasSubstr("t.csv:2: 1 fields, and the header has 2"));
  EXPECT_THAT(read(""), HasSubstr("empty"));
  EXPECT_THAT(read("nid\n1\n2\n3\n", 2), HasSubstr("more than 2 rows"));
  EXPECT_EQ(read("nid\n1\n2\n", 2), "nothing");
}

TEST(KeyListTest, ListsUsableRowsAndSaysWhatIsLeftOut) {
  const KeyList list = MakeKeyList(Spec(), Cells(kTable));
  const KeyReport& report = list.report;
  EXPECT_EQ(report.rows, 6U);
  EXPECT_THAT(report.missing, ElementsAre(1, 0, 1));
  EXPECT_THAT(report.changed, ElementsAre(1, 5, 0));
  ASSERT_EQ(report.faulty.size(), 1U);
  EXPECT_EQ(report.faulty[0].line, 6U);
  EXPECT_EQ(report.faulty[0].column, "nid");
  EXPECT_EQ(report.faulty[0].problem, "has 2 digits instead of 3");
  // Pass 1: 001, 002, 003, 004.
  EXPECT_EQ(report.passes[0].usable, 4U);
  EXPECT_EQ(report.passes[0].without_key, 2U);
  EXPECT_TRUE(report.passes[0].duplicates.empty());
  // Pass 2: lines 2 and 5 are one person by name and date.
  EXPECT_EQ(report.passes[1].usable, 3U);
  EXPECT_EQ(report.passes[1].without_key, 1U);
  ASSERT_EQ(report.passes[1].duplicates.size(), 1U);
  EXPECT_THAT(report.passes[1].duplicates[0].lines, ElementsAre(2, 5));
  std::vector<uint32_t> rows;
  for (const KeyedRow& row : list.passes[1]) rows.push_back(row.row);
  EXPECT_THAT(rows, ElementsAre(1, 4, 5));
}

TEST(KeyListTest, RefusesWhatTheHoldersDidNotAgreeToLeaveOut) {
  KeySpec spec = Spec();
  const KeyReport report = MakeKeyList(spec, Cells(kTable)).report;
  const auto refused = [&] { return MessageOf([&] { RequireUsable(spec, report, "t.csv"); }); };
  EXPECT_THAT(refused(), HasSubstr("t.csv:6: column 'nid' has 2 digits instead of 3"));
  spec.faulty = Unusable::kLeaveOut;
  EXPECT_THAT(refused(), HasSubstr("lines 2, 5 have the same key in pass 2"));
  spec.duplicates = Unusable::kLeaveOut;
  EXPECT_EQ(refused(), "nothing");
}

// ("ab", "c") is another key than ("a", "bc"), and the same texts are another under another rule,
// in another pass, in another order.
TEST(KeyListTest, KeysTellFieldsRulesAndPassesApart) {
  KeySpec spec = Spec();
  std::set<crypto::Digest> keys;
  const auto add = [&](size_t pass, const std::vector<std::string>& texts) {
    EXPECT_TRUE(keys.insert(KeyOf(RulesDigest(spec, pass), texts)).second);
  };
  add(1, {"ab", "c"});
  add(1, {"a", "bc"});
  add(1, {"abc", ""});
  add(0, {"ab", "c"});
  spec.columns[1].rule.drop_marks = true;
  add(1, {"ab", "c"});
  spec.columns[1].rule.drop_punctuation = true;
  add(1, {"ab", "c"});
  spec.columns[1].rule = Rule(KeyRuleKind::kExact);
  add(1, {"ab", "c"});
  spec.columns[1].rule = Rule(KeyRuleKind::kDigits, 3);
  add(1, {"ab", "c"});
  spec.columns[1].rule.length = 4;
  add(1, {"ab", "c"});
  spec.columns[1].rule.check = CheckDigit::kLuhn;
  add(1, {"ab", "c"});
  // How a holder writes dates and what it writes for missing are its own.
  const crypto::Digest key = KeyOf(RulesDigest(spec, 1), {"x"});
  spec.columns[2].rule.format = "DD.MM.YYYY";
  spec.columns[2].rule.missing_codes = {"-"};
  spec.columns[2].name = "geboren";
  EXPECT_EQ(KeyOf(RulesDigest(spec, 1), {"x"}), key);
}

// Keys decide what matches at hosts of different versions: computed apart, by another program.
TEST(KeyListTest, KeysAreTheSameInEveryVersion) {
  crypto::Digest rules{};
  std::iota(rules.begin(), rules.end(), uint8_t{0});
  EXPECT_EQ(ToHex(KeyOf(rules, {"ada lovelace", "1815-12-10"})),
            "ae92556b0a8e96069012a914f6873f0c8bde2f20a766023ae8f8586a10f99174");
}

// What a list has of its rows, against the same field by field.
TEST(KeyListTest, ListsHaveTheDigestsOfTheirTexts) {
  const KeySpec spec = Spec();
  const KeyList list = MakeKeyList(spec, Cells(kTable));
  const KeyedRow& last = list.passes[1].back();
  ASSERT_EQ(last.row, 5U);
  EXPECT_EQ(last.key, KeyOf(RulesDigest(spec, 1), {"di", "2001-01-03"}));
  const KeyCells cells = Cells(kTable);
  ASSERT_EQ(list.texts.size(), cells.rows());
  for (size_t row = 0; row < cells.rows(); ++row) {
    crypto::Sha256 hash;
    hash.Field("partita match texts v1");
    for (const size_t c : {size_t{2}, size_t{1}, size_t{0}}) {  // born, name, nid
      const CanonicalKey key = Canonical(spec.columns[c].rule, cells.columns[c][row]);
      hash.Field(spec.columns[c].name).U64(key.text ? 1 : 0).Field(key.text.value_or(""));
    }
    EXPECT_EQ(list.texts[row], hash.Finish()) << row;
  }
}

// Keys whose first bytes are alike, which no table has: few of them occur once.
TEST(KeyListTest, DuplicatesAreOfWholeKeys) {
  std::mt19937 draw(633);
  for (int time = 0; time < 2000; ++time) {
    std::vector<KeyedRow> rows;
    std::vector<uint64_t> lines;
    for (uint32_t row = 0; row < 12; ++row) {
      lines.push_back(2 * row + 3);
      if (draw() % 8 == 0) continue;  // has no key
      KeyedRow& keyed = rows.emplace_back();
      keyed.row = row;
      keyed.key[0] = static_cast<uint8_t>(draw() % 2);
      keyed.key[7] = static_cast<uint8_t>(draw() % 2);
      keyed.key[8 + draw() % 24] = static_cast<uint8_t>(draw() % 2);
    }
    std::map<crypto::Digest, std::vector<uint64_t>> by_key;
    for (const KeyedRow& row : rows) by_key[row.key].push_back(lines[row.row]);
    std::vector<uint32_t> once;
    std::vector<std::vector<uint64_t>> several;
    for (const KeyedRow& row : rows) {
      if (by_key[row.key].size() == 1) once.push_back(row.row);
    }
    for (const auto& [key, of_key] : by_key) {
      if (of_key.size() > 1) several.push_back(of_key);
    }
    std::sort(several.begin(), several.end());

    PassReport report;
    TakeOutDuplicates(lines, rows, report);
    std::vector<uint32_t> left;
    for (const KeyedRow& row : rows) left.push_back(row.row);
    std::vector<std::vector<uint64_t>> reported;
    for (const DuplicateKey& duplicate : report.duplicates) reported.push_back(duplicate.lines);
    EXPECT_EQ(left, once);
    EXPECT_EQ(reported, several);
    EXPECT_EQ(report.usable, once.size());
  }
}

}  // namespace
}  // namespace partita::match::key_list_test
