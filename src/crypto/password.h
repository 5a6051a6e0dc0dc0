// Passwords of people, kept as what only a search can turn back: Argon2id (RFC 9106) with libsodium's
// interactive limits, 64 MiB and some tenths of a second a guess.
//
// Timing  of checking: that of Argon2id, whose memory access depends on the password in its second half
//         (RFC 9106, section 8); nothing else here depends on it.
#pragma once

#include <string>
#include <string_view>

namespace partita::crypto {

// With a salt of its own: a text of at most 127 characters. Throws kInternal if memory is short.
std::string HashPassword(std::string_view password);
// Whether `hash` was made of it. False for a text that is no hash.
bool IsPasswordOf(std::string_view password, const std::string& hash);

}  // namespace partita::crypto
