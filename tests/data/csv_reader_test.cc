// The CSV reader: RFC 4180 and our extensions, typed cells, and the exact place of every error.
#include "data/csv_reader.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <random>

#include "data/csv_tokenizer.h"
#include "tests/data/expect_error.h"
#include "tests/data/tables.h"

namespace partita::data::csv_reader_test {
namespace {

using testing::ElementsAre;

const Schema kKeyX{{Key("id"), Numeric("x")}};
const Schema kX{{Numeric("x")}};

void ExpectBad(const std::string& text, const Schema& schema, const std::string& message,
               const std::string& hint = "", const CsvOptions& options = {}) {
  SCOPED_TRACE(text.substr(0, 100));
  ExpectError(ErrorCode::kBadData, message, hint, [&] { Read(text, schema, options); });
}

TEST(CsvReaderTest, ReadsOnlyTheColumnsOfTheSchemaInItsOrder) {
  CsvContents contents = Read("a,x,junk,id\n1,2.5,not a number,k1\n3,-4,\xFF,k2\n", kKeyX);
  ASSERT_EQ(contents.table.num_rows, 2u);
  ASSERT_EQ(contents.table.columns.size(), 2u);
  EXPECT_EQ(contents.table.columns[0].schema.name, "id");
  EXPECT_THAT(contents.table.Get("id").keys, ElementsAre("k1", "k2"));
  EXPECT_THAT(contents.table.Get("x").numbers, ElementsAre(2.5, -4.0));
}

TEST(CsvReaderTest, QuotedFieldsHoldSeparatorsBreaksAndQuotes) {
  CsvContents contents =
      Read("\"id\",\"x\"\r\n\"a,b\",\"1\"\r\n\"line\nbreak\r\nand \"\"quotes\"\"\",2\r\n\"\"\"\",3",
           kKeyX);
  EXPECT_THAT(contents.table.Get("id").keys,
              ElementsAre("a,b", "line\nbreak\r\nand \"quotes\"", "\""));
  EXPECT_THAT(contents.table.Get("x").numbers, ElementsAre(1.0, 2.0, 3.0));
}

TEST(CsvReaderTest, ByteOrderMarkLineEndsAndFinalNewlineDoNotMatter) {
  const std::string rows[] = {"x\n1\n2\n", "x\r\n1\r\n2\r\n", "\xEF\xBB\xBFx\n1\n2", "x\n1\r\n2",
                              "x\n1\n2\n\n\r\n\n"};
  for (const std::string& text : rows) {
    EXPECT_THAT(Read(text, kX).table.Get("x").numbers, ElementsAre(1.0, 2.0)) << text;
  }
}

TEST(CsvReaderTest, SeparatorsAndDecimalComma) {
  CsvOptions european{.separator = ';', .decimal = ','};
  CsvContents contents = Read("id;x\na,b;-1,25e1\nc;7\n", kKeyX, european);
  EXPECT_THAT(contents.table.Get("x").numbers, ElementsAre(-12.5, 7.0));
  EXPECT_THAT(contents.table.Get("id").keys, ElementsAre("a,b", "c"));
  EXPECT_THAT(Read("id\tx\na\t5\n", kKeyX, {.separator = '\t'}).table.Get("x").numbers,
              ElementsAre(5.0));
  ExpectBad("id;x\na;1.5\n", kKeyX, "t.csv:2:3: column 'x': '1.5' is not a number",
            "the decimal mark of this table is ','", european);
  ExpectBad("id;x\na;1,5\n", kKeyX, "t.csv:2:3: column 'x': '1,5' is not a number",
            "the decimal mark of this table is '.'", {.separator = ';'});
}

TEST(CsvReaderTest, ImpossibleOptionsAreRefused) {
  for (char separator : {'"', 'e', '1', '\n', '\0', '.', '-', '\xE9'}) {
    ExpectError(ErrorCode::kBadInput, "this character cannot separate fields", "use ',' or ';'",
                [&] { Read("x\n1\n", kX, {.separator = separator}); });
  }
  ExpectError(ErrorCode::kBadInput, "'_' cannot be a decimal mark", "use '.' or ','",
              [] { Read("x\n1\n", kX, {.decimal = '_'}); });
  ExpectError(ErrorCode::kBadInput, "the comma cannot be both", "usually have the separator ';'",
              [] { Read("x\n1\n", kX, {.decimal = ','}); });
}

TEST(CsvReaderTest, NumbersAreTheNearestDoubles) {
  Schema wide{{Numeric("x", -1e308, 1e308)}};
  CsvContents contents = Read(
      "x\n0.1\n+2\n -3.5e-2\t\n.5\n5.\n1E3\n9007199254740993\n-0\n2.2250738585072011e-308\n", wide);
  EXPECT_THAT(contents.table.Get("x").numbers,
              ElementsAre(0.1, 2.0, -3.5e-2, 0.5, 5.0, 1000.0, 9007199254740992.0, 0.0,
                          2.2250738585072011e-308));
}

TEST(CsvReaderTest, RandomNumbersSurviveTheirText) {
  std::mt19937_64 random(7);
  Schema wide{{Numeric("x", -1e300, 1e300)}};
  std::string text = "x\n";
  std::vector<double> numbers;
  while (numbers.size() < 20000) {
    const double exponent = static_cast<double>(random() % 600) - 300;
    const double mantissa = static_cast<double>(random() >> 11) * 0x1p-52 - 1;
    numbers.push_back(mantissa * std::pow(10.0, exponent));
    char buffer[40];
    std::snprintf(buffer, sizeof buffer, "%.17g\n", numbers.back());
    text += buffer;
  }
  EXPECT_EQ(Read(text, wide).table.Get("x").numbers, numbers);
}

TEST(CsvReaderTest, WhatIsNotADecimalNumberIsRefused) {
  for (std::string cell : {"abc",
                           "0x10",
                           "inf",
                           "-inf",
                           "nan",
                           "NaN",
                           "Infinity",
                           "1e",
                           "1e999",
                           "1.2.3",
                           "--1",
                           "+-1",
                           "-",
                           "+",
                           ".",
                           " ",
                           "1 2",
                           "1'000",
                           "1e5x",
                           "TRUE",
                           "\xC3\xA9",
                           "\xE2\x88\x92"
                           "1"}) {
    ExpectBad("id,x\nk,\"" + cell + "\"\n", kKeyX,
              "t.csv:2:3: column 'x': '" + cell + "' is not a number");
  }
  ExpectBad("id,x\nk,\"1,000\"\n", kKeyX, "'1,000' is not a number", "thousands are not separated");
  ExpectBad("id,x\nk,NA\n", kKeyX, "'NA' is not a number", "missing_codes");
}

TEST(CsvReaderTest, IntegersAreWhole) {
  Schema schema{{Integer("i", -100, 100)}};
  EXPECT_THAT(Read("i\n3\n-7\n1e1\n4.0\n", schema).table.Get("i").numbers,
              ElementsAre(3.0, -7.0, 10.0, 4.0));
  ExpectBad("i\n3\n3.5\n", schema, "t.csv:3:1: column 'i': '3.5' is not a whole number");
}

TEST(CsvReaderTest, FactorsBecomeCodes) {
  Schema schema{{Factor("f", {"low", "high", "\xC3\xA9"})}};
  EXPECT_THAT(Read("f\nhigh\nlow\n\xC3\xA9\n", schema).table.Get("f").codes, ElementsAre(1, 0, 2));
  ExpectBad("f\nlow\nHigh\n", schema, "t.csv:3:1: column 'f': 'High' is not a level",
            "did you mean 'high'?");
  ExpectBad("f\nlow\nhigh \n", schema, "'high ' is not a level", "did you mean 'high'?");
  ExpectBad("f\n\xE9\n", schema, "t.csv:2:1: column 'f': '?' is not valid UTF-8",
            "export the table as UTF-8");
}

TEST(CsvReaderTest, KeysAreExactTexts) {
  ExpectBad("id,x\n,1\n", kKeyX, "t.csv:2:1: column 'id': the key is missing");
  ExpectBad("id,x\n k,1\n", kKeyX,
            "t.csv:2:1: column 'id': the key ' k' begins or ends with a space");
  ExpectBad("id,x\n\"k\t\",1\n", kKeyX, "begins or ends with a space");
  ExpectBad("id,x\nk1,1\n\xC0\xAF,1\n", kKeyX, "t.csv:3:1: column 'id': '\?\?' is not valid UTF-8");
  EXPECT_THAT(Read("id,x\n007,1\n7,1\n\"a b\",1\n", kKeyX).table.Get("id").keys,
              ElementsAre("007", "7", "a b"));
}

TEST(CsvReaderTest, PositionsCountLinesOfTheFileAndCharacters) {
  // A quoted line break moves the line; letters of two bytes count once.
  ExpectBad("id,x\n\"a\nb\",1\n\xC3\xA9\xC3\xA9,bad\n", kKeyX, "t.csv:4:4: column 'x'");
  ExpectBad("id,x\n\"a\n\xC3\xA9\",bad\n", kKeyX, "t.csv:3:4: column 'x'");
  ExpectBad("\xEF\xBB\xBFx,x\n", kX, "t.csv:1:3: two columns are named 'x' (fields 1 and 2)");
  ExpectBad("id,x\r\nk,1\r\nk,\"bad\"\r\n", kKeyX, "t.csv:3:3: column 'x'");
}

TEST(CsvReaderTest, HeaderMistakes) {
  ExpectBad("", kX, "t.csv: the file is empty");
  ExpectBad("\xEF\xBB\xBF", kX, "t.csv: the file is empty");
  ExpectBad("id,X1,y\n", {{Numeric("x1")}}, "t.csv:1: the header has no column 'x1'",
            "did you mean 'X1'?");
  ExpectBad("id,height,y\n", {{Numeric("x1")}}, "no column 'x1'",
            "known names: 'id', 'height', 'y'");
  ExpectBad("id;x\n", kX, "no column 'x'", "write separator = \";\"");
  ExpectBad("x,y,x\n1,2,3\n", {{Numeric("y")}},
            "t.csv:1:5: two columns are named 'x' (fields 1 and 3)");
  ExpectBad("\xE9,x\n", kX, "t.csv:1:1: the column name '?' is not valid UTF-8");
  // Row names as R writes them: columns without a name.
  EXPECT_EQ(Read("\"\",x,\"\"\n1,2,3\n", kX).table.num_rows, 1u);
}

TEST(CsvReaderTest, MalformedRecords) {
  ExpectBad("id,x\na,1\nb\n", kKeyX, "t.csv:3: the record has 1 field, but the header has 2");
  ExpectBad("id,x\na,1,2\n", kKeyX, "t.csv:2: the record has 3 fields, but the header has 2");
  ExpectBad("id,x\na,1\n\nb,2\n", kKeyX, "t.csv:3:1: the line is empty");
  ExpectBad("id,x\na,\"1\n", kKeyX, "t.csv:2:3: a quoted field begins here and is not closed");
  ExpectBad("id,x\na,\"1\"2\n", kKeyX, "t.csv:2:6: text after the closing quote");
  ExpectBad("id,x\na\"b,1\n", kKeyX, "t.csv:2:2: a quote inside a field");
  ExpectBad("id,x\ra,1\r", kKeyX, "t.csv:1:5: a carriage return");
  ExpectBad("id,x\na,1\r", kKeyX, "t.csv:2:4: a carriage return");
  ExpectBad(std::string("id,x\na\0b,1\n", 11), kKeyX, "t.csv:2:2: a NUL byte");
  ExpectBad(std::string("id,x\n\"a\0b\",1\n", 13), kKeyX, "t.csv:2:3: a NUL byte");
  ExpectBad(std::string("id,x\na,1\0", 9), kKeyX, "t.csv:2:4: a NUL byte");
  ExpectBad(std::string("\xFF\xFEi\0d\0", 6), kKeyX, "t.csv:1:1: the file is UTF-16");
}

TEST(CsvReaderTest, Limits) {
  CsvOptions options{
      .max_rows = 2, .max_columns = 3, .max_field_bytes = 10, .max_record_bytes = 25};
  const Schema id{{Key("id")}};
  EXPECT_EQ(Read("id,b,c\n0123456789,1,2\nb,1,2\n", id, options).table.num_rows, 2u);
  ExpectBad("id\na\nb\nc\n", id, "t.csv:4: the table has more than 2 rows", "", options);
  ExpectBad("id,b,c,d\n", id, "t.csv:1:8: a record has more than 3 fields", "", options);
  ExpectBad("id\n01234567890\n", id, "t.csv:2:1: a field is longer than 10 bytes", "", options);
  ExpectBad("id,b,c\n0123456789,0123456789,012\n", id,
            "t.csv:2:1: a record is longer than 25 bytes", "", options);
}

TEST(CsvReaderTest, AnOpenQuoteOfAHugeFileStopsAtTheRecordLimit) {
  ByteSource endless = [first = true](std::span<uint8_t> out) mutable {
    std::fill(out.begin(), out.end(), uint8_t{'a'});
    if (std::exchange(first, false)) std::memcpy(out.data(), "id\n\"", 4);
    return out.size();
  };
  ExpectError(ErrorCode::kBadData, "t.csv:2:1: a record is longer than 16777216 bytes",
              "every quote is closed", [&] { ReadCsv(endless, "t.csv", {{Key("id")}}, {}); });
}

TEST(CsvReaderTest, LongRecordsAndHugeFields) {
  std::string text = "id,x\n";
  std::vector<std::string> keys;
  for (size_t i = 0; i < 400; ++i) {
    // Lengths around 10 kB, with line breaks and quotes, so that records cross the ends of blocks.
    keys.push_back(std::to_string(i) + std::string(9000 + 37 * i, 'k') + "\n\"");
    text += "\"" + keys.back() + "\"\"," + std::to_string(i % 10) + "\r\n";
  }
  keys.push_back(std::string(1 << 20, 'z'));
  text += keys.back() + ",3\r\n";
  CsvContents contents = Read(text, kKeyX);
  ASSERT_EQ(contents.table.num_rows, keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ(contents.table.Get("id").keys[i], keys[i]) << i;
  }
}

TEST(CsvReaderTest, BlocksMayEndAnywhere) {
  const std::string tail = "\"a\"\"b\",1\r\n\"c\r\n\",2\r\nd,3\r\n\"e\",\"4\"";
  const std::string head = "id,x\n";
  for (size_t cut = 0; cut <= tail.size(); ++cut) {
    // The first block ends after `cut` bytes of the tail.
    std::string rows;
    size_t num_rows = 0;
    for (; head.size() + rows.size() + 20 < kCsvBlockBytes - cut; ++num_rows) rows += "kk,0\n";
    const std::string filler(kCsvBlockBytes - cut - head.size() - rows.size() - 3, 'f');
    const std::string text = head + rows + filler + ",0\n" + tail;
    ASSERT_EQ(text.size() - tail.size() + cut, kCsvBlockBytes);
    const Table table = Read(text, kKeyX).table;
    const auto& keys = table.Get("id").keys;
    ASSERT_EQ(keys.size(), num_rows + 5) << cut;
    EXPECT_THAT(std::vector<std::string>(keys.end() - 5, keys.end()),
                ElementsAre(filler, "a\"b", "c\r\n", "d", "e"));
    const auto& numbers = table.Get("x").numbers;
    EXPECT_THAT(std::vector<double>(numbers.end() - 5, numbers.end()), ElementsAre(0, 1, 2, 3, 4));
  }
}

TEST(CsvReaderTest, NoRows) {
  CsvContents contents = Read("id,x\n", kKeyX);
  EXPECT_EQ(contents.table.num_rows, 0u);
  EXPECT_TRUE(contents.table.Get("x").numbers.empty());
  ExpectError(ErrorCode::kBadData, "t.csv: the table has no rows", "",
              [&] { RequireClean(contents.report); });
}

TEST(CsvReaderTest, TheObserverSeesEveryByteOnce) {
  std::string text = "id,x\n";
  for (int i = 0; i < 250000; ++i) text += "k" + std::to_string(i) + ",1\n";
  ASSERT_GT(text.size(), size_t{2} << 20);
  std::string seen;
  ReadCsv(FromText(text), "t.csv", kKeyX, {}, [&](ByteView bytes) {
    seen.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  });
  EXPECT_EQ(seen, text);
}

TEST(CsvReaderTest, FilesAreReadAndMissingFilesNamed) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "reader_test.csv";
  std::ofstream(path) << "x\n1\n2\n";
  EXPECT_THAT(ReadCsvFile(path, kX, {}).table.Get("x").numbers, ElementsAre(1.0, 2.0));
  ExpectError(ErrorCode::kBadInput, "no/such.csv: cannot read the file: No such file",
              "check the path", [] { ReadCsvFile("no/such.csv", kX, {}); });
  ExpectError(ErrorCode::kBadInput, "cannot read the file: Is a directory", "",
              [] { ReadCsvFile(testing::TempDir(), kX, {}); });
}

TEST(CheckReportTest, CountsAndFirstPlaces) {
  ColumnSchema y = Numeric("y", 0, 5);
  y.missing_codes = {"-9", "NA"};
  CsvContents contents = Read("id,x,y,f\n1,1,NA,a\n2,,6,a\n3,2,-9,\n4,,\"-0.5\",a\n5,3,,b\n",
                              {{Numeric("x"), y, Factor("f", {"a", "b"})}});
  const ColumnCheck& x_check = contents.report.columns[0];
  EXPECT_EQ(x_check.missing, 2u);
  EXPECT_EQ(x_check.first_missing.line, 3u);
  EXPECT_EQ(x_check.first_missing.character, 3u);
  EXPECT_EQ(x_check.minimum, 1);
  EXPECT_EQ(x_check.maximum, 3);
  const ColumnCheck& y_check = contents.report.columns[1];
  EXPECT_EQ(y_check.missing, 3u);
  EXPECT_EQ(y_check.first_missing.line, 2u);
  EXPECT_EQ(y_check.out_of_bounds, 2u);
  EXPECT_EQ(y_check.first_out_of_bounds.line, 3u);
  EXPECT_EQ(contents.report.columns[2].missing, 1u);
  EXPECT_TRUE(std::isnan(contents.table.Get("x").numbers[1]));
  EXPECT_THAT(contents.table.Get("f").codes, ElementsAre(0, 0, -1, 0, 1));
  EXPECT_EQ(contents.table.Get("y").numbers[1], 6);

  std::optional<Error> error = ThrownBy([&] { RequireClean(contents.report); });
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code(), ErrorCode::kBadData);
  EXPECT_EQ(
      error->message(),
      "t.csv: column 'x' has 2 cells without a value (first at line 3, character 3); column 'y' "
      "has 3 cells without a value (first at line 2, character 5); column 'y' has 2 cells outside "
      "its bounds [0, 5] (first at line 3, character 4); column 'f' has 1 cell without a value "
      "(first at line 4, character 8)");
  ExpectError(ErrorCode::kBadData, "t.csv: column 'y' has 2 cells outside", "wider bounds",
              [&] { RequireClean(contents.report, {.allow_missing = true}); });
}

TEST(CheckReportTest, BoundsAreInclusive) {
  Schema schema{{Numeric("x", -1, 1)}};
  EXPECT_NO_THROW(RequireClean(Read("x\n-1\n1\n", schema).report));
  EXPECT_EQ(Read("x\n-1.0000000000000002\n1.0000000000000002\n0\n", schema)
                .report.columns[0]
                .out_of_bounds,
            2u);
}

TEST(CheckReportTest, ConstantColumns) {
  Schema schema{{Numeric("x"), Factor("f", {"a", "b"})}};
  CheckReport constant = Read("x,f\n2,a\n2.0,a\n", schema).report;
  EXPECT_TRUE(constant.columns[0].constant);
  EXPECT_TRUE(constant.columns[1].constant);
  // The factor may be constant: a holder of one school has one level.
  ExpectError(ErrorCode::kBadData, "t.csv: column 'x' is constant: every cell is 2", "no variance",
              [&] { RequireClean(constant); });
  EXPECT_NO_THROW(RequireClean(constant, {.allow_constant = true}));
  EXPECT_NO_THROW(RequireClean(Read("x,f\n2,a\n", schema).report)) << "one row";
  EXPECT_FALSE(Read("x,f\n2,a\n,a\n", schema).report.columns[0].constant) << "one value present";
  EXPECT_FALSE(Read("x,f\n0,a\n1,b\n", schema).report.columns[0].constant);
  EXPECT_FALSE(Read("x,f\n-1,a\n-2,b\n", schema).report.columns[0].constant);
}

TEST(CsvReaderTest, ReadsDates) {
  // R: as.integer(as.Date(...))
  const Schema schema{{Date("d", -719162, 2932896)}};
  const CsvContents contents =
      Read("d\n1970-01-01\n2000-02-29\n1900-03-01\n 2026-11-20 \n0001-01-01\n9999-12-31\n\"\"\n",
           schema);
  const std::vector<double>& days = contents.table.Get("d").numbers;
  ASSERT_EQ(days.size(), 7u);
  EXPECT_THAT(std::vector<double>(days.begin(), days.begin() + 6),
              ElementsAre(0, 11016, -25508, 20777, -719162, 2932896));
  EXPECT_TRUE(std::isnan(days[6]));
  EXPECT_EQ(contents.report.columns[0].missing, 1u);
  for (const char* bad : {"2001-02-29", "2000-13-01", "2000-00-01", "2000-01-00", "2000-1-1",
                          "20000101", "2000/01/01", "31.01.2000", "2000-01-01T00:00", "0000-01-01",
                          "+200-01-01", "2000-01-1x", "today"}) {
    ExpectBad("d\n1970-01-01\n" + std::string(bad) + "\n", schema,
              "t.csv:3:1: column 'd': '" + std::string(bad) + "' is not a date", "2020-01-31");
  }
  // Bounds are shown as dates.
  const CsvContents late = Read("d\n1970-01-01\n1970-03-01\n", {{Date("d", 0, 30)}});
  ExpectError(ErrorCode::kBadData,
              "column 'd' has 1 cell outside its bounds [1970-01-01, 1970-01-31] (first "
              "at line 3",
              "", [&] { RequireClean(late.report); });
}

TEST(CsvReaderTest, ReadsOrderedLevels) {
  const Schema schema{{Ordered("stage", {"I", "II", "III"})}};
  EXPECT_THAT(Read("stage\nII\nI\n\"\"\nIII\n", schema).table.Get("stage").codes,
              ElementsAre(1, 0, -1, 2));
  ExpectBad("stage\nIV\n", schema, "t.csv:2:1: column 'stage': 'IV' is not a level", "");
}

TEST(CsvReaderTest, ReadsSurvivalFromTwoColumns) {
  Schema schema{{Survival("os", "months", "died")}};
  schema.columns[0].missing_codes = {"NA"};
  const CsvContents contents = Read("died,months\n1,12.5\n0,30\nNA,3\n1,NA\n,\n1.0,101\n", schema);
  const Column& os = contents.table.Get("os");
  EXPECT_THAT(os.codes, ElementsAre(1, 0, -1, -1, -1, 1));
  EXPECT_EQ(os.numbers[0], 12.5);
  EXPECT_EQ(os.numbers[1], 30);
  for (size_t row : {2, 3, 4}) EXPECT_TRUE(std::isnan(os.numbers[row])) << row;
  const ColumnCheck& check = contents.report.columns[0];
  EXPECT_EQ(check.missing, 3u);
  EXPECT_EQ(check.first_missing.line, 4u);
  EXPECT_EQ(check.first_missing.character, 1u);
  EXPECT_EQ(check.out_of_bounds, 1u);
  ExpectBad("died,months\n2,1\n", schema, "t.csv:2:1: column 'died': '2' is neither 0 nor 1",
            "follow-up ended");
  ExpectBad("died,months\nyes,1\n", schema, "column 'died': 'yes' is neither", "");
  ExpectBad("died,months\n1,soon\n", schema, "t.csv:2:3: column 'months': 'soon' is not a number",
            "");
  ExpectBad("died,month\n1,1\n", schema, "the header has no column 'months'",
            "did you mean 'month'");
}

// As numeric(6,2) of a database writes 999, and 99,5 stands in a frozen table of a study with decimal commas.
TEST(CsvReaderTest, MissingCodesOfNumbersAreNumbers) {
  const auto missing = [](ColumnSchema column, const std::string& rows, CsvOptions options = {}) {
    column.missing_codes = {"999", "-1.0", "99,5", "NA"};
    const CsvContents contents = Read("x\n" + rows, {{column}}, options);
    return contents.report.columns[0].missing;
  };
  EXPECT_EQ(missing(Numeric("x", 0, 1000), "999.00\n 9.99e2\n999\n-1\n99.5\nNA\n"), 6u);
  EXPECT_EQ(missing(Numeric("x", 0, 1000), "999.01\n998\n99\n1\n"), 0u);
  EXPECT_EQ(missing(Integer("x", 0, 1000), "999.0\n+999\n9\n"), 2u);
  EXPECT_EQ(missing(Numeric("x", 0, 1000), "999,00\n99,50\n-1,000\n1,5\n",
                    {.separator = ';', .decimal = ','}),
            3u);
  // Levels are texts.
  EXPECT_EQ(missing(Factor("x", {"999.00", "1"}), "999.00\n999\n1\n"), 1u);
  ColumnSchema time = Survival("os", "x", "died");
  time.missing_codes = {"999", "9"};
  EXPECT_THAT(Read("x,died\n999.00,1\n5,9.0\n5,1\n", {{time}}).table.Get("os").codes,
              ElementsAre(-1, -1, 1));
}

TEST(CsvReaderTest, MissingCellsPassWhereTheStudyAllowsThem) {
  const CsvContents contents = Read("x\n1\n\"\"\n3\n", kX);
  ExpectError(ErrorCode::kBadData, "column 'x' has 1 cell without a value", "complete",
              [&] { RequireClean(contents.report); });
  EXPECT_NO_THROW(RequireClean(contents.report, {.allow_missing = true}));
}

template <typename T>
void Append(std::vector<T>& all, const std::vector<T>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

TEST(CsvReaderTest, PiecesAreTheTableAndTheirReportIsTheSame) {
  const Schema schema{
      {Key("id"), Numeric("x"), Factor("sex", {"f", "m"}), Survival("os", "t", "e")}};
  CsvOptions repair;
  repair.repair = true;
  std::string text = "id,x,sex,t,e\n";
  for (int row = 0; row < 23; ++row) {
    text += "k" + std::to_string(row);
    if (row % 7 == 3) {
      text += ",2,f\n";  // ragged
    } else {
      text += (row % 5 == 0 ? ",," : "," + std::to_string(row) + ",") +
              std::string(row % 4 == 1 ? "x" : "m") + "," + std::to_string(row) + ",1\n";
    }
  }
  const CsvContents whole = Read(text, schema, repair);
  ASSERT_EQ(whole.table.num_rows, 23u);
  ASSERT_EQ(whole.report.ragged, 3u);
  for (const uint64_t of_piece : {1, 2, 7, 22, 23, 24}) {
    SCOPED_TRACE(of_piece);
    Table all = whole.table;
    all.num_rows = 0;
    all.neutral.clear();
    for (Column& column : all.columns) {
      column.numbers.clear();
      column.codes.clear();
      column.keys.clear();
    }
    std::vector<uint64_t> sizes;
    const CheckReport report =
        ReadCsvInPieces(FromText(text), "t.csv", schema, repair, of_piece,
                        [&](Table piece, const CheckReport& so_far) {
                          sizes.push_back(piece.num_rows);
                          all.num_rows += piece.num_rows;
                          EXPECT_EQ(so_far.num_rows, all.num_rows);
                          for (size_t row = 0; row < piece.num_rows; ++row)
                            all.neutral.push_back(piece.Neutral(row) ? 1 : 0);
                          for (size_t c = 0; c < all.columns.size(); ++c) {
                            Append(all.columns[c].numbers, piece.columns[c].numbers);
                            Append(all.columns[c].codes, piece.columns[c].codes);
                            Append(all.columns[c].keys, piece.columns[c].keys);
                          }
                        });
    for (size_t i = 0; i + 1 < sizes.size(); ++i) EXPECT_EQ(sizes[i], of_piece);
    EXPECT_EQ(all.num_rows, 23u);
    EXPECT_EQ(all.neutral, whole.table.neutral);
    for (size_t c = 0; c < all.columns.size(); ++c) {
      const Column &one = all.columns[c], &other = whole.table.columns[c];
      EXPECT_EQ(one.keys, other.keys);
      EXPECT_EQ(one.codes, other.codes);
      EXPECT_THAT(one.numbers, testing::Pointwise(testing::NanSensitiveDoubleEq(), other.numbers));
      EXPECT_EQ(report.columns[c].missing, whole.report.columns[c].missing);
      EXPECT_EQ(report.columns[c].unusable, whole.report.columns[c].unusable);
      EXPECT_EQ(report.columns[c].first_missing.line, whole.report.columns[c].first_missing.line);
      EXPECT_EQ(report.columns[c].maximum, whole.report.columns[c].maximum);
      EXPECT_EQ(report.columns[c].constant, whole.report.columns[c].constant);
    }
    EXPECT_EQ(report.ragged, whole.report.ragged);
    EXPECT_EQ(report.first_ragged_line, whole.report.first_ragged_line);
  }
  std::vector<uint64_t> empty;
  ReadCsvInPieces(FromText("x\n"), "t.csv", kX, {}, 5,
                  [&](const Table& piece, const CheckReport&) { empty.push_back(piece.num_rows); });
  EXPECT_THAT(empty, ElementsAre(0u));
}

}  // namespace
}  // namespace partita::data::csv_reader_test
