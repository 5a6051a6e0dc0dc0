// Keys from keys: HKDF-SHA256 (RFC 5869), through OpenSSL.
//
// Timing  constant in secrets, salts and contexts; not in lengths (public). Proved by tests/ctime
//         around OpenSSL.
#pragma once

#include <initializer_list>
#include <string_view>

#include "crypto/random.h"

namespace partita::crypto {

// HKDF extract and expand. `out` holds 1 to 255 * 32 bytes.
void Hkdf(ByteView secret, ByteView salt, ByteView info, std::span<uint8_t> out);

// A key for one purpose. The info string is the purpose and every context field, each preceded by
// its length, so that no two (purpose, context) pairs collide.
Key DeriveKey(const Key& secret, std::string_view purpose,
              std::initializer_list<ByteView> context = {});

}  // namespace partita::crypto
