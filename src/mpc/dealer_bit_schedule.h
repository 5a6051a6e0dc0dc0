// Operations on bits in the engine `dealer`: how they become masked openings and dealt shares.
// dealer_schedule.h tells of the rest; bits are shared by exclusive or among the n parties, and
// everything here takes the one step of an Execute as well. `last` is the last party.
//
// And of x and y. Masks u and v from the tapes, w = u AND v dealt (tapes, a correction of one bit
//   to the last party). Everybody sends its shares of E = x ^ u and F = y ^ v to all others. Share:
//   E y_i ^ F u_i ^ w_i. An operand of several products of one Execute is masked and opened once.
// Decompose of x modulo 2^v. Every party takes a mask r_i modulo 2^v from its tape; the dealer
//   deals the bits of r = sum r_i (v bits to the last party). Everybody sends (x_i - r_i) mod 2^v
//   to all others, so c = x - r is known and x = c + r: propagate = c ^ r and generate = c AND r
//   are local. With windows (window_carries.h) the tables of r are dealt instead of its bits.
// To ring. r is a random bit from the tapes (exclusive or), dealt as a ring element as well (one
//   element to the last party). Everybody sends its share of c = b ^ r; then b = c + (1 - 2 c) r.
// Input: the owner's share is the value; reveal: shares plus zero shares from pairwise tapes.
// Random bits: every party's own, so not even all others together with the dealer know them (R-b).
//
// Privacy against any n - 1 parties without the dealer: a share that an honest party sends is
// hidden by its own u_i, r_i or zero share, each used once; what the last party gets from the
// dealer is hidden by an honest party's share of the same thing. Enumerated in
// tests/mpc/bit_view_test.cc.
//
// Cost in bytes per plane of 64 entries (p = 8) or per entry, all-to-all a = n (n - 1):
//   And         a p for every distinct operand's plane, p from the dealer for every product's
//   Decompose   a ceil(v / 8) per entry, and v p per 64 entries from the dealer, with windows
//               WindowPlanes(v) p (window_kernels.h)
//   To ring     a p per plane, and one ring element per bit from the dealer
//   Reveal      p per plane from every party to every receiver
#pragma once

#include <vector>

#include "mpc/operation.h"

namespace partita::mpc {

struct MaskedBits {
  SharedBits operand;
  size_t words = 0;          // of all planes
  uint64_t mask_offset = 0;  // shares of the mask, on every party's tape
};

struct ScheduledAnd {
  size_t operation = 0, index = 0;
  size_t left = 0, right = 0;  // into DealerBitPlan::masked
  size_t words = 0;
  uint64_t dealt_offset = 0;  // on all tapes but the last party's, here and below
};

struct ScheduledDecompose {
  size_t operation = 0, index = 0;
  bool windows = false;
  size_t size = 0, width = 0, words = 0;  // entries, bits of each, words of what is dealt
  uint64_t mask_offset = 0;               // r_i, PackedBytes(width) each, on every party's tape
  uint64_t dealt_offset = 0;              // of the bits of r, or of its tables
};

struct ScheduledToRing {
  size_t operation = 0, index = 0;
  size_t size = 0, width = 0, words = 0;
  uint64_t mask_offset = 0;   // shares of r as bits, on every party's tape
  uint64_t dealt_offset = 0;  // of r as ring elements, entry by entry, plane by plane
};

struct ScheduledBitReveal {
  size_t operation = 0, index = 0;
  size_t words = 0;
  PartyIndex to = kEverybody;
  uint64_t zero_offset = 0;  // on the tapes between the parties
};

// In the order in which they travel between two processes.
struct DealerBitPlan {
  std::vector<MaskedBits> masked;
  std::vector<ScheduledAnd> ands;
  std::vector<ScheduledDecompose> decomposes;
  std::vector<ScheduledToRing> to_rings;
  std::vector<ScheduledBitReveal> reveals;
};

}  // namespace partita::mpc
