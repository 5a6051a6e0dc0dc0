// Comparisons, equality and selection of shared values, whole arrays at a time.
//
// A value x with bound B and f fraction bits is an integer of w = BitsFor(x) bits, two's
// complement, where w depends on the public B 2^f only, so a comparison costs as many bits as the
// bound says. Exact for every value within its bound: no failure probability. Everything is a list
// of independent operands in one set of rounds; operands of different widths finish together.
//
// Method. Engine::Decompose writes x modulo 2^w as a sum of two addends, of which the engine gives
// propagate and generate bits; a tree of carries gives the top bit (as in Damgard, Fitzi, Kiltz,
// Nielsen & Toft, TCC 2006), or a parallel prefix (Sklansky 1960) all bits.
//
// Rounds (D: 1 on `dealer`, 2 on `replicated`, the same for ToRing; on `shamir` 3 among three
// parties and 4 among more, one more for values that are too wide for a statistical mask, and for
// ToRing 2 and 3; on `ot` those of `dealer` and what makes their correlations, two rounds for each
// set) and ANDs per entry:
//   IsNegative, LessThan   D + ceil(log2(w - 1))    2 (w - 1)
//   IsZero, Equal          D + ceil(log2 w)         w - 1
//   ToBits                 D + ceil(log2(w - 1))    about w log2 w
//   LowestBits             D + ceil(log2(n - 1))    about n log2 n
//   Select                 D + 1
// Bytes: bits.h for planes, the engines' bit schedules for each operation; PlanEngine adds them up.
// Revealed: nothing but shapes and bounds.
//
// Timing  constant in shares; not in shapes and bounds (public). Proved by tests/ctime.
#pragma once

#include <span>
#include <vector>

#include "mpc/engine.h"

namespace partita::mpc {

// Bits of x as a two's complement integer, for every |x| within its bound (and the rounding of
// private inputs to their grid). At least 2; throws kBadInput if the ring is too narrow.
size_t BitsFor(const Shared& value, int ring_bits = 128);

// All bits, lowest first: BitsFor(values[i]) planes.
std::vector<SharedBits> ToBits(Engine& engine, std::span<const Shared> values);

// The lowest n, from 2 to BitsFor(values[i]): n planes each.
std::vector<SharedBits> LowestBits(Engine& engine, std::span<const Shared> values, size_t n);

// [x < 0], one plane.
std::vector<SharedBits> IsNegative(Engine& engine, std::span<const Shared> values);
// [x = 0].
std::vector<SharedBits> IsZero(Engine& engine, std::span<const Shared> values);

// Equal shapes and fraction bits. A public operand is Engine::Public of it.
struct Comparison {
  Shared left, right;
};
// [left < right]; its Engine::Not is [left >= right].
std::vector<SharedBits> LessThan(Engine& engine, std::span<const Comparison> comparisons);
// [left = right].
std::vector<SharedBits> Equal(Engine& engine, std::span<const Comparison> comparisons);

// Where `condition` (one plane) is set if_true, elsewhere if_false. All of one shape; the values
// have equal fraction bits.
struct Selection {
  SharedBits condition;
  Shared if_true, if_false;
};
std::vector<Shared> Select(Engine& engine, std::span<const Selection> selections);

}  // namespace partita::mpc
