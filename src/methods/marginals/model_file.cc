#include "methods/marginals/model_file.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json_problem.h"
#include "crypto/hash.h"
#include "crypto/prg.h"
#include "data/byte_source.h"

namespace partita::methods::marginals {
namespace {

using data::ColumnType;
using data::EncodingKind;
using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "partita marginals 1";
constexpr size_t kMostBytes = size_t{64} << 20, kBytesAtOnce = size_t{1} << 20;
constexpr double kLargestCell = 1e12;

constexpr std::array<EncodingKind, 3> kKinds = {EncodingKind::kLevels, EncodingKind::kWhole,
                                                EncodingKind::kBins};
constexpr std::array<ColumnType, 5> kTypes = {ColumnType::kNumeric, ColumnType::kInteger,
                                              ColumnType::kFactor, ColumnType::kOrdered,
                                              ColumnType::kDate};

[[noreturn]] void RefuseFile(const std::string& what) {
  throw Error(ErrorCode::kBadInput, fmt::format("the file of tables is not one: {}", what),
              "use a file that Partita wrote");
}

template <typename Value, size_t kCount>
Value Named(const std::array<Value, kCount>& values, std::string_view (*name)(Value),
            const std::string& text) {
  for (const Value value : values) {
    if (name(value) == text) return value;
  }
  RefuseFile(fmt::format("'{}' is not known", text));
}

Json ColumnJson(const LevelColumn& column) {
  const data::ColumnSchema& schema = column.encoding.column;
  Json json = {{"name", schema.name},
               {"type", data::ColumnTypeName(schema.type)},
               {"encoding", data::EncodingKindName(column.encoding.kind)},
               {"missing", column.missing}};
  if (data::HasLevels(schema.type)) {
    json["levels"] = schema.levels;
    json["pooled"] = column.encoding.pooled;
  } else {
    json["lower"] = schema.lower;
    json["upper"] = schema.upper;
    json["bins"] = column.encoding.bins;
  }
  return json;
}

LevelColumn ParseLevelColumn(const Json& json) {
  LevelColumn column;
  data::ColumnSchema& schema = column.encoding.column;
  schema.name = json.at("name").get<std::string>();
  schema.type = Named(kTypes, &data::ColumnTypeName, json.at("type").get<std::string>());
  column.encoding.kind =
      Named(kKinds, &data::EncodingKindName, json.at("encoding").get<std::string>());
  column.missing = json.at("missing").get<bool>();
  if (data::HasLevels(schema.type)) {
    schema.levels = json.at("levels").get<std::vector<std::string>>();
    column.encoding.pooled = json.at("pooled").get<std::vector<std::string>>();
    CheckFactorLevels(schema);
  } else {
    schema.lower = json.at("lower").get<double>();
    schema.upper = json.at("upper").get<double>();
    column.encoding.bins = json.at("bins").get<uint32_t>();
  }
  data::CheckEncoding(column.encoding);
  return column;
}

OpenedTables ParseTables(const Json& json) {
  if (json.at("format").get<std::string>() != kFormat) RefuseFile("it has another format");
  OpenedTables opened;
  for (const Json& column : json.at("columns")) opened.columns.push_back(ParseLevelColumn(column));
  opened.noisy.cells = json.at("cells").get<std::vector<double>>();
  if (TablesOfColumns(opened.columns).num_cells != opened.noisy.cells.size()) {
    RefuseFile("it has another number of cells");
  }
  for (const double cell : opened.noisy.cells) {
    if (!(std::abs(cell) <= kLargestCell)) RefuseFile("a cell is out of range");
  }
  opened.noisy.noise_stddev = json.at("noise_stddev").get<double>();
  opened.noisy.rows = json.at("rows").get<double>();
  if (!(opened.noisy.noise_stddev > 0 && opened.noisy.noise_stddev <= kLargestCell) ||
      !(*opened.noisy.rows >= 1 && *opened.noisy.rows <= kLargestCell)) {
    RefuseFile("its noise or number of rows is out of range");
  }
  opened.privacy = json.at("privacy").dump();
  return opened;
}

}  // namespace

const char* const kRowsPurpose =
    "Synthetic rows keep shares of levels and associations of pairs of columns approximately, and "
    "little beyond pairs. They are for writing and trying out analyses, for teaching and for "
    "planning; intervals computed from them are not confidence intervals. Ask for results on the "
    "real data before you publish one.";

std::string TablesJson(const OpenedTables& opened) {
  Json columns = Json::array();
  for (const LevelColumn& column : opened.columns) columns.push_back(ColumnJson(column));
  const Json json = {{"format", kFormat},
                     {"columns", columns},
                     {"rows", opened.noisy.rows.value_or(0)},
                     {"noise_stddev", opened.noisy.noise_stddev},
                     {"cells", opened.noisy.cells},
                     {"privacy", Json::parse(opened.privacy)}};
  return json.dump() + "\n";
}

OpenedTables ParseTablesJson(const std::string& json) {
  try {
    return ParseTables(Json::parse(json));
  } catch (const nlohmann::json::exception& error) {
    RefuseFile(JsonProblem(error.id, error.what()));
  }
}

std::optional<OpenedTables> ReadTablesFile(const std::filesystem::path& file) {
  const data::ByteSource source = data::OpenFile(file);
  std::string text, chunk(kBytesAtOnce, '\0');
  for (size_t read = kBytesAtOnce; read == kBytesAtOnce;) {
    read = source({reinterpret_cast<uint8_t*>(chunk.data()), chunk.size()});
    text.append(chunk, 0, read);
    if (text.size() > kMostBytes) RefuseFile(fmt::format("{} is too large", file.string()));
  }
  if (text.find(kFormat) == std::string::npos) return std::nullopt;
  return ParseTablesJson(text);
}

stats::marginals::Choice ChooseFor(const OpenedTables& opened) {
  ByteWriter writer;
  writer.String("partita marginals: thinning and starts");
  writer.F64(opened.noisy.noise_stddev);
  for (const double cell : opened.noisy.cells) writer.F64(cell);
  crypto::Prg source(crypto::Key(crypto::Sha256Of(writer.bytes())));
  return stats::marginals::ChooseGenerator(TablesOfColumns(opened.columns), opened.noisy, source);
}

std::vector<data::Table> DrawTables(const OpenedTables& opened,
                                    const stats::marginals::Choice& choice, size_t rows,
                                    size_t sets, crypto::RandomSource& source) {
  const stats::marginals::TableSet set = TablesOfColumns(opened.columns);
  std::vector<data::Table> tables;
  for (size_t i = 0; i < sets; ++i) {
    tables.push_back(TableOfLevels(
        opened.columns, stats::marginals::DrawRows(set, choice.generator, rows, source), source));
  }
  return tables;
}

}  // namespace partita::methods::marginals
