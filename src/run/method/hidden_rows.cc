#include "run/method/hidden_rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace partita::run {

bool HasHiddenRows(const Study& study) {
  const std::vector<data::RowBlock>& blocks = study.partition.blocks;
  return std::any_of(blocks.begin(), blocks.end(),
                     [](const data::RowBlock& block) { return block.hidden; });
}

void RequireHiddenAlone(const Study& study) {
  if (!HasHiddenRows(study) || study.partition.blocks.size() == 1) return;
  Refuse(study, study.file.blocks.front().position,
         "a row block of which nobody knows which rows match stands beside another one: min_rows "
         "would count both together, and few hidden rows could show",
         fmt::format("make it a study of its own, or {}", kMatchedIdsHint));
}

void RequireOutsideReceiver(const Study& study) {
  const std::vector<size_t> blocks = study.partition.BlocksOf(study.receiver);
  if (std::none_of(blocks.begin(), blocks.end(),
                   [&](size_t block) { return study.partition.blocks[block].hidden; }))
    return;
  Refuse(study, study.parties[study.receiver].position,
         fmt::format("the receiver '{}' holds rows of which it may not know which match: from "
                     "results and its own rows it could find out",
                     study.parties[study.receiver].name),
         "let a party without rows be the receiver: a [[party]] with roles = [\"receiver\"] "
         "(partita study new --receiver NAME)");
}

}  // namespace partita::run
