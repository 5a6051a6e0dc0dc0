#include "mpc/engine.h"

#include <map>

#include "base/error.h"
#include "mpc/operation.h"
#include "mpc/rules.h"

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
  Operation operation = MultiplyOperation{{products.begin(), products.end()}};
  Execute({&operation, 1});
  return std::move(std::get<MultiplyOperation>(operation).results);
}

std::vector<Shared> Engine::Rescale(std::span<const Shared> inputs, int fraction_bits) {
  Operation operation = RescaleOperation{{inputs.begin(), inputs.end()}, fraction_bits, {}};
  Execute({&operation, 1});
  return std::move(std::get<RescaleOperation>(operation).results);
}

std::vector<Shared> Engine::MultiplyAndRescale(std::span<const Product> products,
                                               std::span<const std::optional<int>> fraction_bits) {
  if (products.size() != fraction_bits.size()) {
    Misuse("as many fraction bits are needed as there are products");
  }
  MultiplyOperation multiply{{products.begin(), products.end()}};
  std::map<int, std::vector<size_t>> later;  // by fraction bits
  for (size_t i = 0; i < products.size(); ++i) {
    const int exact = FractionBitsOf(products[i].left) + FractionBitsOf(products[i].right);
    const int wanted = fraction_bits[i].value_or(exact);
    if (wanted < 0) {
      Misuse("a product cannot be truncated to negative fraction bits");
    }
    const bool now = capabilities().truncates_products && wanted < exact;
    multiply.fraction_bits.push_back(now ? wanted : kNotTruncated);
    if (!now && wanted != exact) later[wanted].push_back(i);
  }
  Operation operation = std::move(multiply);
  Execute({&operation, 1});
  std::vector<Shared> results = std::move(std::get<MultiplyOperation>(operation).results);
  if (later.empty()) return results;
  std::vector<Operation> rescales;
  for (const auto& [bits, indices] : later) {
    RescaleOperation rescale;
    for (size_t i : indices) rescale.values.push_back(results[i]);
    rescale.fraction_bits = bits;
    rescales.push_back(std::move(rescale));
  }
  Execute(rescales);
  auto done = rescales.begin();
  for (const auto& [bits, indices] : later) {
    const std::vector<Shared>& values = std::get<RescaleOperation>(*done++).results;
    for (size_t k = 0; k < indices.size(); ++k) results[indices[k]] = values[k];
  }
  return results;
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

void Misuse(const std::string& message) {
  throw Error(ErrorCode::kUsage, message, "correct the method's protocol code");
}

}  // namespace partita::mpc
