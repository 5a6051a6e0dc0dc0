#include "methods/mixed/own_rows.h"

#include <algorithm>
#include <map>
#include <utility>

#include "methods/mixed/group_pairs.h"

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

double OutcomeOf(const Spec& spec, const data::Column& outcome, size_t row) {
  if (spec.outcome_levels) return outcome.codes[row];
  return (outcome.numbers[row] - spec.centre) / spec.scale;
}

// Rows with each outcome of 0 and 1, or groups that have one.
std::vector<Int128> CountClasses(const GroupedNumbers& grouped, bool count_groups) {
  std::vector<Int128> of_classes(2, 0);
  size_t next = 0;
  for (const size_t size : grouped.sizes) {
    std::vector<Int128> of_group(2, 0);
    for (size_t r = 0; r < size; ++r) ++of_group[grouped.classes[next++]];
    for (size_t c = 0; c < 2; ++c)
      of_classes[c] += count_groups ? std::min<Int128>(of_group[c], 1) : of_group[c];
  }
  return of_classes;
}

// Tables, and the classes of the outcome.
std::vector<Int128> CellsOf(const Spec& spec, const data::ModelCounts& counts, bool count_groups,
                            const data::Table& table, const GroupedNumbers& grouped) {
  std::vector<Int128> cells =
      count_groups ? data::CountGroupsInCells(spec, counts, table, grouped.rows, grouped.classes,
                                              grouped.sizes)
                   : data::CountCells(spec, counts, table, grouped.rows, grouped.classes, {});
  const std::vector<Int128> pairs = CountGroupPairs(spec, counts, table, grouped, count_groups);
  std::copy(pairs.begin(), pairs.end(), cells.end() - static_cast<std::ptrdiff_t>(pairs.size()));
  if (!spec.binary()) return cells;
  const std::vector<Int128> of_classes = CountClasses(grouped, count_groups);
  cells.insert(cells.end(), of_classes.begin(), of_classes.end());
  return cells;
}

stats::mixed::GroupedRows Grouped(MatrixXd x, VectorXd y,
                                  const std::vector<std::vector<size_t>>& groups) {
  stats::mixed::GroupedRows rows{std::move(x), std::move(y), {}};
  for (const std::vector<size_t>& group : groups)
    rows.sizes.push_back(static_cast<Index>(group.size()));
  return rows;
}

}  // namespace

size_t ClassesOf(const Spec& spec) { return spec.binary() ? 2 : 1; }

data::ModelCounts CountsOf(const Spec& spec, const data::Schema& factors) {
  data::ModelCounts counts(spec, factors, ClassesOf(spec));
  AddGroupPairs(spec, counts);
  return counts;
}

std::vector<std::string> NeededColumns(const Spec& spec) {
  std::vector<std::string> names = data::NeededColumns(spec);
  if (!spec.outcome_levels) names.push_back(spec.outcome);
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
  const data::Column& outcome = table.Get(spec.outcome);
  VectorXd y(n);
  for (Index i = 0; i < n; ++i) y[i] = OutcomeOf(spec, outcome, ordered[static_cast<size_t>(i)]);
  OwnData own;
  if (spec.slope) {
    own.slopes = stats::mixed::SumSlopes(x, y, clusters, static_cast<Index>(*spec.slope));
  } else if (spec.linear()) {
    own.sums = stats::mixed::SumRows(x, y, clusters);
  } else {
    own.rows = Grouped(std::move(x), y, groups);
  }
  GroupedNumbers grouped{std::move(ordered), {}, {}};
  for (const std::vector<size_t>& group : groups) grouped.sizes.push_back(group.size());
  if (spec.binary()) {
    for (Index i = 0; i < n; ++i) grouped.classes.push_back(y[i] > 0 ? 1 : 0);
  }
  own.counts = CellsOf(spec, counts, count_groups, table, grouped);
  own.counts.push_back(static_cast<Int128>(groups.size()));
  own.counts.push_back(static_cast<Int128>(rows.size()));
  return own;
}

OwnData NoData(const Spec& spec, const data::ModelCounts& counts) {
  const auto p = static_cast<Index>(spec.columns.size());
  const size_t classes = spec.binary() ? ClassesOf(spec) : 0;
  return {stats::mixed::SumRows(MatrixXd(0, p), VectorXd(0), {}),
          std::vector<Int128>(counts.num_cells + classes + 2, 0),
          {MatrixXd(0, p), VectorXd(0), {}},
          stats::mixed::SumSlopes(MatrixXd(0, p), VectorXd(0), {}, 0)};
}

}  // namespace partita::methods::mixed
