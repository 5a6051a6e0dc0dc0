// Decompositions whose carries are joined already within blocks of four bits, where a dealer can look
// up what two addends of a few bits make of each other.
//
// Method    As Engine::Decompose x = c + r modulo 2^w, c public and r the dealer's mask. Instead of the
//           bits of r the dealer deals, of every window of five bits (a block and the lowest bit of the
//           next), which of its values r has, one bit for each value but 0. A function of the bits of c
//           and r in a window is an exclusive or of those bits that c selects, which is local.
// Saves     Two levels of a prefix or tree of carries, that is two rounds and the bits which these open
//           and have dealt: of w bits, a prefix (Sklansky) 5 w for each pair of parties and 4 w dealt, for
//           7.75 w dealt instead of w.
// Where     Engines with a dealer (Capabilities::needs_dealer).
// Timing    constant in shares; not in shapes and widths (public). Proved by tests/ctime.
#pragma once

#include <span>
#include <vector>

#include "mpc/bits.h"

namespace partita::mpc {

class Engine;
struct Shared;

inline constexpr size_t kCarryBlock = 4;  // blocks begin at bit 0 and every fourth after it

// propagate and generate as in CarryBits, p and g. Width w, of at least 2 bits.
struct WindowCarries {
  SharedBits propagate;  // w planes
  // w - 1 planes; plane j of the bits from the first of its block to j, joined.
  SharedBits block_generate, block_propagate;
  // Plane j, from bit j to the last of its block (of `agree` to plane w - 2):
  SharedBits block_ones;  // w planes: whether all p are one
  SharedBits
      block_agree;  // w - 1: whether every p_(i+1) is p_i OR g_i, the carry that it would need
};

bool HasWindows(const Engine& engine);
// As Engine::Decompose, with widths of at least 2. Throws kUsage on engines without windows.
std::vector<WindowCarries> DecomposeWindows(Engine& engine, std::span<const Shared> values,
                                            std::span<const size_t> widths);

// [x < 0] as IsNegative (compare.h) has it, on engines with windows in two rounds less: D + ceil(log2
// ceil((w - 1) / 4)).
std::vector<SharedBits> IsNegativeInWindows(Engine& engine, std::span<const Shared> values);

}  // namespace partita::mpc
