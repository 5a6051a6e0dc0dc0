#include "data/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/date.h"
#include "data/utf8.h"

namespace partita::data {

namespace {

// Whole numbers up to 2^53 are exact doubles.
constexpr double kLargestExactInteger = 9007199254740992.0;

[[noreturn]] void RefuseSchema(const std::string& message, std::string hint = {}) {
  throw Error(ErrorCode::kBadInput, message, std::move(hint));
}

// A name, level or code that can be shown and compared: valid UTF-8 without control characters.
bool IsPlainText(std::string_view text) {
  bool has_control = std::any_of(text.begin(), text.end(),
                                 [](char c) { return (c >= 0 && c < 0x20) || c == 0x7F; });
  return !has_control && IsUtf8(text);
}

bool HasOuterSpace(std::string_view text) { return text.front() == ' ' || text.back() == ' '; }

void CheckName(const ColumnSchema& column, size_t position) {
  if (column.name.empty())
    RefuseSchema(fmt::format("column {} of the schema has no name", position + 1));
  if (!IsPlainText(column.name)) {
    RefuseSchema(fmt::format("the name of column {} of the schema ('{}') is not plain UTF-8 text",
                             position + 1, Printable(column.name)));
  }
  if (HasOuterSpace(column.name)) {
    RefuseSchema(fmt::format("the column name '{}' begins or ends with a space", column.name));
  }
}

// Days of 0001-01-01 and 9999-12-31.
constexpr double kFirstDay = -719162, kLastDay = 2932896;

void CheckDays(const ColumnSchema& column) {
  for (double bound : {column.lower, column.upper}) {
    if (std::trunc(bound) == bound && bound >= kFirstDay && bound <= kLastDay) continue;
    RefuseSchema(
        fmt::format("a bound of date '{}' is not a day of the years 1 to 9999", column.name));
  }
}

void CheckBounds(const ColumnSchema& column) {
  const std::string bounds = fmt::format("[{}, {}]", column.lower, column.upper);
  if (!std::isfinite(column.lower) || !std::isfinite(column.upper) ||
      !std::isfinite(column.upper - column.lower)) {
    RefuseSchema(fmt::format("the bounds {} of column '{}' are not finite", bounds, column.name),
                 "bounds are public and written by hand: the smallest and largest possible value");
  }
  if (!(column.lower < column.upper)) {
    RefuseSchema(fmt::format("the bounds {} of column '{}' are not in order", bounds, column.name),
                 "lower must be less than upper");
  }
  if (column.type == ColumnType::kDate) CheckDays(column);
  if (column.type == ColumnType::kSurvival && column.lower < 0) {
    RefuseSchema(fmt::format("the bounds {} of survival variable '{}' allow negative times", bounds,
                             column.name),
                 "a follow-up time is 0 at least");
  }
  if (column.type != ColumnType::kInteger) return;
  for (double bound : {column.lower, column.upper}) {
    if (std::trunc(bound) != bound || std::fabs(bound) > kLargestExactInteger) {
      RefuseSchema(
          fmt::format("the bounds {} of integer column '{}' are not whole numbers below 2^53",
                      bounds, column.name));
    }
  }
}

void CheckLevels(const ColumnSchema& column) {
  if (column.levels.size() < 2) {
    RefuseSchema(
        fmt::format("{} '{}' has fewer than two levels", ColumnTypeName(column.type), column.name),
        "list every level that may occur, or take the variable out: columns that no variable names "
        "are not read");
  }
  std::set<std::string_view> seen;
  for (const std::string& level : column.levels) {
    if (level.empty() || !IsPlainText(level)) {
      RefuseSchema(
          fmt::format("factor '{}' has a level that is empty or not plain UTF-8 text ('{}')",
                      column.name, Printable(level)));
    }
    if (!seen.insert(level).second) {
      RefuseSchema(fmt::format("factor '{}' lists the level '{}' twice", column.name, level));
    }
  }
  if (!column.reference.empty() && !seen.contains(column.reference)) {
    RefuseSchema(fmt::format("the reference '{}' of factor '{}' is not one of its levels",
                             column.reference, column.name));
  }
  for (const std::string& code : column.missing_codes) {
    if (seen.contains(code)) {
      RefuseSchema(
          fmt::format("'{}' is both a level and a missing code of factor '{}'", code, column.name));
    }
  }
}

void CheckContrasts(const ColumnSchema& column) {
  const bool needs_order =
      column.contrasts == Contrasts::kPolynomial || column.contrasts == Contrasts::kScores;
  if (column.contrasts == Contrasts::kTreatment || column.type == ColumnType::kOrdered) return;
  if (column.type == ColumnType::kFactor && !needs_order) return;
  RefuseSchema(
      fmt::format("the contrasts of '{}' do not go with its type {}", column.name,
                  ColumnTypeName(column.type)),
      "treatment and sum contrasts are for factors; ordered variables may also have polynomials "
      "and scores");
}

void CheckSurvivalColumns(const ColumnSchema& column) {
  const bool is_survival = column.type == ColumnType::kSurvival;
  for (const std::string& name : {column.time_column, column.event_column}) {
    if (is_survival ? !name.empty() && IsPlainText(name) && !HasOuterSpace(name) : name.empty()) {
      continue;
    }
    RefuseSchema(
        is_survival ? fmt::format("survival variable '{}' needs two columns of the table, not '{}'",
                                  column.name, Printable(name))
                    : fmt::format("'{}' has columns of time and event but is of type {}",
                                  column.name, ColumnTypeName(column.type)),
        "a survival variable has a column of the time and a column of the event");
  }
  if (is_survival && column.time_column == column.event_column) {
    RefuseSchema(
        fmt::format("survival variable '{}' has one column for time and event", column.name),
        "name two columns");
  }
}

void CheckColumn(const ColumnSchema& column) {
  if (HasLevels(column.type)) {
    CheckLevels(column);
  } else if (!column.levels.empty() || !column.reference.empty()) {
    RefuseSchema(fmt::format("column '{}' has levels but is not a factor", column.name),
                 "give it the type \"factor\", or remove its levels");
  }
  CheckContrasts(column);
  CheckSurvivalColumns(column);
  if (HasBounds(column.type)) CheckBounds(column);
  if (column.type == ColumnType::kKey && !column.missing_codes.empty()) {
    RefuseSchema(fmt::format("key column '{}' has missing codes", column.name),
                 "a key is never missing: remove them");
  }
}

void HashStrings(ByteWriter& writer, const std::vector<std::string>& texts) {
  writer.U64(texts.size());
  for (const std::string& text : texts) writer.String(text);
}

}  // namespace

std::string_view ColumnTypeName(ColumnType type) {
  switch (type) {
    case ColumnType::kNumeric:
      return "numeric";
    case ColumnType::kInteger:
      return "integer";
    case ColumnType::kFactor:
      return "factor";
    case ColumnType::kOrdered:
      return "ordered";
    case ColumnType::kDate:
      return "date";
    case ColumnType::kSurvival:
      return "survival";
    case ColumnType::kKey:
      return "key";
  }
  throw Error(ErrorCode::kInternal, "unknown column type");
}

bool HasLevels(ColumnType type) {
  return type == ColumnType::kFactor || type == ColumnType::kOrdered;
}

bool HasBounds(ColumnType type) { return !HasLevels(type) && type != ColumnType::kKey; }

std::string BoundsText(const ColumnSchema& column) {
  if (column.type != ColumnType::kDate) return fmt::format("[{}, {}]", column.lower, column.upper);
  return fmt::format("[{}, {}]", FormatDate(column.lower), FormatDate(column.upper));
}

const ColumnSchema* Schema::Find(std::string_view name) const {
  auto found = std::find_if(columns.begin(), columns.end(),
                            [&](const ColumnSchema& column) { return column.name == name; });
  return found == columns.end() ? nullptr : &*found;
}

void ValidateSchema(const Schema& schema) {
  if (schema.columns.empty()) RefuseSchema("the schema has no columns");
  if (schema.max_rows_per_person < 1) {
    RefuseSchema(fmt::format("max_rows_per_person is {}, but a person has at least one row",
                             schema.max_rows_per_person));
  }
  std::set<std::string_view> names;
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    const ColumnSchema& column = schema.columns[i];
    CheckName(column, i);
    if (!names.insert(column.name).second) {
      RefuseSchema(fmt::format("the schema has two columns named '{}'", column.name));
    }
    CheckColumn(column);
  }
  for (const ColumnSchema& column : schema.columns) {
    if (column.type != ColumnType::kSurvival) continue;
    for (const std::string* name : {&column.time_column, &column.event_column}) {
      if (names.insert(*name).second) continue;
      RefuseSchema(fmt::format("column '{}' of survival variable '{}' is also another variable",
                               *name, column.name),
                   "a column of the table belongs to one variable");
    }
  }
}

crypto::Digest SchemaDigest(const Schema& schema) {
  ByteWriter writer;
  writer.String("partita schema v2");
  writer.U64(static_cast<uint64_t>(schema.max_rows_per_person));
  writer.U64(schema.columns.size());
  for (const ColumnSchema& column : schema.columns) {
    writer.String(column.name);
    writer.String(ColumnTypeName(column.type));
    writer.F64(column.lower);
    writer.F64(column.upper);
    writer.String(column.unit);
    HashStrings(writer, column.levels);
    writer.String(column.reference);
    writer.U8(static_cast<uint8_t>(column.contrasts));
    writer.String(column.time_column);
    writer.String(column.event_column);
    HashStrings(writer, column.missing_codes);
  }
  return crypto::Sha256Of(writer.bytes());
}

}  // namespace partita::data
