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
  if (!own.group.empty() || !spec.subset.empty()) {
    run::Refuse(
        study, spec.position,
        fmt::format("analysis '{}' has {}: how many rows match there is tested, and who has few "
                    "such rows could learn whether they match, which is hidden",
                    spec.name, own.group.empty() ? "a subset of its own" : "groups"),
        fmt::format("leave it out (a subset for all may stand in [population]), or {}",
                    kMatchedIds));
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

// Own numbers of rows against what opens tell a holder which of its own rows match: exact sums of its
// columns, or estimates to a few digits, are equations for that. So no result goes to one.
void RequireOutsideReaders(const MleStudy& study) {
  const auto holds_hidden = [&](size_t party) {
    const std::vector<size_t> blocks = study.partition.BlocksOf(party);
    return std::any_of(blocks.begin(), blocks.end(),
                       [&](size_t block) { return study.partition.blocks[block].hidden; });
  };
  if (holds_hidden(study.receiver)) {
    run::Refuse(
        study, study.parties[study.receiver].position,
        fmt::format("the receiver '{}' holds rows of which it may not know which match: from "
                    "results and its own rows it could find out",
                    study.parties[study.receiver].name),
        "let a party without rows be the receiver: a [[party]] with roles = [\"receiver\"] "
        "(partita study new --receiver NAME)");
  }
  for (const study::AnalysisSpec& spec : study.file.analyses) {
    for (const study::ReleaseSpec& release : spec.releases) {
      if (!TellsEstimatesTo(study, release)) continue;
      run::Refuse(
          study, release.position,
          fmt::format("analysis '{}' tells estimates to others than the receiver: holders could "
                      "find from them and their own rows which of these match",
                      spec.name),
          "release them to the receiver only");
    }
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
  if (study.partition.blocks.size() > 1) {
    run::Refuse(
        study, study.file.blocks.front().position,
        "a row block of which nobody knows which rows match stands beside another one: min_rows "
        "would count both together, and few hidden rows could show",
        fmt::format("make it a study of its own, or {}", kMatchedIds));
  }
  if (HasPatterns(study)) {
    run::Refuse(
        study, study.file.design.position,
        "how many rows have a pattern of missing values is tested, and who has such rows could "
        "learn whether they match, which is hidden",
        fmt::format("use missing = \"complete\", or {}", kMatchedIds));
  }
  for (const study::AnalysisSpec& spec : study.file.analyses) RequireHiddenAnalysis(study, spec);
  RequireOutsideReaders(study);
}

void RequireHiddenChecks(const MleStudy& study) {
  if (!HasHiddenRows(study)) return;
  for (const DisclosureCheck& check : study.checks) {
    if (check.variable == "rows") continue;
    run::Refuse(
        study, study.file.analyses.front().position,
        fmt::format("analysis '{}' has the check \"{}\": everybody sees its answer, from "
                    "which the holder of '{}' could learn which of its rows match, and that "
                    "is hidden",
                    check.analysis, check.rule, check.variable),
        fmt::format("leave out '{}', which has few values, or {}", check.variable, kMatchedIds));
  }
}

}  // namespace partita::methods::mle
