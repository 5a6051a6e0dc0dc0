// [[variable]]: the dictionary.
#include <cmath>
#include <map>

#include "data/contrasts.h"
#include "study/file/limits.h"
#include "study/file/sections.h"
#include "study/file/text.h"

namespace partita::study {

const std::vector<std::string> kVariableKeys = {"name",      "type",          "lower",  "upper",
                                                "unit",      "missing_codes", "levels", "reference",
                                                "contrasts", "time",          "event"};

namespace {

constexpr size_t kMaxMissingCodes = 100;
constexpr size_t kMaxCellBytes = 256;
constexpr double kLargestExactInteger = 9007199254740992.0;  // 2^53

constexpr std::string_view kLowerExample =
    "lower = 0 (the least that the variable can be; public, so never taken from the data)";
constexpr std::string_view kUpperExample =
    "upper = 100 (the most that the variable can be; public, so never taken from the data)";

const std::vector<std::string> kTypes = {"numeric", "integer", "factor",
                                         "ordered", "date",    "survival"};

// What other programs call a type.
std::string TypeMeantBy(const std::string& word) {
  static const std::map<std::string, std::string> kMeanings = {
      {"float", "numeric"},         {"double", "numeric"},     {"real", "numeric"},
      {"number", "numeric"},        {"continuous", "numeric"}, {"int", "integer"},
      {"count", "integer"},         {"bool", "factor"},        {"boolean", "factor"},
      {"binary", "factor"},         {"logical", "factor"},     {"categorical", "factor"},
      {"category", "factor"},       {"nominal", "factor"},     {"string", "factor"},
      {"text", "factor"},           {"character", "factor"},   {"ordinal", "ordered"},
      {"likert", "ordered"},        {"datetime", "date"},      {"time", "survival"},
      {"time-to-event", "survival"}};
  const auto found = kMeanings.find(word);
  return found == kMeanings.end() ? "" : found->second;
}

}  // namespace

data::ColumnType ReadVariableType(const TableReader& reader) {
  const LocatedText type = reader.Text("type", "type = \"numeric\"");
  if (type.value == "key") {
    reader.Fail(type.position, "a key is no variable",
                "name the key column in [table]: key = \"id\"; then remove this [[variable]]");
  }
  const std::string meant = TypeMeantBy(type.value);
  if (!meant.empty()) {
    reader.Fail(type.position, "'type' in [[variable]] cannot be " + Quote(type.value),
                "write type = \"" + meant + "\"; known here: " + Join(kTypes));
  }
  reader.Choice(type, "type", kTypes);
  using data::ColumnType;
  for (const ColumnType known : {ColumnType::kNumeric, ColumnType::kInteger, ColumnType::kFactor,
                                 ColumnType::kOrdered, ColumnType::kDate}) {
    if (type.value == data::ColumnTypeName(known)) return known;
  }
  return ColumnType::kSurvival;
}

namespace {

void RefuseKeys(const TableReader& reader, const std::vector<std::string>& keys,
                const std::string& why) {
  for (const std::string& key : keys) {
    if (!reader.Has(key)) continue;
    reader.Fail(reader.PositionOf(key), why, "remove '" + key + "' or change 'type'");
  }
}

void CheckBound(const TableReader& reader, const Located<double>& bound, data::ColumnType type) {
  if (!std::isfinite(bound.value)) {
    reader.Fail(bound.position, "a bound must be a finite number",
                "write the smallest and the largest value that the variable can take");
  }
  const bool exact =
      bound.value == std::trunc(bound.value) && std::fabs(bound.value) <= kLargestExactInteger;
  if (type == data::ColumnType::kInteger && !exact) {
    reader.Fail(bound.position, "the bounds of an integer must be whole numbers below 2^53",
                "round them outwards, or use type = \"numeric\"");
  }
  if (type == data::ColumnType::kSurvival && bound.value < 0) {
    reader.Fail(bound.position, "a survival time cannot be negative",
                "write lower = 0: times count from the start of follow-up");
  }
}

void ReadBounds(const TableReader& reader, data::ColumnSchema& column) {
  RefuseKeys(reader, {"levels", "reference", "contrasts"},
             "only factors and ordered variables have levels");
  const bool date = column.type == data::ColumnType::kDate;
  const auto lower =
      reader.Value("lower", date, date ? std::string_view("lower = 2000-01-01") : kLowerExample);
  const auto upper =
      reader.Value("upper", date, date ? std::string_view("upper = 2030-12-31") : kUpperExample);
  for (const auto& bound : {lower, upper}) CheckBound(reader, bound, column.type);
  if (lower.value >= upper.value || !std::isfinite(upper.value - lower.value)) {
    reader.Fail(upper.position, "'upper' of " + Quote(column.name) + " must be above 'lower'",
                "write the smallest value that the variable can take as 'lower', the largest as "
                "'upper'");
  }
  column.lower = lower.value;
  column.upper = upper.value;
  if (date) RefuseKeys(reader, {"unit"}, "a date has no unit");
  if (const auto unit = reader.OptionalText("unit")) {
    CheckPlainText(reader, *unit, "unit", kMaxCellBytes);
    column.unit = unit->value;
  }
}

std::string ReadColumnName(const TableReader& reader, std::string_view key,
                           std::string_view example) {
  const LocatedText name = reader.Text(key, example);
  CheckPlainText(reader, name, key, kMaxColumnNameBytes);
  return name.value;
}

void ReadSurvival(const TableReader& reader, data::ColumnSchema& column) {
  column.time_column = ReadColumnName(reader, "time", "time = \"months\"");
  column.event_column = ReadColumnName(reader, "event", "event = \"died\"");
  if (column.time_column == column.event_column) {
    reader.Fail(reader.PositionOf("event"), "'time' and 'event' are the same column",
                "one column holds the time of follow-up, the other 1 if the event happened then "
                "and 0 if not");
  }
  ReadBounds(reader, column);
}

void ReadContrasts(const TableReader& reader, data::ColumnSchema& column) {
  using data::Contrasts;
  const bool ordered = column.type == data::ColumnType::kOrdered;
  std::string name = ordered ? "polynomial" : "treatment";
  if (const auto text = reader.OptionalText("contrasts")) {
    name = reader.Choice(*text, "contrasts", {"treatment", "sum", "polynomial", "scores"});
    if (!ordered && (name == "polynomial" || name == "scores")) {
      reader.Fail(text->position, "the contrasts " + Quote(name) + " need an order of the levels",
                  "write type = \"ordered\", or contrasts = \"treatment\" or \"sum\"");
    }
  }
  column.contrasts = name == "treatment"    ? Contrasts::kTreatment
                     : name == "sum"        ? Contrasts::kSum
                     : name == "polynomial" ? Contrasts::kPolynomial
                                            : Contrasts::kScores;
  if (column.contrasts == Contrasts::kPolynomial &&
      column.levels.size() > data::kMaxPolynomialLevels) {
    reader.Fail(reader.PositionOf("contrasts"),
                Quote(column.name) + " has " + std::to_string(column.levels.size()) +
                    " levels, and polynomial contrasts go up to " +
                    std::to_string(data::kMaxPolynomialLevels),
                "write contrasts = \"scores\" or contrasts = \"treatment\"");
  }
}

void ReadReference(const TableReader& reader, data::ColumnSchema& column) {
  const bool treatment = column.contrasts == data::Contrasts::kTreatment;
  if (treatment) column.reference = column.levels.front();
  const auto reference = reader.OptionalText("reference");
  if (!reference) return;
  if (!treatment) {
    reader.Fail(reference->position, "only treatment contrasts have a reference",
                column.type == data::ColumnType::kOrdered && !reader.Has("contrasts")
                    ? "ordered variables have polynomial contrasts: remove 'reference', or write "
                      "contrasts = \"treatment\""
                    : "remove 'reference', or write contrasts = \"treatment\"");
  }
  column.reference = reader.Choice(*reference, "reference", column.levels);
}

void ReadLevels(const TableReader& reader, data::ColumnSchema& column) {
  RefuseKeys(reader, {"lower", "upper", "unit"},
             "a factor has levels instead of bounds and a unit");
  column.levels =
      ReadLevelList(reader, "levels", reader.Texts("levels", "levels = [\"no\", \"yes\"]"));
  ReadContrasts(reader, column);
  ReadReference(reader, column);
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

}  // namespace

data::ColumnSchema ReadVariable(const TableReader& reader, const std::string& name) {
  data::ColumnSchema column;
  column.name = name;
  column.type = ReadVariableType(reader);
  const bool survival = column.type == data::ColumnType::kSurvival;
  if (!survival) RefuseKeys(reader, {"time", "event"}, "only a survival variable has two columns");
  if (data::HasLevels(column.type)) {
    ReadLevels(reader, column);
  } else if (survival) {
    ReadSurvival(reader, column);
  } else {
    ReadBounds(reader, column);
  }
  ReadMissingCodes(reader, column);
  return column;
}

namespace {

// The columns of survival variables belong to nothing else.
void CheckSurvivalColumns(const std::vector<TableReader>& variables, const data::Schema& schema) {
  std::map<std::string, std::string> owners;
  for (const data::ColumnSchema& column : schema.columns) owners.emplace(column.name, column.name);
  for (size_t i = 0; i < variables.size(); ++i) {
    const data::ColumnSchema& column = schema.columns[i];
    if (column.type != data::ColumnType::kSurvival) continue;
    for (const char* key : {"time", "event"}) {
      const std::string name = variables[i].OptionalText(key)->value;
      const auto [other, is_new] = owners.emplace(name, column.name);
      if (is_new) continue;
      variables[i].Fail(
          variables[i].PositionOf(key),
          "the column " + Quote(name) + " already belongs to the variable " + Quote(other->second),
          "a column of the table belongs to one variable: remove or rename the "
          "other one");
    }
  }
}

}  // namespace

Dictionary ReadDictionary(const TableReader& root) {
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
  Dictionary dictionary;
  for (size_t i = 0; i < variables.size(); ++i) {
    dictionary.schema.columns.push_back(ReadVariable(variables[i], names[i].value));
    dictionary.positions.push_back(variables[i].position());
  }
  CheckSurvivalColumns(variables, dictionary.schema);
  return dictionary;
}

}  // namespace partita::study
