// A table as it stands now, in a file that does not change: what was approved is what runs, whatever is
// written into the database at night.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/csv_reader.h"

namespace partita::data {

// Of lines that are sorted at a time; a table that has more of them is sorted in pieces.
inline constexpr size_t kFreezeMemory = size_t{256} << 20;

// Of which rows none are kept: those whose text in the column is one that `drop` takes.
struct DroppedRows {
  std::string column;  // empty: every row is kept
  std::function<bool(std::string_view text)> drop;
};

// Rows that were read, sorted. Pieces of a large table lie in files without a name, which their owner alone can
// read and which are gone with this process, however it ends.
class FrozenTable {
 public:
  FrozenTable(FrozenTable&&) noexcept;
  ~FrozenTable();

  const std::vector<std::string>& columns() const;
  uint64_t rows() const;
  // The CSV text, piece by piece: commas, points and LF; lines behind the header sorted by their bytes. Once.
  void Write(const std::function<void(std::string_view piece)>& write);

 private:
  friend FrozenTable Freeze(const ByteSource& source, const std::string& source_name,
                            const std::vector<std::string>& names, const CsvOptions& options,
                            const std::filesystem::path& folder, size_t memory,
                            const DroppedRows& dropped);
  struct State;
  explicit FrozenTable(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The columns with these names, in this order; all of them if there is none. The same rows give the
// same text in whatever order they come. folder: of the pieces. Throws kBadData for a name that is not
// there, and as ReadCsv for what is no CSV; kStorage if a piece cannot be kept.
FrozenTable Freeze(const ByteSource& source, const std::string& source_name,
                   const std::vector<std::string>& names, const CsvOptions& options,
                   const std::filesystem::path& folder, size_t memory = kFreezeMemory,
                   const DroppedRows& dropped = {});

}  // namespace partita::data
