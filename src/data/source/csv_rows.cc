#include "data/source/csv_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "data/csv_writer.h"
#include "data/utf8.h"

namespace partita::data {

ByteSource CsvOfRows(std::unique_ptr<TextRows> rows) {
  struct State {
    std::unique_ptr<TextRows> rows;
    std::vector<std::string> cells;
    std::string pending;
    size_t used = 0;
    bool more = true;
  };
  const auto state = std::make_shared<State>();
  AppendRecord(state->pending, rows->names(), ',');
  state->rows = std::move(rows);
  return [state](std::span<uint8_t> out) {
    size_t done = 0;
    while (done < out.size()) {
      if (state->used == state->pending.size()) {
        state->pending.clear();
        state->used = 0;
        if (state->more) state->more = state->rows->Next(state->cells);
        if (!state->more) break;
        AppendRecord(state->pending, state->cells, ',');
      }
      const size_t size = std::min(out.size() - done, state->pending.size() - state->used);
      std::memcpy(out.data() + done, state->pending.data() + state->used, size);
      state->used += size;
      done += size;
    }
    return done;
  };
}

void RequireColumnNames(const std::vector<std::string>& names, const std::string& source) {
  if (names.empty()) {
    throw Error(ErrorCode::kBadData, source + ": it gives no columns",
                "a query is a SELECT that names the columns of the study");
  }
  std::vector<std::string> sorted = names;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    throw Error(ErrorCode::kBadData,
                fmt::format("{}: two columns are named \"{}\"", source, Printable(*twice)),
                "give each column a name of its own: ... AS name");
  }
  if (sorted.front().empty()) {
    throw Error(ErrorCode::kBadData, source + ": a column has no name",
                "give each column a name: ... AS name");
  }
}

size_t PlaceOfColumn(const std::string& name, const std::vector<std::string>& names,
                     const std::string& source) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  throw Error(ErrorCode::kBadData,
              fmt::format("{}: there is no column \"{}\"", source, Printable(name)),
              "name it in the query: ... AS " + name);
}

}  // namespace partita::data
