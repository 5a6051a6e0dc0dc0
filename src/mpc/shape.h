// Sizes of matrices and numbers of parties, as everything in this folder counts them.
#pragma once

#include <cstddef>

namespace partita::mpc {

using PartyIndex = std::size_t;

struct Shape {
  std::size_t rows = 0, cols = 0;
  constexpr std::size_t size() const { return rows * cols; }
  bool operator==(const Shape&) const = default;
};

}  // namespace partita::mpc
