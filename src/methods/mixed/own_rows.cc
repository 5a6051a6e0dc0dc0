#include "methods/mixed/own_rows.h"

#include <map>

namespace partita::methods::mixed {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Rows by group, each group once.
std::vector<std::vector<size_t>> RowsByGroup(const Spec& spec, const data::Table& table,
                                             const std::vector<size_t>& rows) {
  if (spec.by_site()) {
    if (rows.empty()) return {};
    return {rows};
  }
  const data::Column& column = table.Get(spec.group);
  std::map<double, std::vector<size_t>> groups;
  for (const size_t row : rows)
    groups[column.codes.empty() ? column.numbers[row] : column.codes[row]].push_back(row);
  std::vector<std::vector<size_t>> by_group;
  for (auto& [value, of_group] : groups) by_group.push_back(std::move(of_group));
  return by_group;
}

std::vector<Int128> CellsOf(const Spec& spec, const data::ModelCounts& counts, bool count_groups,
                            const data::Table& table, const std::vector<size_t>& rows,
                            const std::vector<std::vector<size_t>>& groups) {
  if (!count_groups) return data::CountCells(spec, counts, table, rows, {}, {});
  std::vector<Int128> cells(counts.num_cells, 0);
  for (const std::vector<size_t>& group : groups) {
    const std::vector<Int128> own = data::CountCells(spec, counts, table, group, {}, {});
    for (size_t c = 0; c < cells.size(); ++c) cells[c] += own[c] > 0 ? 1 : 0;
  }
  return cells;
}

}  // namespace

std::vector<std::string> NeededColumns(const Spec& spec) {
  std::vector<std::string> names = data::NeededColumns(spec);
  names.push_back(spec.outcome);
  return names;
}

OwnData OwnDataOf(const Spec& spec, const data::ModelCounts& counts, bool count_groups,
                  const data::Table& table, const std::vector<size_t>& rows) {
  const std::vector<std::vector<size_t>> groups = RowsByGroup(spec, table, rows);
  std::vector<size_t> ordered;
  std::vector<uint32_t> clusters;
  for (size_t g = 0; g < groups.size(); ++g) {
    ordered.insert(ordered.end(), groups[g].begin(), groups[g].end());
    clusters.insert(clusters.end(), groups[g].size(), static_cast<uint32_t>(g));
  }
  const auto n = static_cast<Index>(ordered.size());
  MatrixXd x(n, static_cast<Index>(spec.columns.size()));
  for (size_t c = 0; c < spec.columns.size(); ++c) {
    const std::vector<double> values = data::ColumnValues(spec.columns[c], table, ordered);
    x.col(static_cast<Index>(c)) = Eigen::Map<const VectorXd>(values.data(), n);
  }
  const std::vector<double>& outcome = table.Get(spec.outcome).numbers;
  VectorXd y(n);
  for (Index i = 0; i < n; ++i)
    y[i] = (outcome[ordered[static_cast<size_t>(i)]] - spec.centre) / spec.scale;
  OwnData own;
  own.sums = stats::mixed::SumRows(x, y, clusters);
  own.counts = CellsOf(spec, counts, count_groups, table, rows, groups);
  own.counts.push_back(static_cast<Int128>(groups.size()));
  own.counts.push_back(static_cast<Int128>(rows.size()));
  return own;
}

OwnData NoData(const Spec& spec, const data::ModelCounts& counts) {
  const auto p = static_cast<Index>(spec.columns.size());
  return {stats::mixed::SumRows(MatrixXd(0, p), VectorXd(0), {}),
          std::vector<Int128>(counts.num_cells + 2, 0)};
}

}  // namespace partita::methods::mixed
