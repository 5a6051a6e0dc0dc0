// [[variable]]: the dictionary.
#include <cmath>

#include "study/study_sections.h"
#include "study/text.h"

namespace partita::study {
namespace {

constexpr size_t kMaxLevels = 1000;
constexpr size_t kMaxMissingCodes = 100;
constexpr size_t kMaxCellBytes = 256;
constexpr double kLargestExactInteger = 9007199254740992.0;  // 2^53

const std::vector<std::string> kVariableKeys = {"name", "type",   "lower",     "upper",
                                                "unit", "levels", "reference", "missing_codes"};

data::ColumnType ReadType(const TableReader& reader) {
  const LocatedText type = reader.Text("type", "type = \"numeric\"");
  if (type.value == "key") {
    reader.Fail(type.position, "a key is no variable",
                "name the key column in [table]: key = \"id\"; then remove this [[variable]]");
  }
  reader.Choice(type, "type", {"numeric", "integer", "factor"});
  if (type.value == "factor") return data::ColumnType::kFactor;
  return type.value == "integer" ? data::ColumnType::kInteger : data::ColumnType::kNumeric;
}

void Refuse(const TableReader& reader, const std::vector<std::string>& keys,
            const std::string& why) {
  for (const std::string& key : keys) {
    if (!reader.Has(key)) continue;
    reader.Fail(reader.PositionOf(key), why, "remove '" + key + "' or change 'type'");
  }
}

void ReadBounds(const TableReader& reader, data::ColumnSchema& column) {
  Refuse(reader, {"levels", "reference"}, "only a factor has levels");
  const auto lower = reader.Number("lower", "lower = 0");
  const auto upper = reader.Number("upper", "upper = 100");
  for (const auto& bound : {lower, upper}) {
    if (!std::isfinite(bound.value)) {
      reader.Fail(bound.position, "a bound must be a finite number",
                  "write the smallest and the largest value that the variable can take");
    }
    const bool exact =
        bound.value == std::trunc(bound.value) && std::fabs(bound.value) <= kLargestExactInteger;
    if (column.type == data::ColumnType::kInteger && !exact) {
      reader.Fail(bound.position, "the bounds of an integer must be whole numbers below 2^53",
                  "round them outwards, or use type = \"numeric\"");
    }
  }
  if (lower.value >= upper.value || !std::isfinite(upper.value - lower.value)) {
    reader.Fail(upper.position, "'upper' of " + Quote(column.name) + " must be above 'lower'",
                "write the smallest value that the variable can take as 'lower', the largest as "
                "'upper'");
  }
  column.lower = lower.value;
  column.upper = upper.value;
  if (const auto unit = reader.OptionalText("unit")) {
    CheckPlainText(reader, *unit, "unit", kMaxCellBytes);
    column.unit = unit->value;
  }
}

void ReadLevels(const TableReader& reader, data::ColumnSchema& column) {
  Refuse(reader, {"lower", "upper", "unit"}, "a factor has levels instead of bounds and a unit");
  const auto levels = reader.Texts("levels", "levels = [\"no\", \"yes\"]");
  if (levels.size() < 2 || levels.size() > kMaxLevels) {
    reader.Fail(reader.PositionOf("levels"),
                "a factor has 2 to " + std::to_string(kMaxLevels) + " levels, not " +
                    std::to_string(levels.size()),
                "list every value that the column can hold");
  }
  for (const LocatedText& level : levels) {
    CheckPlainText(reader, level, "levels", kMaxCellBytes);
    column.levels.push_back(level.value);
  }
  CheckDistinct(reader, levels, "level");
  column.reference = column.levels.front();
  if (const auto reference = reader.OptionalText("reference")) {
    column.reference = reader.Choice(*reference, "reference", column.levels);
  }
}

void ReadMissingCodes(const TableReader& reader, data::ColumnSchema& column) {
  const auto codes = reader.OptionalTexts("missing_codes");
  if (!codes) return;
  if (codes->size() > kMaxMissingCodes) {
    reader.Fail(reader.PositionOf("missing_codes"), "there are too many missing codes",
                "give at most " + std::to_string(kMaxMissingCodes));
  }
  CheckDistinct(reader, *codes, "missing code");
  for (const LocatedText& code : *codes) {
    CheckPlainText(reader, code, "missing_codes", kMaxCellBytes);
    for (const std::string& level : column.levels) {
      if (level != code.value) continue;
      reader.Fail(code.position, Quote(level) + " is a level and a missing code",
                  "a cell is one or the other: remove it from one of the lists");
    }
    column.missing_codes.push_back(code.value);
  }
}

data::ColumnSchema ReadVariable(const TableReader& reader, const std::string& name) {
  data::ColumnSchema column;
  column.name = name;
  column.type = ReadType(reader);
  if (column.type == data::ColumnType::kFactor) {
    ReadLevels(reader, column);
  } else {
    ReadBounds(reader, column);
  }
  ReadMissingCodes(reader, column);
  return column;
}

}  // namespace

data::Schema ReadDictionary(const TableReader& root) {
  const auto variables = root.Tables("variable", kVariableKeys);
  if (variables.empty()) {
    root.FailMissing("variable",
                     "[[variable]] name = \"x1\" type = \"numeric\" lower = 0 upper = 10");
  }
  if (variables.size() > kMaxVariables) {
    root.Fail(variables[kMaxVariables].position(), "there are too many variables",
              "a study has at most " + std::to_string(kMaxVariables));
  }
  std::vector<LocatedText> names;
  for (const TableReader& reader : variables) {
    names.push_back(reader.Text("name", "name = \"x1\""));
    CheckName(reader, names.back(), kVariableName);
  }
  CheckDistinct(root, names, "variable");
  data::Schema dictionary;
  for (size_t i = 0; i < variables.size(); ++i) {
    dictionary.columns.push_back(ReadVariable(variables[i], names[i].value));
  }
  return dictionary;
}

}  // namespace partita::study
