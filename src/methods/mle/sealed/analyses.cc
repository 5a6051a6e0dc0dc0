#include "methods/mle/sealed/analyses.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "methods/mle/plan/leakage.h"
#include "methods/mle/sealed/patterns.h"

namespace partita::methods::mle {
namespace {

const study::ReleaseSpec* FindRelease(const study::AnalysisSpec& spec, const std::string& what) {
  const auto found =
      std::find_if(spec.releases.begin(), spec.releases.end(),
                   [&](const study::ReleaseSpec& release) { return release.what == what; });
  return found == spec.releases.end() ? nullptr : &*found;
}

SealedSums SumsOf(const MleStudy& study, size_t analysis) {
  const PreparedAnalysis& prepared = study.analyses[analysis];
  const MomentsTask& task = study.computations[prepared.computation].task;
  SealedSums sums;
  sums.variables = prepared.variables;
  sums.fraction_bits = task.fraction_bits;
  sums.max_rows = static_cast<double>(task.max_rows);
  sums.value_bound = task.value_bound;
  return sums;
}

uint64_t NumOpened(const MleStudy& study, size_t analysis) {
  uint64_t opened = 0;
  for (const mpc::Release& release : SealedReleasesOf(study, analysis)) {
    // The bit and the exponents of grids are no real numbers.
    const bool is_real =
        !release.id.starts_with("sealed-converged/") && !release.id.starts_with("sealed-grids/");
    if (is_real) opened += release.num_values.value_or(0);
  }
  return opened;
}

// Nobody would see that a variable is missing throughout.
void RequireObserved(const MleStudy& study, size_t analysis) {
  const MleAnalysis& prepared = study.analyses[analysis].analysis;
  for (size_t v = 0; v < prepared.variables.size() && HasPatterns(study); ++v) {
    const bool there = std::any_of(prepared.patterns.begin(), prepared.patterns.end(),
                                   [v](const std::vector<size_t>& observed) {
                                     return std::binary_search(observed.begin(), observed.end(), v);
                                   });
    if (there) continue;
    const study::Position& position = study.file.design.position;
    throw Error(ErrorCode::kBadInput,
                fmt::format("{}:{}:{}: every pattern lacks '{}', which analysis '{}' uses",
                            study.file.file_name, position.line, position.column,
                            prepared.variables[v].schema.name, study.file.analyses[analysis].name),
                "list the patterns that have it, or leave the variable out of the model");
  }
}

}  // namespace

bool IsSealed(const MleStudy& study) {
  return std::all_of(
      study.computations.begin(), study.computations.end(),
      [](const Computation& computation) { return computation.protocol == kSealed; });
}

std::string SealedPhase(const MleStudy& study, size_t analysis) {
  return "sealed " + study.file.analyses[analysis].name;
}

SealedOpenings SealedOpeningsOf(const MleStudy& study, size_t analysis) {
  const study::AnalysisSpec& spec = study.file.analyses[analysis];
  SealedOpenings openings;
  openings.name = spec.name;
  openings.receiver = study.receiver;
  openings.standard_errors = FindRelease(spec, "standard-errors") != nullptr;
  openings.fit = FindRelease(spec, "fit") != nullptr;
  openings.grid_bits = study.grid_bits;
  openings.information = study.analyses[analysis].analysis.options.information;
  return openings;
}

std::vector<mpc::Release> SealedReleasesOf(const MleStudy& study, size_t analysis) {
  return SealedAnalysisReleases(study.analyses[analysis].analysis,
                                SealedOpeningsOf(study, analysis),
                                study.parties[study.receiver].name);
}

void RequireSupportedSealed(const MleStudy& study, size_t analysis) {
  const study::AnalysisSpec& spec = study.file.analyses[analysis];
  const MleAnalysis& prepared = study.analyses[analysis].analysis;
  const auto at = [&](const study::Position& position) {
    return fmt::format("{}:{}:{}", study.file.file_name, position.line, position.column);
  };
  try {
    SealedModelOf(prepared);
    RequireSealedRows(SumsOf(study, analysis));
  } catch (const Error& error) {
    throw Error(error.code(),
                fmt::format("{}: analysis '{}': {}", at(spec.position), spec.name, error.message()),
                error.hint());
  }
  RequireObserved(study, analysis);
  const study::ReleaseSpec* fit = FindRelease(spec, "fit");
  if (fit != nullptr && HasPatterns(study)) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{}: the fit of analysis '{}' needs a saturated model of incomplete "
                            "rows, which protocol 'sealed' does not have",
                            at(fit->position), spec.name),
                "remove \"fit\" from the release list, or use protocol = \"pooled-moments\"");
  }
  const study::ReleaseSpec* errors = FindRelease(spec, "standard-errors");
  if (errors == nullptr || NeedsStandardErrors(prepared)) return;
  throw Error(ErrorCode::kBadInput,
              fmt::format("{}: standard errors follow from the estimates of analysis '{}' and need "
                          "not be opened",
                          at(errors->position), spec.name),
              "remove \"standard-errors\" from the release list");
}

study::PlanExposure SealedExposure(const MleStudy& study, const Computation& computation,
                                   const RowSet& rows) {
  study::PlanExposure exposure;
  exposure.to = study.parties[study.receiver].name;
  exposure.level = kParameters;
  const uint64_t p = rows.release.variables.size();
  std::string names, variables;
  bool means = false, fit = false, errors = false;
  for (const size_t a : rows.analyses) {
    exposure.opened += NumOpened(study, a);
    names += (names.empty() ? "" : ", ") + study.file.analyses[a].name;
    means |= study.analyses[a].analysis.table.meanstructure;
    fit |= SealedOpeningsOf(study, a).fit;
    errors |= SealedOpeningsOf(study, a).standard_errors;
  }
  for (const size_t v : rows.release.variables) {
    variables += (variables.empty() ? "" : ", ") + computation.variables[v].schema.name;
  }
  // Of incomplete rows the moments of all rows, not the many more of all patterns: never fewer
  // opened numbers per statistic than there are.
  const size_t patterns = std::max<size_t>(1, study.file.design.patterns.size());
  exposure.statistics = rows.cells.size() / patterns * (1 + p * (p + 1) / 2 + (means ? p : 0));
  exposure.of = "estimates of " + names;
  exposure.exposes = {
      fmt::format("the means and covariances of {} that the fitted model implies", variables)};
  if (fit) exposure.exposes.push_back("how far they are from the exact ones, as chi-square");
  if (errors && HasPatterns(study)) {
    exposure.exposes.push_back(
        "how much information the incomplete rows hold on every parameter, as its standard error, "
        "which says roughly how many rows have the variables that it is about");
  }
  if (exposure.opened < exposure.statistics) return exposure;
  exposure.exposes.push_back(
      HasPatterns(study)
          ? "as many numbers are opened as complete rows would have moments: they may determine "
            "the "
            "estimates of all means and covariances"
          : "as many numbers are opened as there are moments: they may determine all of them "
            "exactly");
  return exposure;
}

void FitSealedAnalyses(mpc::Engine& engine, const MleStudy& study, size_t computation,
                       const std::vector<SharedMoments>& shared, ProtocolResult& result,
                       Progress& progress) {
  for (const RowSet& rows : study.computations[computation].row_sets) {
    for (const size_t a : rows.analyses) {
      progress.Phase("sealed fit of " + study.file.analyses[a].name);
      engine.BeginPhase(SealedPhase(study, a));
      SealedSums sums = SumsOf(study, a);
      std::vector<SharedMoments> cells;
      for (const size_t cell : rows.cells) cells.push_back(shared[cell]);
      if (HasPatterns(study)) {
        AddPatterns(engine, study.analyses[a].analysis, cells, sums);
      } else {
        sums.groups = std::move(cells);
      }
      result.results[a] = FitSealedAnalysis(engine, study.analyses[a].analysis,
                                            SealedOpeningsOf(study, a), sums, progress);
    }
  }
}

}  // namespace partita::methods::mle
