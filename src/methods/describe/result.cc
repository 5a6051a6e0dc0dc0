#include "methods/describe/result.h"

#include <algorithm>
#include <cmath>

namespace partita::methods::describe {
namespace {

class Reader {
 public:
  Reader(const Spec& spec, const OpenedTable& opened)
      : spec_(spec), layout_(spec), opened_(opened) {}

  DescribedTable Read() const {
    DescribedTable table;
    for (size_t v = 0; v < spec_.variables.size(); ++v) table.variables.push_back(ReadVariable(v));
    table.rank_roots.resize(spec_.variables.size());
    for (size_t m = 0; m < opened_.rank_roots.size(); ++m)
      table.rank_roots[layout_.numbers[m]] = opened_.rank_roots[m];
    if (!opened_.strata.empty()) table.strata.resize(spec_.variables.size());
    const std::vector<size_t> two_valued = TwoValued(spec_);
    for (size_t i = 0; i < opened_.strata.size(); ++i) {
      const size_t v = two_valued[i];
      if (!table.variables[v].front().withheld) table.strata[v] = opened_.strata[i];
    }
    return table;
  }

 private:
  uint64_t CountOf(size_t row, size_t arm) const {
    return opened_.counts[row * layout_.arms + arm];
  }
  uint64_t RowsOf(size_t v, size_t arm) const {
    uint64_t rows = 0;
    for (size_t k = 0; k < layout_.rows_of[v]; ++k) rows += CountOf(layout_.first_row[v] + k, arm);
    return rows;
  }

  std::vector<Summary> ReadVariable(size_t v) const {
    std::vector<Summary> columns;
    for (size_t arm = 0; arm < layout_.arms; ++arm) columns.push_back(ReadColumn(v, arm));
    if (!layout_.grouped) {
      columns.front().withheld = RowsOf(v, 0) == 0;
      return columns;
    }
    const std::vector<Summary> groups(columns.begin(), columns.end() - 1);
    const bool by_group = std::any_of(groups.begin(), groups.end(), [](const Summary& group) {
      return group.n + group.missing > 0;
    });
    if (by_group) {
      const std::vector<std::optional<double>> quantiles = columns.back().quantiles;
      columns.back() = Together(groups);
      columns.back().quantiles = quantiles;
      return columns;
    }
    for (Summary& column : columns) column.withheld = true;
    columns.back().withheld = RowsOf(v, layout_.groups) == 0;
    return columns;
  }

  Summary ReadColumn(size_t v, size_t arm) const {
    Summary summary;
    const data::ColumnSchema& schema = spec_.variables[v].schema;
    const size_t first = layout_.first_row[v];
    const size_t values = layout_.rows_of[v] - (spec_.missing ? 1 : 0);
    for (size_t k = 0; k < values; ++k) summary.n += CountOf(first + k, arm);
    if (spec_.missing) summary.missing = CountOf(first + values, arm);
    if (!CountedValues(schema).empty()) {
      for (size_t k = 0; k < values; ++k) summary.counts.push_back(CountOf(first + k, arm));
      return summary;
    }
    const auto number = static_cast<size_t>(
        std::find(layout_.numbers.begin(), layout_.numbers.end(), v) - layout_.numbers.begin());
    const size_t entry = number * layout_.arms + arm;
    const double half = (schema.upper - schema.lower) / 2;
    if (opened_.step[entry] > 0) {
      summary.mean = schema.lower + half + half * opened_.mean[entry];
      summary.sd = half * opened_.deviation[entry];
      summary.step = half * opened_.step[entry];
    }
    const Cells cells = CellsOf(schema, spec_.most_cells);
    for (size_t q = 0; q < spec_.quantiles.size(); ++q) {
      const uint64_t cell = opened_.cells[entry * spec_.quantiles.size() + q];
      summary.quantiles.push_back(
          cell == 0 ? std::nullopt : std::optional(cells.Middle(static_cast<size_t>(cell) - 1)));
    }
    return summary;
  }

  // All groups' rows, by the decomposition of sums of squares.
  static Summary Together(const std::vector<Summary>& groups) {
    Summary all;
    all.counts.resize(groups.front().counts.size());
    bool means = true;
    double sum = 0;
    for (const Summary& group : groups) {
      all.n += group.n;
      all.missing += group.missing;
      all.step = std::max(all.step, group.step);
      for (size_t k = 0; k < all.counts.size(); ++k) all.counts[k] += group.counts[k];
      if (group.n > 0) means = means && group.mean.has_value();
      sum += static_cast<double>(group.n) * group.mean.value_or(0);
    }
    if (!means || all.n < 2 || !all.counts.empty()) return all;
    const auto n = static_cast<double>(all.n);
    all.mean = sum / n;
    double squares = 0;
    for (const Summary& group : groups) {
      if (group.n == 0) continue;
      squares += static_cast<double>(group.n - 1) * *group.sd * *group.sd;
      squares += static_cast<double>(group.n) * std::pow(*group.mean - *all.mean, 2);
    }
    all.sd = std::sqrt(squares / (n - 1));
    return all;
  }

  const Spec& spec_;
  const Layout layout_;
  const OpenedTable& opened_;
};

}  // namespace

DescribedTable Summarise(const Spec& spec, const OpenedTable& opened) {
  return Reader(spec, opened).Read();
}

}  // namespace partita::methods::describe
