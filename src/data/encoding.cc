#include "data/encoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/suggest.h"

namespace partita::data {
namespace {

constexpr double kUnitMargin = 1e-6;

bool IsWhole(ColumnType type) { return type == ColumnType::kInteger || type == ColumnType::kDate; }
bool IsNumber(ColumnType type) { return type == ColumnType::kNumeric || IsWhole(type); }

[[noreturn]] void RefuseEncoding(const ColumnEncoding& encoding, const std::string& why,
                                 const std::string& hint) {
  throw Error(ErrorCode::kBadInput, fmt::format("column '{}' {}", encoding.column.name, why), hint);
}

bool IsPooled(const ColumnEncoding& encoding, const std::string& level) {
  return std::find(encoding.pooled.begin(), encoding.pooled.end(), level) != encoding.pooled.end();
}

// The model's level of each level of the schema.
std::vector<int32_t> ModelLevels(const ColumnEncoding& encoding) {
  std::vector<int32_t> levels;
  int32_t next = 0;
  for (const std::string& level : encoding.column.levels)
    levels.push_back(IsPooled(encoding, level) ? -1 : next++);
  std::replace(levels.begin(), levels.end(), -1, next);
  return levels;
}

double Uniform(crypto::RandomSource& source) {
  uint64_t word;
  source.Fill({reinterpret_cast<uint8_t*>(&word), sizeof word});
  return (static_cast<double>(word >> 12) + 0.5) * 0x1p-52;
}

// A whole number of [first, last], each as likely.
double UniformWhole(double first, double last, crypto::RandomSource& source) {
  return std::min(first + std::floor(Uniform(source) * (last - first + 1)), last);
}

double EncodeNumber(const ColumnEncoding& encoding, double x) {
  const double lower = encoding.column.lower, upper = encoding.column.upper;
  const double share = (x - lower) / (upper - lower);
  switch (encoding.kind) {
    case EncodingKind::kBins:
      if (!encoding.edges.empty()) {
        // The last edge that is not above x; of the upper bound the last bin's.
        const auto above = std::upper_bound(encoding.edges.begin(), encoding.edges.end() - 1, x);
        return static_cast<double>(above - encoding.edges.begin()) - 1;
      }
      // Of whole numbers exact, as in WholeNumbersOfBin: quotients of them round to no other floor.
      return std::min(std::floor((x - lower) * encoding.bins / (upper - lower)),
                      encoding.bins - 1.0);
    case EncodingKind::kUnit:
      return std::clamp(share, kUnitMargin, 1 - kUnitMargin);
    case EncodingKind::kStandard:
      return 2 * share - 1;
    case EncodingKind::kWhole:
    case EncodingKind::kCount:
      return x - lower;
    case EncodingKind::kLevels:
    case EncodingKind::kIndicator:
      break;
  }
  throw Error(ErrorCode::kInternal, "an encoding of levels does not take numbers");
}

double DecodeNumber(const ColumnEncoding& encoding, double value, crypto::RandomSource& source) {
  const double lower = encoding.column.lower, upper = encoding.column.upper;
  const bool whole = IsWhole(encoding.column.type);
  double x = lower;
  switch (encoding.kind) {
    case EncodingKind::kBins: {
      if (whole) {
        const auto [first, last] = WholeNumbersOfBin(encoding, value);
        return UniformWhole(first, last, source);
      }
      const auto [begin, end] = BoundsOfBin(encoding, value);
      x = begin + (end - begin) * Uniform(source);
      break;
    }
    case EncodingKind::kUnit:
      x = lower + (upper - lower) * value;
      break;
    case EncodingKind::kStandard:
      x = lower + (upper - lower) * (value + 1) / 2;
      break;
    case EncodingKind::kWhole:
    case EncodingKind::kCount:
      x = lower + value;
      break;
    case EncodingKind::kLevels:
    case EncodingKind::kIndicator:
      throw Error(ErrorCode::kInternal, "an encoding of levels does not give numbers");
  }
  return std::clamp(whole ? std::round(x) : x, lower, upper);
}

int32_t DecodeLevel(const ColumnEncoding& encoding, const std::vector<int32_t>& levels,
                    double value, crypto::RandomSource& source) {
  std::vector<int32_t> candidates;
  for (size_t i = 0; i < levels.size(); ++i) {
    if (levels[i] == static_cast<int32_t>(value)) candidates.push_back(static_cast<int32_t>(i));
  }
  if (candidates.empty()) {
    throw Error(ErrorCode::kUsage,
                fmt::format("column '{}' has no level {}", encoding.column.name, value));
  }
  const double last = static_cast<double>(candidates.size()) - 1;
  return candidates[static_cast<size_t>(UniformWhole(0, last, source))];
}

void CheckEdges(const ColumnEncoding& encoding) {
  const std::vector<double>& edges = encoding.edges;
  if (edges.empty()) return;
  bool increase = edges.size() == size_t{encoding.bins} + 1;
  for (size_t i = 1; increase && i < edges.size(); ++i) increase = edges[i - 1] < edges[i];
  if (!increase || edges.front() != encoding.column.lower ||
      edges.back() != encoding.column.upper) {
    RefuseEncoding(encoding,
                   "has edges of bins that do not increase from its lower to its upper bound",
                   "begin with the lower bound of the dictionary and end with the upper one");
  }
}

void RequireSameSchema(const ColumnEncoding& encoding, const ColumnSchema& schema) {
  if (schema.type != encoding.column.type) {
    RefuseEncoding(encoding,
                   fmt::format("is '{}' in the table and '{}' in the study",
                               ColumnTypeName(schema.type), ColumnTypeName(encoding.column.type)),
                   "use one dictionary");
  }
  for (const std::string& level : schema.levels) {
    const auto& known = encoding.column.levels;
    if (std::find(known.begin(), known.end(), level) == known.end()) {
      RefuseEncoding(encoding, fmt::format("has a level '{}' that the study does not know", level),
                     "agree on all levels in the dictionary before the study");
    }
  }
  if (schema.levels != encoding.column.levels) {
    RefuseEncoding(encoding, "lacks a level of the study, or has them in another order",
                   "use one dictionary");
  }
}

[[noreturn]] void RefuseCell(const ColumnEncoding& encoding, size_t row, const std::string& why) {
  throw Error(ErrorCode::kBadData,
              fmt::format("column '{}', row {}: {}", encoding.column.name, row + 1, why),
              "leave out the row, or correct the cell");
}

}  // namespace

std::string_view EncodingKindName(EncodingKind kind) {
  switch (kind) {
    case EncodingKind::kLevels:
      return "levels";
    case EncodingKind::kWhole:
      return "whole";
    case EncodingKind::kBins:
      return "bins";
    case EncodingKind::kIndicator:
      return "indicator";
    case EncodingKind::kUnit:
      return "unit";
    case EncodingKind::kStandard:
      return "standard";
    case EncodingKind::kCount:
      return "count";
  }
  throw Error(ErrorCode::kInternal, "unknown encoding");
}

ColumnEncoding DefaultEncoding(const ColumnSchema& column) {
  ColumnEncoding encoding{column, EncodingKind::kUnit, 0, {}};
  if (HasLevels(column.type)) {
    encoding.kind = EncodingKind::kLevels;
  } else if (column.type == ColumnType::kInteger && column.upper - column.lower < kMaxWholeLevels) {
    encoding.kind = EncodingKind::kWhole;
  }
  CheckEncoding(encoding);
  return encoding;
}

void CheckEncoding(const ColumnEncoding& encoding) {
  const ColumnSchema& column = encoding.column;
  const bool of_levels =
      encoding.kind == EncodingKind::kLevels || encoding.kind == EncodingKind::kIndicator;
  const bool of_integers =
      encoding.kind == EncodingKind::kWhole || encoding.kind == EncodingKind::kCount;
  if (of_levels != HasLevels(column.type) || (!of_levels && !IsNumber(column.type)) ||
      (of_integers && column.type != ColumnType::kInteger)) {
    RefuseEncoding(encoding,
                   fmt::format("of type {} cannot be encoded as '{}'", ColumnTypeName(column.type),
                               EncodingKindName(encoding.kind)),
                   "choose an encoding for its type, or leave the column out");
  }
  if (!of_levels && !(std::isfinite(column.lower) && std::isfinite(column.upper) &&
                      column.lower < column.upper)) {
    RefuseEncoding(encoding, "has no public bounds", "give the bounds that its values can have");
  }
  if (IsWhole(column.type) &&
      (std::trunc(column.lower) != column.lower || std::trunc(column.upper) != column.upper)) {
    RefuseEncoding(encoding, "has bounds that are no whole numbers", "round them outwards");
  }
  if (of_levels && NumLevels(encoding) < 2) {
    RefuseEncoding(encoding, "has one level, which a model learns nothing from",
                   "leave it out, or pool fewer levels");
  }
  if (encoding.kind == EncodingKind::kIndicator && column.levels.size() != 2) {
    RefuseEncoding(encoding,
                   fmt::format("has {} levels, an indicator has two", column.levels.size()),
                   "encode it as 'levels'");
  }
  for (const std::string& level : encoding.pooled) {
    if (std::find(column.levels.begin(), column.levels.end(), level) == column.levels.end()) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("column '{}' has no level '{}' to pool", column.name, level),
                  SuggestionHint(level, column.levels));
    }
  }
  if (encoding.kind == EncodingKind::kWhole && column.upper - column.lower >= 10000) {
    RefuseEncoding(encoding, "has too many whole numbers for one level each",
                   "encode it as 'bins'");
  }
  if (encoding.kind != EncodingKind::kBins) {
    if (!encoding.edges.empty())
      RefuseEncoding(encoding, "has edges and no bins", "leave out the edges");
    return;
  }
  if (encoding.bins < 2 || encoding.bins > 10000) {
    RefuseEncoding(encoding, fmt::format("has {} bins", encoding.bins),
                   "choose between 2 and 10000");
  }
  CheckEdges(encoding);
  for (uint32_t bin = 0; IsWhole(column.type) && bin < encoding.bins; ++bin) {
    const auto [first, last] = WholeNumbersOfBin(encoding, bin);
    if (first > last) {
      RefuseEncoding(encoding, "has a bin without a whole number", "choose fewer bins");
    }
  }
}

std::pair<double, double> BoundsOfBin(const ColumnEncoding& encoding, double bin) {
  if (!encoding.edges.empty()) {
    const auto at = static_cast<size_t>(bin);
    return {encoding.edges[at], encoding.edges[at + 1]};
  }
  const double lower = encoding.column.lower, width = encoding.column.upper - lower;
  return {lower + width * bin / encoding.bins, lower + width * (bin + 1) / encoding.bins};
}

std::pair<double, double> WholeNumbersOfBin(const ColumnEncoding& encoding, double bin) {
  const double lower = encoding.column.lower, width = encoding.column.upper - lower;
  // Of equal widths rounded once, as EncodeNumber compares.
  const auto first_of = [&](double at) {
    return encoding.edges.empty() ? lower + std::ceil(width * at / encoding.bins)
                                  : std::ceil(encoding.edges[static_cast<size_t>(at)]);
  };
  const bool last_bin = bin + 1 == encoding.bins;
  return {first_of(bin), last_bin ? encoding.column.upper : first_of(bin + 1) - 1};
}

size_t NumLevels(const ColumnEncoding& encoding) {
  switch (encoding.kind) {
    case EncodingKind::kLevels: {
      const size_t levels = encoding.column.levels.size();
      const auto pooled = static_cast<size_t>(
          std::count_if(encoding.column.levels.begin(), encoding.column.levels.end(),
                        [&](const std::string& level) { return IsPooled(encoding, level); }));
      return levels - pooled + (pooled > 0 ? 1 : 0);
    }
    case EncodingKind::kWhole:
      return static_cast<size_t>(encoding.column.upper - encoding.column.lower) + 1;
    case EncodingKind::kBins:
      return encoding.bins;
    case EncodingKind::kIndicator:
      return encoding.column.levels.size();
    case EncodingKind::kUnit:
    case EncodingKind::kStandard:
    case EncodingKind::kCount:
      return 0;
  }
  throw Error(ErrorCode::kInternal, "unknown encoding");
}

std::vector<double> Encode(const ColumnEncoding& encoding, const Table& table) {
  CheckEncoding(encoding);
  const Column& column = table.Get(encoding.column.name);
  RequireSameSchema(encoding, column.schema);
  std::vector<double> values;
  values.reserve(table.num_rows);
  if (HasLevels(encoding.column.type)) {
    const std::vector<int32_t> levels = ModelLevels(encoding);
    for (size_t row = 0; row < table.num_rows; ++row) {
      const int32_t code = column.codes[row];
      if (code < 0) RefuseCell(encoding, row, "there is no value");
      values.push_back(levels[static_cast<size_t>(code)]);
    }
    return values;
  }
  for (size_t row = 0; row < table.num_rows; ++row) {
    const double x = column.numbers[row];
    if (std::isnan(x)) RefuseCell(encoding, row, "there is no value");
    if (!(x >= encoding.column.lower && x <= encoding.column.upper)) {
      RefuseCell(encoding, row,
                 fmt::format("{} is outside the bounds {}", x, BoundsText(encoding.column)));
    }
    values.push_back(EncodeNumber(encoding, x));
  }
  return values;
}

Column Decode(const ColumnEncoding& encoding, const std::vector<double>& values,
              crypto::RandomSource& source) {
  CheckEncoding(encoding);
  const size_t levels = NumLevels(encoding);
  for (const double value : values) {
    const bool fits = levels == 0 || (value >= 0 && value < static_cast<double>(levels) &&
                                      value == std::floor(value));
    if (!std::isfinite(value) || !fits) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("column '{}' cannot have the value {}", encoding.column.name, value));
    }
  }
  Column column;
  column.schema = encoding.column;
  if (HasLevels(encoding.column.type)) {
    const std::vector<int32_t> model_levels = ModelLevels(encoding);
    for (const double value : values)
      column.codes.push_back(DecodeLevel(encoding, model_levels, value, source));
  } else {
    for (const double value : values)
      column.numbers.push_back(DecodeNumber(encoding, value, source));
  }
  return column;
}

}  // namespace partita::data
