// A message between the nodes of two institutions: its bytes, its signature, its name.
//
// Bytes (base/bytes.h): format u16 (1), fields blob, certificate blob (DER), signature blob. The
// signature is the node key's (domain `partita node message 1`) over fields and certificate, so that
// a message shows by itself, years later and to anybody, who wrote it: it is relayed byte for byte.
// The fields are, in this order, version u16, kind u16, from and to (names of parties), study (32
// bytes; zero: none), incarnation (16), number u64, time u64 (seconds of base/utc_time.h), body
// form u8, body. Form 0 is the body itself, form 1 its SHA-256 (32) and its size u64: bodies above
// kMaxInlineBytes are fetched by digest. What stands before the body is the same in all versions, so
// that one that is not known here can be kept and answered.
//
// A number is used once in an incarnation of its sender, and a restored node begins a new one: two
// messages with one number show a node that was set back or lies.
//
// Reading is strict: kPeerFault for anything but the bytes that EncodeMessage writes.
//
// Revealed to the receiver: all of it, and so that sender and receiver are parties of a study.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "crypto/hash.h"

namespace partita::node {

using crypto::Digest;
using StudyId = Digest;
using Nonce = std::array<uint8_t, 16>;
using Incarnation = std::array<uint8_t, 16>;

inline constexpr uint16_t kMessageVersion = 1;
inline constexpr char kMessageDomain[] = "partita node message 1";
inline constexpr size_t kMaxInlineBytes = 64 << 10;
inline constexpr size_t kMaxBodyBytes = size_t{4} << 20;
// Of a whole message.
inline constexpr size_t kMaxMessageBytes = kMaxInlineBytes + 2048;

// Numbers on the wire: never used again for something else. 16 to 18 are kept for the kinds that
// carry lists of parties: introduction, succession, catalogue.
enum class Kind : uint16_t {
  kProposal = 1,
  kOffer = 2,
  kRoster = 3,
  kApproval = 4,
  kRejection = 5,
  kAskSlot = 6,
  kSlot = 7,
  kBusy = 8,
  kStart = 9,
  kProgress = 10,
  kEnded = 11,
  kWithdraw = 12,
  kNotUnderstood = 13,
  kLogHead = 14,     // of the audit log; of no study
  kLogReceipt = 15,  // the same
  kRelay = 19,
};

// "slot?", "start", ...; "unknown" for a number that is not of the list.
std::string KindName(Kind kind);
bool IsKnown(Kind kind);

// A body that is fetched.
struct BodyDigest {
  Digest digest{};
  uint64_t size = 0;

  bool operator==(const BodyDigest&) const = default;
};

struct Message {
  uint16_t version = kMessageVersion;
  Kind kind = Kind::kNotUnderstood;  // perhaps none of the list
  std::string from, to;
  StudyId study{};
  Incarnation incarnation{};
  uint64_t number = 0;
  int64_t time = 0;  // when it was written, by the sender's clock
  Bytes body;        // empty if it is fetched
  std::optional<BodyDigest> fetched;

  bool operator==(const Message&) const = default;
};

struct Signature {
  Bytes certificate;  // DER
  Bytes signature;

  bool operator==(const Signature&) const = default;
};

struct SignedMessage {
  Message message;
  Signature signature;

  bool operator==(const SignedMessage&) const = default;
};

// The body itself, or how to fetch it.
void SetBody(Message& message, Bytes body);

// What is signed: fields, then the certificate.
Bytes SignedBytes(const Message& message, ByteView certificate);
// The name of a message: SHA-256 over kMessageDomain and what is signed. A second signature of the
// same does not change it.
Digest MessageName(const SignedMessage& message);

// Throws kInternal for a message that DecodeMessage would refuse.
Bytes EncodeMessage(const SignedMessage& message);
// Does not look at the signature. Throws kPeerFault.
SignedMessage DecodeMessage(ByteView bytes);

// SHA-256 over the study file, who proposes it, 16 random bytes and its expiry, so that all nodes have
// the same.
StudyId StudyIdOf(std::string_view study_file, std::string_view proposer, const Nonce& nonce,
                  int64_t expires);

}  // namespace partita::node
