#include "mpc/bit_rules.h"

#include <fmt/format.h>

namespace partita::mpc {
namespace {

SharedBits Equal(const char* what, Shape a_shape, size_t a_width, Shape b_shape, size_t b_width) {
  if (a_shape == b_shape && a_width == b_width) return {a_shape, a_width, nullptr};
  Misuse(
      fmt::format("{} needs equal shapes and widths, not {} x {} entries of {} bits and {} x {} "
                  "of {}",
                  what, a_shape.rows, a_shape.cols, a_width, b_shape.rows, b_shape.cols, b_width));
}

void CheckInput(const PrivateBits& input, const EngineFacts& facts) {
  if (input.owner >= facts.num_parties) {
    Misuse(fmt::format("private bits belong to party {} of {}", input.owner, facts.num_parties));
  }
  if (facts.self == input.owner) CheckBits(input.values);
}

// least: bits of a value.
void CheckWidths(const std::vector<Shared>& values, const std::vector<size_t>& widths, size_t least,
                 const EngineFacts& facts) {
  if (widths.size() != values.size()) {
    Misuse("a decomposition needs one width for every value");
  }
  for (const size_t width : widths) {
    if (width < least || width > static_cast<size_t>(facts.ring_bits)) {
      Misuse(fmt::format("a value cannot be decomposed into {} bits in a ring of {}", width,
                         facts.ring_bits));
    }
  }
}

void CheckDecompose(DecomposeOperation& decompose, const EngineFacts& facts) {
  CheckWidths(decompose.values, decompose.widths, 1, facts);
  for (size_t i = 0; i < decompose.values.size(); ++i) {
    const SharedBits bits{decompose.values[i].shape, decompose.widths[i], nullptr};
    decompose.results.push_back({bits, bits});
  }
}

void CheckWindows(DecomposeWindowsOperation& decompose, const EngineFacts& facts) {
  CheckWidths(decompose.values, decompose.widths, 2, facts);
  for (size_t i = 0; i < decompose.values.size(); ++i) {
    const SharedBits bits{decompose.values[i].shape, decompose.widths[i], nullptr};
    const SharedBits below{bits.shape, bits.width - 1, nullptr};
    decompose.results.push_back({bits, below, below, bits, below});
  }
}

}  // namespace

void CheckBits(const BitMatrix& bits) {
  if (bits.words.size() == bits.width * WordsPerPlane(bits.shape)) return;
  Misuse(fmt::format("a matrix of {} x {} entries of {} bits has {} words", bits.shape.rows,
                     bits.shape.cols, bits.width, bits.words.size()));
}

SharedBits XorResult(const SharedBits& a, const SharedBits& b) {
  return Equal("an exclusive or", a.shape, a.width, b.shape, b.width);
}

SharedBits AndPublicResult(const SharedBits& a, const BitMatrix& b) {
  CheckBits(b);
  return Equal("an and", a.shape, a.width, b.shape, b.width);
}

SharedBits SelectPlanesResult(const SharedBits& a, std::span<const size_t> planes) {
  for (size_t plane : planes) {
    if (plane >= a.width) Misuse(fmt::format("there is no plane {} of {}", plane, a.width));
  }
  return {a.shape, planes.size(), nullptr};
}

SharedBits JoinPlanesResult(std::span<const SharedBits> parts) {
  if (parts.empty()) Misuse("nothing to join");
  SharedBits result{parts[0].shape, 0, nullptr};
  for (const SharedBits& part : parts) {
    if (part.shape != result.shape) Misuse("planes of different shapes cannot be joined");
    result.width += part.width;
  }
  return result;
}

void CheckBitOperation(Operation& operation, const EngineFacts& facts) {
  if (auto* input = std::get_if<InputBitsOperation>(&operation)) {
    input->results.clear();
    for (const PrivateBits& bits : input->inputs) {
      CheckInput(bits, facts);
      input->results.push_back({bits.values.shape, bits.values.width, nullptr});
    }
  }
  if (auto* conjunction = std::get_if<AndOperation>(&operation)) {
    conjunction->results.clear();
    for (const auto& [left, right] : conjunction->products) {
      conjunction->results.push_back(
          Equal("an and", left.shape, left.width, right.shape, right.width));
    }
  }
  if (auto* decompose = std::get_if<DecomposeOperation>(&operation)) {
    decompose->results.clear();
    CheckDecompose(*decompose, facts);
  }
  if (auto* decompose = std::get_if<DecomposeWindowsOperation>(&operation)) {
    decompose->results.clear();
    CheckWindows(*decompose, facts);
  }
  if (auto* to_ring = std::get_if<ToRingOperation>(&operation)) {
    to_ring->results.clear();
    for (const SharedBits& bits : to_ring->bits) {
      to_ring->results.push_back(
          {{bits.shape.rows * bits.width, bits.shape.cols}, 0, 1.0, nullptr});
    }
  }
  if (auto* reveal = std::get_if<RevealBitsOperation>(&operation)) {
    if (reveal->to != kEverybody && reveal->to >= facts.num_parties) {
      Misuse(fmt::format("release '{}' is to be opened to party {} of {}", reveal->release_id,
                         reveal->to, facts.num_parties));
    }
    reveal->results.clear();
    for (const SharedBits& bits : reveal->values) {
      reveal->results.push_back({bits.shape, bits.width, {}});
    }
  }
}

}  // namespace partita::mpc
