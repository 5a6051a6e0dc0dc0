// The plain side of a rehearsal: see rehearse.h.
#include <cmath>

#include "runtime/rehearse.h"

namespace partita::runtime {
namespace {

// Group of each row that takes part, -1 for the others.
std::vector<int32_t> Groups(const MleStudy& study, const data::Table& pooled) {
  std::vector<int32_t> groups(pooled.num_rows, 0);
  if (!study.analysis.options.group.empty())
    groups = pooled.Get(study.analysis.options.group).codes;
  for (const data::ColumnSchema& variable : study.analysis.variables) {
    const data::Column& column = pooled.Get(variable.name);
    for (size_t i = 0; i < pooled.num_rows; ++i) {
      if (std::isnan(column.numbers[i])) groups[i] = -1;
    }
  }
  return groups;
}

// Covariance with divisor n, in two passes.
stats::GroupMoments MomentsOf(const MleStudy& study, const data::Table& pooled,
                              const std::vector<int32_t>& groups, int32_t group) {
  const auto p = static_cast<Eigen::Index>(study.analysis.variables.size());
  stats::GroupMoments moments;
  moments.mean = Eigen::VectorXd::Zero(p);
  moments.covariance = Eigen::MatrixXd::Zero(p, p);
  std::vector<const double*> columns;
  for (const data::ColumnSchema& variable : study.analysis.variables)
    columns.push_back(pooled.Get(variable.name).numbers.data());
  const auto for_each_row = [&](const auto& use) {
    Eigen::VectorXd row(p);
    for (size_t i = 0; i < pooled.num_rows; ++i) {
      if (groups[i] != group) continue;
      for (Eigen::Index v = 0; v < p; ++v) row[v] = columns[static_cast<size_t>(v)][i];
      use(row);
    }
  };
  for_each_row([&](const Eigen::VectorXd& row) {
    moments.n += 1;
    moments.mean += row;
  });
  if (moments.n == 0) return moments;
  moments.mean /= moments.n;
  for_each_row([&](const Eigen::VectorXd& row) {
    const Eigen::VectorXd centred = row - moments.mean;
    moments.covariance += centred * centred.transpose();
  });
  moments.covariance /= moments.n;
  return moments;
}

}  // namespace

methods::mle::MleResult FitPooled(const MleStudy& study, const data::Table& pooled,
                                  Progress& progress) {
  const std::vector<int32_t> groups = Groups(study, pooled);
  std::vector<stats::GroupMoments> moments;
  methods::mle::MleResult result;
  for (size_t g = 0; g < study.task.num_groups; ++g) {
    moments.push_back(MomentsOf(study, pooled, groups, static_cast<int32_t>(g)));
    result.group_n.push_back(moments.back().n);
  }
  result.table = study.analysis.table;
  result.information = study.analysis.options.information;
  result.function = study.analysis.options.function;
  result.group_labels = study.analysis.table.groups;
  stats::SemFitOptions options;
  options.information = result.information;
  result.fit = stats::FitSem(study.analysis.table, moments, options, progress);
  return result;
}

}  // namespace partita::runtime
