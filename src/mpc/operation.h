// The operations that communicate, as data: what Engine::Execute runs.
//
// Methods do not build these; they call Engine's list methods or record a Batch. An engine reads
// the operands and fills in the results.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "mpc/engine.h"
#include "mpc/window_carries.h"

namespace partita::mpc {

struct InputOperation {
  std::vector<PrivateMatrix> inputs;
  std::vector<Shared> results;  // out
};

struct MultiplyOperation {
  std::vector<Product> products;
  // Of the results, or kNotTruncated; empty: none is truncated. Only for engines that truncate
  // products (Capabilities), and fewer than the product has.
  std::vector<int> fraction_bits = {};
  std::vector<Shared> results = {};  // out
};

inline constexpr int kNotTruncated = -1;
inline bool IsTruncated(const MultiplyOperation& multiply, size_t index) {
  return !multiply.fraction_bits.empty() && multiply.fraction_bits[index] != kNotTruncated;
}

struct RescaleOperation {
  std::vector<Shared> values;
  int fraction_bits = 0;
  std::vector<Shared> results;  // out
};

struct RevealOperation {
  std::string release_id;
  std::vector<Shared> values;
  PartyIndex to = kEverybody;
  std::vector<IntMatrix> results;  // out; empty matrices where nothing is learned
};

// Ring elements that a reveal opens.
inline uint64_t NumValues(const RevealOperation& reveal) {
  uint64_t count = 0;
  for (const Shared& value : reveal.values) count += value.shape.size();
  return count;
}

struct InputBitsOperation {
  std::vector<PrivateBits> inputs;
  std::vector<SharedBits> results;  // out
};

struct AndOperation {
  std::vector<BitProduct> products;
  std::vector<SharedBits> results;  // out
};

struct DecomposeOperation {
  std::vector<Shared> values;
  std::vector<size_t> widths;
  std::vector<CarryBits> results;  // out
};

// window_carries.h; of engines with a dealer.
struct DecomposeWindowsOperation {
  std::vector<Shared> values;
  std::vector<size_t> widths;
  std::vector<WindowCarries> results;  // out
};

struct ToRingOperation {
  std::vector<SharedBits> bits;
  std::vector<Shared> results;  // out
};

struct RevealBitsOperation {
  std::string release_id;
  std::vector<SharedBits> values;
  PartyIndex to = kEverybody;
  std::vector<BitMatrix> results;  // out; without words where nothing is learned
};

// Bits that a reveal opens.
inline uint64_t NumValues(const RevealBitsOperation& reveal) {
  uint64_t count = 0;
  for (const SharedBits& value : reveal.values) count += value.shape.size() * value.width;
  return count;
}

struct Operation
    : std::variant<InputOperation, MultiplyOperation, RescaleOperation, RevealOperation,
                   InputBitsOperation, AndOperation, DecomposeOperation, DecomposeWindowsOperation,
                   ToRingOperation, RevealBitsOperation> {
  using variant::variant;
};

// Asks the gate for every opening among the operations, in order.
void AskGate(ReleaseGate& gate, std::span<const Operation> operations);

}  // namespace partita::mpc
