// What is counted for survival curves: when a row leaves, whether with the event, and its group, as one
// column of levels that a holder makes of its own rows. Public but for the rows.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/row_groups.h"
#include "data/table.h"
#include "methods/marginals/columns.h"
#include "stats/survival/noised_curve.h"

namespace partita::methods::marginals {

struct CurveCells {
  std::string formula;
  data::ColumnSchema outcome;  // a survival variable
  std::optional<data::RowGroups> groups;
  // Where intervals of time end, increasing; the first begins at the lower bound, which it has, and every
  // interval has its end.
  std::vector<double> ends;
  std::vector<size_t> report;  // intervals at whose ends curves are shown, increasing
  double confidence = 0.95;

  size_t num_groups() const { return groups ? groups->schema.levels.size() : 1; }
  // With and without the event in each interval, and followed longer.
  size_t cells_of_group() const { return 2 * ends.size() + 1; }
};

// The variables of the dictionary that they are made of.
std::vector<std::string> SourcesOf(const CurveCells& cells);

// Named as the survival variable. Levels by group, of each by interval "event by 182", "left by 182", then
// "after 365"; of several groups "control: event by 182". missing: of time, event or group.
LevelColumn ColumnOfCells(const CurveCells& cells, bool missing);

// The levels of rows [first, first + count) of a table that a private study has read, with derived
// factors; as LevelsOf (columns.h).
std::vector<uint16_t> CellsOfRows(const CurveCells& cells, bool missing, const data::Table& table,
                                  size_t first, size_t count);

// counts: of all levels of the column.
stats::survival::NoisyExits ExitsOfGroup(const CurveCells& cells, size_t group,
                                         std::span<const double> counts, double noise_stddev);

}  // namespace partita::methods::marginals
