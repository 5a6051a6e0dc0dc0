#include "methods/marginals/curve_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace partita::methods::marginals {
namespace {

// Of decimal fractions, in widths of an interval: a time at its end is in it.
constexpr double kRoundOff = 1e-9;

size_t IntervalOf(const CurveCells& cells, double time) {
  const auto holds = [&](double end) { return time <= end + kRoundOff * std::abs(end); };
  return static_cast<size_t>(std::ranges::find_if(cells.ends, holds) - cells.ends.begin());
}

}  // namespace

std::vector<std::string> SourcesOf(const CurveCells& cells) {
  std::vector<std::string> sources = {cells.outcome.name};
  if (!cells.groups) return sources;
  for (const data::GroupFactor& factor : cells.groups->factors) sources.push_back(factor.source);
  return sources;
}

LevelColumn ColumnOfCells(const CurveCells& cells, bool missing) {
  LevelColumn column;
  data::ColumnSchema& schema = column.encoding.column;
  schema.name = cells.outcome.name;
  schema.type = data::ColumnType::kFactor;
  for (size_t group = 0; group < cells.num_groups(); ++group) {
    const std::string of =
        cells.groups ? fmt::format("{}: ", cells.groups->schema.levels[group]) : std::string();
    for (const double end : cells.ends) {
      schema.levels.push_back(fmt::format("{}event by {}", of, end));
      schema.levels.push_back(fmt::format("{}left by {}", of, end));
    }
    schema.levels.push_back(fmt::format("{}after {}", of, cells.ends.back()));
  }
  column.missing = missing;
  return column;
}

std::vector<uint16_t> CellsOfRows(const CurveCells& cells, bool missing, const data::Table& table,
                                  size_t first, size_t count) {
  const data::Column& outcome = table.Get(cells.outcome.name);
  const auto of_missing = static_cast<uint16_t>(cells.num_groups() * cells.cells_of_group());
  std::vector<uint16_t> codes;
  for (size_t row = first; row < first + count; ++row) {
    const std::optional<size_t> group =
        cells.groups ? data::GroupOfRow(*cells.groups, table, row) : std::optional<size_t>(0);
    const double time = outcome.numbers[row];
    const int32_t event = outcome.codes[row];
    if (missing && (table.Neutral(row) || !group || std::isnan(time) || event < 0)) {
      codes.push_back(of_missing);
      continue;
    }
    const size_t interval = IntervalOf(cells, time);
    const size_t cell = interval == cells.ends.size() ? 2 * interval : 2 * interval + 1 - event;
    codes.push_back(static_cast<uint16_t>(*group * cells.cells_of_group() + cell));
  }
  return codes;
}

stats::survival::NoisyExits ExitsOfGroup(const CurveCells& cells, size_t group,
                                         std::span<const double> counts, double noise_stddev) {
  const std::span<const double> own =
      counts.subspan(group * cells.cells_of_group(), cells.cells_of_group());
  stats::survival::NoisyExits exits;
  for (size_t j = 0; j < cells.ends.size(); ++j) {
    exits.events.push_back(own[2 * j]);
    exits.left.push_back(own[2 * j + 1]);
  }
  exits.after = own.back();
  exits.noise_stddev = noise_stddev;
  return exits;
}

}  // namespace partita::methods::marginals
