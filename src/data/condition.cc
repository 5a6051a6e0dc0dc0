#include "data/condition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/date.h"
#include "base/error.h"
#include "data/suggest.h"

namespace partita::data {

namespace {

using Kind = Condition::Kind;

[[noreturn]] void RefuseCondition(const std::string& message, std::string hint) {
  throw Error(ErrorCode::kBadInput, message, std::move(hint));
}

bool IsComparison(Kind kind) {
  return kind == Kind::kAtLeast || kind == Kind::kAtMost || kind == Kind::kAbove ||
         kind == Kind::kBelow;
}

std::string_view Operator(Kind kind) {
  switch (kind) {
    case Kind::kIs:
      return "is";
    case Kind::kIsNot:
      return "is not";
    case Kind::kAtLeast:
      return ">=";
    case Kind::kAtMost:
      return "<=";
    case Kind::kAbove:
      return ">";
    case Kind::kBelow:
      return "<";
    case Kind::kPresent:
      return "is present";
  }
  throw Error(ErrorCode::kInternal, "unknown kind of condition");
}

std::string NumberText(const Condition& condition) {
  return condition.is_date ? FormatDate(condition.number) : fmt::format("{}", condition.number);
}

// x compared with y by anything but kPresent.
bool Compare(Kind kind, double x, double y) {
  switch (kind) {
    case Kind::kIs:
      return x == y;
    case Kind::kIsNot:
      return x != y;
    case Kind::kAtLeast:
      return x >= y;
    case Kind::kAtMost:
      return x <= y;
    case Kind::kAbove:
      return x > y;
    case Kind::kBelow:
      return x < y;
    case Kind::kPresent:
      break;
  }
  throw Error(ErrorCode::kInternal, "a condition without a comparison");
}

bool Contains(const std::vector<std::string>& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

// For each level of the variable, whether a row that has it is selected.
std::vector<bool> SelectedLevels(const Condition& condition, const ColumnSchema& variable) {
  const std::vector<std::string>& levels = variable.levels;
  std::vector<bool> selected;
  const auto named = std::find(levels.begin(), levels.end(), condition.levels.at(0));
  for (auto level = levels.begin(); level != levels.end(); ++level) {
    if (IsComparison(condition.kind)) {
      selected.push_back(Compare(condition.kind, static_cast<double>(level - named), 0));
    } else {
      selected.push_back(Contains(condition.levels, *level) == (condition.kind == Kind::kIs));
    }
  }
  return selected;
}

[[noreturn]] void RefuseNever(const Condition& condition, const std::string& what) {
  RefuseCondition(
      fmt::format("no row can satisfy '{}': {}", ConditionText(condition), what),
      "correct the condition; it is compared with what the dictionary says of the variable");
}

void ValidateLevels(const Condition& condition, const ColumnSchema& variable) {
  if (IsComparison(condition.kind) && variable.type == ColumnType::kFactor) {
    RefuseCondition(fmt::format("the levels of the factor '{}' have no order", variable.name),
                    "say which ones: is = [\"...\"]; or give the variable type = \"ordered\"");
  }
  if (condition.levels.empty()) {
    RefuseCondition(
        fmt::format("'{}' has levels, and the condition names none", variable.name),
        fmt::format("write a level between quotes, for example \"{}\"", variable.levels[0]));
  }
  for (const std::string& level : condition.levels) {
    if (Contains(variable.levels, level)) continue;
    RefuseCondition(fmt::format("'{}' is not a level of '{}'", level, variable.name),
                    SuggestionHint(level, variable.levels));
  }
  if (IsComparison(condition.kind) && condition.levels.size() != 1) {
    RefuseCondition(
        fmt::format("'{}' is compared with {} levels", variable.name, condition.levels.size()),
        "compare with one level");
  }
  const std::vector<bool> selected = SelectedLevels(condition, variable);
  if (std::find(selected.begin(), selected.end(), true) == selected.end()) {
    RefuseNever(condition, "it excludes every level");
  }
}

void ValidateNumber(const Condition& condition, const ColumnSchema& variable) {
  if (!condition.levels.empty()) {
    RefuseCondition(fmt::format("'{}' is {} and has no levels", variable.name,
                                variable.type == ColumnType::kDate ? "a date" : "a number"),
                    variable.type == ColumnType::kDate ? "write a date, for example 2020-01-31"
                                                       : "write a number without quotes");
  }
  const std::string bounds = BoundsText(variable);
  const double number = condition.number;
  if (!(number >= variable.lower && number <= variable.upper)) {
    RefuseCondition(fmt::format("'{}' compares with a value outside the bounds {} of '{}'",
                                ConditionText(condition), bounds, variable.name),
                    "correct the condition, or the bounds in the dictionary");
  }
  const bool never = (condition.kind == Kind::kAbove && number == variable.upper) ||
                     (condition.kind == Kind::kBelow && number == variable.lower);
  if (never) RefuseNever(condition, fmt::format("the bounds are {}", bounds));
  const bool equality = condition.kind == Kind::kIs || condition.kind == Kind::kIsNot;
  if (equality && variable.type == ColumnType::kInteger && std::trunc(number) != number) {
    RefuseCondition(fmt::format("'{}' is an integer and never {}", variable.name, number),
                    "write a whole number");
  }
}

const Column& ColumnOf(const Table& table, const std::string& name) {
  for (const Column& column : table.columns) {
    if (column.schema.name == name) return column;
  }
  throw Error(
      ErrorCode::kInternal,
      fmt::format("rows are to be selected by column '{}', which this table has not", name));
}

// Sets selected[row] to 0 where the cell is missing.
void DropMissing(const Column& column, std::vector<uint8_t>& selected) {
  for (size_t row = 0; row < column.numbers.size(); ++row) {
    selected[row] &= static_cast<uint8_t>(!std::isnan(column.numbers[row]));
  }
  for (size_t row = 0; row < column.codes.size(); ++row) {
    selected[row] &= static_cast<uint8_t>(column.codes[row] >= 0);
  }
}

void Apply(const Condition& condition, const Column& column, std::vector<uint8_t>& selected) {
  DropMissing(column, selected);
  if (condition.kind == Kind::kPresent) return;
  if (HasLevels(column.schema.type)) {
    const std::vector<bool> levels = SelectedLevels(condition, column.schema);
    for (size_t row = 0; row < column.codes.size(); ++row) {
      const int32_t code = column.codes[row];
      if (code >= 0 && !levels[static_cast<size_t>(code)]) selected[row] = 0;
    }
    return;
  }
  for (size_t row = 0; row < column.numbers.size(); ++row) {
    if (!Compare(condition.kind, column.numbers[row], condition.number)) selected[row] = 0;
  }
}

}  // namespace

std::string ConditionText(const Condition& condition) {
  std::string text = condition.variable + " " + std::string(Operator(condition.kind));
  if (condition.kind == Kind::kPresent) return text;
  if (condition.levels.empty()) return text + " " + NumberText(condition);
  for (size_t i = 0; i < condition.levels.size(); ++i) {
    text += (i == 0 ? " " : " or ") + condition.levels[i];
  }
  return text;
}

void ValidateCondition(const Condition& condition, const Schema& dictionary) {
  const ColumnSchema* variable = dictionary.Find(condition.variable);
  if (variable == nullptr) {
    std::vector<std::string> names;
    for (const ColumnSchema& column : dictionary.columns) names.push_back(column.name);
    RefuseCondition(fmt::format("there is no variable '{}'", condition.variable),
                    SuggestionHint(condition.variable, names));
  }
  if (variable->type == ColumnType::kKey) {
    RefuseCondition(fmt::format("'{}' is a key, which selects no rows", variable->name),
                    "use a variable of the dictionary");
  }
  if (condition.kind == Kind::kPresent) return;
  if (variable->type == ColumnType::kSurvival) {
    RefuseCondition(
        fmt::format("'{}' is a survival variable, which cannot be compared", variable->name),
        "survival variables know present = true only");
  }
  HasLevels(variable->type) ? ValidateLevels(condition, *variable)
                            : ValidateNumber(condition, *variable);
}

std::vector<uint8_t> SelectRows(const Table& table, std::span<const Condition> conditions) {
  std::vector<uint8_t> selected(table.num_rows, 1);
  for (const Condition& condition : conditions) {
    Apply(condition, ColumnOf(table, condition.variable), selected);
  }
  return selected;
}

std::vector<uint8_t> CompleteRows(const Table& table, std::span<const std::string> columns) {
  std::vector<uint8_t> complete(table.num_rows, 1);
  for (const std::string& name : columns) DropMissing(ColumnOf(table, name), complete);
  return complete;
}

}  // namespace partita::data
