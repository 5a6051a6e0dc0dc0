#include "mpc/engine.h"

#include "mpc/operation.h"

namespace partita::mpc {

FixedOperand OnlyRows(FixedOperand operand, std::vector<size_t> rows) {
  operand.rows = std::make_shared<const std::vector<size_t>>(std::move(rows));
  return operand;
}

std::vector<Shared> Engine::Input(std::span<const PrivateMatrix> inputs) {
  Operation operation = InputOperation{{inputs.begin(), inputs.end()}, {}};
  Execute({&operation, 1});
  return std::move(std::get<InputOperation>(operation).results);
}

std::vector<Shared> Engine::Multiply(std::span<const Product> products) {
  Operation operation = MultiplyOperation{{products.begin(), products.end()}, {}};
  Execute({&operation, 1});
  return std::move(std::get<MultiplyOperation>(operation).results);
}

std::vector<Shared> Engine::Rescale(std::span<const Shared> inputs, int fraction_bits) {
  Operation operation = RescaleOperation{{inputs.begin(), inputs.end()}, fraction_bits, {}};
  Execute({&operation, 1});
  return std::move(std::get<RescaleOperation>(operation).results);
}

std::vector<IntMatrix> Engine::Reveal(std::string_view release_id, std::span<const Shared> values,
                                      PartyIndex to) {
  Operation operation =
      RevealOperation{std::string(release_id), {values.begin(), values.end()}, to, {}};
  Execute({&operation, 1});
  return std::move(std::get<RevealOperation>(operation).results);
}

std::vector<SharedBits> Engine::InputBits(std::span<const PrivateBits> inputs) {
  Operation operation = InputBitsOperation{{inputs.begin(), inputs.end()}, {}};
  Execute({&operation, 1});
  return std::move(std::get<InputBitsOperation>(operation).results);
}

std::vector<SharedBits> Engine::And(std::span<const BitProduct> products) {
  Operation operation = AndOperation{{products.begin(), products.end()}, {}};
  Execute({&operation, 1});
  return std::move(std::get<AndOperation>(operation).results);
}

std::vector<CarryBits> Engine::Decompose(std::span<const Shared> values,
                                         std::span<const size_t> widths) {
  Operation operation =
      DecomposeOperation{{values.begin(), values.end()}, {widths.begin(), widths.end()}, {}};
  Execute({&operation, 1});
  return std::move(std::get<DecomposeOperation>(operation).results);
}

std::vector<Shared> Engine::ToRing(std::span<const SharedBits> bits) {
  Operation operation = ToRingOperation{{bits.begin(), bits.end()}, {}};
  Execute({&operation, 1});
  return std::move(std::get<ToRingOperation>(operation).results);
}

std::vector<BitMatrix> Engine::RevealBits(std::string_view release_id,
                                          std::span<const SharedBits> values, PartyIndex to) {
  Operation operation =
      RevealBitsOperation{std::string(release_id), {values.begin(), values.end()}, to, {}};
  Execute({&operation, 1});
  return std::move(std::get<RevealBitsOperation>(operation).results);
}

void AskGate(ReleaseGate& gate, std::span<const Operation> operations) {
  for (const Operation& operation : operations) {
    if (auto* reveal = std::get_if<RevealOperation>(&operation)) {
      gate.Opening(reveal->release_id, reveal->to, NumValues(*reveal));
    }
    if (auto* reveal = std::get_if<RevealBitsOperation>(&operation)) {
      gate.Opening(reveal->release_id, reveal->to, NumValues(*reveal));
    }
  }
}

}  // namespace partita::mpc
