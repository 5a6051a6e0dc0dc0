#include "stats/marginals/consistent.h"

#include <algorithm>
#include <functional>
#include <map>

#include "base/error.h"

namespace partita::stats::marginals {
namespace {

// Of some attributes of a table: which of its axes, as bits.
using Axes = unsigned;

struct Axis {
  uint32_t attribute = 0, levels = 0;
};

// Of one set of attributes, from all tables that have it.
struct Margin {
  std::vector<double> cells;  // row-major, the last attribute fastest
  double weight = 0;
};
using Margins = std::map<std::vector<uint32_t>, Margin>;  // by attributes

std::vector<Axis> AxesOf(const TableSet& set, const CountTable& table) {
  std::vector<Axis> axes;
  for (const uint32_t a : table.Attributes()) axes.push_back({a, set.attributes[a].levels});
  return axes;
}

// The attributes of a margin, and by cell of the table its cell.
struct Projected {
  std::vector<uint32_t> attributes;
  std::vector<size_t> to;
  size_t cells = 1;
};

Projected ProjectedOn(const std::vector<Axis>& axes, Axes kept) {
  Projected margin;
  size_t cells = 1;
  std::vector<size_t> steps(axes.size(), 0);
  for (size_t i = axes.size(); i-- > 0;) {
    cells *= axes[i].levels;
    if ((kept >> i & 1) == 0) continue;
    steps[i] = margin.cells;
    margin.cells *= axes[i].levels;
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    if (steps[i] > 0) margin.attributes.push_back(axes[i].attribute);
  }
  margin.to.resize(cells);
  for (size_t cell = 0; cell < cells; ++cell) {
    size_t left = cell;
    for (size_t i = axes.size(); i-- > 0; left /= axes[i].levels)
      margin.to[cell] += steps[i] * (left % axes[i].levels);
  }
  return margin;
}

}  // namespace

void CenterCells(std::span<const uint32_t> levels, std::span<double> cells) {
  size_t inner = 1;
  for (size_t axis = levels.size(); axis-- > 0; inner *= levels[axis]) {
    const size_t size = levels[axis];
    for (size_t start = 0; start < cells.size(); start += inner * size) {
      for (size_t i = start; i < start + inner; ++i) {
        double sum = 0;
        for (size_t level = 0; level < size; ++level) sum += cells[i + level * inner];
        for (size_t level = 0; level < size; ++level)
          cells[i + level * inner] -= sum / static_cast<double>(size);
      }
    }
  }
}

ConsistentTables MakeConsistent(const TableSet& set, std::span<const double> noisy,
                                std::optional<double> rows, const TableWeights& weights) {
  if (noisy.size() != set.num_cells) {
    throw Error(ErrorCode::kUsage, "There is not one number for each cell", "");
  }
  // Of every set of attributes that a table has the weighted mean of its margins, then its part.
  Margins parts;
  for (size_t t = 0; t < set.tables.size(); ++t) {
    const CountTable& table = set.tables[t];
    const double weight = WeightOf(weights, t) * WeightOf(weights, t);
    const std::vector<Axis> axes = AxesOf(set, table);
    for (Axes kept = 0; kept < 1U << axes.size(); ++kept) {
      const Projected margin = ProjectedOn(axes, kept);
      Margin& part = parts[margin.attributes];
      part.cells.resize(margin.cells);
      const double share =
          weight * static_cast<double>(margin.cells) / static_cast<double>(table.cells());
      part.weight += share;
      for (size_t i = 0; i < margin.to.size(); ++i)
        part.cells[margin.to[i]] += share * noisy[table.offset + i];
    }
  }
  for (auto& [attributes, part] : parts) {
    for (double& cell : part.cells) cell = part.weight > 0 ? cell / part.weight : 0;
    std::vector<uint32_t> levels;
    for (const uint32_t a : attributes) levels.push_back(set.attributes[a].levels);
    CenterCells(levels, part.cells);
  }
  ConsistentTables result;
  double& all = parts.at({}).cells.front();
  all = result.rows = rows.value_or(all);
  result.cells.assign(set.num_cells, 0);
  for (const CountTable& table : set.tables) {
    const std::vector<Axis> axes = AxesOf(set, table);
    for (Axes kept = 0; kept < 1U << axes.size(); ++kept) {
      const Projected margin = ProjectedOn(axes, kept);
      const std::vector<double>& part = parts.at(margin.attributes).cells;
      const double share = static_cast<double>(margin.cells) / static_cast<double>(table.cells());
      for (size_t i = 0; i < margin.to.size(); ++i)
        result.cells[table.offset + i] += share * part[margin.to[i]];
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
