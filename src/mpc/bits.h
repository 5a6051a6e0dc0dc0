// Bits of matrices, in the clear and shared over Z_2.
//
// A matrix of `width` bits per entry is stored in planes, plane 0 holding the lowest bit of every
// entry: bit j of entry i is bit i % 64 of words[j * WordsPerPlane(shape) + i / 64]. So one machine
// word does 64 entries at once, and a message carries whole planes: width * WordsPerPlane(shape) *
// 8 bytes. Bits beyond the last entry of a plane mean nothing.
//
// Timing  constant in bits; not in shapes, planes and entries (public). Proved by tests/ctime.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "mpc/shape.h"

namespace partita::mpc {

constexpr size_t WordsPerPlane(Shape shape) { return (shape.size() + 63) / 64; }

struct BitMatrix {
  Shape shape;
  size_t width = 1;  // bits per entry
  std::vector<uint64_t> words;
};

// All zero.
BitMatrix MakeBits(Shape shape, size_t width);
bool GetBit(const BitMatrix& bits, size_t plane, size_t entry);
// Makes the bits beyond the last entry of every plane zero.
void ClearUnused(BitMatrix& bits);
void SetBit(BitMatrix& bits, size_t plane, size_t entry, bool value);

// Bits that one party knows. `values` has its words at the owner only; shape and width everywhere.
struct PrivateBits {
  PartyIndex owner = 0;
  BitMatrix values;
};

// Handles with the same payload are the same value, as for Shared.
struct SharedBits {
  struct Payload {
    virtual ~Payload() = default;
  };
  Shape shape;
  size_t width = 1;
  std::shared_ptr<const Payload> payload;  // an empty token on PlanEngine and at the dealer
};

// left AND right, plane by plane; shapes and widths are equal.
struct BitProduct {
  SharedBits left, right;
};

// A shared integer modulo 2^width as what the first layer of an adder makes of two addends a and b:
// propagate = a XOR b, generate = a AND b, bit by bit. The addends themselves are masks; the
// carries are still to be computed (compare.h).
struct CarryBits {
  SharedBits propagate, generate;
};

}  // namespace partita::mpc
