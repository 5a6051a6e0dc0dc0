// Joint distributions over tiny domains, cell by cell: the oracle of models.
#pragma once

#include <vector>

#include "stats/marginals/tables.h"

namespace partita::stats::marginals {

// All combinations of levels, the last attribute fastest: codes[a][cell].
inline Codes AllCells(const TableSet& set) {
  size_t cells = 1;
  for (const Attribute& attribute : set.attributes) cells *= attribute.levels;
  Codes codes;
  size_t repeat = cells;
  for (const Attribute& attribute : set.attributes) {
    repeat /= attribute.levels;
    codes.emplace_back();
    for (size_t i = 0; i < cells; ++i) {
      codes.back().push_back(static_cast<uint16_t>(i / repeat % attribute.levels));
    }
  }
  return codes;
}

// All tables of a distribution over the cells of AllCells.
inline std::vector<double> TablesOfJoint(const TableSet& set, const std::vector<double>& joint) {
  const Codes codes = AllCells(set);
  std::vector<double> tables(set.num_cells, 0);
  for (const CountTable& table : set.tables) {
    for (size_t i = 0; i < joint.size(); ++i) {
      size_t column = table.one_way() ? 0 : codes[table.second][i];
      if (table.third)
        column = column * set.attributes[*table.third].levels + codes[*table.third][i];
      tables[table.offset + codes[table.first][i] * table.columns + column] += joint[i];
    }
  }
  return tables;
}

}  // namespace partita::stats::marginals
