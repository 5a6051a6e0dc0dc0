// Who may take part in a private sum: one text file per compute node.
//
//   partita clients registered        or: tokens, certificates
//   # a comment
//   CLIENT CREDENTIAL [UNTIL]
//
// CLIENT: 32 hexadecimal digits, each once. CREDENTIAL: 64: the client's X25519 key; the SHA-256 of
// the bearer token that it shows to this node (box_key_file.h); the fingerprint of its certificate.
// UNTIL (tokens): the last moment of its validity, 2026-12-31T23:59:59Z.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sums/file/collection_file.h"
#include "sums/protocol/open_upload.h"

namespace partita::sums {

inline constexpr size_t kMaxAdmissionBytes = size_t{1} << 34;

struct AdmittedClient {
  ClientId client{};
  std::array<uint8_t, 32> credential{};
  int64_t valid_until = 0;  // tokens only
};

// Sorted by client.
struct AdmissionList {
  Admission admission = Admission::kRegistered;
  std::vector<AdmittedClient> clients;
};

// Throw kBadInput "FILE:LINE: what".
AdmissionList ParseAdmissionList(std::string_view text, const std::string& file);
AdmissionList LoadAdmissionList(const std::filesystem::path& file);
std::string FormatAdmissionList(const AdmissionList& list);
// Adds clients that are not there yet; throws kUsage if one is, kBadInput, and names the client, if
// two have the same credential or a registered one's key is of low order.
void Admit(const std::vector<AdmittedClient>& clients, AdmissionList& list);

// The public name of who holds a key or certificate: the first 16 bytes of a SHA-256 of it.
ClientId ClientOfKey(const crypto::BoxPublicKey& key);
ClientId ClientOfCertificate(const std::array<uint8_t, 32>& fingerprint);

// What a ComputeNode asks for. Registered: about 35 us per client and thread. Throws kBadInput if
// the list is of another kind than the collection says, or longer than it plans, or holds a key
// that is none.
ClientDirectory MakeDirectory(const CollectionFile& collection, const AdmissionList& list,
                              uint16_t node, const crypto::BoxKeyPair& box, unsigned threads);

// Whether a connection may upload for a client.
enum class Credential : uint8_t { kGood, kUnknownClient, kMissing, kWrong, kExpired };
// digest: SHA-256 of the token, or the certificate's fingerprint; empty: nothing was shown.
// Registered clients show nothing: their uploads authenticate themselves. Digests are compared in
// constant time.
Credential CheckCredential(const AdmissionList& list, const ClientId& client,
                           const std::optional<std::array<uint8_t, 32>>& digest, int64_t now);

}  // namespace partita::sums
