// The plain side of a rehearsal: see rehearse.h.
#include <algorithm>
#include <map>

#include "methods/mle/check/rehearse.h"
#include "methods/mle/fit/patterns.h"

namespace partita::methods::mle {
namespace {

// Which rows take part in an analysis, how often, and in which group.
struct WeightedRows {
  std::vector<double> weight;  // 0: not at all
  std::vector<int32_t> group;  // index into the groups
  std::vector<size_t> block;   // of each row, for effects of the site
};

std::vector<size_t> BlockNumbers(const std::vector<std::string>& row_blocks) {
  std::map<std::string, size_t> numbers;
  std::vector<size_t> blocks;
  for (const std::string& name : row_blocks)
    blocks.push_back(numbers.emplace(name, numbers.size()).first->second);
  return blocks;
}

WeightedRows PooledRowsOf(const MleStudy& study, size_t analysis, const data::Table& table,
                          const std::vector<std::string>& row_blocks) {
  std::vector<data::Condition> conditions = study.file.population.subset;
  const study::AnalysisSpec& spec = study.file.analyses[analysis];
  conditions.insert(conditions.end(), spec.subset.begin(), spec.subset.end());
  const std::vector<uint8_t> selected = data::SelectRows(table, conditions);
  WeightedRows rows;
  rows.weight.assign(selected.begin(), selected.end());
  const std::vector<uint8_t> complete = data::CompleteRows(table, study.required);
  for (size_t i = 0; i < complete.size(); ++i) rows.weight[i] *= complete[i];
  if (!study.file.design.weights.empty()) {
    const std::vector<double>& weights = table.Get(study.file.design.weights).numbers;
    for (size_t i = 0; i < rows.weight.size(); ++i) {
      if (rows.weight[i] != 0) rows.weight[i] = weights[i];
    }
  }
  rows.group.assign(table.num_rows, 0);
  const std::string& group = MleOf(spec).group;
  if (!group.empty()) rows.group = table.Get(group).codes;
  rows.block = BlockNumbers(row_blocks);
  return rows;
}

// One row of the analysis's variables after the other, for the rows of one group.
template <typename Use>
void ForEachRow(const WeightedRows& rows, int32_t group, const std::vector<const double*>& columns,
                Use use) {
  Eigen::VectorXd values(static_cast<Eigen::Index>(columns.size()));
  for (size_t i = 0; i < rows.weight.size(); ++i) {
    if (rows.weight[i] == 0 || rows.group[i] != group) continue;
    for (size_t v = 0; v < columns.size(); ++v)
      values[static_cast<Eigen::Index>(v)] = columns[v][i];
    use(i, values);
  }
}

// Covariance with divisor n, in two passes; around the mean of each block if sites have effects of
// their own, else around the mean of all.
stats::GroupMoments WeightedMoments(const WeightedRows& rows, int32_t group, bool by_block,
                                    const std::vector<const double*>& columns) {
  struct Mean {
    double n = 0;
    Eigen::VectorXd sum;
  };
  const auto p = static_cast<Eigen::Index>(columns.size());
  std::map<size_t, Mean> means;
  ForEachRow(rows, group, columns, [&](size_t row, const Eigen::VectorXd& values) {
    Mean& mean = means[by_block ? rows.block[row] : 0];
    if (mean.n == 0) mean.sum = Eigen::VectorXd::Zero(p);
    mean.n += rows.weight[row];
    mean.sum += rows.weight[row] * values;
  });
  stats::GroupMoments moments;
  moments.mean = Eigen::VectorXd::Zero(p);
  moments.covariance = Eigen::MatrixXd::Zero(p, p);
  for (const auto& [block, mean] : means) moments.n += mean.n;
  if (moments.n == 0) return moments;
  if (!by_block) moments.mean = means[0].sum / means[0].n;
  ForEachRow(rows, group, columns, [&](size_t row, const Eigen::VectorXd& values) {
    const Mean& mean = means[by_block ? rows.block[row] : 0];
    const Eigen::VectorXd centred = values - mean.sum / mean.n;
    moments.covariance += rows.weight[row] * centred * centred.transpose();
  });
  moments.covariance /= moments.n;
  return moments;
}

// The rows that miss what the pattern lists, and nothing else that a model uses.
WeightedRows RowsOfPattern(const MleStudy& study, const data::Table& table,
                           const study::MissingPattern& pattern, WeightedRows rows) {
  for (const std::string& name : study.modelled) {
    const bool missing = std::find(pattern.begin(), pattern.end(), name) != pattern.end();
    const std::vector<uint8_t> present = data::CompleteRows(table, std::vector<std::string>{name});
    for (size_t i = 0; i < present.size(); ++i) {
      if ((present[i] == 0) != missing) rows.weight[i] = 0;
    }
  }
  return rows;
}

std::vector<stats::PatternMoments> WeightedPatternMoments(
    const MleStudy& study, const MleAnalysis& analysis, const data::Table& table,
    const WeightedRows& rows, const std::vector<const double*>& columns) {
  std::vector<stats::PatternMoments> moments;
  for (size_t g = 0; g < analysis.table.groups.size(); ++g) {
    for (size_t k = 0; k < analysis.patterns.size(); ++k) {
      const std::vector<size_t>& observed = analysis.patterns[k];
      std::vector<const double*> own;
      for (const size_t v : observed) own.push_back(columns[v]);
      stats::GroupMoments of_pattern =
          WeightedMoments(RowsOfPattern(study, table, study.file.design.patterns[k], rows),
                          static_cast<int32_t>(g), false, own);
      if (of_pattern.n > 0 && !observed.empty())
        moments.push_back({g, {observed.begin(), observed.end()}, std::move(of_pattern)});
    }
  }
  return moments;
}

}  // namespace

std::vector<MleResult> FitPooled(const MleStudy& study, data::Table pooled,
                                 const std::vector<std::string>& row_blocks, Progress& progress) {
  data::AddDesignColumns(pooled, study.file.dictionary, study.file.derived);
  const bool by_block = study.file.design.site == study::SiteEffect::kFixed;
  std::vector<MleResult> results;
  for (size_t a = 0; a < study.analyses.size(); ++a) {
    const MleAnalysis& analysis = study.analyses[a].analysis;
    std::vector<const double*> columns;
    for (const data::DesignColumn& variable : analysis.variables)
      columns.push_back(pooled.Get(variable.schema.name).numbers.data());
    const WeightedRows rows = PooledRowsOf(study, a, pooled, row_blocks);
    MleResult result;
    result.name = analysis.options.name;
    result.table = analysis.table;
    result.information = analysis.options.information;
    result.function = analysis.options.function;
    result.group_labels = analysis.table.groups;
    stats::SemFitOptions options;
    options.information = result.information;
    result.group_n.assign(analysis.table.groups.size(), 0);
    if (HasPatterns(study)) {
      const std::vector<stats::PatternMoments> patterns =
          WeightedPatternMoments(study, analysis, pooled, rows, columns);
      for (const stats::PatternMoments& pattern : patterns)
        result.group_n[pattern.group] += pattern.moments.n;
      result.fit = stats::FitFiml(analysis.table, patterns, options, progress);
    } else {
      std::vector<stats::GroupMoments> moments;
      for (size_t g = 0; g < analysis.table.groups.size(); ++g) {
        moments.push_back(WeightedMoments(rows, static_cast<int32_t>(g), by_block, columns));
        result.group_n[g] = moments.back().n;
      }
      result.fit = stats::FitSem(analysis.table, moments, options, progress);
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace partita::methods::mle
