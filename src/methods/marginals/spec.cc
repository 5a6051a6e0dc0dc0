#include "methods/marginals/spec.h"

namespace partita::methods::marginals {

std::vector<uint16_t> LevelsOfAttribute(const Spec& spec, uint32_t attribute,
                                        const data::Table& table, size_t first, size_t count) {
  const LevelColumn& column = spec.columns[attribute];
  return spec.curves ? CellsOfRows(*spec.curves, column.missing, table, first, count)
                     : LevelsOf(column, table, first, count);
}

}  // namespace partita::methods::marginals
