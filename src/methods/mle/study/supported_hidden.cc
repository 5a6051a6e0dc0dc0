#include "methods/mle/study/supported_hidden.h"

#include <fmt/format.h>

#include "methods/mle/published/analyses.h"
#include "run/method/hidden_rows.h"

namespace partita::methods::mle {
namespace {

using run::kMatchedIdsHint;

// One person then changes one row of the join, and nothing else tells of it (decision 0551).
void RequireHiddenPromise(const MleStudy& study, const study::AnalysisSpec& spec) {
  const study::PrivacySpec& privacy = *MleOf(spec).privacy;
  for (const study::RowBlock& block : study.file.blocks) {
    if (!block.match || !block.match->hidden || block.match->count != study::MatchCount::kExact)
      continue;
    run::Refuse(study, privacy.position,
                fmt::format("analysis '{}' is private, and the study file says how many people "
                            "match: who knows the others learns from that number whether somebody "
                            "is in a list, whatever noise the result has",
                            spec.name),
                "match the lists with count = \"noisy\", or by a linker with count = \"nobody\"");
  }
  if (study.file.population.max_rows_per_person > 1) {
    run::Refuse(study, privacy.position,
                fmt::format("analysis '{}' is private, and a person has several rows: a matching "
                            "has one of each",
                            spec.name),
                "remove max_rows_per_person");
  }
  if (!privacy.planning_rows) {
    run::Refuse(study, privacy.position,
                fmt::format("analysis '{}' needs planning_rows: the count of the rows is that of "
                            "positions, of which nobody knows how many are people of all lists",
                            spec.name),
                "write how many people you expect in all lists, for example planning_rows = 2000; "
                "it only serves the forecast of the standard errors");
  }
}

void RequireHiddenAnalysis(const MleStudy& study, const study::AnalysisSpec& spec) {
  const MleSection& own = MleOf(spec);
  if (own.privacy) RequireHiddenPromise(study, spec);
  // With a promise no number of rows is tested.
  if (!own.privacy && (!own.group.empty() || !spec.subset.empty())) {
    run::Refuse(
        study, spec.position,
        fmt::format("analysis '{}' has {}: how many rows match there is tested, and who has few "
                    "such rows could learn whether they match, which is hidden",
                    spec.name, own.group.empty() ? "a subset of its own" : "groups"),
        fmt::format("leave it out (a subset for all may stand in [population]), or {}",
                    kMatchedIdsHint));
  }
  if (published::IsPublished(spec.protocol)) {
    run::Refuse(study, spec.position,
                fmt::format("protocol '{}' of analysis '{}' sends rows as they stand, and which of "
                            "them match is hidden",
                            spec.protocol, spec.name),
                fmt::format("use protocol = \"pooled-moments\", or {}", kMatchedIdsHint));
  }
}

// Own numbers of rows against what opens tell a holder which of its own rows match: exact sums of its
// columns, or estimates to a few digits, are equations for that. So no result goes to one.
void RequireOutsideReaders(const MleStudy& study) {
  run::RequireOutsideReceiver(study);
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

void RequireSupportedHidden(const MleStudy& study) {
  if (!run::HasHiddenRows(study)) return;
  if (study.file.design.site == study::SiteEffect::kFixed) {
    run::Refuse(
        study, study.file.design.position,
        "site = \"fixed\" takes the means of all rows of a block, and which of them match is "
        "hidden",
        fmt::format("use site = \"ignore\", or {}", kMatchedIdsHint));
  }
  if (study.file.release.accept == study::AcceptedRelease::kCheckedCells) {
    run::Refuse(study, study.file.release.accept_position,
                "accept = \"checked cells\" counts all rows of a block, and which of them match is "
                "hidden",
                fmt::format("remove it, or {}", kMatchedIdsHint));
  }
  run::RequireHiddenAlone(study);
  if (HasPatterns(study)) {
    run::Refuse(
        study, study.file.design.position,
        "how many rows have a pattern of missing values is tested, and who has such rows could "
        "learn whether they match, which is hidden",
        fmt::format("use missing = \"complete\", or {}", kMatchedIdsHint));
  }
  for (const study::AnalysisSpec& spec : study.file.analyses) RequireHiddenAnalysis(study, spec);
  RequireOutsideReaders(study);
}

void RequireHiddenChecks(const MleStudy& study) {
  if (!run::HasHiddenRows(study)) return;
  for (const DisclosureCheck& check : study.checks) {
    if (check.variable == "rows") continue;
    run::Refuse(
        study, study.file.analyses.front().position,
        fmt::format("analysis '{}' has the check \"{}\": everybody sees its answer, from "
                    "which the holder of '{}' could learn which of its rows match, and that "
                    "is hidden",
                    check.analysis, check.rule, check.variable),
        fmt::format("leave out '{}', which has few values, or {}", check.variable,
                    kMatchedIdsHint));
  }
}

}  // namespace partita::methods::mle
