// Secret files of private sums: the X25519 key of a compute node or a registered client, and the
// token of an unregistered one. Text, mode 0600, never overwritten.
//
//   partita box key 1              partita client token 1
//   secret 64 hex digits           client 32 hex digits
//                                  secret 64 hex digits
#pragma once

#include <filesystem>
#include <string>

#include "crypto/box.h"
#include "sums/protocol/contract.h"

namespace partita::sums {

// Throws kUsage if the file exists or cannot be written.
void SaveBoxKey(const crypto::BoxKeyPair& pair, const std::filesystem::path& file);
// Throws kBadInput if it is missing, damaged or readable by others.
crypto::BoxKeyPair LoadBoxKey(const std::filesystem::path& file);

struct ClientToken {
  ClientId client{};
  crypto::Key secret;
};
void SaveToken(const ClientToken& token, const std::filesystem::path& file);
ClientToken LoadToken(const std::filesystem::path& file);

// What the holder of a token shows to one node: 64 hexadecimal digits made of the secret and the
// node's name by HKDF, so that what one node sees is of no use at another.
std::string BearerOf(const ClientToken& token, const std::string& node);

// Their text, for tests and fuzzing. Throw kBadInput naming `file`.
crypto::BoxKeyPair ParseBoxKey(std::string_view text, const std::string& file);
ClientToken ParseToken(std::string_view text, const std::string& file);

}  // namespace partita::sums
