#include "methods/mle/check/pooled_fit.h"

#include <algorithm>

#include "data/scaling.h"
#include "methods/mle/check/pooled_rows.h"
#include "methods/mle/fit/patterns.h"
#include "methods/mle/moments/public_scale.h"
#include "stats/sem/robust.h"

namespace partita::methods::mle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

std::vector<std::string> ColumnNames(const std::vector<data::DesignColumn>& variables) {
  std::vector<std::string> names;
  for (const data::DesignColumn& variable : variables) names.push_back(variable.schema.name);
  return names;
}

// The holder of each block; rows of two holders never share a cluster.
std::vector<uint64_t> ClustersOf(const MleStudy& study, const data::Table& table,
                                 const std::vector<std::string>& row_blocks) {
  const data::Column& column = table.Get(study.file.design.cluster);
  std::vector<uint64_t> clusters;
  for (size_t i = 0; i < row_blocks.size(); ++i) {
    uint64_t party = 0;
    for (const data::Holder& holder : study.partition.holders) {
      for (const size_t block : study.partition.BlocksOf(holder.party)) {
        if (study.partition.blocks[block].name == row_blocks[i]) party = holder.party;
      }
    }
    const uint64_t cluster = column.codes.empty() ? static_cast<uint64_t>(column.numbers[i])
                                                  : static_cast<uint64_t>(column.codes[i]);
    clusters.push_back(party << 48 | cluster);
  }
  return clusters;
}

stats::RobustFit PooledRobustFit(const MleStudy& study, const MleAnalysis& analysis,
                                 const data::Table& table,
                                 const std::vector<std::string>& row_blocks,
                                 const WeightedRows& weighted,
                                 const std::vector<const double*>& columns,
                                 const std::vector<stats::GroupMoments>& moments,
                                 const stats::SemFit& fit) {
  std::vector<uint64_t> cluster_of;
  if (!study.file.design.cluster.empty()) cluster_of = ClustersOf(study, table, row_blocks);
  std::vector<MatrixXd> rows;
  std::vector<std::vector<uint64_t>> clusters;
  for (size_t g = 0; g < moments.size(); ++g) {
    MatrixXd& of_group =
        rows.emplace_back(static_cast<Index>(moments[g].n), static_cast<Index>(columns.size()));
    std::vector<uint64_t> own;
    Index at = 0;
    ForEachRow(weighted, static_cast<int32_t>(g), columns, [&](size_t row, const VectorXd& values) {
      of_group.row(at++) = values.transpose();
      if (!cluster_of.empty()) own.push_back(cluster_of[row]);
    });
    if (!cluster_of.empty()) clusters.push_back(std::move(own));
  }
  const stats::StatisticsScale scale = PublicScale(analysis);
  return stats::MakeRobust(
      analysis.table, moments, fit, stats::PublicModel(analysis.table, scale),
      stats::PlaintextRobustSums(analysis.table, moments, fit, scale, rows, clusters));
}

}  // namespace

std::vector<MleResult> FitPooled(const MleStudy& study, data::Table pooled,
                                 const std::vector<std::string>& row_blocks, Progress& progress) {
  data::AddDesignColumns(pooled, study.file.dictionary, study.file.derived);
  const bool by_block = study.file.design.site == study::SiteEffect::kFixed;
  std::vector<MleResult> results;
  for (size_t a = 0; a < study.analyses.size(); ++a) {
    const MleAnalysis& analysis = study.analyses[a].analysis;
    const std::vector<const double*> columns = NumbersOf(pooled, ColumnNames(analysis.variables));
    const WeightedRows rows = PooledRowsOf(study, a, pooled, row_blocks);
    MleResult result;
    result.name = analysis.options.name;
    result.table = analysis.table;
    result.information = analysis.options.information;
    result.function = analysis.options.function;
    result.group_labels = analysis.table.groups;
    stats::SemFitOptions options;
    options.information = result.information;
    const size_t groups = analysis.table.groups.size();
    result.group_n.assign(groups, 0);
    if (HasPatterns(study)) {
      const std::vector<stats::PatternMoments> patterns =
          WeightedPatternMoments(study, pooled, rows, groups, analysis.patterns, columns);
      for (const stats::PatternMoments& pattern : patterns)
        result.group_n[pattern.group] += pattern.moments.n;
      result.fit = stats::FitFiml(analysis.table, patterns, options, progress);
    } else {
      std::vector<stats::GroupMoments> moments;
      for (size_t g = 0; g < groups; ++g) {
        moments.push_back(WeightedMoments(rows, static_cast<int32_t>(g), by_block, columns));
        result.group_n[g] = moments.back().n;
      }
      result.fit = stats::FitSem(analysis.table, moments, options, progress);
      if (MleOf(study.file.analyses[a]).robust && result.fit.converged) {
        result.robust = PooledRobustFit(study, analysis, pooled, row_blocks, rows, columns, moments,
                                        result.fit);
      }
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace partita::methods::mle
