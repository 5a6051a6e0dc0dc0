#include "data/csv_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "data/source/open_table.h"
#include "data/suggest.h"
#include "data/utf8.h"

namespace partita::data {
namespace {

std::string SeparatorName(char separator) {
  return separator == '\t' ? "tab" : std::string(1, separator);
}

// Of a database by its query, of any other table by its first record; `separator` as it is read.
std::vector<std::string> HeaderOf(const std::filesystem::path& path, const CsvOptions& options,
                                  char& separator) {
  if (IsDatabase(path)) {
    separator = CsvDialect().separator;
    return DatabaseColumns(path);
  }
  const OpenedTable table = OpenTable(path);
  const CsvOptions dialect = WithDialect(options, table.dialect);
  RequireDialect(dialect);
  separator = dialect.separator;
  const ByteObserver nobody;
  CsvTokenizer tokenizer(table.bytes, path.string(), dialect, nobody);
  return ReadHeader(tokenizer);
}

}  // namespace

std::string SeparatorHint(std::span<const std::string> header, char separator) {
  if (header.size() != 1) return "";
  const std::string& line = header[0];
  char most = separator;
  const auto occurs = [&](char c) { return std::count(line.begin(), line.end(), c); };
  for (char c : {',', ';', '\t'}) {
    if (occurs(c) > occurs(most)) most = c;
  }
  if (most == separator) return "";
  return fmt::format(
      "read with the separator '{}' it has one column, but '{}' stands in its header: "
      "say --separator where the command has it, write separator = \"{}\" under [table] in the "
      "study file where there is one, or write the table with the other one",
      SeparatorName(separator), SeparatorName(most), most == '\t' ? "\\t" : SeparatorName(most));
}

void RequireDialect(const CsvOptions& options) {
  const char separator = options.separator;
  bool alphanumeric = (separator >= '0' && separator <= '9') ||
                      (separator >= 'A' && separator <= 'Z') ||
                      (separator >= 'a' && separator <= 'z');
  bool is_structural = std::strchr("\"\r\n+-.", separator) != nullptr;  // NUL included
  if (alphanumeric || is_structural || separator < 0) {
    throw Error(ErrorCode::kBadInput, "this character cannot separate fields",
                "use ',' or ';' or a tab");
  }
  if (options.decimal != '.' && options.decimal != ',') {
    throw Error(ErrorCode::kBadInput, fmt::format("'{}' cannot be a decimal mark", options.decimal),
                "use '.' or ','");
  }
  if (options.decimal == separator) {
    throw Error(ErrorCode::kBadInput, "the comma cannot be both separator and decimal mark",
                "tables with a decimal comma usually have the separator ';'");
  }
}

std::vector<std::string> ReadHeader(CsvTokenizer& tokenizer) {
  if (!tokenizer.Next()) {
    throw Error(ErrorCode::kBadData, fmt::format("{}: the file is empty", tokenizer.source_name()),
                "its first line must name the columns");
  }
  std::vector<std::string> names;
  std::unordered_map<std::string, size_t> positions;
  std::string scratch;
  for (const CsvField& field : tokenizer.fields()) {
    names.emplace_back(CsvTokenizer::Text(field, scratch));
    const std::string& name = names.back();
    CellPosition at = tokenizer.PositionOf(field);
    if (!IsUtf8(name)) {
      throw Error(ErrorCode::kBadData,
                  fmt::format("{}:{}:{}: the column name '{}' is not valid UTF-8",
                              tokenizer.source_name(), at.line, at.character, Printable(name)),
                  "export the table as UTF-8");
    }
    auto [first, inserted] = positions.emplace(name, names.size());
    if (!inserted && !name.empty()) {
      throw Error(ErrorCode::kBadData,
                  fmt::format("{}:{}:{}: two columns are named '{}' (fields {} and {})",
                              tokenizer.source_name(), at.line, at.character, Printable(name),
                              first->second, names.size()),
                  "rename one of them");
    }
  }
  return names;
}

size_t FindColumn(const std::vector<std::string>& header, const std::string& name,
                  const std::string& source_name, char separator) {
  auto found = std::find(header.begin(), header.end(), name);
  if (found != header.end()) return static_cast<size_t>(found - header.begin());
  std::string hint = SeparatorHint(header, separator);
  if (hint.empty()) hint = SuggestionHint(name, header);
  throw Error(ErrorCode::kBadData,
              fmt::format("{}:1: the header has no column '{}'", source_name, name), hint);
}

void RequireColumns(const std::filesystem::path& path, const Schema& schema,
                    const CsvOptions& options) {
  char separator = ',';
  const std::vector<std::string> header = HeaderOf(path, options, separator);
  const auto require = [&](const std::string& name) {
    FindColumn(header, name, path.string(), separator);
  };
  for (const ColumnSchema& column : schema.columns) {
    const bool survival = column.type == ColumnType::kSurvival;
    require(survival ? column.time_column : column.name);
    if (survival) require(column.event_column);
  }
}

}  // namespace partita::data
