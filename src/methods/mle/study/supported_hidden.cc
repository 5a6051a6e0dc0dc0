#include "methods/mle/study/supported_hidden.h"

#include <fmt/format.h>

#include <algorithm>

#include "methods/mle/published/analyses.h"

namespace partita::methods::mle {
namespace {

constexpr const char* kMatchedIds =
    "match the lists at level \"matched-ids\", where holders know which of their rows match";

void RequireHiddenAnalysis(const MleStudy& study, const study::AnalysisSpec& spec) {
  const MleSection& own = MleOf(spec);
  if (own.privacy) {
    run::Refuse(study, own.privacy->position,
                fmt::format("analysis '{}' is private, and which rows match is hidden: noise for "
                            "that is not there",
                            spec.name),
                kMatchedIds);
  }
  if (own.robust) {
    run::Refuse(
        study, spec.position,
        fmt::format("analysis '{}' asks for robust standard errors, which take rows at their "
                    "holders; which of them match is hidden",
                    spec.name),
        fmt::format("leave out robust = true, or {}", kMatchedIds));
  }
  if (published::IsPublished(spec.protocol)) {
    run::Refuse(study, spec.position,
                fmt::format("protocol '{}' of analysis '{}' sends rows as they stand, and which of "
                            "them match is hidden",
                            spec.protocol, spec.name),
                fmt::format("use protocol = \"pooled-moments\", or {}", kMatchedIds));
  }
}

}  // namespace

bool HasHiddenRows(const MleStudy& study) {
  const std::vector<data::RowBlock>& blocks = study.partition.blocks;
  return std::any_of(blocks.begin(), blocks.end(),
                     [](const data::RowBlock& block) { return block.hidden; });
}

void RequireSupportedHidden(const MleStudy& study) {
  if (!HasHiddenRows(study)) return;
  if (study.file.design.site == study::SiteEffect::kFixed) {
    run::Refuse(
        study, study.file.design.position,
        "site = \"fixed\" takes the means of all rows of a block, and which of them match is "
        "hidden",
        fmt::format("use site = \"ignore\", or {}", kMatchedIds));
  }
  if (study.file.release.accept == study::AcceptedRelease::kCheckedCells) {
    run::Refuse(study, study.file.release.accept_position,
                "accept = \"checked cells\" counts all rows of a block, and which of them match is "
                "hidden",
                fmt::format("remove it, or {}", kMatchedIds));
  }
  for (const study::AnalysisSpec& spec : study.file.analyses) RequireHiddenAnalysis(study, spec);
}

}  // namespace partita::methods::mle
