// Encodings of columns: values by hand, there and back, and what is refused with which words.
#include "data/encoding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "crypto/prg.h"
#include "data/csv_writer.h"
#include "data/encoding_json.h"
#include "data/gzip_source.h"
#include "tests/data/expect_error.h"
#include "tests/data/tables.h"

namespace partita::data::encoding_test {
namespace {

Table TableOf(const ColumnSchema& schema, std::vector<double> numbers, std::vector<int32_t> codes) {
  Table table;
  table.num_rows = std::max(numbers.size(), codes.size());
  table.columns.push_back({schema, std::move(numbers), std::move(codes), {}});
  return table;
}

class EncodingTest : public testing::Test {
 protected:
  crypto::Prg prg_ = crypto::Prg(crypto::Key(std::array<uint8_t, 32>{7}));
};

TEST_F(EncodingTest, NumbersByHand) {
  const ColumnSchema age = Integer("age", 20, 60), tall = Numeric("tall", -1, 3);
  const auto encode = [](const ColumnSchema& schema, EncodingKind kind, uint32_t bins,
                         std::vector<double> numbers) {
    return Encode({schema, kind, bins, {}}, TableOf(schema, std::move(numbers), {}));
  };
  using Values = std::vector<double>;
  EXPECT_EQ(encode(age, EncodingKind::kUnit, 0, {20, 30, 60}), (Values{1e-6, 0.25, 1 - 1e-6}));
  EXPECT_EQ(encode(tall, EncodingKind::kStandard, 0, {-1, 1, 2}), (Values{-1, 0, 0.5}));
  EXPECT_EQ(encode(age, EncodingKind::kWhole, 0, {20, 60}), (Values{0, 40}));
  EXPECT_EQ(encode(age, EncodingKind::kCount, 0, {23}), (Values{3}));
  EXPECT_EQ(encode(age, EncodingKind::kBins, 4, {20, 29, 30, 59, 60}), (Values{0, 0, 1, 3, 3}));
}

// Every whole number is in its bin, of all bins of all short ranges; shares of the range would round
// to the wrong side of some edges, as of 15 in 22 bins of 0 to 22.
TEST_F(EncodingTest, WholeNumbersAreInTheirBins) {
  for (const double lower : {-3.0, 0.0, 18.0}) {
    for (int width = 1; width <= 60; ++width) {
      const ColumnSchema age = Integer("age", lower, lower + width);
      std::vector<double> numbers;
      for (int x = 0; x <= width; ++x) numbers.push_back(lower + x);
      for (uint32_t bins = 2; bins <= static_cast<uint32_t>(width); ++bins) {
        const ColumnEncoding encoding = {age, EncodingKind::kBins, bins, {}};
        const std::vector<double> codes = Encode(encoding, TableOf(age, numbers, {}));
        for (size_t i = 0; i < numbers.size(); ++i) {
          const auto [first, last] = WholeNumbersOfBin(encoding, codes[i]);
          ASSERT_LE(first, numbers[i]) << width << " " << bins;
          ASSERT_GE(last, numbers[i]) << width << " " << bins;
        }
      }
    }
  }
}

// Of unequal width: a bin has its first edge and not its last, the last bin both.
TEST_F(EncodingTest, EdgesByHand) {
  const ColumnSchema cost = Numeric("cost", 0, 1000), age = Integer("age", 0, 10);
  ColumnEncoding encoding = {cost, EncodingKind::kBins, 3, {}, {0, 1, 100, 1000}};
  EXPECT_EQ(Encode(encoding, TableOf(cost, {0, 0.99, 1, 99, 100, 1000}, {})),
            (std::vector<double>{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(BoundsOfBin(encoding, 1), (std::pair<double, double>{1, 100}));
  encoding = {age, EncodingKind::kBins, 3, {}, {0, 0.5, 7, 10}};
  EXPECT_EQ(WholeNumbersOfBin(encoding, 0), (std::pair<double, double>{0, 0}));
  EXPECT_EQ(WholeNumbersOfBin(encoding, 1), (std::pair<double, double>{1, 6}));
  EXPECT_EQ(WholeNumbersOfBin(encoding, 2), (std::pair<double, double>{7, 10}));
  for (double x = 0; x <= 10; ++x) {
    const double bin = Encode(encoding, TableOf(age, {x}, {})).front();
    const auto [first, last] = WholeNumbersOfBin(encoding, bin);
    EXPECT_TRUE(first <= x && x <= last) << x;
  }
}

// There and back, by the file of a fitted model.
TEST_F(EncodingTest, FilesKeepEncodings) {
  const std::vector<ColumnEncoding> encodings = {
      {Numeric("cost", 0, 1000), EncodingKind::kBins, 3, {}, {0, 1, 100, 1000}},
      {Integer("n", -3, 99), EncodingKind::kCount, 0, {}},
      {Date("d", 10, 400), EncodingKind::kBins, 5, {}},
      {Factor("f", {"a", "b", "c", "d"}), EncodingKind::kLevels, 0, {"b", "d"}}};
  for (const ColumnEncoding& encoding : encodings) {
    const nlohmann::ordered_json json = EncodingJson(encoding);
    EXPECT_EQ(EncodingJson(ParseEncodingJson(json)), json);
    EXPECT_EQ(NumLevels(ParseEncodingJson(json)), NumLevels(encoding));
  }
  nlohmann::ordered_json json = EncodingJson(encodings[0]);
  json["edges"] = {0, 100, 1, 1000};
  ExpectError(ErrorCode::kBadInput, "do not increase", "", [&] { ParseEncodingJson(json); });
  json = EncodingJson(encodings[3]);
  json["levels"] = std::vector<std::string>(10001, "a");
  ExpectError(ErrorCode::kBadInput, "too many levels", "", [&] { ParseEncodingJson(json); });
  json = EncodingJson(encodings[3]);
  json["type"] = "colour";
  ExpectError(ErrorCode::kBadInput, "'colour' is not known", "", [&] { ParseEncodingJson(json); });
}

TEST_F(EncodingTest, WhatIsDecodedEncodesToTheSame) {
  const ColumnSchema age = Integer("age", 0, 99), tall = Numeric("tall", -1, 3);
  const std::vector<std::pair<ColumnEncoding, std::vector<double>>> cases = {
      {{age, EncodingKind::kBins, 16, {}}, {0, 1, 7, 15}},
      {{tall, EncodingKind::kBins, 16, {}}, {0, 1, 7, 15}},
      {{tall, EncodingKind::kBins, 3, {}, {-1, 0, 2.5, 3}}, {0, 1, 2}},
      {{age, EncodingKind::kBins, 3, {}, {0, 3, 50, 99}}, {0, 1, 2}},
      {{age, EncodingKind::kWhole, 0, {}}, {0, 50, 99}},
      {{tall, EncodingKind::kUnit, 0, {}}, {0.125, 0.5, 0.875}},
      {{tall, EncodingKind::kStandard, 0, {}}, {-1, 0.25, 1}},
      {{age, EncodingKind::kCount, 0, {}}, {0, 12}},
      {{Factor("f", {"a", "b", "c", "d"}), EncodingKind::kLevels, 0, {"b", "d"}}, {0, 1, 2}},
      {{Factor("f", {"a", "b"}), EncodingKind::kIndicator, 0, {}}, {0, 1}}};
  for (const auto& [encoding, values] : cases) {
    for (int repeat = 0; repeat < 50; ++repeat) {
      Table table;
      table.num_rows = values.size();
      table.columns.push_back(Decode(encoding, values, prg_));
      EXPECT_EQ(Encode(encoding, table), values) << EncodingKindName(encoding.kind);
    }
  }
}

// Dates and integers come back as whole numbers within the bounds, whatever the model drew.
TEST_F(EncodingTest, DecodedNumbersKeepTypeAndBounds) {
  const ColumnEncoding encoding = {Date("born", 10, 17), EncodingKind::kUnit, 0, {}};
  EXPECT_EQ(Decode(encoding, {1e-12, 0.49, 1 - 1e-12}, prg_).numbers,
            (std::vector<double>{10, 13, 17}));
  const ColumnEncoding wide = {Integer("n", 2, 9), EncodingKind::kCount, 0, {}};
  EXPECT_EQ(Decode(wide, {0, 100}, prg_).numbers, (std::vector<double>{2, 9}));
  const ColumnEncoding real = {Numeric("x", 0, 1), EncodingKind::kStandard, 0, {}};
  EXPECT_EQ(Decode(real, {-5, 5}, prg_).numbers, (std::vector<double>{0, 1}));
}

TEST_F(EncodingTest, PooledLevelsShareTheLastLevel) {
  const ColumnEncoding encoding = {
      Factor("f", {"a", "rare", "b", "odd"}), EncodingKind::kLevels, 0, {"rare", "odd"}};
  EXPECT_EQ(NumLevels(encoding), 3);
  EXPECT_EQ(Encode(encoding, TableOf(encoding.column, {}, {0, 1, 2, 3})),
            (std::vector<double>{0, 2, 1, 2}));
  // Each pooled level as likely: 5 standard errors, false alarms below 1e-6.
  const Column drawn = Decode(encoding, std::vector<double>(4000, 2), prg_);
  const auto odd = std::count(drawn.codes.begin(), drawn.codes.end(), 3);
  EXPECT_NEAR(static_cast<double>(odd), 2000, 5 * std::sqrt(1000.0));
  EXPECT_EQ(std::count(drawn.codes.begin(), drawn.codes.end(), 1), 4000 - odd);
}

TEST_F(EncodingTest, DefaultsFollowTheType) {
  EXPECT_EQ(DefaultEncoding(Factor("f", {"a", "b"})).kind, EncodingKind::kLevels);
  EXPECT_EQ(DefaultEncoding(Integer("n", 1, 16)).kind, EncodingKind::kWhole);
  EXPECT_EQ(DefaultEncoding(Integer("n", 0, 50)).kind, EncodingKind::kUnit);
  EXPECT_EQ(DefaultEncoding(Numeric("x", 0, 1)).kind, EncodingKind::kUnit);
  EXPECT_EQ(DefaultEncoding(Date("d", 0, 1)).kind, EncodingKind::kUnit);
  ColumnSchema key;
  key.name = "id";
  key.type = ColumnType::kKey;
  ExpectError(ErrorCode::kBadInput, "column 'id' of type key cannot be encoded", "",
              [&] { DefaultEncoding(key); });
}

TEST_F(EncodingTest, BadEncodingsAreRefused) {
  const auto refuse = [](const std::string& message, const ColumnEncoding& encoding) {
    ExpectError(ErrorCode::kBadInput, message, "", [&] { CheckEncoding(encoding); });
  };
  const ColumnSchema f = Factor("f", {"a", "b", "c"}), n = Integer("n", 0, 9);
  refuse("column 'f' of type factor cannot be encoded as 'unit'", {f, EncodingKind::kUnit, 0, {}});
  refuse("column 'n' of type integer cannot be encoded as 'levels'",
         {n, EncodingKind::kLevels, 0, {}});
  refuse("cannot be encoded as 'count'", {Numeric("x"), EncodingKind::kCount, 0, {}});
  refuse("has one level", {Factor("f", {"a"}), EncodingKind::kLevels, 0, {}});
  refuse("has one level", {f, EncodingKind::kLevels, 0, {"a", "b", "c"}});
  refuse("an indicator has two", {f, EncodingKind::kIndicator, 0, {}});
  refuse("has no level 'z' to pool", {f, EncodingKind::kLevels, 0, {"z"}});
  refuse("has 1 bins", {n, EncodingKind::kBins, 1, {}});
  refuse("has a bin without a whole number", {n, EncodingKind::kBins, 12, {}});
  refuse("too many whole numbers", {Integer("n", 0, 1e6), EncodingKind::kWhole, 0, {}});
  refuse("do not increase from its lower", {n, EncodingKind::kBins, 2, {}, {0, 5, 10}});
  refuse("do not increase from its lower", {n, EncodingKind::kBins, 2, {}, {0, 9}});
  refuse("has edges and no bins", {n, EncodingKind::kWhole, 0, {}, {0, 5, 9}});
  refuse("has a bin without a whole number", {n, EncodingKind::kBins, 3, {}, {0, 0.2, 0.4, 9}});
  refuse("has no public bounds", {Numeric("x", 0, std::nan("")), EncodingKind::kUnit, 0, {}});
}

TEST_F(EncodingTest, BadCellsAreNamedToTheirOwner) {
  const ColumnSchema x = Numeric("x", 0, 1), f = Factor("f", {"a", "b"});
  ExpectError(ErrorCode::kBadData, "column 'x', row 2: 1.5 is outside the bounds [0, 1]", "", [&] {
    Encode({x, EncodingKind::kUnit, 0, {}}, TableOf(x, {0.5, 1.5}, {}));
  });
  ExpectError(ErrorCode::kBadData, "column 'x', row 1: there is no value", "", [&] {
    Encode({x, EncodingKind::kUnit, 0, {}}, TableOf(x, {std::nan("")}, {}));
  });
  ExpectError(ErrorCode::kBadData, "column 'f', row 2: there is no value", "", [&] {
    Encode({f, EncodingKind::kLevels, 0, {}}, TableOf(f, {}, {0, -1}));
  });
  ExpectError(ErrorCode::kBadInput, "has a level 'c' that the study does not know", "", [&] {
    Encode({f, EncodingKind::kLevels, 0, {}}, TableOf(Factor("f", {"a", "b", "c"}), {}, {0}));
  });
  ExpectError(ErrorCode::kBadInput, "lacks a level of the study", "", [&] {
    Encode({f, EncodingKind::kLevels, 0, {}}, TableOf(Factor("f", {"b", "a"}), {}, {0}));
  });
  ExpectError(ErrorCode::kUsage, "column 'f' cannot have the value 2", "", [&] {
    Decode({f, EncodingKind::kLevels, 0, {}}, {2}, prg_);
  });
}

TEST(CsvWriterTest, WrittenTablesAreReadBack) {
  Schema schema{{Numeric("x", -10, 10), Factor("a,b", {"say \"so\"", "line\nbreak"}),
                 Date("when", -100, 20000)}};
  Table table;
  table.num_rows = 3;
  table.columns = {{schema.columns[0], {0.1, std::nan(""), -3e-7}, {}, {}},
                   {schema.columns[1], {}, {1, 0, -1}, {}},
                   {schema.columns[2], {0, 18262, 1}, {}, {}}};
  const std::string csv = WriteCsv(table);
  const CsvContents back = ReadCsv(FromText(csv), "written", schema, CsvOptions{});
  ASSERT_EQ(back.table.num_rows, 3);
  EXPECT_EQ(back.table.columns[0].numbers[0], 0.1);
  EXPECT_TRUE(std::isnan(back.table.columns[0].numbers[1]));
  EXPECT_EQ(back.table.columns[0].numbers[2], -3e-7);
  EXPECT_EQ(back.table.columns[1].codes, table.columns[1].codes);
  EXPECT_EQ(back.table.columns[2].numbers, table.columns[2].numbers);
}

TEST(GzipSourceTest, MissingFilesAreNamed) {
  ExpectError(ErrorCode::kBadInput, "/nowhere/x.csv.gz", "",
              [] { OpenGzipFile("/nowhere/x.csv.gz"); });
}

}  // namespace
}  // namespace partita::data::encoding_test
