#include "methods/marginals/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/date.h"
#include "base/error.h"

namespace partita::methods::marginals {
namespace {

using data::ColumnEncoding;
using data::EncodingKind;

data::Column WithoutMissing(const ColumnEncoding& encoding, const data::Column& column) {
  data::Column full = column;
  for (int32_t& code : full.codes) code = std::max(code, 0);
  for (double& number : full.numbers) {
    if (std::isnan(number)) number = encoding.column.lower;
  }
  return full;
}

bool IsMissing(const data::Column& column, size_t row) {
  return data::HasLevels(column.schema.type) ? column.codes[row] < 0
                                             : std::isnan(column.numbers[row]);
}

// Whether some bounds of bins are equal in six digits.
bool NeedsAllDigits(const ColumnEncoding& encoding) {
  for (uint32_t bin = 0; bin < encoding.bins; ++bin) {
    const auto [begin, end] = data::BoundsOfBin(encoding, bin);
    if (fmt::format("{:.6g}", begin) == fmt::format("{:.6g}", end)) return true;
  }
  return false;
}

// "[0, 2.5)"; of whole numbers "3 to 5" or "3", of dates their texts.
std::string BinName(const ColumnEncoding& encoding, uint32_t bin, bool in_full) {
  const data::ColumnSchema& schema = encoding.column;
  if (schema.type == data::ColumnType::kNumeric) {
    const auto [begin, end] = data::BoundsOfBin(encoding, bin);
    const char* close = bin + 1 == encoding.bins ? "]" : ")";
    return in_full ? fmt::format("[{}, {}{}", begin, end, close)
                   : fmt::format("[{:.6g}, {:.6g}{}", begin, end, close);
  }
  const auto [first, last] = data::WholeNumbersOfBin(encoding, bin);
  const bool date = schema.type == data::ColumnType::kDate;
  std::string from = date ? FormatDate(first) : fmt::format("{}", first);
  if (first == last) return from;
  return from + " to " + (date ? FormatDate(last) : fmt::format("{}", last));
}

}  // namespace

ColumnEncoding DefaultLevels(const data::ColumnSchema& column) {
  ColumnEncoding encoding = data::DefaultEncoding(column);
  if (encoding.kind == EncodingKind::kUnit) {
    encoding.kind = EncodingKind::kBins;
    encoding.bins = kDefaultBins;
    data::CheckEncoding(encoding);
  }
  return encoding;
}

bool CountsLevels(EncodingKind kind) {
  return kind == EncodingKind::kLevels || kind == EncodingKind::kWhole ||
         kind == EncodingKind::kBins;
}

void CheckFactorLevels(const data::ColumnSchema& column) {
  if (column.levels.size() <= kMaxFactorLevels) return;
  throw Error(ErrorCode::kBadInput,
              fmt::format("column '{}' has {} levels, more than {}", column.name,
                          column.levels.size(), kMaxFactorLevels),
              "leave it out, or give it fewer levels in the dictionary");
}

stats::marginals::TableSet TablesOfColumns(const std::vector<LevelColumn>& columns,
                                           std::span<const stats::marginals::Triple> triples) {
  std::vector<stats::marginals::Attribute> attributes;
  for (const LevelColumn& column : columns) {
    CheckFactorLevels(column.encoding.column);
    attributes.push_back(
        {column.encoding.column.name,
         static_cast<uint32_t>(data::NumLevels(column.encoding) + (column.missing ? 1 : 0))});
  }
  return stats::marginals::AllTables(std::move(attributes), triples);
}

std::vector<uint16_t> LevelsOf(const LevelColumn& column, const data::Table& table, size_t first,
                               size_t count) {
  const data::Column& cells = table.Get(column.encoding.column.name);
  const data::Table alone = {table.num_rows, {WithoutMissing(column.encoding, cells)}};
  const std::vector<double> levels = data::Encode(column.encoding, alone);
  const auto missing = static_cast<uint16_t>(data::NumLevels(column.encoding));
  std::vector<uint16_t> codes;
  for (size_t row = first; row < first + count; ++row) {
    const bool counts_as_missing = column.missing && (table.Neutral(row) || IsMissing(cells, row));
    codes.push_back(counts_as_missing ? missing : static_cast<uint16_t>(levels[row]));
  }
  return codes;
}

data::Table TableOfLevels(const std::vector<LevelColumn>& columns,
                          const stats::marginals::Codes& codes, crypto::RandomSource& source) {
  data::Table table;
  table.num_rows = codes.empty() ? 0 : codes.front().size();
  for (size_t a = 0; a < columns.size(); ++a) {
    const size_t levels = data::NumLevels(columns[a].encoding);
    std::vector<double> values(codes[a].begin(), codes[a].end());
    for (double& value : values) {
      if (value >= static_cast<double>(levels)) value = 0;
    }
    data::Column column = data::Decode(columns[a].encoding, values, source);
    for (size_t row = 0; row < table.num_rows; ++row) {
      if (codes[a][row] < levels) continue;
      if (data::HasLevels(column.schema.type)) {
        column.codes[row] = -1;
      } else {
        column.numbers[row] = std::numeric_limits<double>::quiet_NaN();
      }
    }
    table.columns.push_back(std::move(column));
  }
  return table;
}

std::vector<std::string> LevelNames(const LevelColumn& column) {
  const ColumnEncoding& encoding = column.encoding;
  const data::ColumnSchema& schema = encoding.column;
  std::vector<std::string> names;
  if (data::HasLevels(schema.type)) {
    for (const std::string& level : schema.levels) {
      if (std::ranges::find(encoding.pooled, level) == encoding.pooled.end()) {
        names.push_back(level);
      }
    }
    if (!encoding.pooled.empty())
      names.push_back(fmt::format("{}", fmt::join(encoding.pooled, ", ")));
  } else if (encoding.kind == EncodingKind::kWhole) {
    for (double value = schema.lower; value <= schema.upper; ++value) {
      names.push_back(fmt::format("{}", value));
    }
  } else {
    const bool in_full = NeedsAllDigits(encoding);
    for (uint32_t bin = 0; bin < encoding.bins; ++bin)
      names.push_back(BinName(encoding, bin, in_full));
  }
  if (column.missing) names.emplace_back("missing");
  return names;
}

}  // namespace partita::methods::marginals
