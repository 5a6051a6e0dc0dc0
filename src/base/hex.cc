#include "base/hex.h"

namespace partita {

bool FromHex(std::string_view hex, std::span<uint8_t> out) {
  if (hex.size() != 2 * out.size() ||
      hex.find_first_not_of("0123456789abcdef") != std::string_view::npos) {
    return false;
  }
  const auto digit = [&](size_t i) { return hex[i] <= '9' ? hex[i] - '0' : hex[i] - 'a' + 10; };
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<uint8_t>(digit(2 * i) << 4 | digit(2 * i + 1));
  }
  return true;
}

}  // namespace partita
