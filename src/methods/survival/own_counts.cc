#include "methods/survival/own_counts.h"

namespace partita::methods::survival {
namespace {

// Rows that take part have a group.
size_t GroupOf(const Spec& spec, const data::Table& table, size_t row) {
  return spec.group ? *data::GroupOfRow(*spec.group, table, row) : 0;
}

}  // namespace

OwnCounts NoCounts(const Spec& spec) {
  const size_t entries = spec.grid.cells * spec.num_groups();
  return {std::vector<Int128>(entries), std::vector<Int128>(entries)};
}

OwnCounts CountOwn(const Spec& spec, const data::Table& table, const std::vector<size_t>& rows) {
  OwnCounts own = NoCounts(spec);
  const data::Column& outcome = table.Get(spec.outcome.name);
  for (const size_t row : rows) {
    const size_t cell = spec.grid.Of(outcome.numbers[row]);
    const size_t entry = cell * spec.num_groups() + GroupOf(spec, table, row);
    ++(outcome.codes[row] == 1 ? own.events : own.censored)[entry];
  }
  return own;
}

}  // namespace partita::methods::survival
