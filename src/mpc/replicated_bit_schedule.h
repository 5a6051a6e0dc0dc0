// Operations on bits in the engine `replicated`: formulas and where their randomness lies.
// replicated_schedule.h tells of the rest; bits have the same three components, added by exclusive
// or. Tape i is known to parties i and i + 1, like component i.
//
// Input, and, reveal: as input, product and reveal of ring elements, with exclusive or for sums.
//   One bit per entry and party; one step. Random bits: component i from tape i, no message.
// Decompose of x modulo 2^v. a = x_0 + x_2 is known to party 0, b = x_1 to parties 1 and 2.
//   step 0: party 0 inputs the v bits of a: a_0 from tape 0, a_1 = 0, a_2 = a ^ a_0 goes to
//   party 2. Those of b are component 1 of a sharing whose other components are zero. propagate = a
//   ^ b. step 1: generate = a AND b as any product.
// To ring. t = b_0 ^ b_2 is known to party 0, s = b_1 to parties 1 and 2; the bit is
//   s + (1 - 2 s) t.
//   step 0: t_0 from tape 0, t_2 = t - t_0 goes to party 2, as in an input.
//   step 1: y_1 = s + (1 - 2 s) t_0 at party 1 and y_2 = (1 - 2 s) t_2 at party 2 add up to it. The
//   result has component 0 from tape 0 and component 2 from tape 2 (fresh); parties 1 and 2
//   exchange their parts of component 1, y_1 - (component 0) and y_2 - (component 2).
// Privacy, one party: what party 2 gets in step 0 is masked by tape 0, what parties 1 and 2 get in
// step 1 by components of the result that they do not hold; products as in replicated_schedule.h.
// Enumerated in tests/mpc/bit_view_test.cc.
//
// Cost, p = 8 bytes per plane of 64 entries:
//   Input       p per plane, owner to one party; 1 step
//   And         p per plane of the result and party; 1 step
//   Decompose   v p from party 0, then v p per party; 2 steps
//   To ring     1 ring element per bit from party 0, then 1 from each of parties 1 and 2; 2 steps
//   Reveal      p per plane and receiver; 1 step
#pragma once

#include <cstdint>
#include <vector>

#include "mpc/operation.h"

namespace partita::mpc::replicated {

// words: of all planes. Offsets of bits from kBitTapeBase on, of ring elements below it.
struct ScheduledBitInput {
  size_t operation = 0, index = 0;
  PartyIndex owner = 0;
  size_t words = 0;
  uint64_t mask_offset = 0;
};

struct ScheduledAnd {
  size_t operation = 0, index = 0;
  size_t words = 0;
  uint64_t zero_offset = 0;
};

struct ScheduledDecompose {
  size_t operation = 0, index = 0;
  size_t width = 0, words = 0;
  uint64_t mask_offset = 0, zero_offset = 0;
};

struct ScheduledToRing {
  size_t operation = 0, index = 0;
  size_t size = 0, width = 0;  // entries, bits of each
  uint64_t mask_offset = 0, result_offset = 0;
};

struct ScheduledBitReveal {
  size_t operation = 0, index = 0;
  size_t words = 0;
  PartyIndex to = kEverybody;
};

// In the order in which their parts travel between two parties.
struct BitSchedule {
  std::vector<ScheduledBitInput> inputs;
  std::vector<ScheduledAnd> ands;
  std::vector<ScheduledDecompose> decomposes;
  std::vector<ScheduledToRing> to_rings;
  std::vector<ScheduledBitReveal> reveals;
};

}  // namespace partita::mpc::replicated
