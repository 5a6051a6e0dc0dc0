#include "methods/glm/sealed/layout.h"

namespace partita::methods::glm {

size_t SealedLayout::rows() const {
  size_t all = 0;
  for (const SealedBlock& block : blocks) all += block.rows;
  return all;
}

std::vector<run::RowHolder> SealedLayout::Holders() const {
  std::vector<run::RowHolder> holders;
  for (const std::vector<size_t>& group : groups) {
    run::RowHolder& holder =
        holders.emplace_back(run::RowHolder{blocks[group.front()].parts.front().party, 0});
    for (const size_t b : group) holder.max_rows += blocks[b].rows;
  }
  return holders;
}

}  // namespace partita::methods::glm
