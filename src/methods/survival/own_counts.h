// What a holder counts of its own rows, in the clear, before it shares anything: who leaves in each
// cell of time, by group.
#pragma once

#include <vector>

#include "base/int128.h"
#include "data/table.h"
#include "methods/survival/spec.h"

namespace partita::methods::survival {

// cells x groups each.
struct OwnCounts {
  std::vector<Int128> events;    // leave with the event
  std::vector<Int128> censored;  // leave without
};

// Of a party without rows.
OwnCounts NoCounts(const Spec& spec);
// rows: those that take part; each has a time, an event and a group.
OwnCounts CountOwn(const Spec& spec, const data::Table& table, const std::vector<size_t>& rows);

}  // namespace partita::methods::survival
