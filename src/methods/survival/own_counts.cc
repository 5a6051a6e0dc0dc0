#include "methods/survival/own_counts.h"

#include <fmt/format.h>

namespace partita::methods::survival {
namespace {

size_t CodeOf(const GroupFactor& factor, const data::Table& table, size_t row) {
  return static_cast<size_t>(table.Get(factor.schema.name).codes[row]);
}

size_t GroupOfRow(const Spec& spec, const data::Table& table, size_t row) {
  size_t group = 0;
  if (!spec.group) return group;
  for (const GroupFactor& factor : spec.group->factors)
    group = group * factor.schema.levels.size() + CodeOf(factor, table, row);
  return group;
}

}  // namespace

Group GroupOfFactors(std::vector<GroupFactor> factors) {
  Group group{factors.front().schema, {}};
  for (size_t f = 1; f < factors.size(); ++f) {
    const data::ColumnSchema& next = factors[f].schema;
    group.schema.name += ", " + next.name;
    std::vector<std::string> levels;
    for (const std::string& first : group.schema.levels) {
      for (const std::string& level : next.levels)
        levels.push_back(fmt::format("{}, {}", first, level));
    }
    group.schema.levels = std::move(levels);
  }
  group.factors = std::move(factors);
  return group;
}

OwnCounts NoCounts(const Spec& spec) {
  const size_t entries = spec.grid.cells * spec.num_groups();
  return {std::vector<Int128>(entries), std::vector<Int128>(entries)};
}

OwnCounts CountOwn(const Spec& spec, const data::Table& table, const std::vector<size_t>& rows) {
  OwnCounts own = NoCounts(spec);
  const data::Column& outcome = table.Get(spec.outcome.name);
  for (const size_t row : rows) {
    const size_t cell = spec.grid.Of(outcome.numbers[row]);
    const size_t entry = cell * spec.num_groups() + GroupOfRow(spec, table, row);
    ++(outcome.codes[row] == 1 ? own.events : own.censored)[entry];
  }
  return own;
}

}  // namespace partita::methods::survival
