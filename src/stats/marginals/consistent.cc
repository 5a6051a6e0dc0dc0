#include "stats/marginals/consistent.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/error.h"

namespace partita::stats::marginals {
namespace {

struct Margins {
  std::vector<double> rows, columns;
};

Margins MarginsOf(const CountTable& table, std::span<const double> cells) {
  Margins margins = {std::vector<double>(table.rows, 0), std::vector<double>(table.columns, 0)};
  for (size_t r = 0; r < table.rows; ++r) {
    for (size_t c = 0; c < table.columns; ++c) {
      const double value = cells[r * table.columns + c];
      margins.rows[r] += value;
      margins.columns[c] += value;
    }
  }
  return margins;
}

double Sum(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// Adds weight * values.
void AddWeighted(std::span<const double> values, double weight, std::vector<double>& sum) {
  for (size_t i = 0; i < values.size(); ++i) sum[i] += weight * values[i];
}

}  // namespace

ConsistentTables MakeConsistent(const TableSet& set, std::span<const double> noisy,
                                std::optional<double> rows, const TableWeights& table_weights) {
  if (noisy.size() != set.num_cells) {
    throw Error(ErrorCode::kUsage, "There is not one number for each cell", "");
  }
  const size_t d = set.attributes.size();
  std::vector<std::vector<double>> effects;
  std::vector<double> weights;
  const auto precision = [&](size_t table) {
    return WeightOf(table_weights, table) * WeightOf(table_weights, table);
  };
  for (size_t a = 0; a < d; ++a) {
    effects.emplace_back(set.attributes[a].levels, 0);
    weights.push_back(precision(a));
    AddWeighted(set.tables[a].Of(noisy), weights[a], effects[a]);
  }
  double total = 0, total_weight = 0;
  std::vector<Margins> margins;
  for (size_t t = 0; t < set.tables.size(); ++t) {
    const CountTable& table = set.tables[t];
    const double weight = precision(t), cells = static_cast<double>(table.cells());
    total += weight * Sum(table.Of(noisy)) / cells;
    total_weight += weight / cells;
    if (table.one_way()) continue;
    margins.push_back(MarginsOf(table, table.Of(noisy)));
    AddWeighted(margins.back().rows, weight / table.columns, effects[table.first]);
    AddWeighted(margins.back().columns, weight / table.rows, effects[table.second]);
    weights[table.first] += weight / table.columns;
    weights[table.second] += weight / table.rows;
  }
  ConsistentTables result;
  result.rows = rows.value_or(total / total_weight);
  result.cells.assign(noisy.begin(), noisy.end());
  for (size_t a = 0; a < d; ++a) {
    for (double& value : effects[a]) value /= weights[a];
    const double shift = (result.rows - Sum(effects[a])) / set.attributes[a].levels;
    for (double& value : effects[a]) value += shift;
    std::ranges::copy(effects[a], set.tables[a].Of(std::span<double>(result.cells)).begin());
  }
  for (size_t p = 0; p < margins.size(); ++p) {
    const CountTable& table = set.tables[d + p];
    const std::vector<double>&first = effects[table.first], &second = effects[table.second];
    const double level = (Sum(margins[p].rows) - result.rows) / static_cast<double>(table.cells());
    const std::span<double> cells = table.Of(std::span<double>(result.cells));
    for (size_t r = 0; r < table.rows; ++r) {
      const double row = (first[r] - margins[p].rows[r]) / table.columns + level;
      for (size_t c = 0; c < table.columns; ++c) {
        cells[r * table.columns + c] += row + (second[c] - margins[p].columns[c]) / table.rows;
      }
    }
  }
  return result;
}

void ProjectToTotal(std::span<double> cells, double total) {
  std::vector<double> sorted(cells.begin(), cells.end());
  std::ranges::sort(sorted, std::greater<>());
  double sum = 0, shift = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    sum += sorted[i];
    const double candidate = (sum - total) / static_cast<double>(i + 1);
    if (i > 0 && sorted[i] <= candidate) break;
    shift = candidate;
  }
  for (double& value : cells) value = std::max(0.0, value - shift);
}

}  // namespace partita::stats::marginals
