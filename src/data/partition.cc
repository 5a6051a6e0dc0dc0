#include "data/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "base/error.h"
#include "data/suggest.h"

namespace partita::data {

namespace {

[[noreturn]] void RefusePartition(const std::string& message, std::string hint = {}) {
  throw Error(ErrorCode::kBadInput, message, std::move(hint));
}

using IndexByName = std::map<std::string, size_t, std::less<>>;

// `what`: "variable", "row block", "holder".
IndexByName IndexNames(const std::vector<std::string>& names, std::string_view what) {
  IndexByName index;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) RefusePartition(fmt::format("{} {} has no name", what, i + 1));
    if (!index.emplace(names[i], i).second)
      RefusePartition(fmt::format("two {}s are named '{}'", what, names[i]));
  }
  return index;
}

// The sorted indices of `names`, all known and none twice.
std::vector<size_t> Resolve(const std::vector<std::string>& names, const IndexByName& index,
                            std::string_view what, const Holder& holder) {
  std::vector<size_t> found;
  for (const std::string& name : names) {
    auto it = index.find(name);
    if (it == index.end()) {
      std::vector<std::string> known;
      for (const auto& entry : index) known.push_back(entry.first);
      RefusePartition(fmt::format("holder '{}' names the {} '{}', which does not exist",
                                  holder.name, what, name),
                      SuggestionHint(name, known));
    }
    found.push_back(it->second);
  }
  std::sort(found.begin(), found.end());
  auto twice = std::adjacent_find(found.begin(), found.end());
  if (twice != found.end()) {
    auto name = std::find_if(index.begin(), index.end(),
                             [&](const auto& entry) { return entry.second == *twice; });
    RefusePartition(
        fmt::format("holder '{}' names the {} '{}' twice", holder.name, what, name->first));
  }
  if (found.empty()) {
    RefusePartition(fmt::format("holder '{}' has no {}", holder.name, what),
                    "a party that contributes no data is not a holder");
  }
  return found;
}

void CheckHolders(std::vector<Holder>& holders) {
  if (holders.empty()) RefusePartition("nobody holds data");
  std::stable_sort(holders.begin(), holders.end(),
                   [](const Holder& a, const Holder& b) { return a.party < b.party; });
  std::vector<std::string> names;
  for (size_t i = 0; i < holders.size(); ++i) {
    names.push_back(holders[i].name);
    if (i > 0 && holders[i].party == holders[i - 1].party) {
      RefusePartition(fmt::format("holders '{}' and '{}' are the same party", holders[i - 1].name,
                                  holders[i].name));
    }
  }
  IndexNames(names, "holder");
}

// Every variable of the block must have exactly one holder; those of may_lack at most one.
void CheckTiling(const Partition& partition, const Segment& segment,
                 const std::vector<std::string>& may_lack) {
  constexpr size_t kNobody = std::numeric_limits<size_t>::max();
  const std::string& block = partition.blocks[segment.block].name;
  std::vector<size_t> owner(partition.variables.size(), kNobody);
  for (const SegmentPart& part : segment.parts) {
    for (size_t variable : part.variables) {
      if (owner[variable] != kNobody) {
        RefusePartition(
            fmt::format("variable '{}' of row block '{}' is held by both '{}' and '{}'",
                        partition.variables[variable], block,
                        partition.holders[owner[variable]].name,
                        partition.holders[part.holder].name),
            "every variable of a row block has exactly one holder: remove it from the columns of "
            "one of them, or give them different rows");
      }
      owner[variable] = part.holder;
    }
  }
  size_t hole = 0;
  const auto fits = [&](size_t variable) {
    return owner[variable] != kNobody || std::find(may_lack.begin(), may_lack.end(),
                                                   partition.variables[variable]) != may_lack.end();
  };
  while (hole < owner.size() && fits(hole)) ++hole;
  if (hole == owner.size()) return;
  std::string holders;
  for (const SegmentPart& part : segment.parts) {
    holders += (holders.empty() ? "'" : ", '") + partition.holders[part.holder].name + "'";
  }
  RefusePartition(fmt::format("nobody holds variable '{}' of row block '{}' (its holders: {})",
                              partition.variables[hole], block, holders.empty() ? "none" : holders),
                  "add it to the columns of the party that holds it, or remove it from the study");
}

void CheckCount(const Partition& partition, const Segment& segment) {
  const RowBlock& block = partition.blocks[segment.block];
  if (block.count == 0)
    RefusePartition(fmt::format("row block '{}' has a declared count of 0", block.name));
  if (segment.shared() && !block.count) {
    RefusePartition(fmt::format("row block '{}' is shared by '{}' and '{}' but declares no count",
                                block.name, partition.holders[segment.parts[0].holder].name,
                                partition.holders[segment.parts[1].holder].name),
                    "write the public number of rows: count = ...");
  }
}

PartitionKind KindOf(const Partition& partition) {
  auto is_shared = [](const Segment& segment) { return segment.shared(); };
  if (std::none_of(partition.segments.begin(), partition.segments.end(), is_shared)) {
    return PartitionKind::kHorizontal;
  }
  bool all_hold_all = std::all_of(
      partition.segments.begin(), partition.segments.end(),
      [&](const Segment& segment) { return segment.parts.size() == partition.holders.size(); });
  return all_hold_all ? PartitionKind::kVertical : PartitionKind::kComplex;
}

}  // namespace

std::string_view PartitionKindName(PartitionKind kind) {
  switch (kind) {
    case PartitionKind::kHorizontal:
      return "horizontal";
    case PartitionKind::kVertical:
      return "vertical";
    case PartitionKind::kComplex:
      return "complex";
  }
  throw Error(ErrorCode::kInternal, "unknown partition kind");
}

bool Segment::Has(size_t variable) const {
  return std::any_of(parts.begin(), parts.end(), [&](const SegmentPart& part) {
    return std::binary_search(part.variables.begin(), part.variables.end(), variable);
  });
}

const Holder* Partition::HolderOf(size_t party) const {
  auto found = std::find_if(holders.begin(), holders.end(),
                            [&](const Holder& holder) { return holder.party == party; });
  return found == holders.end() ? nullptr : &*found;
}

std::vector<size_t> Partition::BlocksOf(size_t party) const {
  std::vector<size_t> held;
  for (const Segment& segment : segments) {
    bool holds = std::any_of(segment.parts.begin(), segment.parts.end(),
                             [&](const SegmentPart& part) { return part.party == party; });
    if (holds) held.push_back(segment.block);
  }
  return held;
}

bool Partition::SharesRows(size_t party) const {
  std::vector<size_t> held = BlocksOf(party);
  return std::any_of(held.begin(), held.end(),
                     [&](size_t block) { return segments[block].shared(); });
}

bool Partition::NeedsKey(size_t party) const {
  std::vector<size_t> held = BlocksOf(party);
  return std::any_of(held.begin(), held.end(), [&](size_t block) {
    return segments[block].shared() && !blocks[block].matched;
  });
}

std::optional<uint64_t> Partition::TotalRows() const {
  uint64_t total = 0;
  for (const RowBlock& block : blocks) {
    if (!block.count) return std::nullopt;
    total += *block.count;
  }
  return total;
}

Partition MakePartition(std::vector<std::string> variables, std::vector<RowBlock> blocks,
                        std::vector<Holder> holders, const std::vector<std::string>& may_lack) {
  if (variables.empty()) RefusePartition("the study has no variables");
  if (blocks.empty()) RefusePartition("the study has no row blocks");
  CheckHolders(holders);
  std::vector<std::string> block_names;
  for (const RowBlock& block : blocks) block_names.push_back(block.name);
  const IndexByName variable_index = IndexNames(variables, "variable");
  const IndexByName block_index = IndexNames(block_names, "row block");

  Partition partition{.variables = std::move(variables),
                      .blocks = std::move(blocks),
                      .holders = std::move(holders),
                      .kind = PartitionKind::kHorizontal,
                      .segments = {}};
  for (size_t i = 0; i < partition.blocks.size(); ++i) partition.segments.push_back({i, {}});
  for (size_t i = 0; i < partition.holders.size(); ++i) {
    const Holder& holder = partition.holders[i];
    SegmentPart part{.holder = i,
                     .party = holder.party,
                     .variables = Resolve(holder.columns, variable_index, "variable", holder)};
    for (size_t block : Resolve(holder.blocks, block_index, "row block", holder)) {
      partition.segments[block].parts.push_back(part);
    }
  }
  for (const Segment& segment : partition.segments) {
    CheckTiling(partition, segment, may_lack);
    CheckCount(partition, segment);
  }
  partition.kind = KindOf(partition);
  return partition;
}

}  // namespace partita::data
