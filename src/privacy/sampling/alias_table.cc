#include "privacy/sampling/alias_table.h"

#include <bit>

#include "base/error.h"
#include "base/int128.h"

namespace partita::privacy {
namespace {

void CheckWeights(std::span<const uint64_t> weights, std::span<const uint16_t> quick) {
  UInt128 sum = 0;
  for (const uint64_t weight : weights) sum += weight;
  if (sum != UInt128{1} << 64 || weights.size() > 0xffff || quick.size() != weights.size()) {
    throw Error(ErrorCode::kInternal, "the weights of an alias table do not add up");
  }
}

}  // namespace

AliasTable BuildAliasTable(std::span<const uint64_t> weights, std::span<const uint16_t> quick) {
  CheckWeights(weights, quick);
  AliasTable table;
  table.slot_bits = std::max(1, static_cast<int>(std::bit_width(weights.size() - 1)));
  table.entries.resize(size_t{1} << table.slot_bits);
  const uint64_t capacity = uint64_t{1} << (64 - table.slot_bits);

  // Slot i starts with the mass of index i (none for padding) and is filled up from a heavy index.
  std::vector<uint64_t> mass(weights.begin(), weights.end());
  mass.resize(table.entries.size(), 0);
  std::vector<size_t> light;
  std::vector<size_t> heavy;
  for (size_t i = 0; i < mass.size(); ++i) (mass[i] < capacity ? light : heavy).push_back(i);
  const auto fill = [&](size_t slot, size_t other) {
    const size_t own = slot < weights.size() ? slot : other;
    AliasEntry& entry = table.entries[slot];
    entry.threshold = mass[slot];
    entry.index = {static_cast<uint16_t>(own), static_cast<uint16_t>(other)};
    entry.quick = {quick[own], quick[other]};
  };
  while (!light.empty()) {
    const size_t slot = light.back();
    light.pop_back();
    const size_t donor = heavy.back();
    fill(slot, donor);
    mass[donor] -= capacity - mass[slot];
    if (mass[donor] < capacity) {
      heavy.pop_back();
      light.push_back(donor);
    }
  }
  for (const size_t slot : heavy) fill(slot, slot);
  return table;
}

}  // namespace partita::privacy
