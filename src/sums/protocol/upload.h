// What a client sends to one compute node, byte by byte.
//
//   envelope  magic "PDU1", mode, header, body length (u32), body
//   header    study hash (32), client (16), epoch (u64), node (u16), upload id (32)
//   content   node 0: d words of the ring; every other node: a seed of 32 bytes
//   body      registered: XChaCha20-Poly1305 of the content under the epoch's key of client and
//             node, with magic, mode and header as associated data
//             sealed: crypto_box_seal of header, M commitments (32 each), opening (32), content
//
// All integers are little-endian, every length follows from mode, node and contract, and every
// encoding is the only one of its content. What a node must believe is inside the encryption or
// authenticated by it, and equal to the envelope.
//
// Upload id. Shares of two different uploads of one client never enter one sum, for the accepted
// set is a set of (client, upload id). Registered: 32 random bytes; the encryption authenticates
// them. Sealed: SHA-256 of header fields and of the M commitments, a commitment being the SHA-256
// of 32 random bytes (the opening) and a node's content; so nobody else can send a share of his own
// making under the id of a client's upload. (An id that hashes the ciphertexts cannot lie inside
// them. A bare hash of the content would not do: the nodes but node 0 together know the content of
// node 0 up to the noisy row, which has few enough values to try.) Somebody who may speak in a
// client's name at all can still send a whole upload of his own: sealed boxes authenticate nobody,
// and the connection must.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "sums/protocol/contract.h"

namespace partita::sums {

using UploadId = std::array<uint8_t, 32>;

enum class UploadMode : uint8_t { kSealed = 0, kRegistered = 1 };

struct UploadHeader {
  StudyHash study{};
  ClientId client{};
  uint64_t epoch = 0;
  uint16_t node = 0;
  UploadId upload{};

  bool operator==(const UploadHeader&) const = default;
};

inline constexpr size_t kHeaderBytes = 32 + 16 + 8 + 2 + 32;
inline constexpr size_t kSeedBytes = 32;
inline constexpr size_t kCommitmentBytes = 32;
inline constexpr size_t kOpeningBytes = 32;

// The body lies in the parsed bytes.
struct Envelope {
  UploadMode mode = UploadMode::kRegistered;
  UploadHeader header;
  ByteView body;
};

Bytes EncodeEnvelope(const Envelope& envelope);
// All of an envelope but its body: `body_bytes` zeros are there instead, at kBodyOffset.
Bytes EncodeEnvelopeWithout(UploadMode mode, const UploadHeader& header, size_t body_bytes);
// Throws kPeerFault unless `bytes` is exactly one envelope. Allocates nothing.
Envelope ParseEnvelope(ByteView bytes);

// The envelope's bytes before the body length: associated data of a registered upload.
inline constexpr size_t kPrefixBytes = 4 + 1 + kHeaderBytes;
inline constexpr size_t kBodyOffset = kPrefixBytes + sizeof(uint32_t);
std::array<uint8_t, kPrefixBytes> AssociatedData(UploadMode mode, const UploadHeader& header);

// Of the content, the body and the whole envelope for one node.
size_t ContentBytes(const Contract& contract, uint16_t node);
size_t BodyBytes(const Contract& contract, UploadMode mode, uint16_t node);
size_t EnvelopeBytes(const Contract& contract, UploadMode mode, uint16_t node);
// The larger of the two modes: whatever is longer is not even read.
size_t MaxEnvelopeBytes(const Contract& contract, uint16_t node);

// What lies in a sealed box.
struct SealedContent {
  UploadHeader header;
  std::vector<crypto::Digest> commitments;  // M
  std::array<uint8_t, 32> opening{};        // of this node's commitment
  ByteView content;                         // in the parsed bytes
};

Bytes EncodeSealedContent(const SealedContent& sealed);
// Throws kPeerFault unless `bytes` is exactly that for this contract and node.
SealedContent ParseSealedContent(ByteView bytes, const Contract& contract, uint16_t node);

crypto::Digest Commit(const std::array<uint8_t, 32>& opening, ByteView content);
// The id of a sealed upload; the header's node and upload id do not enter.
UploadId SealedUploadId(const UploadHeader& header, std::span<const crypto::Digest> commitments);

}  // namespace partita::sums
