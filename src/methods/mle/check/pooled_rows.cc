#include "methods/mle/check/pooled_rows.h"

#include <algorithm>
#include <map>

#include "data/condition.h"

namespace partita::methods::mle {
namespace {

std::vector<size_t> BlockNumbers(const std::vector<std::string>& row_blocks) {
  std::map<std::string, size_t> numbers;
  std::vector<size_t> blocks;
  for (const std::string& name : row_blocks)
    blocks.push_back(numbers.emplace(name, numbers.size()).first->second);
  return blocks;
}

}  // namespace

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

std::vector<const double*> NumbersOf(const data::Table& table,
                                     const std::vector<std::string>& names) {
  std::vector<const double*> columns;
  for (const std::string& name : names) columns.push_back(table.Get(name).numbers.data());
  return columns;
}

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

std::vector<stats::PatternMoments> WeightedPatternMoments(
    const MleStudy& study, const data::Table& table, const WeightedRows& rows, size_t groups,
    const std::vector<std::vector<size_t>>& observed, const std::vector<const double*>& columns) {
  std::vector<stats::PatternMoments> moments;
  for (size_t g = 0; g < groups; ++g) {
    for (size_t k = 0; k < observed.size(); ++k) {
      std::vector<const double*> own;
      for (const size_t v : observed[k]) own.push_back(columns[v]);
      stats::GroupMoments of_pattern =
          WeightedMoments(RowsOfPattern(study, table, study.file.design.patterns[k], rows),
                          static_cast<int32_t>(g), false, own);
      if (of_pattern.n > 0 && !observed[k].empty())
        moments.push_back({g, {observed[k].begin(), observed[k].end()}, std::move(of_pattern)});
    }
  }
  return moments;
}

}  // namespace partita::methods::mle
