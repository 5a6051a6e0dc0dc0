// Test tables as columns of codes. Levels of texts and bounds of numbers stand in for a study's
// dictionary: they are taken from the whole table, rows set aside included, which no study may do.
#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "crypto/prg.h"
#include "data/gzip_source.h"
#include "stats/blr/variates.h"
#include "stats/marginals/apportion.h"
#include "stats/marginals/tables.h"
#include "tests/paths.h"

namespace partita::stats::marginals {

struct CodedTable {
  TableSet set;
  Codes train, test;
  size_t target = 0;      // an attribute
  uint16_t positive = 0;  // one of its levels
  size_t rows() const { return train[0].size(); }
};

inline crypto::Prg SeededSource(uint8_t seed) {
  std::array<uint8_t, 32> bytes{};
  bytes[0] = seed;
  return crypto::Prg(crypto::Key(bytes));
}

// By line, by column; the first line is the header.
inline std::vector<std::vector<std::string>> ReadCells(const std::string& fixture) {
  const data::ByteSource source = data::OpenGzipFile(FixturePath(fixture));
  std::vector<std::vector<std::string>> lines = {{""}};
  std::vector<uint8_t> block(1 << 16);
  for (size_t size = block.size(); size == block.size();) {
    size = source(block);
    for (size_t i = 0; i < size; ++i) {
      const char c = static_cast<char>(block[i]);
      if (c == '\n') {
        lines.push_back({""});
      } else if (c == ',') {
        lines.back().emplace_back();
      } else if (c != '\r') {
        lines.back().back() += c;
      }
    }
  }
  if (lines.back().size() == 1) lines.pop_back();
  return lines;
}

inline std::optional<double> AsNumber(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') return std::nullopt;
  return value;
}

// Ten bins of equal width over the values and 5 % of their range more on either side, for numbers of
// more than 20 values, and a level for cells without one; else one level for each value.
inline std::pair<std::vector<uint16_t>, uint32_t> CodesOf(const std::vector<std::string>& cells) {
  std::map<std::string, uint16_t> levels;
  for (const std::string& cell : cells) levels.emplace(cell, 0);
  const bool missing = levels.count("") > 0;
  const bool numbers = std::all_of(levels.begin(), levels.end(), [](const auto& level) {
    return level.first.empty() || AsNumber(level.first).has_value();
  });
  std::vector<uint16_t> codes;
  if (!numbers || levels.size() <= 20) {
    uint16_t next = 0;
    for (auto& [text, code] : levels) code = next++;
    for (const std::string& cell : cells) codes.push_back(levels[cell]);
    return {codes, static_cast<uint32_t>(levels.size())};
  }
  std::optional<double> least, most;
  for (const std::string& cell : cells) {
    const std::optional<double> number = AsNumber(cell);
    if (!number) continue;
    least = std::min(least.value_or(*number), *number);
    most = std::max(most.value_or(*number), *number);
  }
  const double lowest = *least, highest = *most;
  const double margin = 0.05 * (highest - lowest), width = (highest - lowest + 2 * margin) / 10;
  for (const std::string& cell : cells) {
    const std::optional<double> number = AsNumber(cell);
    codes.push_back(number ? static_cast<uint16_t>((*number - lowest + margin) / width) : 10);
  }
  return {codes, missing ? 11 : 10};
}

// The rows to test on are those of another table, or 30 % of the rows, drawn by a fixed seed. first:
// of the columns; those before it are numbers of rows.
inline CodedTable ReadCoded(const std::string& fixture, const std::string& test_fixture = "",
                            size_t first = 0) {
  std::vector<std::vector<std::string>> lines = ReadCells(fixture);
  const std::vector<std::string> header = lines[0];
  lines.erase(lines.begin());
  size_t num_train = lines.size();
  if (test_fixture.empty()) {
    crypto::Prg source = SeededSource(1);
    blr::Variates variates(source);
    Shuffle(std::span(lines), variates);
    num_train = num_train * 7 / 10;
  } else {
    const std::vector<std::vector<std::string>> more = ReadCells(test_fixture);
    lines.insert(lines.end(), more.begin() + 1, more.end());
  }
  CodedTable table;
  std::vector<Attribute> attributes;
  for (size_t a = first; a < header.size(); ++a) {
    std::vector<std::string> cells;
    for (const std::vector<std::string>& line : lines) cells.push_back(line[a]);
    auto [codes, levels] = CodesOf(cells);
    attributes.push_back({header[a], levels});
    const auto middle = codes.begin() + static_cast<ptrdiff_t>(num_train);
    table.train.emplace_back(codes.begin(), middle);
    table.test.emplace_back(middle, codes.end());
  }
  table.set = AllTables(std::move(attributes));
  table.target = table.set.attributes.size() - 1;
  return table;
}

inline std::vector<double> SharesOfRows(const TableSet& set, const Codes& codes) {
  std::vector<double> shares = Count(set, codes);
  for (double& value : shares) value /= static_cast<double>(codes[0].size());
  return shares;
}

}  // namespace partita::stats::marginals
