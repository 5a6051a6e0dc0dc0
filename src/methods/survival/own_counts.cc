#include "methods/survival/own_counts.h"

namespace partita::methods::survival {

OwnCounts NoCounts(const Spec& spec) {
  const size_t entries = spec.grid.cells * spec.num_groups();
  return {std::vector<Int128>(entries), std::vector<Int128>(entries)};
}

OwnCounts CountOwn(const Spec& spec, const data::Table& table, const std::vector<size_t>& rows) {
  OwnCounts own = NoCounts(spec);
  const data::Column& outcome = table.Get(spec.outcome.name);
  const std::vector<int32_t>* groups =
      spec.group ? &table.Get(spec.group->schema.name).codes : nullptr;
  for (const size_t row : rows) {
    const size_t group = groups == nullptr ? 0 : static_cast<size_t>((*groups)[row]);
    const size_t entry = spec.grid.Of(outcome.numbers[row]) * spec.num_groups() + group;
    ++(outcome.codes[row] == 1 ? own.events : own.censored)[entry];
  }
  return own;
}

}  // namespace partita::methods::survival
