// A private key under a passphrase: for keys that a person uses, on a machine that others may reach.
//
// PKCS #8 (RFC 5958) in PEM, AES-256-CBC with a key from scrypt (RFC 7914; N = 2^14, r = 8, p = 5: 16 MiB and
// some tenths of a second a guess), which OpenSSL's own programs read as well. No passphrase that a person
// remembers withstands a long search: the file is its owner's alone, like a key without one.
#pragma once

#include <filesystem>
#include <string_view>

#include "crypto/certificate.h"

namespace partita::crypto {

inline constexpr size_t kMinPassphrase = 8;  // bytes
inline constexpr size_t kMaxPassphrase = 1024;

// As SaveIdentity. Throws kUsage for a passphrase that is too short or too long.
void SavePassphraseIdentity(const Identity& identity, const std::filesystem::path& certificate_file,
                            const std::filesystem::path& key_file, std::string_view passphrase);
// As LoadIdentity. Throws kRefused for a wrong passphrase, kBadInput for a key that is under none.
Identity LoadPassphraseIdentity(const std::filesystem::path& certificate_file,
                                const std::filesystem::path& key_file, std::string_view passphrase);

}  // namespace partita::crypto
