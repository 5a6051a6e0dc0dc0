#include "mpc/batch.h"

#include <utility>

namespace partita::mpc {
namespace {

// Moves an operation's results out, whichever operation of result type T it is.
template <typename T>
void TakeResults(Operation& operation, std::vector<T>& out) {
  std::visit(
      [&](auto& done) {
        if constexpr (std::is_same_v<decltype(done.results), std::vector<T>>) {
          out = std::move(done.results);
        }
      },
      static_cast<Operation::variant&>(operation));
}

}  // namespace

template <typename T>
Pending<T> Batch::Record(Operation operation) {
  Pending<T> pending;
  operations_.push_back(std::move(operation));
  deliveries_.push_back([slot = pending.slot_](Operation& done) {
    TakeResults(done, slot->values);
    slot->ready = true;
  });
  return pending;
}

Pending<Shared> Batch::Input(std::span<const PrivateMatrix> inputs) {
  return Record<Shared>(InputOperation{{inputs.begin(), inputs.end()}, {}});
}

Pending<Shared> Batch::Multiply(std::span<const Product> products) {
  return Record<Shared>(MultiplyOperation{{products.begin(), products.end()}});
}

Pending<Shared> Batch::Rescale(std::span<const Shared> inputs, int fraction_bits) {
  return Record<Shared>(RescaleOperation{{inputs.begin(), inputs.end()}, fraction_bits, {}});
}

Pending<IntMatrix> Batch::Reveal(std::string_view release_id, std::span<const Shared> values,
                                 PartyIndex to) {
  return Record<IntMatrix>(
      RevealOperation{std::string(release_id), {values.begin(), values.end()}, to, {}});
}

Pending<SharedBits> Batch::InputBits(std::span<const PrivateBits> inputs) {
  return Record<SharedBits>(InputBitsOperation{{inputs.begin(), inputs.end()}, {}});
}

Pending<SharedBits> Batch::And(std::span<const BitProduct> products) {
  return Record<SharedBits>(AndOperation{{products.begin(), products.end()}, {}});
}

Pending<CarryBits> Batch::Decompose(std::span<const Shared> values,
                                    std::span<const size_t> widths) {
  return Record<CarryBits>(
      DecomposeOperation{{values.begin(), values.end()}, {widths.begin(), widths.end()}, {}});
}

Pending<WindowCarries> Batch::DecomposeWindows(std::span<const Shared> values,
                                               std::span<const size_t> widths) {
  return Record<WindowCarries>(DecomposeWindowsOperation{
      {values.begin(), values.end()}, {widths.begin(), widths.end()}, {}});
}

Pending<Shared> Batch::ToRing(std::span<const SharedBits> bits) {
  return Record<Shared>(ToRingOperation{{bits.begin(), bits.end()}, {}});
}

Pending<BitMatrix> Batch::RevealBits(std::string_view release_id,
                                     std::span<const SharedBits> values, PartyIndex to) {
  return Record<BitMatrix>(
      RevealBitsOperation{std::string(release_id), {values.begin(), values.end()}, to, {}});
}

void Batch::Flush() {
  auto operations = std::exchange(operations_, {});
  auto deliveries = std::exchange(deliveries_, {});
  engine_.Execute(operations);
  for (size_t i = 0; i < operations.size(); ++i) deliveries[i](operations[i]);
}

}  // namespace partita::mpc
