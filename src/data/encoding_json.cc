#include "data/encoding_json.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace partita::data {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<EncodingKind, 7> kFileKinds = {
    EncodingKind::kLevels, EncodingKind::kWhole,    EncodingKind::kBins, EncodingKind::kIndicator,
    EncodingKind::kUnit,   EncodingKind::kStandard, EncodingKind::kCount};
constexpr std::array<ColumnType, 5> kFileTypes = {ColumnType::kNumeric, ColumnType::kInteger,
                                                  ColumnType::kFactor, ColumnType::kOrdered,
                                                  ColumnType::kDate};

template <typename Value, size_t kCount>
Value ByName(const std::array<Value, kCount>& values, std::string_view (*name)(Value),
             const std::string& text) {
  for (const Value value : values) {
    if (name(value) == text) return value;
  }
  throw Error(ErrorCode::kBadInput,
              fmt::format("the file describes a column that is none: '{}' is not known", text),
              "use a file that Partita wrote");
}

}  // namespace

Json EncodingJson(const ColumnEncoding& encoding) {
  const ColumnSchema& column = encoding.column;
  Json json = {{"name", column.name},
               {"type", ColumnTypeName(column.type)},
               {"encoding", EncodingKindName(encoding.kind)}};
  if (HasLevels(column.type)) {
    json["levels"] = column.levels;
    json["pooled"] = encoding.pooled;
  } else {
    json["lower"] = column.lower;
    json["upper"] = column.upper;
    json["bins"] = encoding.bins;
  }
  if (!encoding.edges.empty()) json["edges"] = encoding.edges;
  return json;
}

ColumnEncoding ParseEncodingJson(const Json& json) {
  ColumnEncoding encoding;
  ColumnSchema& column = encoding.column;
  column.name = json.at("name").get<std::string>();
  column.type = ByName(kFileTypes, &ColumnTypeName, json.at("type").get<std::string>());
  encoding.kind = ByName(kFileKinds, &EncodingKindName, json.at("encoding").get<std::string>());
  if (HasLevels(column.type)) {
    column.levels = json.at("levels").get<std::vector<std::string>>();
    encoding.pooled = json.at("pooled").get<std::vector<std::string>>();
    if (column.levels.size() > kMostFileLevels || encoding.pooled.size() > kMostFileLevels) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("column '{}' of the file has too many levels", column.name),
                  "use a file that Partita wrote");
    }
  } else {
    column.lower = json.at("lower").get<double>();
    column.upper = json.at("upper").get<double>();
    encoding.bins = json.at("bins").get<uint32_t>();
  }
  if (json.contains("edges")) encoding.edges = json.at("edges").get<std::vector<double>>();
  CheckEncoding(encoding);
  return encoding;
}

}  // namespace partita::data
