#include "data/source/freeze.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "data/csv_tokenizer.h"
#include "data/csv_writer.h"
#include "data/utf8.h"

namespace partita::data {
namespace {

std::vector<size_t> PlacesOf(const std::vector<std::string>& wanted,
                             const std::vector<std::string>& header, const std::string& source) {
  std::vector<size_t> places;
  for (const std::string& name : wanted) {
    const auto found = std::find(header.begin(), header.end(), name);
    if (found == header.end()) {
      throw Error(ErrorCode::kBadData,
                  fmt::format("{}: there is no column \"{}\"", source, Printable(name)),
                  "name it in the query: ... AS " + name);
    }
    places.push_back(static_cast<size_t>(found - header.begin()));
  }
  return places;
}

}  // namespace

FrozenTable Freeze(const ByteSource& source, const std::string& source_name,
                   const std::vector<std::string>& names, const CsvOptions& options) {
  const ByteObserver none;
  CsvTokenizer csv(source, source_name, options, none);
  std::string scratch;
  const auto text = [&](size_t field) { return CsvTokenizer::Text(csv.fields()[field], scratch); };
  std::vector<std::string> header;
  if (csv.Next()) {
    for (size_t i = 0; i < csv.fields().size(); ++i) header.emplace_back(text(i));
  }
  if (header.empty()) {
    throw Error(ErrorCode::kBadData, source_name + ": the table is empty, without a header",
                "check the source");
  }
  FrozenTable frozen;
  frozen.columns = names.empty() ? header : names;
  const std::vector<size_t> places = PlacesOf(frozen.columns, header, source_name);
  std::vector<std::string> lines, cells;
  while (csv.Next()) {
    if (csv.fields().size() != header.size()) {
      throw Error(ErrorCode::kBadData,
                  fmt::format("{}:{}: the record has {} fields, but the header has {}", source_name,
                              csv.line(), csv.fields().size(), header.size()));
    }
    cells.clear();
    for (const size_t place : places) cells.emplace_back(text(place));
    AppendRecord(lines.emplace_back(), cells, ',');
  }
  std::sort(lines.begin(), lines.end());
  frozen.rows = lines.size();
  AppendRecord(frozen.csv, frozen.columns, ',');
  for (const std::string& line : lines) frozen.csv += line;
  return frozen;
}

}  // namespace partita::data
