#include "data/source/freeze.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <queue>

#include "base/error.h"
#include "data/csv_tokenizer.h"
#include "data/csv_writer.h"
#include "data/source/line_sorter.h"
#include "data/source/sorted_piece.h"
#include "data/utf8.h"

namespace partita::data {
namespace {

constexpr size_t kWriteBytes = 1 << 16;

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

struct FrozenTable::State {
  std::filesystem::path folder;
  std::vector<std::string> columns;
  uint64_t rows = 0;
  LineSorter lines;  // that are in memory
  std::vector<SortedPiece> pieces;

  void Keep() {
    lines.Sort();
    pieces.emplace_back(folder, lines);
    lines.Clear();
  }
};

FrozenTable::FrozenTable(std::unique_ptr<State> state) : state_(std::move(state)) {}
FrozenTable::FrozenTable(FrozenTable&&) noexcept = default;
FrozenTable::~FrozenTable() = default;
const std::vector<std::string>& FrozenTable::columns() const { return state_->columns; }
uint64_t FrozenTable::rows() const { return state_->rows; }

void FrozenTable::Write(const std::function<void(std::string_view)>& write) {
  std::string text;
  const auto add = [&](std::string_view line) {
    text += line;
    if (text.size() < kWriteBytes) return;
    write(text);
    text.clear();
  };
  AppendRecord(text, state_->columns, ',');
  if (state_->pieces.empty()) {
    state_->lines.Sort();
    for (size_t i = 0; i < state_->lines.size(); ++i) add(state_->lines[i]);
  } else {
    if (state_->lines.size() > 0) state_->Keep();
    // By the first line that is left of each piece.
    const auto after = [](const SortedPiece* a, const SortedPiece* b) {
      return a->line() > b->line();
    };
    std::priority_queue<SortedPiece*, std::vector<SortedPiece*>, decltype(after)> order(after);
    for (SortedPiece& piece : state_->pieces) {
      if (piece.Next()) order.push(&piece);
    }
    while (!order.empty()) {
      SortedPiece* first = order.top();
      order.pop();
      add(first->line());
      if (first->Next()) order.push(first);
    }
  }
  write(text);
}

FrozenTable Freeze(const ByteSource& source, const std::string& source_name,
                   const std::vector<std::string>& names, const CsvOptions& options,
                   const std::filesystem::path& folder, size_t memory, const DroppedRows& dropped) {
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
  auto state = std::make_unique<FrozenTable::State>();
  state->folder = folder;
  state->columns = names.empty() ? header : names;
  const std::vector<size_t> places = PlacesOf(state->columns, header, source_name);
  std::vector<size_t> drops;
  if (!dropped.column.empty()) drops = PlacesOf({dropped.column}, header, source_name);
  std::vector<std::string> cells(places.size());
  while (csv.Next()) {
    if (csv.fields().size() != header.size()) {
      throw Error(ErrorCode::kBadData,
                  fmt::format("{}:{}: the record has {} fields, but the header has {}", source_name,
                              csv.line(), csv.fields().size(), header.size()));
    }
    if (!drops.empty() && dropped.drop(text(drops.front()))) continue;
    for (size_t i = 0; i < places.size(); ++i) cells[i] = text(places[i]);
    state->lines.Add(cells);
    state->rows += 1;
    if (state->lines.memory() >= memory) state->Keep();
  }
  return FrozenTable(std::move(state));
}

}  // namespace partita::data
