#include "methods/mle/study/study.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "methods/mle/fit/publish.h"
#include "methods/mle/imputed/analyses.h"
#include "methods/mle/plan/leakage.h"
#include "methods/mle/plan/release_bits.h"
#include "methods/mle/published/analyses.h"
#include "methods/mle/sealed/analyses.h"
#include "methods/mle/study/computations.h"
#include "methods/mle/study/pattern_cells.h"
#include "methods/mle/study/private_study.h"
#include "methods/mle/study/supported.h"
#include "methods/mle/study/supported_hidden.h"
#include "run/method/hidden_rows.h"

namespace partita::methods::mle {
namespace {

std::string At(const study::StudyFile& file, const study::Position& position) {
  return fmt::format("{}:{}:{}", file.file_name, position.line, position.column);
}

MleOptions Options(const MleStudy& study, const study::AnalysisSpec& spec) {
  MleOptions options;
  const MleSection& section = MleOf(spec);
  const bool fiml = HasPatterns(study) && !IsImputed(study);
  const bool centred = study.file.design.site == study::SiteEffect::kFixed;
  options.plain_moments = !HasPatterns(study) && !HasPrivacy(study.file);
  if (centred) options.absorbed_intercepts = study.partition.blocks.size();
  options.name = spec.name;
  options.function = section.function;
  options.model = section.model;
  options.group = section.group;
  options.group_equal = section.group_equal;
  options.std_lv = section.std_lv;
  options.meanstructure = section.meanstructure;
  options.fixed_x = section.fixed_x;
  // Incomplete rows need the means, and covariates that may be missing themselves are modelled.
  if (fiml && !section.meanstructure) options.meanstructure = true;
  if (fiml && !section.fixed_x) options.fixed_x = false;
  // A regression has an intercept, where it needs no further release.
  if (section.function == "regression" && !section.meanstructure && !centred &&
      options.plain_moments && spec.protocol == kPooledMoments) {
    options.meanstructure = true;
  }
  options.robust = section.robust;
  options.nested_in = section.nested_in;
  options.modification_indices = section.modification_indices;
  options.bootstrap = section.bootstrap;
  options.information = section.information == "observed" ? stats::Information::kObserved
                                                          : stats::Information::kExpected;
  return options;
}

void PrepareModels(MleStudy& study) {
  for (const study::AnalysisSpec& spec : study.file.analyses) {
    PreparedAnalysis prepared;
    try {
      prepared.analysis = PrepareAnalysis(Options(study, spec), study.factors, study.columns);
    } catch (const Error& error) {
      throw Error(error.code(),
                  At(study.file, MleOf(spec).model_position) + ": model: " + error.message(),
                  error.hint());
    }
    study.analyses.push_back(std::move(prepared));
  }
  std::vector<MleAnalysis*> sealed;
  for (size_t a = 0; a < study.analyses.size(); ++a) {
    if (study.file.analyses[a].protocol == kSealed) sealed.push_back(&study.analyses[a].analysis);
  }
  study.common_bounds = ShareBounds(sealed);
}

std::string ListOf(const Computation& computation, const std::vector<size_t>& variables) {
  std::string list;
  for (size_t v : variables)
    list += (list.empty() ? "" : ", ") + computation.variables[v].schema.name;
  return list;
}

std::string MomentsText(const MleStudy& study, const Computation& computation, const RowSet& rows) {
  const bool some = rows.release.pairs.size() < AllPairs(rows.release.variables).size();
  const char* noise = !study.privacy                ? ""
                      : study.privacy->public_count ? " with noise (but on n)"
                                                    : " with noise";
  return fmt::format("n, sums and cross products of {} {}{}{}",
                     ListOf(computation, rows.release.variables), RowsText(study, rows), noise,
                     HasPatterns(study) ? ", of the variables that the pattern has"
                     : some ? "; only cross products of variables that one analysis uses together"
                            : "");
}

void AddLikelihoodReleases(const MleStudy& study, size_t index,
                           std::vector<mpc::Release>& releases) {
  for (mpc::Release& release :
       LikelihoodReleases(study.analyses[index].analysis, LikelihoodTaskOf(study, index),
                          study.parties[study.receiver].name))
    releases.push_back(std::move(release));
}

std::string ToldGridText(const MleStudy& study) {
  if (study.grid_bits == 0) return "";
  return fmt::format(" on a grid of 2^-{} of standard errors", study.grid_bits);
}

std::vector<mpc::Release> PlanMleReleases(const MleStudy& study) {
  const std::string& receiver = study.parties[study.receiver].name;
  std::vector<mpc::Release> releases;
  if (!study.privacy) {
    releases.push_back({kDisclosureRelease,
                        fmt::format("whether each of {} counts reaches its minimum, one bit each",
                                    study.checks.size()),
                        "all", "exact", 1, mpc::kEverybody, study.checks.size()});
  }
  if (study.pattern_table) releases.push_back(PatternCellsRelease(study));
  for (const Computation& computation : study.computations) {
    for (const RowSet& rows : computation.row_sets) {
      if (computation.protocol == kLikelihood) {
        for (size_t a : rows.analyses) AddLikelihoodReleases(study, a, releases);
        continue;
      }
      if (computation.protocol == kSealed) {
        for (size_t a : rows.analyses) {
          for (mpc::Release& release : SealedReleasesOf(study, a))
            releases.push_back(std::move(release));
        }
        continue;
      }
      if (published::IsPublished(computation.protocol)) {
        for (size_t a : rows.analyses) releases.push_back(published::PublishedReleaseOf(study, a));
        continue;
      }
      if (IsImputed(study)) {
        for (mpc::Release& release :
             ImputationReleases(ImputationTaskOf(study, computation, rows), receiver))
          releases.push_back(std::move(release));
        continue;
      }
      releases.push_back({rows.release.id, MomentsText(study, computation, rows), receiver,
                          study.privacy ? MechanismText(*study.privacy) : "exact", 1,
                          study.receiver, NumReleasedValues(rows.release)});
    }
  }
  for (size_t a = 0; a < study.analyses.size(); ++a) {
    const MleAnalysis& analysis = study.analyses[a].analysis;
    if (MleOf(study.file.analyses[a]).robust) {
      for (mpc::Release& release : RobustReleases(analysis, RobustTaskOf(study, a), receiver))
        releases.push_back(std::move(release));
    }
    for (const study::ReleaseSpec& release : study.file.analyses[a].releases) {
      const std::optional<size_t> to = TellsEstimatesTo(study, release);
      if (!to) continue;
      releases.push_back(
          {ResultRelease(analysis),
           fmt::format("estimates, standard errors and fit measures of analysis '{}'{}",
                       study.file.analyses[a].name, ToldGridText(study)),
           release.to, study.privacy ? "computed from the noised moments" : "exact", 1, *to,
           NumPublishedValues(analysis)});
    }
  }
  return releases;
}

// The finest grid, from the one that the study asks for on, with which what opens on it passes the
// release rule; or that one if everybody accepts what it tells, or the table's cells are checked.
void ChooseGrid(MleStudy& study) {
  const int asked = study.file.release.grid_bits;
  const int coarsest = std::min(asked, privacy::kCoarsestGridBits);
  for (study.grid_bits = asked; study.grid_bits >= coarsest; --study.grid_bits) {
    study.releases = PlanMleReleases(study);
    if (GridPasses(study)) return;
  }
  study.grid_bits = asked;
  study.releases = PlanMleReleases(study);
  if (study.file.release.accept != study::AcceptedRelease::kNone) return;
  run::Refuse(
      study, study.file.analyses.front().position,
      fmt::format("the estimates would tell more than half of the bits of the {}{}",
                  run::kTableOfCovariates,
                  asked == 0 ? "" : ", even on a grid of 2^-4 of their standard errors"),
      asked == 0
          ? "open them on a grid: leave `grid` out of [release]"
          : "release less, declare more rows, or write in [release] accept = \"checked cells\", "
            "which has every pattern of discrete covariates counted on shares first, or accept = "
            "\"table of covariates\", which every holder then approves with the plan");
}

}  // namespace

MleStudy PrepareMleStudy(study::StudyFile file) {
  MleStudy study;
  run::PrepareParties(std::move(file), study);
  try {
    study.factors = data::WithDerivedFactors(study.file.dictionary, study.file.derived);
    study.columns = data::DesignColumns(study.file.dictionary, study.file.derived);
  } catch (const Error& error) {
    throw Error(error.code(), study.file.file_name + ": " + error.message(), error.hint());
  }
  RequireSupportedDesign(study);
  RequireSupportedHidden(study);
  PrepareModels(study);
  RequireSupportedPrivacy(study);
  PlanComputations(study);
  RequireSupportedAnalyses(study);
  study.pattern_table = PlanPatternTable(study);
  if (HasPrivacy(study.file)) {
    study.privacy = DesignPrivacy(study);
    study.privacy_statement = StatePrivacy(study);
  } else {
    study.checks = PlanDisclosureChecks(study, study.file.disclosure);
    RequireHiddenChecks(study);
  }
  if (study.privacy) {
    study.releases = PlanMleReleases(study);
  } else {
    ChooseGrid(study);
  }
  return study;
}

MleStudy UnroundedTwin(MleStudy study) {
  study.grid_bits = 0;
  study.releases = PlanMleReleases(study);
  return study;
}

std::string RowsText(const MleStudy& study, const RowSet& rows) {
  const bool complete = study.file.design.missing == study::MissingPolicy::kComplete;
  std::string text = run::RowsText(study, rows.subset, complete ? "that are complete" : "");
  if (study.file.design.site == study::SiteEffect::kFixed)
    text += ", of deviations from the means of each row block";
  if (!study.file.design.weights.empty()) text += ", weighted by " + study.file.design.weights;
  if (run::HasHiddenRows(study)) text += ", at positions where all holders have a row";
  if (!rows.group.empty()) text += ", for each level of " + rows.group;
  if (HasPatterns(study))
    text += fmt::format(", by pattern of missing values ({})", study.file.design.patterns.size());
  return text;
}

bool HasPatterns(const MleStudy& study) {
  return study.file.design.missing == study::MissingPolicy::kFiml || IsImputed(study);
}

bool IsImputed(const MleStudy& study) {
  return study.file.design.missing == study::MissingPolicy::kMultipleImputation;
}

LikelihoodTask LikelihoodTaskOf(const MleStudy& study, size_t analysis) {
  const MomentsTask& moments = study.computations[study.analyses[analysis].computation].task;
  LikelihoodTask task;
  task.fraction_bits = moments.fraction_bits;
  task.max_rows = moments.max_rows;
  task.centre = study.receiver;
  task.name = study.file.analyses[analysis].name;
  task.value_bound = moments.value_bound;
  task.integer_bits = run::IntegerBits(study);
  return task;
}

RobustTask RobustTaskOf(const MleStudy& study, size_t analysis) {
  const PreparedAnalysis& prepared = study.analyses[analysis];
  const Computation& computation = study.computations[prepared.computation];
  RobustTask task;
  task.name = study.file.analyses[analysis].name;
  task.clustered = !study.file.design.cluster.empty();
  task.hidden = run::HasHiddenRows(study);
  task.receiver = study.receiver;
  task.variables = prepared.variables;
  task.cells = computation.row_sets[prepared.row_set].cells;
  task.moments = computation.task;
  return task;
}

std::string RobustPhase(const MleStudy& study, size_t analysis) {
  return "robust " + study.file.analyses[analysis].name;
}

std::string LikelihoodPhase(const MleStudy& study, size_t analysis) {
  return "likelihood " + study.file.analyses[analysis].name;
}

std::optional<size_t> TellsEstimatesTo(const MleStudy& study, const study::ReleaseSpec& release) {
  if (release.what != "estimates" || release.to.empty()) return std::nullopt;
  if (release.to == "all") return mpc::kEverybody;
  const size_t to = run::PartyByName(study, release.to);
  return to == study.receiver ? std::nullopt : std::optional<size_t>(to);
}

// The other protocols and noise have grids of their own.
bool MleStudy::TakesInputBits() const {
  return !privacy && !IsImputed(*this) &&
         std::all_of(file.analyses.begin(), file.analyses.end(),
                     [](const auto& analysis) { return analysis.protocol == kPooledMoments; });
}

data::TableCheckOptions MleStudy::TableChecks() const {
  data::TableCheckOptions options = Study::TableChecks();
  if (HasPatterns(*this)) options.patterns_of = modelled;
  return options;
}

}  // namespace partita::methods::mle
