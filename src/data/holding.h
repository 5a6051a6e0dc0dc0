// What one party brings to a study: its rows in the agreed order, block after block, and readers
// that hand them out as exact ring integers.
//
// Row order (methods.md, R-n): the rows of a block that is shared with other holders are sorted by
// key, bytewise; the rows of other blocks keep the order of the file. match/row_order.h then
// compares the ordered key lists of the holders. A block that is matched has the rows of a matching,
// in its order (run/matching/matched_rows.h), and where the matching is hidden a row at some of the
// block's positions only: at the others the table has one that is absent, with missing cells.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/int128.h"
#include "data/check_report.h"
#include "data/partition.h"
#include "data/scaling.h"
#include "data/table.h"

namespace partita::data {

// Names of the columns that say which row is which; empty: there is none.
struct RowColumns {
  std::string key;    // identifies a row in a shared block
  std::string block;  // names the block of each row in a table with several blocks
};

// What the party has to read from its table: its variables as the dictionary describes them, the
// key column if it shares a block by it, the block column if it holds several blocks (a factor over the
// names of its blocks, unless the dictionary has the column as one of the party's variables: then
// its levels are used). Throws kBadInput if a needed key or block column is not named, or a
// variable is not in the dictionary.
Schema SchemaForParty(const Schema& dictionary, const Partition& partition, size_t party,
                      const RowColumns& row_columns);

// Rows [first_row, first_row + num_rows) of one block's matrix, row-major, as ring integers. Keeps
// the table alive; may be called any number of times, from one thread at a time.
using RowReader = std::function<void(size_t first_row, size_t num_rows, Int128* out)>;

// At a position at which a holder has no row.
inline constexpr uint32_t kAbsentRow = UINT32_MAX;

// One block of the party's rows: rows [first_row, first_row + num_rows) of the ordered table.
struct BlockRows {
  size_t block = 0;  // index into Partition::blocks
  size_t first_row = 0, num_rows = 0;
  bool shared = false;
};

struct Holding {
  size_t party = 0;
  std::shared_ptr<const Table> table;  // ordered by block, then (shared blocks) by key
  std::vector<BlockRows> blocks;       // in the order of Partition::blocks
  std::string key_column;              // empty: the party shares no block by a key

  // Throws kInternal if the party does not hold the block.
  const BlockRows& Block(size_t block) const;
  // The ordered keys of a shared block.
  std::span<const std::string> Keys(size_t block) const;
};

// Orders the rows of a table read with SchemaForParty. Throws kBadData, for the owner's eyes, when
// a row names a block that the party does not hold, a key stands twice in a shared block (naming
// it), a block has no rows, or its number of rows differs from the declared count. With
// rules.repaired a row of no block of the party's is a neutral one of its first block without a
// declared count (else of its first), and such a block may be empty. Out-of-bounds cells, and
// missing ones unless rules.allow_missing, are RequireClean's business and must have been refused
// before (else kInternal). Design columns may have been added (data/design.h). matched: of a party
// whose block is matched, rows of the table in the common order, kAbsentRow at positions without one;
// others are left out.
Holding MakeHolding(Table table, const Partition& partition, size_t party,
                    const RowColumns& row_columns, const CheckRules& rules = {},
                    std::span<const uint32_t> matched = {});

// Whether all rows of the party's table are those of one block that nobody shares, in the table's order:
// then they can be taken piece by piece.
bool HoldsOneBlockAlone(const Partition& partition, size_t party);

// The next rows of such a table as a holding of their own; of the number of rows it says nothing.
Holding HoldingOfPiece(Table piece, const Partition& partition, size_t party,
                       const CheckRules& rules = {});

// Throws kBadData, for the owner's eyes, as MakeHolding does of the number of all rows of such a table.
void RequireRowsOfWhole(uint64_t num_rows, const Partition& partition, size_t party,
                        const CheckRules& rules = {});

// Columns of numbers of one block, design columns included, as z = (x - centre) / half-width in
// [-1, 1] (data/scaling.h), rounded half away from zero to the grid 2^-fraction_bits; 1 <=
// fraction_bits <= 62. A deterministic function of cell, bounds and fraction_bits: no holder,
// engine or run changes it. A missing cell gives 0, the centre of the bounds: its row is one that
// CompleteRows (data/condition.h) leaves out. scales: of the columns, for bounds that enclose
// theirs; empty: their own. Throws kBadInput for a column that ScaleOf does not accept.
RowReader ScaledRows(const Holding& holding, size_t block, std::span<const std::string> columns,
                     int fraction_bits, std::span<const ColumnScale> scales = {});

}  // namespace partita::data
