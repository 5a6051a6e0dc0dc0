#include "methods/mle/study/supported.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "methods/mle/published/analyses.h"
#include "methods/mle/sealed/analyses.h"
#include "methods/mle/study/supported_missing.h"
#include "run/method/hidden_rows.h"

namespace partita::methods::mle {
namespace {

using run::Refuse;

bool SharesRows(const MleStudy& study) {
  return std::any_of(study.partition.segments.begin(), study.partition.segments.end(),
                     [](const data::Segment& segment) { return segment.shared(); });
}

bool AnyRobust(const MleStudy& study) {
  return std::any_of(study.file.analyses.begin(), study.file.analyses.end(),
                     [](const study::AnalysisSpec& spec) { return MleOf(spec).robust; });
}

void RequireSite(const MleStudy& study) {
  const study::DesignSpec& design = study.file.design;
  switch (design.site) {
    case study::SiteEffect::kIgnore:
    case study::SiteEffect::kFixed:
      return;
    case study::SiteEffect::kStrata:
      Refuse(study, design.position, "method 'mle' has no strata: site = \"strata\" is not for it",
             "use site = \"fixed\" (a mean of its own for every row block and variable) or "
             "\"ignore\"");
    case study::SiteEffect::kRandom:
      Refuse(study, design.position, "method 'mle' has no random effects of sites",
             "use site = \"fixed\" (a mean of its own for every row block and variable) or "
             "\"ignore\"");
  }
}

void RequireWeights(const MleStudy& study) {
  const study::DesignSpec& design = study.file.design;
  if (design.weights_kind == study::WeightsKind::kNone) return;
  if (design.weights_kind != study::WeightsKind::kFrequency) {
    Refuse(study, design.position,
           "method 'mle' takes frequency weights only: sampling and precision weights need "
           "standard errors that it does not compute",
           "use weights_type = \"frequency\" if a row stands for that many equal rows, or leave "
           "the weights out");
  }
  const data::ColumnSchema& weights = *study.file.dictionary.Find(design.weights);
  if (weights.type != data::ColumnType::kInteger || weights.lower < 0 || weights.upper > 1e6) {
    Refuse(study, design.position,
           fmt::format("the frequency weights '{}' must be an integer with bounds in [0, 1000000]",
                       design.weights),
           "a frequency weight says how many equal rows a row stands for");
  }
}

void RequireCluster(const MleStudy& study) {
  const study::DesignSpec& design = study.file.design;
  if (design.cluster.empty() || AnyRobust(study)) return;
  Refuse(study, design.position,
         fmt::format("the rows are clustered in '{}', but no analysis has robust standard errors",
                     design.cluster),
         "say robust = true in the analyses: standard errors that ignore clusters are too small");
}

void RequireSiteAnalyses(const MleStudy& study) {
  if (study.file.design.site != study::SiteEffect::kFixed) return;
  for (size_t a = 0; a < study.analyses.size(); ++a) {
    const study::AnalysisSpec& spec = study.file.analyses[a];
    if (study.analyses[a].analysis.table.meanstructure) {
      Refuse(study, spec.position,
             fmt::format("analysis '{}' has a mean structure, which site = \"fixed\" removes",
                         spec.name),
             "leave out intercepts, means, groups and growth, or use site = \"ignore\"");
    }
    const Computation& computation = study.computations[study.analyses[a].computation];
    for (const RowBlock& block : computation.task.blocks) {
      if (block.holders.size() < 2) continue;
      const bool selects =
          std::any_of(block.holders.begin(), block.holders.end(), [](const BlockHolder& holder) {
            return std::find(holder.selects.begin(), holder.selects.end(), true) !=
                   holder.selects.end();
          });
      if (!selects) continue;
      Refuse(study, study.file.design.position,
             fmt::format("site = \"fixed\" needs all rows of block '{}', whose columns are split",
                         block.name),
             "leave out subsets, weights and missing = \"complete\", or use site = \"ignore\"");
    }
  }
}

bool Releases(const study::AnalysisSpec& spec, const std::string& what) {
  return std::any_of(spec.releases.begin(), spec.releases.end(),
                     [&](const study::ReleaseSpec& release) { return release.what == what; });
}

// The release list says, in the author's own hand, what the protocol opens.
void RequireReleases(const MleStudy& study, const study::AnalysisSpec& spec) {
  const bool sealed = spec.protocol == kSealed;
  const std::string needed = published::IsPublished(spec.protocol) ? "rows"
                             : sealed                              ? "estimates"
                             : spec.protocol == kLikelihood        ? "likelihood"
                                                                   : "moments";
  if (!Releases(spec, needed)) {
    Refuse(study, spec.position,
           fmt::format("protocol '{}' opens the {} to {}, which 'release' does not list",
                       spec.protocol, needed, needed == "rows" ? "other parties" : "the receiver"),
           fmt::format("write release = [\"{}\"]", needed));
  }
  const std::string& receiver = study.parties[study.receiver].name;
  for (const study::ReleaseSpec& release : spec.releases) {
    if (release.what == "estimates") continue;
    const bool known = release.what == needed || (release.what == "robust" && MleOf(spec).robust) ||
                       (sealed && (release.what == "fit" || release.what == "standard-errors"));
    if (!known) {
      Refuse(study, release.position,
             fmt::format("protocol '{}' does not open '{}'", spec.protocol, release.what),
             "remove it from the release list");
    }
    if (!release.to.empty() && release.to != receiver && release.what != "rows") {
      Refuse(
          study, release.position,
          fmt::format("'{}' opens to the receiver, {}, and to nobody else", release.what, receiver),
          "make that party the receiver, or release the \"estimates\" to all");
    }
  }
  if (!MleOf(spec).robust) return;
  // No estimate leaves the receiver then (likelihood/hidden_robust.h).
  if (run::HasHiddenRows(study)) {
    if (Releases(spec, "robust")) return;
    Refuse(
        study, spec.position,
        "robust standard errors open one more sum to the receiver, which 'release' does not list",
        "write release = [\"moments\", \"robust\"]");
  }
  if (!Releases(spec, "robust") ||
      std::none_of(spec.releases.begin(), spec.releases.end(), [](const auto& release) {
        return release.what == "estimates" && release.to == "all";
      })) {
    Refuse(study, spec.position,
           "robust standard errors open one more sum to the receiver, and the estimates to all "
           "holders",
           "write release = [\"moments\", \"robust\", {what = \"estimates\", to = \"all\"}]");
  }
}

void RequireRobust(const MleStudy& study, const study::AnalysisSpec& spec) {
  if (!MleOf(spec).robust) return;
  if (spec.protocol != kPooledMoments) {
    Refuse(study, spec.position,
           fmt::format("analysis '{}' asks for robust standard errors, which protocol '{}' does "
                       "not have",
                       spec.name, spec.protocol),
           "use protocol = \"pooled-moments\"");
  }
  if (SharesRows(study) && !study.file.design.cluster.empty()) {
    Refuse(study, spec.position,
           fmt::format("robust standard errors for the clusters of '{}' need whole rows at each "
                       "holder; here columns are split",
                       study.file.design.cluster),
           "leave out the cluster if rows are independent, or robust = true");
  }
  if (study.file.design.site == study::SiteEffect::kFixed ||
      study.file.design.weights_kind != study::WeightsKind::kNone) {
    Refuse(study, spec.position,
           "robust standard errors are computed without site effects and weights only",
           "leave out robust = true, or site = \"fixed\" and the weights");
  }
}

// What follows the fit needs numbers that not every protocol opens.
void RequireExtras(const MleStudy& study, const study::AnalysisSpec& spec) {
  const MleSection& own = MleOf(spec);
  const bool asked = !own.nested_in.empty() || own.modification_indices || own.bootstrap > 0;
  if (asked && own.privacy) {
    Refuse(study, spec.position,
           fmt::format("analysis '{}' is of noised moments: nested_in, modification_indices and "
                       "bootstrap would ignore the noise",
                       spec.name),
           "leave them out; the standard errors contain the noise");
  }
  if (own.modification_indices && spec.protocol != kPooledMoments) {
    Refuse(study, spec.position,
           fmt::format("modification indices need the moments, which protocol '{}' does not open",
                       spec.protocol),
           "use protocol = \"pooled-moments\", or compare with a wider model by nested_in");
  }
  if (own.bootstrap > 0 && spec.protocol == kSealed) {
    Refuse(study, spec.position,
           "the bootstrap needs means and covariances that the model implies, and protocol "
           "'sealed' does not tell those of covariates",
           "use protocol = \"pooled-moments\"");
  }
  const bool chi_square =
      spec.protocol == kPooledMoments || (spec.protocol == kSealed && Releases(spec, "fit"));
  if (!own.nested_in.empty() && !chi_square) {
    Refuse(
        study, spec.position,
        fmt::format("nested_in compares chi-squares, which analysis '{}' does not open", spec.name),
        "use protocol = \"pooled-moments\", or \"sealed\" with the release \"fit\"");
  }
}

// A nested model has the variables of the wider one and fewer free parameters.
void RequireNested(const MleStudy& study, size_t index) {
  const study::AnalysisSpec& spec = study.file.analyses[index];
  const std::string& nested_in = MleOf(spec).nested_in;
  if (nested_in.empty()) return;
  const stats::ParameterTable& narrow = study.analyses[index].analysis.table;
  for (size_t a = 0; a < study.analyses.size(); ++a) {
    if (study.file.analyses[a].name != nested_in) continue;
    const stats::ParameterTable& wide = study.analyses[a].analysis.table;
    const std::set<std::string> names(narrow.observed.begin(), narrow.observed.end());
    if (names == std::set<std::string>(wide.observed.begin(), wide.observed.end()) &&
        narrow.meanstructure == wide.meanstructure &&
        narrow.exogenous_covariates.size() == wide.exogenous_covariates.size())
      return;
    Refuse(study, spec.position,
           fmt::format("analysis '{}' is not nested in '{}': they differ in their variables, mean "
                       "structure or covariates",
                       spec.name, nested_in),
           "use the same variables in both: fix a path to zero (y ~ 0*x) instead of leaving its "
           "variable out");
  }
}

// Of rows whose number is public; subsets can only take some away.
void RequireEnoughRows(const MleStudy& study, size_t index) {
  const std::optional<uint64_t> rows = study.partition.TotalRows();
  const size_t variables = study.analyses[index].variables.size();
  const size_t parameters = study.analyses[index].analysis.table.num_free;
  if (rows && *rows <= parameters && study.file.design.weights_kind == study::WeightsKind::kNone) {
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("{}: {} rows are not more than the {} free parameters of analysis '{}'",
                    study.file.file_name, *rows, parameters, study.file.analyses[index].name),
        "use a simpler model or more rows");
  }
  if (rows && *rows <= variables) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{}: {} rows cannot identify the covariances of {} variables",
                            study.file.file_name, *rows, variables),
                "use fewer variables or more rows");
  }
}

}  // namespace

void RequireSupportedDesign(const MleStudy& study) {
  RequireSite(study);
  RequireSupportedMissing(study);
  RequireWeights(study);
  RequireCluster(study);
}

void RequireSupportedAnalyses(const MleStudy& study) {
  RequireSupportedPatterns(study);
  RequireSiteAnalyses(study);
  for (size_t a = 0; a < study.analyses.size(); ++a) {
    RequireSupportedIncomplete(study, a);
    RequireRobust(study, study.file.analyses[a]);
    RequireReleases(study, study.file.analyses[a]);
    RequireExtras(study, study.file.analyses[a]);
    RequireNested(study, a);
    RequireEnoughRows(study, a);
    if (study.file.analyses[a].protocol == kSealed) RequireSupportedSealed(study, a);
    if (published::IsPublished(study.file.analyses[a].protocol))
      published::RequireSupportedPublished(study, a);
  }
}

}  // namespace partita::methods::mle
