// Who holds what: the public description of how one table is split over the parties.
//
// The table has variables (columns) and row blocks (rows with a name and, if declared, a public
// count). A holder contributes all of its columns for all of its blocks. The pieces must tile the
// table: every (block, variable) cell has exactly one holder, but where a variable may lack.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace partita::data {

struct RowBlock {
  std::string name;
  std::optional<uint64_t> count;  // public; required when several holders share the block
  bool matched = false;           // its rows and their order come from a matching, not from a key
  bool hidden = false;  // of a matched one: `count` are positions, and at which of them all
                        // holders have a row nobody knows; only these take part
};

struct Holder {
  std::string name;
  size_t party = 0;                  // index in the roster
  std::vector<std::string> columns;  // variables it contributes
  std::vector<std::string> blocks;   // row blocks it holds
};

// kHorizontal: no block is shared. kVertical: every holder holds every block. kComplex: else.
enum class PartitionKind { kHorizontal, kVertical, kComplex };
std::string_view PartitionKindName(PartitionKind kind);  // "horizontal", ...

// What one holder contributes to one block.
struct SegmentPart {
  size_t holder = 0;              // index into Partition::holders
  size_t party = 0;               // index in the roster
  std::vector<size_t> variables;  // indices into Partition::variables, increasing
};

// One block and its holders in roster order.
struct Segment {
  size_t block = 0;
  std::vector<SegmentPart> parts;
  bool shared() const { return parts.size() > 1; }
  bool Has(size_t variable) const;  // whether somebody holds it
};

struct Partition {
  std::vector<std::string> variables;
  std::vector<RowBlock> blocks;
  std::vector<Holder> holders;  // in roster order
  // Derived from the above.
  PartitionKind kind = PartitionKind::kHorizontal;
  std::vector<Segment> segments;  // one per block, in order

  // Null if the party holds no data.
  const Holder* HolderOf(size_t party) const;
  // Indices of the blocks that a party holds, increasing.
  std::vector<size_t> BlocksOf(size_t party) const;
  // Whether the party shares any of its blocks.
  bool SharesRows(size_t party) const;
  // Whether it shares one that is not matched, and so needs a key.
  bool NeedsKey(size_t party) const;
  // Sum of the declared counts; empty if one is missing.
  std::optional<uint64_t> TotalRows() const;
};

// Sorts the holders into roster order, checks the tiling and derives kind and segments; the result
// does not depend on the order of the holders, nor on the order of their columns and blocks. Throws
// kBadInput naming block, variable and holders when: a cell has no holder or two; a name is
// unknown, empty or repeated; a party appears twice; a holder has no column or no block; a shared
// block has no declared count; a count is 0. A variable of `may_lack` may have no holder in some of
// the blocks: it is missing in all of their rows.
Partition MakePartition(std::vector<std::string> variables, std::vector<RowBlock> blocks,
                        std::vector<Holder> holders, const std::vector<std::string>& may_lack = {});

}  // namespace partita::data
