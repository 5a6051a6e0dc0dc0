#include "methods/mle/study/supported_missing.h"

#include <fmt/format.h>

#include <algorithm>

#include "methods/mle/imputed/analyses.h"

namespace partita::methods::mle {

using run::Refuse;

void RequireSupportedMissing(const MleStudy& study) {
  const study::DesignSpec& design = study.file.design;
  if (!HasPatterns(study)) return;
  if (design.patterns.empty()) {
    Refuse(
        study, design.position,
        fmt::format("missing = \"{}\" needs 'patterns', the sets of variables that are missing "
                    "together",
                    IsImputed(study) ? "mi" : "fiml"),
        "list them, for example patterns = [[], [\"x4\"], [\"x7\", \"x8\"]]: complete rows, rows "
        "without x4, rows without x7 and x8. The list is public; a holder whose table has other "
        "patterns is told which, and nobody else");
  }
  if (design.site == study::SiteEffect::kFixed) {
    Refuse(study, design.position, "site = \"fixed\" removes the means, which incomplete rows need",
           "use site = \"ignore\", or missing = \"complete\"");
  }
}

// Everything but the models' own variables must be there.
void RequireSupportedPatterns(const MleStudy& study) {
  if (!HasPatterns(study)) return;
  const study::DesignSpec& design = study.file.design;
  const auto contains = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const std::string& name : study::VariablesThatMayLack(design)) {
    if (contains(study.required, name)) {
      Refuse(study, design.position,
             fmt::format("a pattern lacks '{}', which is a group or the weights: a row without it "
                         "takes no part",
                         name),
             "leave the variable out of the patterns");
    }
    if (!contains(study.modelled, name)) {
      Refuse(study, design.position, fmt::format("a pattern lacks '{}', which no model uses", name),
             "leave the variable out of the patterns: it may be missing or not");
    }
  }
  std::vector<data::Condition> conditions = study.file.population.subset;
  for (const study::AnalysisSpec& spec : study.file.analyses)
    conditions.insert(conditions.end(), spec.subset.begin(), spec.subset.end());
  for (const data::Condition& condition : conditions) {
    const auto& names = study.partition.variables;
    const auto variable = static_cast<size_t>(
        std::find(names.begin(), names.end(), run::SourceVariable(study, condition.variable)) -
        names.begin());
    for (const data::Segment& segment : study.partition.segments) {
      if (segment.Has(variable)) continue;
      Refuse(study, design.position,
             fmt::format("nobody holds '{}' of row block '{}', and a subset asks for it",
                         names[variable], study.partition.blocks[segment.block].name),
             "leave the condition out, or the block");
    }
  }
}

namespace {

// Of full information maximum likelihood alone.
void RequireSupportedFiml(const MleStudy& study, size_t index) {
  const study::AnalysisSpec& spec = study.file.analyses[index];
  const stats::ParameterTable& table = study.analyses[index].analysis.table;
  if (!table.meanstructure) {
    Refuse(
        study, spec.position,
        fmt::format("analysis '{}' has no mean structure, which incomplete rows need", spec.name),
        "leave out meanstructure = false");
  }
  if (table.fixed_x && !table.exogenous_covariates.empty()) {
    Refuse(study, spec.position,
           fmt::format("analysis '{}' has fixed covariates; those of incomplete rows are modelled",
                       spec.name),
           "leave out fixed_x = true");
  }
  if (MleOf(spec).information != "observed") {
    Refuse(study, spec.position,
           "the expected information is wrong where values are missing at random",
           "leave out information = \"expected\"");
  }
}

}  // namespace

void RequireSupportedIncomplete(const MleStudy& study, size_t index) {
  if (!HasPatterns(study)) return;
  const study::AnalysisSpec& spec = study.file.analyses[index];
  const bool sealed = spec.protocol == kSealed && !IsImputed(study);
  if (spec.protocol != kPooledMoments && !sealed) {
    Refuse(study, spec.position,
           fmt::format("missing = \"{}\" needs the moments of every pattern, which protocol '{}' "
                       "does not have",
                       IsImputed(study) ? "mi" : "fiml", spec.protocol),
           IsImputed(study)
               ? "use protocol = \"pooled-moments\", or missing = \"complete\""
               : "use protocol = \"pooled-moments\" or \"sealed\", or missing = \"complete\"");
  }
  const MleSection& own = MleOf(spec);
  if (own.privacy) {
    Refuse(study, spec.position, "a release with noise needs complete rows",
           "use missing = \"complete\"");
  }
  if (own.robust || own.modification_indices || own.bootstrap > 0) {
    Refuse(study, spec.position,
           fmt::format("robust, modification_indices and bootstrap are of complete rows, and the "
                       "rows of analysis '{}' are not",
                       spec.name),
           "leave them out, or use missing = \"complete\"");
  }
  if (!IsImputed(study)) {
    RequireSupportedFiml(study, index);
    return;
  }
  if (!own.nested_in.empty()) {
    Refuse(study, spec.position, "nested_in compares chi-squares, and imputed tables have many",
           "use missing = \"fiml\", or leave nested_in out");
  }
  RequireSupportedImputation(study, index);
}

}  // namespace partita::methods::mle
