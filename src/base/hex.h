// Hexadecimal digits of a known length: keys, hashes and pseudonyms in texts.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace partita {

// Fills `out`, and returns true, if `hex` is as many digits in lower case as ToHex (base/bytes.h)
// writes for it. Leaves no copy behind.
bool FromHex(std::string_view hex, std::span<uint8_t> out);

}  // namespace partita
