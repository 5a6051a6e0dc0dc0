#include "runtime/supported_missing.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/supported.h"

namespace partita::runtime {

void RequireSupportedMissing(const MleStudy& study) {
  const study::DesignSpec& design = study.file.design;
  if (design.missing == study::MissingPolicy::kMultipleImputation) {
    Refuse(study, design.position, "this version does not impute missing values",
           "use missing = \"fiml\" (every row counts with what it has), \"complete\" (rows with a "
           "missing value are left out, which is unbiased if values are missing completely at "
           "random) or \"refuse\"");
  }
  if (design.missing != study::MissingPolicy::kFiml) return;
  if (design.patterns.empty()) {
    Refuse(
        study, design.position,
        "missing = \"fiml\" needs 'patterns', the sets of variables that are missing together",
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
  if (!IsFiml(study)) return;
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
        std::find(names.begin(), names.end(), SourceVariable(study, condition.variable)) -
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

void RequireSupportedFiml(const MleStudy& study, size_t index) {
  if (!IsFiml(study)) return;
  const study::AnalysisSpec& spec = study.file.analyses[index];
  const stats::ParameterTable& table = study.analyses[index].analysis.table;
  if (spec.protocol != kPooledMoments) {
    Refuse(study, spec.position,
           fmt::format("missing = \"fiml\" needs the moments of every pattern, which protocol '{}' "
                       "does not open",
                       spec.protocol),
           "use protocol = \"pooled-moments\", or missing = \"complete\"");
  }
  if (spec.privacy) {
    Refuse(study, spec.position, "a release with noise needs complete rows",
           "use missing = \"complete\"");
  }
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
  if (spec.information != "observed") {
    Refuse(study, spec.position,
           "the expected information is wrong where values are missing at random",
           "leave out information = \"expected\"");
  }
  if (spec.robust || spec.modification_indices || spec.bootstrap > 0) {
    Refuse(study, spec.position,
           fmt::format("robust, modification_indices and bootstrap are of complete rows, and the "
                       "rows of analysis '{}' are not",
                       spec.name),
           "leave them out, or use missing = \"complete\"");
  }
}

}  // namespace partita::runtime
