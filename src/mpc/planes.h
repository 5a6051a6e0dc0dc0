// Ranges and pairs of the bit planes of shared bits. No rounds, no bytes: every party selects and
// joins its own shares.
#pragma once

#include <numeric>
#include <vector>

#include "mpc/engine.h"

namespace partita::mpc {

// Planes first, first + 1, ..., first + count - 1.
inline SharedBits PlaneRange(Engine& engine, const SharedBits& bits, size_t first, size_t count) {
  std::vector<size_t> planes(count);
  std::iota(planes.begin(), planes.end(), first);
  return engine.SelectPlanes(bits, planes);
}

// The planes of a below those of b.
inline SharedBits JoinBits(Engine& engine, const SharedBits& a, const SharedBits& b) {
  const SharedBits parts[] = {a, b};
  return engine.JoinPlanes(parts);
}

}  // namespace partita::mpc
