// Tests whose whole proof takes long are listed with THOROUGH (cmake/partita.cmake): `./test` runs
// them on part of their cases, the label `slow` on all of them.
#pragma once

#include <cstdlib>
#include <utility>
#include <vector>

namespace partita {

// Whether all cases are asked for: PARTITA_THOROUGH is in the environment.
inline bool Thorough() { return std::getenv("PARTITA_THOROUGH") != nullptr; }

// All cases, or those that are enough for `./test`.
template <typename Case>
std::vector<Case> Cases(std::vector<Case> quick, std::vector<Case> more) {
  if (Thorough()) quick.insert(quick.end(), more.begin(), more.end());
  return quick;
}

}  // namespace partita
