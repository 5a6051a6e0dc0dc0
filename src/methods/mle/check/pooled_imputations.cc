// The plain fits of imputed rows: see pooled_fit.h.
#include <algorithm>

#include "methods/mle/check/pooled_fit.h"
#include "methods/mle/check/pooled_rows.h"
#include "methods/mle/imputed/analyses.h"
#include "methods/mle/imputed/imputed_fit.h"
#include "stats/sem/imputation.h"

namespace partita::methods::mle {
namespace {

// Rows that are imputed together, in the clear.
struct ImputedRows {
  const RowSet* rows = nullptr;
  ImputationTask task;
  std::vector<std::vector<stats::PatternMoments>> patterns;  // by group
  std::vector<std::vector<double>> counts;                   // by group and pattern
};

ImputedRows ImputedRowsOf(const MleStudy& study, const Computation& computation,
                          const RowSet& row_set, const data::Table& table,
                          const std::vector<std::string>& row_blocks) {
  ImputedRows imputed{&row_set, ImputationTaskOf(study, computation, row_set), {}, {}};
  const size_t groups = imputed.task.groups.size(), patterns = imputed.task.observed.size();
  const WeightedRows rows = PooledRowsOf(study, row_set.analyses.front(), table, row_blocks);
  imputed.patterns.resize(groups);
  for (stats::PatternMoments& pattern :
       WeightedPatternMoments(study, table, rows, groups, imputed.task.observed,
                              NumbersOf(table, imputed.task.names))) {
    imputed.patterns[pattern.group].push_back(std::move(pattern));
  }
  imputed.counts.assign(groups, std::vector<double>(patterns));
  for (size_t k = 0; k < patterns; ++k) {
    const WeightedRows own = RowsOfPattern(study, table, study.file.design.patterns[k], rows);
    for (size_t i = 0; i < own.weight.size(); ++i) {
      if (own.weight[i] > 0) imputed.counts[static_cast<size_t>(own.group[i])][k] += own.weight[i];
    }
  }
  return imputed;
}

// The places of an analysis's variables among those that are imputed.
std::vector<int> PlacesOf(const MleAnalysis& analysis, const std::vector<std::string>& names) {
  std::vector<int> places;
  for (const data::DesignColumn& variable : analysis.variables) {
    const auto place = std::find(names.begin(), names.end(), variable.schema.name);
    places.push_back(static_cast<int>(place - names.begin()));
  }
  return places;
}

}  // namespace

std::vector<std::vector<MleResult>> FitPooledImputations(const MleStudy& study, data::Table pooled,
                                                         const std::vector<std::string>& row_blocks,
                                                         size_t repetitions, Progress& progress) {
  data::AddDesignColumns(pooled, study.file.dictionary, study.file.derived);
  std::vector<ImputedRows> all;
  for (const Computation& computation : study.computations) {
    for (const RowSet& rows : computation.row_sets)
      all.push_back(ImputedRowsOf(study, computation, rows, pooled, row_blocks));
  }
  crypto::SystemRandom random;
  stats::VariateTape tape(random);
  SilentProgress silent;
  std::vector<std::vector<MleResult>> results(repetitions);
  for (size_t r = 0; r < repetitions; ++r) {
    progress.Step(r, repetitions);
    progress.CheckCancelled();
    results[r].resize(study.analyses.size());
    for (const ImputedRows& imputed : all) {
      stats::ParameterTable names;
      names.observed = imputed.task.names;
      std::vector<std::vector<stats::GroupMoments>> by_imputation(imputed.task.options.imputations);
      for (const std::vector<stats::PatternMoments>& group : imputed.patterns) {
        const std::vector<stats::GroupMoments> moments =
            stats::ImputeMoments(names, group, imputed.task.options, tape, silent);
        for (size_t i = 0; i < moments.size(); ++i) by_imputation[i].push_back(moments[i]);
      }
      for (const size_t a : imputed.rows->analyses) {
        const MleAnalysis& analysis = study.analyses[a].analysis;
        const std::vector<int> places = PlacesOf(analysis, imputed.task.names);
        std::vector<std::vector<stats::GroupMoments>> own = by_imputation;
        for (std::vector<stats::GroupMoments>& groups : own) {
          for (stats::GroupMoments& group : groups) {
            group = {group.n, group.mean(places).eval(), group.covariance(places, places).eval()};
          }
        }
        results[r][a] = FitImputed(analysis, own, imputed.counts, silent);
      }
    }
  }
  return results;
}

}  // namespace partita::methods::mle
