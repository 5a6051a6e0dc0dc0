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

void RequireNoSubset(const Study& study, const study::AnalysisSpec& analysis) {
  if (analysis.subset.empty()) return;
  Refuse(study, analysis.position,
         fmt::format("analysis '{}' has a subset of its own: how many rows match there is "
                     "tested, and who has few such rows could learn whether they match, which "
                     "is hidden",
                     analysis.name),
         fmt::format("leave it out (a subset for all may stand in [population]), or {}",
                     kMatchedIdsHint));
}

void RequireKnownRows(const Study& study, const study::Position& position,
                      const std::string& what) {
  if (!HasHiddenRows(study)) return;
  Refuse(study, position,
         fmt::format("which rows match is hidden, and {} needs holders that know it", what),
         fmt::format("leave out [analysis.privacy], or {}", kMatchedIdsHint));
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
