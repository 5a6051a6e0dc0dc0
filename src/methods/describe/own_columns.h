// What a holder of some columns knows of each row, in the clear: what its row of 0/1 columns, values
// and cells is made of (share_table.h).
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "data/table.h"
#include "methods/describe/layout.h"

namespace partita::methods::describe {

inline constexpr uint32_t kNoCell = std::numeric_limits<uint32_t>::max();

struct OwnColumns {
  // Of a part that selects, and of every part of hidden rows. By row the group (0 without groups, or
  // where another part has them); as many as there are groups where the row does not take part.
  std::vector<uint32_t> groups;
  // Of a part whose variables are counted by products. By variable and row the row of counts, of the
  // part's own layout, kNoCell at a position without a row; by number and row z at kValueBits, 0 of a
  // missing cell, and the cell, kNoCell of one.
  std::vector<std::vector<uint32_t>> count_rows;
  std::vector<std::vector<int64_t>> values;
  std::vector<std::vector<uint32_t>> cells;
};

// rows: of the table, all of the part's in the agreed order; taken: by row of the table, as far as
// the holder knows. Without a group in spec there is one.
OwnColumns SelectingColumns(const Spec& spec, const data::Table& table,
                            const std::vector<size_t>& rows, const std::vector<uint8_t>& taken);
// spec: that of the part (task.h PartSpec). The table has been found clean, and has missing cells only
// if spec.missing: else throws kInternal.
OwnColumns DescribedColumns(const Spec& spec, const data::Table& table,
                            const std::vector<size_t>& rows);

}  // namespace partita::methods::describe
