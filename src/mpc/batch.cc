#include "mpc/batch.h"

#include <utility>

namespace partita::mpc {
namespace {

// Moves an operation's results out, whichever operation of result type T it is.
void TakeResults(Operation& operation, std::vector<Shared>& out) {
  if (auto* input = std::get_if<InputOperation>(&operation)) out = std::move(input->results);
  if (auto* product = std::get_if<MultiplyOperation>(&operation)) out = std::move(product->results);
  if (auto* rescale = std::get_if<RescaleOperation>(&operation)) out = std::move(rescale->results);
}

void TakeResults(Operation& operation, std::vector<IntMatrix>& out) {
  out = std::move(std::get<RevealOperation>(operation).results);
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
  return Record<Shared>(MultiplyOperation{{products.begin(), products.end()}, {}});
}

Pending<Shared> Batch::Rescale(std::span<const Shared> inputs, int fraction_bits) {
  return Record<Shared>(RescaleOperation{{inputs.begin(), inputs.end()}, fraction_bits, {}});
}

Pending<IntMatrix> Batch::Reveal(std::string_view release_id, std::span<const Shared> values,
                                 PartyIndex to) {
  return Record<IntMatrix>(
      RevealOperation{std::string(release_id), {values.begin(), values.end()}, to, {}});
}

void Batch::Flush() {
  auto operations = std::exchange(operations_, {});
  auto deliveries = std::exchange(deliveries_, {});
  engine_.Execute(operations);
  for (size_t i = 0; i < operations.size(); ++i) deliveries[i](operations[i]);
}

}  // namespace partita::mpc
