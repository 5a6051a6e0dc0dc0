// How two sites that never met come to know each other's keys: an invitation, and two numbers of six
// digits that people tell each other by telephone.
//
//   joiner -> inviter   number, c = SHA-256(label, "joiner", number, certificates, exporter, nonce_J)
//   inviter -> joiner   nonce_I
//   joiner -> inviter   nonce_J, which the inviter compares with c
//   both                h = SHA-256(label, number, certificates, nonce_J, nonce_I, exporter)
//   people              the first six digits of h from the inviter's page to the joiner's, the
//                       second six the other way round
//   both ways           `paired`: h, role, steward certificate, address, signed by the steward key,
//                       which so proves that it is held, and by the node key
//
// "certificates" are the node certificates of both as this end sees them, and the exporter is of its
// own TLS connection (RFC 8446, section 7.5), so that somebody in between, who has two
// connections, has two h. Each is uniform and out of his hands: c binds nonce_J before nonce_I is
// known, and nonce_I is fresh. An end accepts if the digits of the other's h are those of its own:
// with probability 10^-6 (and a bias below 2^-44) for each line, since a line is used up at both ends
// before a nonce is sent, and digits are compared once. He may pass one end so; a party counts when
// both have signed. As manual authentication with a commitment (Vaudenay, CRYPTO 2005; RFC 6189,
// section 4.4); that people call a number they know, and never type what a caller says who called
// them, is what it rests on.
//
// Here are bytes, a clock and a random source; connections, pages and stores are elsewhere. Messages
// have fixed sizes; three of them, 49 + 32 + 32 bytes. Errors are typed, and end the try: kPeerFault
// (what came is not of the protocol), kUntrusted (own certificate, commitment, digits, signature),
// kRefused (line), kTimeout. After an error, or a cut connection, the object is of no use.
//
// Timing: nothing here is secret for long; comparisons may show in time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "crypto/certificate.h"
#include "crypto/random.h"
#include "node/parties/invitation.h"

namespace partita::node {

inline constexpr int64_t kComparisonSeconds = 600;
inline constexpr int64_t kPairedSeconds = 3600;
inline constexpr uint64_t kDigitValues = 1'000'000;
inline constexpr size_t kSpokenDigits = 6;
inline constexpr size_t kPairingHelloBytes = 1 + sizeof(InviteNumber) + sizeof(Digest);
inline constexpr size_t kPairingNonceBytes = 32;

enum class PairingRole : uint8_t { kInviter = 1, kJoiner = 2 };

// What this end sees of the connection.
struct PairingEnds {
  Bytes inviter_certificate, joiner_certificate;  // DER, of the node keys
  Digest exporter{};  // of the connection: net::ConnectionName, or TlsStream::ExportKey
};

using PairingNonce = std::array<uint8_t, kPairingNonceBytes>;

Digest PairingCommitment(const InviteNumber& number, const PairingEnds& ends,
                         const PairingNonce& joiner_nonce);
Digest PairingHash(const InviteNumber& number, const PairingEnds& ends,
                   const PairingNonce& joiner_nonce, const PairingNonce& inviter_nonce);

// Two numbers below `values`.
struct SpokenNumbers {
  uint64_t first = 0, second = 0;

  bool operator==(const SpokenNumbers&) const = default;
};
SpokenNumbers NumbersOf(const Digest& hash, uint64_t values = kDigitValues);
// "048213"
std::string SpokenText(uint64_t number);

// Throws kUntrusted if both certificates are the same, hold the same key, or are made out to the same
// name, kPeerFault if one is no certificate of a party.
void CheckPairingEnds(const PairingEnds& ends);

// Both ends after the nonces: what each page shows, and asks for.
class Comparison {
 public:
  Comparison(PairingRole role, const InviteNumber& number, const PairingEnds& ends,
             const Digest& hash, int64_t now)
      : role_(role), number_(number), ends_(ends), hash_(hash), began_(now) {}

  PairingRole role() const { return role_; }
  const PairingEnds& ends() const { return ends_; }
  // Six digits, to be told to the other site.
  std::string Shown() const;
  // Six digits as the other site said them; blanks and '-' are skipped. Throws kUsage, and the try
  // is left, for anything but six digits; kUntrusted if they differ, kTimeout after ten minutes or
  // if the clock went back, kRefused if digits were compared already. There is one try.
  void Enter(std::string_view digits, int64_t now);
  bool agreed() const { return state_ == State::kAgreed; }
  // Whether it is to be forgotten: ten minutes without digits, an hour without the steward's word on those that agreed, or
  // a clock that went back.
  bool IsOver(int64_t now) const;

  const Digest& hash() const { return hash_; }
  const InviteNumber& number() const { return number_; }

 private:
  enum class State { kWaiting, kAgreed, kFailed };

  PairingRole role_;
  InviteNumber number_{};
  PairingEnds ends_;
  Digest hash_{};
  int64_t began_ = 0;
  State state_ = State::kWaiting;
};

// The inviter's end of one connection.
class Inviter {
 public:
  // ends: as above; store and random are borrowed. Throws as CheckPairingEnds.
  Inviter(PairingEnds ends, InvitationStore& store, crypto::RandomSource& random);

  // The joiner's first message. Uses the line up, then returns the nonce to send.
  Bytes TakeHello(ByteView hello, int64_t now);
  // The joiner's nonce.
  Comparison TakeNonce(ByteView opening, int64_t now);
  // After TakeHello: whether it is to be forgotten, ten minutes without a nonce or a clock that went back.
  bool IsOver(int64_t now) const;

 private:
  enum class State { kHello, kNonce, kDone };

  PairingEnds ends_;
  InvitationStore& store_;
  crypto::RandomSource& random_;
  State state_ = State::kHello;
  InviteNumber number_{};
  Digest commitment_{};
  PairingNonce own_nonce_{};
  int64_t began_ = 0;
};

// The joiner's.
class Joiner {
 public:
  // invitation: one that this store accepted. Throws kUntrusted, too, unless the inviter's certificate
  // is the one of the invitation.
  Joiner(const Invitation& invitation, PairingEnds ends, InvitationStore& store,
         crypto::RandomSource& random);

  // The first message.
  Bytes Hello(int64_t now);
  // The inviter's nonce. Uses the line up, then returns the own nonce to send.
  Bytes TakeNonce(ByteView nonce, int64_t now);
  // After TakeNonce.
  Comparison Compare();

 private:
  enum class State { kStart, kNonce, kOpened, kDone };

  Invitation invitation_;
  PairingEnds ends_;
  InvitationStore& store_;
  State state_ = State::kStart;
  PairingNonce own_nonce_{}, inviter_nonce_{};
  int64_t began_ = 0;
};

// Of both ends when each found the digits right and the other's statement is here: what goes to the
// steward, and from there to the list of parties.
struct PairedParty {
  std::string name;
  Bytes node_certificate, steward_certificate;
  std::string address;
  int64_t compared_at = 0;

  bool operator==(const PairedParty&) const = default;
};

inline constexpr char kPairedDomain[] = "partita node paired 1";
inline constexpr char kPairedStewardDomain[] = "partita node paired, steward 1";
inline constexpr size_t kMaxPairedBytes = 4096;

// From the right digits to a party that counts. A plain value for the store: a node that stops in
// between goes on.
struct PendingPair {
  PairingRole role = PairingRole::kInviter;
  Digest hash{};
  Bytes peer_certificate;
  int64_t agreed_at = 0;
  // To send, again until the other's is here: blobs of the fields (version, role, h, steward
  // certificate, address), of the steward key's signature over them and of the node key's over both.
  Bytes own_statement;

  bool operator==(const PendingPair&) const = default;
};

// What the steward key says of a pairing: the process that has the key signs, and sees what it signs.
struct StewardWord {
  Bytes certificate;  // DER
  Bytes signature;
};
StewardWord SignPaired(PairingRole role, const Digest& hash, const crypto::Identity& steward,
                       const std::string& address);

// Throws kInternal unless the digits agreed, kBadInput unless `steward` signed this role, hash and
// address. address: the own one; identity: the own node key, whose certificate was one of the ends.
PendingPair BeginPaired(const Comparison& comparison, const crypto::Identity& identity,
                        const StewardWord& steward, const std::string& address, int64_t now);
// Whether it is to be forgotten: an hour without the other's statement, or a clock that went back.
bool IsForgotten(const PendingPair& pending, int64_t now);
// The other's statement. Throws kTimeout if it is to be forgotten, kUntrusted unless it is signed by
// the key whose digits were compared, for the same h and the other role, and by the steward key that it
// names, whose certificate is made out to the same party and valid now; kPeerFault if it is malformed, or
// if that key is the node key.
PairedParty FinishPaired(const PendingPair& pending, ByteView statement, int64_t now);

}  // namespace partita::node
