// [[derived]]: transforms with the constants of the study file.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "study/file/sections.h"
#include "study/file/text.h"

namespace partita::study {
namespace {

using data::DerivedVariable;
using data::TransformKind;

const std::vector<std::string> kDerivedKeys = {"name",  "from",     "transform", "centre",
                                               "scale", "degree",   "points",    "labels",
                                               "knots", "boundary", "reference", "with"};

constexpr std::array<TransformKind, 8> kTransforms = {
    TransformKind::kLog, TransformKind::kLog1p, TransformKind::kSqrt, TransformKind::kScale,
    TransformKind::kCut, TransformKind::kPoly,  TransformKind::kNs,   TransformKind::kProduct};

TransformKind ReadTransform(const TableReader& reader) {
  const LocatedText text = reader.Text("transform", "transform = \"log1p\"");
  std::vector<std::string> names;
  for (const TransformKind kind : kTransforms) {
    names.emplace_back(data::TransformName(kind));
    if (text.value == names.back()) return kind;
  }
  reader.Choice(text, "transform", names);  // throws
  return TransformKind::kLog;
}

std::vector<std::string> KeysOfTransform(TransformKind kind) {
  switch (kind) {
    case TransformKind::kScale:
      return {"centre", "scale"};
    case TransformKind::kCut:
      return {"points", "labels", "reference"};
    case TransformKind::kPoly:
      return {"degree", "centre", "scale"};
    case TransformKind::kNs:
      return {"knots", "boundary"};
    case TransformKind::kProduct:
      return {"with"};
    default:
      return {};
  }
}

// Where a transform that does not fit its source is to be corrected.
std::string_view DecisiveKey(TransformKind kind) {
  switch (kind) {
    case TransformKind::kScale:
    case TransformKind::kPoly:
      return "scale";
    case TransformKind::kCut:
      return "points";
    case TransformKind::kNs:
      return "knots";
    default:
      return "from";
  }
}

// Keys of other transforms.
void CheckKeys(const TableReader& reader, TransformKind kind) {
  const std::vector<std::string> own = KeysOfTransform(kind);
  const std::string name(data::TransformName(kind));
  for (size_t i = 3; i < kDerivedKeys.size(); ++i) {
    const std::string& key = kDerivedKeys[i];
    if (!reader.Has(key) || std::find(own.begin(), own.end(), key) != own.end()) continue;
    reader.Fail(reader.PositionOf(key), fmt::format("the transform '{}' has no '{}'", name, key),
                own.empty() ? "remove it: '" + name + "' has no constants"
                            : "it takes " + Join(own) + "; remove the key or change 'transform'");
  }
}

double FiniteNumber(const TableReader& reader, const Located<double>& number) {
  if (std::isfinite(number.value)) return number.value;
  reader.Fail(number.position, "a constant must be a finite number", "write a decimal number");
}

std::vector<double> FiniteNumbers(const TableReader& reader,
                                  const std::vector<Located<double>>& numbers) {
  std::vector<double> values;
  for (const Located<double>& number : numbers) values.push_back(FiniteNumber(reader, number));
  return values;
}

void ReadScale(const TableReader& reader, bool date, DerivedVariable& derived) {
  derived.centre = FiniteNumber(reader, reader.Value("centre", date, "centre = 50"));
  derived.scale = FiniteNumber(reader, reader.Number("scale", "scale = 10"));
}

void ReadCut(const TableReader& reader, bool date, DerivedVariable& derived) {
  derived.points = FiniteNumbers(reader, reader.Values("points", date, "points = [18.5, 25, 30]"));
  derived.labels = ReadLevelList(
      reader, "labels",
      reader.Texts("labels", "labels = [\"under\", \"normal\", \"over\", \"obese\"]"));
  if (const auto reference = reader.OptionalText("reference")) {
    derived.reference = reader.Choice(*reference, "reference", derived.labels);
  }
}

void ReadPoly(const TableReader& reader, const data::ColumnSchema& source, bool date,
              DerivedVariable& derived) {
  const auto degree = reader.OptionalInteger("degree");
  if (!degree) reader.FailMissing("degree", "degree = 2");
  if (degree->value < 1 || degree->value > data::kMaxPolyDegree) {
    reader.Fail(degree->position,
                "'degree' must be between 1 and " + std::to_string(data::kMaxPolyDegree),
                "2 or 3 suits nearly every curve; a spline (transform = \"ns\") bends better");
  }
  derived.degree = static_cast<int>(degree->value);
  derived.centre = source.lower / 2 + source.upper / 2;
  derived.scale = (source.upper - source.lower) / 2;
  if (const auto centre = reader.OptionalValue("centre", date)) {
    derived.centre = FiniteNumber(reader, *centre);
  }
  if (const auto scale = reader.OptionalNumber("scale")) {
    derived.scale = FiniteNumber(reader, *scale);
  }
}

void ReadSpline(const TableReader& reader, bool date, DerivedVariable& derived) {
  derived.knots = FiniteNumbers(reader, reader.Values("knots", date, "knots = [30, 50, 70]"));
  const auto boundary =
      FiniteNumbers(reader, reader.Values("boundary", date, "boundary = [20, 80]"));
  if (boundary.size() != 2) {
    reader.Fail(reader.PositionOf("boundary"),
                "'boundary' has two ends, not " + std::to_string(boundary.size()),
                "write boundary = [20, 80]: the spline is a straight line outside of them");
  }
  derived.boundary_lower = boundary[0];
  derived.boundary_upper = boundary[1];
}

// A variable that the key names, of a type that can be transformed.
const data::ColumnSchema& ReadSource(const TableReader& reader, const std::string& key,
                                     const std::string& example, const data::Schema& dictionary) {
  const LocatedText from = reader.Text(key, key + " = \"" + example + "\"");
  const data::ColumnSchema& source = FindVariable(reader, from, key, dictionary);
  if (data::HasBounds(source.type) && source.type != data::ColumnType::kSurvival) return source;
  reader.Fail(from.position,
              Quote(source.name) + " is of type " + std::string(data::ColumnTypeName(source.type)) +
                  " and cannot be transformed",
              "derive from a numeric, integer or date variable");
}

DerivedVariable ReadOne(const TableReader& reader, const data::Schema& dictionary) {
  DerivedVariable derived;
  derived.name = reader.Text("name", "name = \"log_income\"").value;
  const data::ColumnSchema& source = ReadSource(reader, "from", "income", dictionary);
  derived.from = source.name;
  derived.kind = ReadTransform(reader);
  CheckKeys(reader, derived.kind);
  const bool date = source.type == data::ColumnType::kDate;
  if (derived.kind == TransformKind::kScale) ReadScale(reader, date, derived);
  if (derived.kind == TransformKind::kCut) ReadCut(reader, date, derived);
  if (derived.kind == TransformKind::kPoly) ReadPoly(reader, source, date, derived);
  if (derived.kind == TransformKind::kNs) ReadSpline(reader, date, derived);
  if (derived.kind == TransformKind::kProduct)
    derived.with = ReadSource(reader, "with", "age", dictionary).name;
  return derived;
}

// Every name that an analysis or a table's column has, and what has it.
class ColumnNames {
 public:
  ColumnNames(const data::Schema& dictionary, const TableSpec& table) {
    for (const data::ColumnSchema& variable : dictionary.columns) {
      Take(variable.name, "the variable " + Quote(variable.name));
      Take(variable.time_column, "the time of " + Quote(variable.name));
      Take(variable.event_column, "the event of " + Quote(variable.name));
    }
    Take(table.key, "the key");
    Take(table.block, "the block column");
  }

  void Take(const std::string& name, const std::string& owner) {
    if (!name.empty()) owners_.emplace(name, owner);
  }

  // Takes the columns that a variable makes; one of the variable's own name is the variable itself.
  void TakeColumns(const TableReader& reader, Position position, const std::string& variable,
                   const std::vector<data::DesignColumn>& columns) {
    for (const data::DesignColumn& column : columns) {
      const std::string& name = column.schema.name;
      if (name == variable) continue;
      const auto [other, is_new] = owners_.emplace(name, "a column of " + Quote(variable));
      if (is_new) continue;
      reader.Fail(
          position,
          Quote(variable) + " makes the column " + Quote(name) + ", which is also " + other->second,
          "rename one of them");
    }
  }

  const std::string* Owner(const std::string& name) const {
    const auto found = owners_.find(name);
    return found == owners_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::string, std::string> owners_;
};

}  // namespace

std::vector<DerivedVariable> ReadDerived(const TableReader& root, const Dictionary& dictionary,
                                         const TableSpec& table) {
  const auto tables = root.Tables("derived", kDerivedKeys);
  if (tables.size() > kMaxVariables) {
    root.Fail(tables[kMaxVariables].position(), "there are too many derived variables",
              "a study has at most " + std::to_string(kMaxVariables));
  }
  ColumnNames names(dictionary.schema, table);
  for (size_t i = 0; i < dictionary.positions.size(); ++i) {
    const data::ColumnSchema& variable = dictionary.schema.columns[i];
    names.TakeColumns(root, dictionary.positions[i], variable.name, data::ColumnsOf(variable));
  }
  std::vector<DerivedVariable> all;
  for (const TableReader& reader : tables) {
    const LocatedText name = reader.Text("name", "name = \"log_income\"");
    CheckName(reader, name, kVariableName);
    if (const std::string* owner = names.Owner(name.value)) {
      reader.Fail(name.position, "the name " + Quote(name.value) + " is taken: it is " + *owner,
                  "give the derived variable another name");
    }
    all.push_back(ReadOne(reader, dictionary.schema));
    names.Take(name.value, "the derived variable " + Quote(name.value));
    std::vector<data::DesignColumn> columns;
    try {
      columns = data::ColumnsOf(all.back(), dictionary.schema);
    } catch (const Error& error) {
      FailWith(reader, reader.PositionOf(DecisiveKey(all.back().kind)), error);
    }
    names.TakeColumns(reader, name.position, name.value, columns);
  }
  return all;
}

}  // namespace partita::study
