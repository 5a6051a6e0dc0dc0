// The first words on every connection: who we are, what we are about to run, and that everybody was
// told the same.
//
// Two rounds among all parties. First every party sends its hello: name, study hash, plan hash,
// snapshot commitment, a fresh nonce, the attempt, a digest of the roster's names, and a value
// derived from the secret of this very connection (a relayed hello does not fit). Then every party
// sends the digest of all hellos it saw in roster order, its own included: a party that told two
// peers different things is noticed. Nothing else is sent before every digest arrived and agreed.
//
// Revealed: the fields above, to every party of the roster. A snapshot commitment is salted
// (architecture.md, "Hashes").
// Errors: kUntrusted naming the peer and the field that differs; kPeerFault, kPeerLost, kTimeout.
// Both sides of a disagreement stop, and the others are told.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/progress.h"
#include "crypto/hash.h"
#include "net/channel.h"
#include "net/transport.h"

namespace partita::net {

struct HelloInput {
  crypto::Digest study_hash{};  // must be equal at all parties
  crypto::Digest plan_hash{};   // must be equal at all parties
  crypto::Digest commitment{};  // this party's snapshot commitment; zero without a table
  uint32_t attempt = 1;         // must be equal at all parties
};

// What the parties agreed on.
struct Session {
  crypto::Digest run_id{};  // SHA-256 over the hashes, attempt, names, commitments and nonces
  uint32_t attempt = 1;
  std::vector<crypto::Digest> commitments;  // by party
  PhaseTraffic traffic;                     // of the hello itself, phase "hello"
};

// Cost: 2 rounds, 2 messages to every peer. The nonce comes from `random`. `progress` may be null.
Session SayHello(Transport& transport, const HelloInput& input, crypto::RandomSource& random,
                 Deadline deadline, Progress* progress = nullptr);

// The contents of one hello, exposed for tests and the fuzzer.
struct Hello {
  std::string name;  // as crypto::IsPartyName allows
  crypto::Digest study_hash{}, plan_hash{}, commitment{}, nonce{};
  crypto::Digest roster_names{};  // digest of all names in roster order
  uint32_t attempt = 1;
  crypto::Digest binding{};  // derived from the pairwise secret, sender and receiver

  bool operator==(const Hello&) const = default;
};

inline constexpr uint64_t kMaxHelloBytes = 512;
// The second message: one digest.
inline constexpr uint64_t kHelloAckBytes = sizeof(crypto::Digest);

Bytes EncodeHello(const Hello& hello);
// Throws kPeerFault unless the bytes are exactly one hello.
Hello DecodeHello(ByteView bytes, std::string_view peer);

}  // namespace partita::net
