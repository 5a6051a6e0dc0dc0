#include "methods/describe/task.h"

#include <algorithm>

namespace partita::methods::describe {

uint64_t Task::max_rows() const {
  uint64_t most = 0;
  for (const Rows& rows : holders) most += rows.max_rows;
  return most;
}

bool Task::hidden() const {
  return std::ranges::any_of(holders, [](const Rows& rows) { return rows.hidden; });
}

std::vector<uint8_t> Task::Crossed(const Rows& rows) const {
  std::vector<uint8_t> crossed(spec.variables.size(), 0);
  for (size_t p = 0; p < rows.parts.size() && rows.selects; ++p) {
    if (p == rows.selecting) continue;
    for (const size_t v : rows.parts[p].variables) crossed[v] = 1;
  }
  return crossed;
}

std::vector<uint8_t> Task::Crossed() const {
  std::vector<uint8_t> crossed(spec.variables.size(), 0);
  for (const Rows& rows : holders) {
    const std::vector<uint8_t> here = Crossed(rows);
    for (size_t v = 0; v < crossed.size(); ++v) crossed[v] |= here[v];
  }
  return crossed;
}

Spec PartSpec(const Spec& spec, const Part& part, bool has_group) {
  Spec own = spec;
  own.variables.clear();
  for (const size_t v : part.variables) own.variables.push_back(spec.variables[v]);
  if (!has_group) own.group.reset();
  own.compared.mantel_haenszel = false;
  return own;
}

}  // namespace partita::methods::describe
