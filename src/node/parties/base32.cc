#include "node/parties/base32.h"

namespace partita::node {
namespace {

constexpr std::string_view kBase32Letters = "abcdefghijklmnopqrstuvwxyz234567";

}  // namespace

std::string ToBase32(ByteView bytes) {
  std::string text;
  uint32_t bits = 0;
  int count = 0;
  for (const uint8_t byte : bytes) {
    bits = bits << 8 | byte;
    for (count += 8; count >= 5; count -= 5) {
      text.push_back(kBase32Letters[bits >> (count - 5) & 31]);
    }
  }
  if (count > 0) text.push_back(kBase32Letters[bits << (5 - count) & 31]);
  return text;
}

std::optional<Bytes> FromBase32(std::string_view text) {
  Bytes bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char letter : text) {
    const size_t value = kBase32Letters.find(letter);
    if (value == std::string_view::npos) return std::nullopt;
    bits = bits << 5 | static_cast<uint32_t>(value);
    count += 5;
    if (count >= 8) {
      count -= 8;
      bytes.push_back(static_cast<uint8_t>(bits >> count));
    }
  }
  // Lengths and spare bits that no encoder writes.
  if (ToBase32(bytes) != text) return std::nullopt;
  return bytes;
}

}  // namespace partita::node
