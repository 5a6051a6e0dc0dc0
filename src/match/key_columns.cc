#include "match/key_columns.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "data/csv_tokenizer.h"
#include "data/utf8.h"

namespace partita::match {
namespace {

std::vector<std::string> RecordTexts(const data::CsvTokenizer& tokenizer) {
  std::vector<std::string> texts;
  std::string scratch;
  for (const data::CsvField& field : tokenizer.fields())
    texts.emplace_back(data::CsvTokenizer::Text(field, scratch));
  return texts;
}

size_t IndexOf(std::span<const std::string> header, const std::string& column,
               const std::string& source_name, char separator) {
  const auto found = std::find(header.begin(), header.end(), column);
  if (found == header.end()) {
    const std::string hint = data::SeparatorHint(header, separator);
    throw Error(ErrorCode::kBadInput,
                fmt::format("{} has no column '{}'", source_name, data::Printable(column)),
                hint.empty() ? "the matching file names columns as the table's header does" : hint);
  }
  if (std::find(found + 1, header.end(), column) != header.end()) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{} has two columns '{}'", source_name, data::Printable(column)),
                "rename one of them");
  }
  return static_cast<size_t>(found - header.begin());
}

}  // namespace

void ReadKeyRows(const data::ByteSource& source, const std::string& source_name,
                 std::span<const std::string> columns, const data::CsvOptions& options,
                 const KeyRowTaker& take, const data::ByteObserver& observer) {
  data::CsvTokenizer tokenizer(source, source_name, options, observer);
  if (!tokenizer.Next())
    throw Error(ErrorCode::kBadData, source_name + " is empty", "the first line is the header");
  const std::vector<std::string> header = RecordTexts(tokenizer);
  std::vector<size_t> fields;
  for (const std::string& column : columns)
    fields.push_back(IndexOf(header, column, source_name, options.separator));
  std::vector<std::string> cells(columns.size());
  std::string scratch;
  uint64_t rows = 0;
  while (tokenizer.Next()) {
    if (tokenizer.fields().size() != header.size()) {
      throw Error(ErrorCode::kBadData,
                  fmt::format("{}:{}: {} fields, and the header has {}", source_name,
                              tokenizer.line(), tokenizer.fields().size(), header.size()),
                  "a text that holds the separator stands in quotes");
    }
    if (rows++ == options.max_rows) {
      throw Error(ErrorCode::kBadData,
                  fmt::format("{} has more than {} rows", source_name, options.max_rows),
                  "raise this party's `rows` in the matching file; everybody sees it");
    }
    for (size_t c = 0; c < fields.size(); ++c)
      cells[c] = data::CsvTokenizer::Text(tokenizer.fields()[fields[c]], scratch);
    take(tokenizer.line(), cells);
  }
}

KeyCells ReadKeyColumns(const data::ByteSource& source, const std::string& source_name,
                        std::span<const std::string> columns, const data::CsvOptions& options) {
  KeyCells cells;
  cells.columns.resize(columns.size());
  ReadKeyRows(source, source_name, columns, options,
              [&](uint64_t line, std::span<std::string> row) {
                cells.lines.push_back(line);
                for (size_t c = 0; c < row.size(); ++c)
                  cells.columns[c].push_back(std::move(row[c]));
              });
  return cells;
}

}  // namespace partita::match
