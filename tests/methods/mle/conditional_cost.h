// What protocol `conditional` sends, counted from its description.
#pragma once

#include "methods/mle/published/chain.h"
#include "methods/mle/published/conditional.h"

namespace partita::methods::mle::published {

// Elements that all parties together send for one block and question.
inline uint64_t ConditionalElements(const Block& block) {
  const auto n = static_cast<uint64_t>(block.rows);
  uint64_t elements = 2;  // the total, to the first node and to the centre
  const size_t last = block.nodes.size() - 1;
  for (size_t k = 0; k <= last; ++k) {
    const auto own = static_cast<uint64_t>(block.nodes[k].columns.size());
    const auto from = static_cast<uint64_t>(ColumnsFrom(block, k));
    elements += own * own + 2 * n * own;  // precision, A1 and A2
    if (k == 0) elements += n * own;      // mu~
    if (k < last) {
      elements += 1 + 2 * n * own;                     // total, R and Q to the next node
      elements += (n + own) * (from - own) + n * own;  // B, C and P from the centre
      if (k > 0) elements += 2 * n * (from - own);     // mu~* and M
    } else {
      elements += n * own;                // P_K to the first node
      if (last > 0) elements += n * own;  // Q_K
    }
  }
  return last > 0 ? elements : elements - 1;
}

// Longest chain of messages of one block and question.
inline uint64_t ConditionalRounds(const Block& block) { return 2 * block.nodes.size() + 2; }

}  // namespace partita::methods::mle::published
