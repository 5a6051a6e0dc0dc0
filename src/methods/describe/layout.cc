#include "methods/describe/layout.h"

#include <algorithm>
#include <cmath>

namespace partita::methods::describe {
namespace {

constexpr size_t kWidthsInRange = 64;

}  // namespace

Layout::Layout(const Spec& spec) {
  grouped = spec.group.has_value();
  groups = grouped ? spec.group->schema.levels.size() : 1;
  arms = groups + (grouped ? 1 : 0);
  for (size_t v = 0; v < spec.variables.size(); ++v) {
    const size_t values = CountedValues(spec.variables[v].schema).size();
    if (values == 0) numbers.push_back(v);
    first_row.push_back(variable_of.size());
    rows_of.push_back(std::max<size_t>(values, 1) + (spec.missing ? 1 : 0));
    variable_of.insert(variable_of.end(), rows_of.back(), v);
  }
}

Cells CellsOf(const data::ColumnSchema& schema, size_t most) {
  const auto parts = static_cast<double>(most);
  Cells cells{most, schema.lower, (schema.upper - schema.lower) / parts};
  if (schema.type == data::ColumnType::kInteger) {
    const double values = schema.upper - schema.lower + 1;
    cells.whole = true;
    cells.width = std::ceil(values / parts);
    cells.count = static_cast<size_t>(std::ceil(values / cells.width));
  }
  if (cells.count > kWidthsInRange)
    cells.neighbours = (cells.count + kWidthsInRange - 1) / kWidthsInRange / 2;
  return cells;
}

size_t Cells::Of(double value) const {
  const double cell = std::floor((value - lower) / width);
  return std::min(static_cast<size_t>(std::max(cell, 0.0)), count - 1);
}

double Cells::Middle(size_t cell) const {
  const double first = lower + static_cast<double>(cell) * width;
  return first + (whole ? width - 1 : width) / 2;
}

}  // namespace partita::methods::describe
