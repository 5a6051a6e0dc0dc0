// Base32 (RFC 4648, section 6) in small letters, without padding: text that survives mail, and being
// read aloud.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace partita::node {

std::string ToBase32(ByteView bytes);
// Nothing for anything but what ToBase32 writes: also not where bits are left over that are not zero.
std::optional<Bytes> FromBase32(std::string_view text);

}  // namespace partita::node
