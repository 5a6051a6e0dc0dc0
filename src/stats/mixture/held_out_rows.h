// Rows of a table that are set aside before anything is learned from it, for their holders to judge
// synthetic rows by.
//
// Public: which rows is a function of their number, a seed and their agreed order, so that all
// holders set aside the same persons without a message. A row's place depends on the keys of the
// others, so privacy statements hold for rows whose values are replaced and whose key is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace partita::stats::mixture {

// Ascending; together all rows.
struct RowSplit {
  std::vector<uint32_t> train, test;
};

// Every choice of num_test out of num_rows is as likely over the seeds. Throws kUsage for more
// test rows than rows.
RowSplit SplitRows(uint32_t num_rows, uint32_t num_test, uint64_t seed);

// The selected rows of every column.
template <typename T>
std::vector<std::vector<T>> SelectRows(const std::vector<std::vector<T>>& columns,
                                       const std::vector<uint32_t>& rows) {
  std::vector<std::vector<T>> selected(columns.size());
  for (size_t f = 0; f < columns.size(); ++f) {
    selected[f].reserve(rows.size());
    for (const uint32_t row : rows) selected[f].push_back(columns[f].at(row));
  }
  return selected;
}

}  // namespace partita::stats::mixture
