#include "data/source/freeze.h"

#include <algorithm>
#include <random>

#include "tests/data/expect_error.h"

namespace partita::data {
namespace {

struct FrozenText {
  std::string csv;
  std::vector<std::string> columns;
  uint64_t rows = 0;
};

FrozenText Frozen(const std::string& csv, const std::vector<std::string>& names = {},
                  size_t memory = kFreezeMemory) {
  FrozenTable table = Freeze(FromText(csv), "t", names, {}, ::testing::TempDir(), memory);
  FrozenText frozen{"", table.columns(), table.rows()};
  table.Write([&](std::string_view piece) { frozen.csv += piece; });
  return frozen;
}

// The rows of a database come in any order.
TEST(FreezeTest, TheSameRowsGiveTheSameBytes) {
  std::mt19937_64 random(3);
  std::vector<std::string> rows;
  for (int i = 0; i < 50; ++i) rows.push_back(std::to_string(random() % 20) + ",\"a,b\",x\n");
  std::string first;
  for (int trial = 0; trial < 20; ++trial) {
    std::shuffle(rows.begin(), rows.end(), random);
    std::string csv = "n,t,u\n";
    for (const std::string& row : rows) csv += row;
    const FrozenText frozen = Frozen(csv);
    EXPECT_EQ(frozen.rows, 50u);
    if (trial == 0) first = frozen.csv;
    EXPECT_EQ(frozen.csv, first);
  }
  EXPECT_EQ(std::count(first.begin(), first.end(), '\n'), 51);
}

// By bytes, also of lines that begin alike, are short, or hold letters of several bytes.
TEST(FreezeTest, LinesAreSortedByTheirBytes) {
  const std::vector<std::string> parts = {
      "", "0", "a", "A", "~", "aaaaaaaa", "aaaaaaab", "\xc3\xa9", "\xf0\x9f\x98\x80", "\x7f"};
  std::mt19937_64 random(5);
  std::vector<std::string> lines;
  for (int i = 0; i < 2000; ++i) {
    std::string line;
    for (size_t k = random() % 4; k > 0; --k) line += parts[random() % parts.size()];
    lines.push_back(line + "," + parts[random() % parts.size()] + "\n");
  }
  std::string csv = "n,t\n";
  for (const std::string& line : lines) csv += line;
  std::sort(lines.begin(), lines.end());
  std::string sorted = "n,t\n";
  for (const std::string& line : lines) sorted += line;
  EXPECT_EQ(Frozen(csv).csv, sorted);
  EXPECT_EQ(Frozen(csv, {}, 10'000).csv, sorted);
}

// Whatever fits into memory, the same text; nothing is left where the pieces were.
TEST(FreezeTest, ALargeTableIsSortedInPieces) {
  std::mt19937_64 random(4);
  std::string csv = "n,t\n";
  for (int i = 0; i < 3000; ++i)
    csv += std::to_string(random() % 1000) + ",\"line\nof " + std::to_string(random() % 7) + "\"\n";
  const FrozenText whole = Frozen(csv);
  EXPECT_EQ(whole.rows, 3000u);
  for (const size_t memory : {size_t{1500}, size_t{20'000}, size_t{50'000}}) {
    const FrozenText pieces = Frozen(csv, {}, memory);
    EXPECT_EQ(pieces.csv, whole.csv) << memory;
    EXPECT_EQ(pieces.rows, 3000u);
  }
  ExpectError(ErrorCode::kUsage, "cannot write to /nowhere", "",
              [] { Freeze(FromText("a\n1\n2\n"), "t", {}, {}, "/nowhere", 1); });
}

TEST(FreezeTest, KeepsTheNamedColumnsInTheirOrder) {
  const FrozenText frozen = Frozen("a,\"b,c\",d\n3,\"x \"\"y\"\"\",\n1,z,4\n", {"d", "b,c"});
  EXPECT_EQ(frozen.csv, "d,\"b,c\"\n,\"x \"\"y\"\"\"\n4,z\n");
  EXPECT_EQ(frozen.columns, (std::vector<std::string>{"d", "b,c"}));
  ExpectError(ErrorCode::kBadData, "there is no column \"e\"", "AS e",
              [] { Frozen("a\n1\n", {"e"}); });
  ExpectError(ErrorCode::kBadData, "t:3: the record has 2 fields, but the header has 1", "",
              [] { Frozen("a\n1\n1,2\n"); });
  EXPECT_EQ(Frozen("a\n").csv, "a\n");
  EXPECT_EQ(Frozen("a,b\n2,\n,\n", {"b"}).csv, "b\n\"\"\n\"\"\n");
  ExpectError(ErrorCode::kBadData, "without a header", "", [] { Frozen(""); });
}

}  // namespace
}  // namespace partita::data
