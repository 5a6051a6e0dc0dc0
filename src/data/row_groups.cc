#include "data/row_groups.h"

#include <fmt/format.h>

namespace partita::data {

RowGroups GroupsOfFactors(std::vector<GroupFactor> factors) {
  RowGroups groups{factors.front().schema, {}};
  for (size_t f = 1; f < factors.size(); ++f) {
    const ColumnSchema& next = factors[f].schema;
    groups.schema.name += ", " + next.name;
    std::vector<std::string> levels;
    for (const std::string& first : groups.schema.levels) {
      for (const std::string& level : next.levels)
        levels.push_back(fmt::format("{}, {}", first, level));
    }
    groups.schema.levels = std::move(levels);
  }
  groups.factors = std::move(factors);
  return groups;
}

std::optional<size_t> GroupOfRow(const RowGroups& groups, const Table& table, size_t row) {
  size_t group = 0;
  for (const GroupFactor& factor : groups.factors) {
    const int32_t code = table.Get(factor.schema.name).codes[row];
    if (code < 0) return std::nullopt;
    group = group * factor.schema.levels.size() + static_cast<size_t>(code);
  }
  return group;
}

}  // namespace partita::data
