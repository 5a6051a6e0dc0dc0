// Exact choice of an index with integer weights out of 2^64, from one 64-bit word (Walker 1977;
// Vose 1991, in integers: no weight is rounded).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace partita::privacy {

// One slot holds 2^64 / slots of the total mass: words below `threshold` within the slot choose
// index[0], the others index[1]. `quick` travels along so that a choice touches one cache line.
struct AliasEntry {
  uint64_t threshold = 0;
  std::array<uint16_t, 2> index{};
  std::array<uint16_t, 2> quick{};
};

struct AliasTable {
  int slot_bits = 0;  // 2^slot_bits entries
  std::vector<AliasEntry> entries;

  const AliasEntry& Entry(uint64_t word) const { return entries[word >> (64 - slot_bits)]; }
  // 0 or 1: which side of the entry the word chooses.
  size_t Side(const AliasEntry& entry, uint64_t word) const {
    return static_cast<size_t>((word & (~uint64_t{0} >> slot_bits)) >= entry.threshold);
  }
};

// weights: their sum is exactly 2^64 (kInternal otherwise), at most 65535 of them. quick: per
// weight.
AliasTable BuildAliasTable(std::span<const uint64_t> weights, std::span<const uint16_t> quick);

}  // namespace partita::privacy
