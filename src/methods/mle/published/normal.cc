#include "methods/mle/published/normal.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"

namespace partita::methods::mle::published {
namespace {

void CheckBlock(const Layout& layout, const Block& block, size_t number, size_t num_parties) {
  const std::string name = fmt::format("block {}", number + 1);
  if (block.rows < 1) throw Error(ErrorCode::kUsage, name + " has no rows");
  std::vector<int> holders(static_cast<size_t>(layout.num_variables), 0);
  std::set<net::PartyIndex> parties = {layout.centre};
  for (const BlockNode& node : block.nodes) {
    if (node.party >= num_parties || !parties.insert(node.party).second) {
      throw Error(
          ErrorCode::kUsage,
          fmt::format("{} names party {}, which is the central node, named twice or unknown", name,
                      node.party));
    }
    for (const Eigen::Index column : node.columns) ++holders.at(static_cast<size_t>(column));
  }
  for (size_t i = 0; i < holders.size(); ++i) {
    if (holders[i] != 1) {
      throw Error(ErrorCode::kUsage, fmt::format("variable {} of {} has {} holders instead of one",
                                                 i + 1, name, holders[i]));
    }
  }
}

}  // namespace

void CheckLayout(const Layout& layout, size_t num_parties) {
  for (size_t b = 0; b < layout.blocks.size(); ++b) {
    CheckBlock(layout, layout.blocks[b], b, num_parties);
  }
}

size_t NumGroups(const Layout& layout) {
  size_t groups = 0;
  for (const Block& block : layout.blocks) groups = std::max(groups, block.group + 1);
  return groups;
}

double RowsOf(const Layout& layout, size_t group) {
  double rows = 0;
  for (const Block& block : layout.blocks) {
    if (block.group == group) rows += static_cast<double>(block.rows);
  }
  return rows;
}

const BlockNode* NodeOf(const Block& block, net::PartyIndex party) {
  for (const BlockNode& node : block.nodes) {
    if (node.party == party) return &node;
  }
  return nullptr;
}

}  // namespace partita::methods::mle::published
