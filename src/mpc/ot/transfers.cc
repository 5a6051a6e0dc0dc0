#include "mpc/ot/transfers.h"

#include <algorithm>

namespace partita::mpc::ot {

void Pads::Make(crypto::BlockPermutation& permutation, std::span<const crypto::Block> rows,
                crypto::Block difference, uint64_t first_index, uint64_t first_block,
                const OtTask& task) {
  inputs_.resize(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) inputs_[i] = rows[i] ^ difference;
  const std::span<crypto::Block> inputs(inputs_);
  if (task.entries == 1) {
    pads_.resize(rows.size() + 1);
    crypto::TweakedHash(permutation, inputs, first_index, first_block, 1,
                        std::span(pads_).first(rows.size()));
    return;
  }
  size_t blocks_of_group = 0;
  for (uint8_t width : task.widths) blocks_of_group += PadBlocks(task.entries, width);
  pads_.resize(rows.size() / task.transfers * blocks_of_group + 1);
  size_t at = 0;
  for (size_t i = 0; i < rows.size();) {
    // A run of transfers of one group with pads of one length.
    const size_t j = i % task.transfers;
    const size_t blocks = PadBlocks(task.entries, task.widths[j]);
    size_t run = 1;
    while (j + run < task.transfers && PadBlocks(task.entries, task.widths[j + run]) == blocks) {
      ++run;
    }
    crypto::TweakedHash(permutation, inputs.subspan(i, run), first_index + i, first_block, blocks,
                        std::span(pads_).subspan(at, run * blocks));
    at += run * blocks;
    i += run;
  }
}

}  // namespace partita::mpc::ot
