#include "methods/mle/imputed/analyses.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "data/scaling.h"
#include "methods/mle/imputed/imputed_fit.h"
#include "methods/mle/plan/leakage.h"
#include "methods/mle/sealed/sample.h"

namespace partita::methods::mle {
namespace {

std::string ImputationName(const Computation& computation, const RowSet& rows,
                           const MleStudy& study) {
  return computation.row_sets.size() < 2 ? ""
                                         : "/" + study.file.analyses[rows.analyses.front()].name;
}

// The places of the analysis's variables among those that are imputed.
std::vector<int> PlacesOf(const MleStudy& study, size_t analysis, const RowSet& rows) {
  std::vector<int> places;
  for (const size_t v : study.analyses[analysis].variables) {
    const auto place =
        std::lower_bound(rows.release.variables.begin(), rows.release.variables.end(), v);
    places.push_back(static_cast<int>(place - rows.release.variables.begin()));
  }
  return places;
}

// From half-widths around the centres to original units.
stats::GroupMoments InUnits(const MleAnalysis& analysis, const stats::GroupMoments& imputed,
                            const std::vector<int>& places) {
  stats::GroupMoments moments{imputed.n, imputed.mean(places), imputed.covariance(places, places)};
  for (size_t v = 0; v < places.size(); ++v) {
    const data::ColumnScale scale = data::ScaleOf(analysis.variables[v].schema);
    const auto at = static_cast<Eigen::Index>(v);
    moments.mean(at) = scale.centre + scale.half_width * moments.mean(at);
    moments.covariance.row(at) *= scale.half_width;
    moments.covariance.col(at) *= scale.half_width;
  }
  return moments;
}

MleResult FitOpenedImputations(const MleStudy& study, size_t analysis, const RowSet& rows,
                               const OpenedImputations& opened, Progress& progress) {
  const MleAnalysis& prepared = study.analyses[analysis].analysis;
  const std::vector<int> places = PlacesOf(study, analysis, rows);
  std::vector<std::vector<stats::GroupMoments>> by_imputation(study.file.design.imputations);
  for (const std::vector<stats::GroupMoments>& group : opened.moments) {
    for (size_t i = 0; i < group.size(); ++i)
      by_imputation[i].push_back(InUnits(prepared, group[i], places));
  }
  return FitImputed(prepared, by_imputation, opened.counts, progress);
}

}  // namespace

ImputationTask ImputationTaskOf(const MleStudy& study, const Computation& computation,
                                const RowSet& rows) {
  ImputationTask task;
  task.name = ImputationName(computation, rows, study);
  task.receiver = study.receiver;
  task.variables = rows.release.variables;
  for (const size_t v : task.variables) task.names.push_back(computation.variables[v].schema.name);
  const auto place = [&](size_t variable) {
    return static_cast<size_t>(
        std::lower_bound(task.variables.begin(), task.variables.end(), variable) -
        task.variables.begin());
  };
  for (const auto& [a, b] : rows.release.pairs) task.pairs.emplace_back(place(a), place(b));
  task.groups = study.analyses[rows.analyses.front()].analysis.table.groups;
  const size_t patterns = study.file.design.patterns.size();
  for (size_t k = 0; k < patterns; ++k) {
    const std::vector<size_t>& absent = rows.release.absent[k];
    task.observed.emplace_back();
    for (size_t v = 0; v < task.variables.size(); ++v) {
      if (std::find(absent.begin(), absent.end(), task.variables[v]) == absent.end())
        task.observed.back().push_back(v);
    }
  }
  task.max_rows = static_cast<double>(computation.task.max_rows);
  task.options = {study.file.design.imputations, study.file.design.imputation_iterations};
  return task;
}

study::PlanExposure ImputationExposure(const MleStudy& study, const Computation& computation,
                                       const RowSet& rows) {
  const ImputationTask task = ImputationTaskOf(study, computation, rows);
  study::PlanExposure exposure;
  exposure.of = "imputed tables" + task.name;
  exposure.to = study.parties[study.receiver].name;
  exposure.level = kSufficientStatistics;
  exposure.opened = NumImputedValues(task);
  exposure.statistics = NumStatistics(rows);
  std::string always;
  for (size_t v = 0; v < task.names.size(); ++v) {
    const bool there =
        std::all_of(task.observed.begin(), task.observed.end(), [&](const auto& observed) {
          return std::binary_search(observed.begin(), observed.end(), v);
        });
    if (there) always += (always.empty() ? "" : ", ") + task.names[v];
  }
  exposure.exposes = {
      fmt::format("means and covariances of {} tables in which missing values are filled in with "
                  "random ones, whose noise no party knows as a whole",
                  task.options.imputations),
      "their average, which is near the maximum likelihood estimate of the means and covariances "
      "from all rows",
      "to all parties, how many rows have each pattern of missing values",
      "the exact means, variances and covariances of variables that no pattern lacks, or only "
      "patterns without rows" +
          (always.empty() ? "" : ": at least of " + always) +
          "; of 0/1 variables these are counts and 2 x 2 tables"};
  if (!rows.group.empty())
    exposure.exposes.push_back("each of these for every level of " + rows.group);
  return exposure;
}

void RequireSupportedImputation(const MleStudy& study, size_t analysis) {
  SealedSums sums;
  sums.max_rows =
      static_cast<double>(study.computations[study.analyses[analysis].computation].task.max_rows);
  try {
    RequireSealedRows(sums);
  } catch (const Error& error) {
    throw Error(error.code(),
                fmt::format("{}:{}:{}: up to {:.0f} rows are too many to impute on shares",
                            study.file.file_name, study.file.design.position.line,
                            study.file.design.position.column, sums.max_rows),
                "declare the counts of all row blocks, or use missing = \"fiml\"");
  }
  const PreparedAnalysis& prepared = study.analyses[analysis];
  const Computation& computation = study.computations[prepared.computation];
  const ImputationTask task =
      ImputationTaskOf(study, computation, computation.row_sets[prepared.row_set]);
  for (size_t v = 0; v < task.names.size(); ++v) {
    const bool there = std::any_of(task.observed.begin(), task.observed.end(),
                                   [&](const std::vector<size_t>& observed) {
                                     return std::binary_search(observed.begin(), observed.end(), v);
                                   });
    if (there) continue;
    throw Error(ErrorCode::kBadInput,
                fmt::format("{}:{}:{}: every pattern lacks {}, which nothing says how to impute",
                            study.file.file_name, study.file.design.position.line,
                            study.file.design.position.column, task.names[v]),
                "list a pattern that has it, or leave the variable out");
  }
}

void FitImputedAnalyses(mpc::Engine& engine, const MleStudy& study, const Computation& computation,
                        const std::vector<SharedMoments>& shared, crypto::RandomSource* random,
                        ProtocolResult& result, Progress& progress) {
  for (const RowSet& rows : computation.row_sets) {
    const ImputationTask task = ImputationTaskOf(study, computation, rows);
    progress.Phase("imputation");
    engine.BeginPhase("imputation" + task.name);
    std::vector<SharedMoments> cells;
    for (const size_t cell : rows.cells) cells.push_back(shared[cell]);
    const OpenedImputations opened = ImputeAndOpen(engine, task, cells, random, progress);
    if (engine.self() != study.receiver) continue;
    for (const size_t a : rows.analyses) {
      progress.Phase("fits of " + study.file.analyses[a].name);
      result.results[a] = FitOpenedImputations(study, a, rows, opened, progress);
    }
  }
}

}  // namespace partita::methods::mle
