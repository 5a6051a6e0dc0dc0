#include "mpc/engine.h"

#include "mpc/operation.h"

namespace partita::mpc {

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

}  // namespace partita::mpc
