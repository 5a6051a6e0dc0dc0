#include "methods/marginals/model_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json_problem.h"
#include "crypto/hash.h"
#include "crypto/prg.h"
#include "data/byte_source.h"
#include "data/encoding_json.h"
#include "stats/marginals/intervals.h"
#include "stats/marginals/selection.h"

namespace partita::methods::marginals {
namespace {

using stats::marginals::ImpossibleCell;
using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "partita marginals 1";
constexpr size_t kMostBytes = size_t{64} << 20, kBytesAtOnce = size_t{1} << 20;
constexpr double kLargestCell = 1e12;

[[noreturn]] void RefuseFile(const std::string& what) {
  throw Error(ErrorCode::kBadInput, fmt::format("the file of tables is not one: {}", what),
              "use a file that Partita wrote");
}

LevelColumn ParseLevelColumn(const Json& json) {
  LevelColumn column = {data::ParseEncodingJson(json), json.at("missing").get<bool>()};
  if (!CountsLevels(column.encoding.kind)) RefuseFile("a column has no levels to count");
  CheckFactorLevels(column.encoding.column);
  return column;
}

Json ImpossibleJson(const std::vector<ImpossibleCell>& impossible) {
  Json cells = Json::array();
  for (const ImpossibleCell& cell : impossible) {
    cells.push_back({cell.first, cell.first_level, cell.second, cell.second_level});
  }
  return cells;
}

std::vector<ImpossibleCell> ParseImpossible(const Json& json) {
  std::vector<ImpossibleCell> impossible;
  for (const Json& cell : json) {
    if (cell.size() != 4) RefuseFile("an impossible pair of levels is none");
    impossible.push_back({cell.at(0).get<uint32_t>(), cell.at(1).get<uint32_t>(),
                          cell.at(2).get<uint32_t>(), cell.at(3).get<uint32_t>()});
  }
  return impossible;
}

stats::marginals::TableWeights ParseWeights(const Json& json,
                                            const stats::marginals::TableSet& set) {
  auto weights = json.get<stats::marginals::TableWeights>();
  if (weights.size() != set.tables.size()) RefuseFile("it has not one weight for each table");
  for (size_t t = 0; t < weights.size(); ++t) {
    const bool unmeasured = weights[t] == 0 && set.tables[t].two_way();
    if (!unmeasured && !(weights[t] >= 1e-6 && weights[t] <= 1e6))
      RefuseFile("a weight is out of range");
  }
  return weights;
}

// Tables that were not measured have no counts.
void CheckUnmeasured(const stats::marginals::TableSet& set,
                     const stats::marginals::NoisyTables& noisy) {
  for (size_t t = 0; t < set.tables.size(); ++t) {
    if (noisy.Measured(t)) continue;
    for (const double cell : set.tables[t].Of(std::span<const double>(noisy.cells))) {
      if (cell != 0) RefuseFile("a table that was not measured has counts");
    }
  }
}

OpenedScores ParseScores(const Json& json, const stats::marginals::TableSet& set) {
  OpenedScores scores = {json.at("values").get<std::vector<double>>(),
                         json.at("noise_stddev").get<double>()};
  if (scores.scores.size() != stats::marginals::NumPairs(set))
    RefuseFile("it has not one score for each pair");
  bool in_range = scores.noise_stddev > 0 && scores.noise_stddev <= kLargestCell;
  for (const double score : scores.scores) in_range &= std::abs(score) <= kLargestCell;
  if (!in_range) RefuseFile("a score is out of range");
  return scores;
}

std::vector<stats::marginals::Triple> ParseTriples(const Json& json, size_t columns) {
  std::vector<stats::marginals::Triple> triples;
  if (!json.is_array()) RefuseFile("its triples are no list");
  const auto is_column = [&](const Json& number) {
    return number.is_number_unsigned() && number.get<uint64_t>() < columns;
  };
  for (const Json& entry : json) {
    const bool is_triple =
        entry.is_array() && entry.size() == 3 && std::ranges::all_of(entry, is_column);
    if (!is_triple) RefuseFile("a triple is not three columns");
    triples.push_back(entry.get<stats::marginals::Triple>());
  }
  if (triples.empty()) RefuseFile("its list of triples is empty");
  return triples;
}

OpenedTables ParseTables(const Json& json) {
  if (json.at("format").get<std::string>() != kFormat) RefuseFile("it has another format");
  OpenedTables opened;
  for (const Json& column : json.at("columns")) opened.columns.push_back(ParseLevelColumn(column));
  opened.noisy.cells = json.at("cells").get<std::vector<double>>();
  if (json.contains("triples"))
    opened.triples = ParseTriples(json.at("triples"), opened.columns.size());
  const stats::marginals::TableSet set = TablesOf(opened);
  if (set.num_cells != opened.noisy.cells.size()) RefuseFile("it has another number of cells");
  if (json.contains("impossible")) {
    opened.noisy.impossible = ParseImpossible(json.at("impossible"));
    CheckImpossible(set, opened.noisy.impossible);
  }
  for (const double cell : opened.noisy.cells) {
    if (!(std::abs(cell) <= kLargestCell)) RefuseFile("a cell is out of range");
  }
  if (json.contains("weights")) opened.noisy.weights = ParseWeights(json.at("weights"), set);
  CheckUnmeasured(set, opened.noisy);
  if (json.contains("scores")) opened.scores = ParseScores(json.at("scores"), set);
  opened.noisy.noise_stddev = json.at("noise_stddev").get<double>();
  if (!json.at("rows").is_null()) opened.noisy.rows = json.at("rows").get<double>();
  if (!(opened.noisy.noise_stddev > 0 && opened.noisy.noise_stddev <= kLargestCell) ||
      (opened.noisy.rows && !(*opened.noisy.rows >= 1 && *opened.noisy.rows <= kLargestCell))) {
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

const char* const kIndependentPurpose =
    "Columns of these synthetic rows are independent of each other: under the noise nothing more "
    "could "
    "be learned, so no association in them says anything. They keep shares of levels "
    "approximately; "
    "intervals computed from them are not confidence intervals.";

stats::marginals::TableSet TablesOf(const OpenedTables& opened) {
  return TablesOfColumns(opened.columns, opened.triples);
}

std::string TablesJson(const OpenedTables& opened) {
  Json columns = Json::array();
  for (const LevelColumn& column : opened.columns) {
    columns.push_back(data::EncodingJson(column.encoding));
    columns.back()["missing"] = column.missing;
  }
  Json json = {{"format", kFormat},
               {"columns", columns},
               {"rows", opened.noisy.rows ? Json(*opened.noisy.rows) : Json()},
               {"noise_stddev", opened.noisy.noise_stddev},
               {"cells", opened.noisy.cells}};
  if (!opened.triples.empty()) json["triples"] = opened.triples;
  if (!opened.noisy.impossible.empty())
    json["impossible"] = ImpossibleJson(opened.noisy.impossible);
  if (!opened.noisy.weights.empty()) json["weights"] = opened.noisy.weights;
  if (!opened.scores.scores.empty()) {
    json["scores"] = {{"values", opened.scores.scores},
                      {"noise_stddev", opened.scores.noise_stddev}};
  }
  json["privacy"] = Json::parse(opened.privacy);
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
  return stats::marginals::ChooseGenerator(TablesOf(opened), opened.noisy, source);
}

stats::marginals::Codes DrawLevels(const OpenedTables& opened,
                                   const stats::marginals::Choice& choice, size_t rows,
                                   crypto::RandomSource& source) {
  const stats::marginals::TableSet set = TablesOf(opened);
  stats::marginals::Codes codes = stats::marginals::DrawRows(set, choice.generator, rows, source);
  stats::marginals::MendImpossible(set, opened.noisy.impossible, codes, source);
  return codes;
}

const char* const kIntervalsPurpose =
    "Each table has the sampling and the noise anew: compute an estimate and its standard error "
    "from each as if it were real, and combine them with `partita synthetic combine`. The "
    "intervals "
    "hold for shares, differences and regressions that depend on pairs of these columns; a "
    "relation "
    "of three columns at a time is not in the tables. Columns with counts that the noise hides are "
    "refused.";

std::vector<data::Table> DrawForIntervals(const OpenedTables& opened,
                                          const std::vector<std::string>& columns, size_t sets,
                                          crypto::RandomSource& source) {
  std::vector<std::string> names;
  for (const LevelColumn& column : opened.columns) names.push_back(column.encoding.column.name);
  std::vector<uint32_t> attributes;
  for (const std::string& column : columns) {
    const auto found = std::ranges::find(names, column);
    const auto attribute = static_cast<uint32_t>(found - names.begin());
    if (found == names.end() || std::ranges::find(attributes, attribute) != attributes.end()) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("the file has no column '{}', or it is named twice", column),
                  fmt::format("name some of: {}", fmt::join(names, ", ")));
    }
    attributes.push_back(attribute);
  }
  constexpr double kMostCells = 2e8;
  const double cells = opened.noisy.rows.value_or(0) * static_cast<double>(sets * columns.size());
  if (cells >= kMostCells) {
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("these tables have {:.3g} cells in all, more than {:.3g}", cells, kMostCells),
        "draw fewer tables, or of fewer columns");
  }
  std::ranges::sort(attributes);
  std::vector<LevelColumn> named;
  for (const uint32_t a : attributes) named.push_back(opened.columns[a]);
  std::vector<data::Table> tables;
  for (const stats::marginals::Codes& codes : stats::marginals::DrawForIntervals(
           stats::marginals::TablesAmong(TablesOf(opened), opened.noisy, attributes), sets,
           source)) {
    tables.push_back(TableOfLevels(named, codes, source));
  }
  return tables;
}

std::vector<data::Table> DrawTables(const OpenedTables& opened,
                                    const stats::marginals::Choice& choice, size_t rows,
                                    size_t sets, crypto::RandomSource& source) {
  std::vector<data::Table> tables;
  for (size_t i = 0; i < sets; ++i) {
    tables.push_back(
        TableOfLevels(opened.columns, DrawLevels(opened, choice, rows, source), source));
  }
  return tables;
}

}  // namespace partita::methods::marginals
