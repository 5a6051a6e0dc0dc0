// The keys of a run: of the batches, and of what is public at the parties (eta, the starting
// point).
//
// Every computing party draws a share of both; a key is the exclusive or of all shares, bound to
// the study. So nobody chooses it, the dealer contributes nothing (R-b), and who is not told a
// share knows nothing of it: the analyst outside no batch, the dealer no parameters.
//
// A resumed run goes on in the streams of the earlier attempt, so a party keeps its shares, on disk
// and durable before they are first sent, and sends the same again. If one lost them the keys are
// other ones, and checkpoints bound to them (CheckpointBinding) are refused.
#pragma once

#include <filesystem>

#include "crypto/hash.h"
#include "crypto/random.h"
#include "net/channel.h"

namespace partita::methods::dpvi {

inline constexpr char kKeysPhase[] = "keys";
// Sent by every computing party, once, in one round.
inline constexpr size_t kKeySharesBytes = 64;   // to every other computing party
inline constexpr size_t kBatchShareBytes = 32;  // to the dealer

struct RunKeys {
  crypto::Key batch;       // every process
  crypto::Key public_key;  // computing parties; zero at the dealer
};

// One party's part of them.
struct KeyShares {
  crypto::Key batch, public_key;
};

KeyShares DrawKeyShares(crypto::RandomSource& random);

// The shares in `folder`, or new ones, which are then stored there, readable by the owner only and
// durable on return. binding: of the study, as the checkpoints'. Throws kRefused for shares of
// another study, kBadInput for a file that holds none.
KeyShares KeptKeyShares(const std::filesystem::path& folder, const crypto::Digest& binding,
                        crypto::RandomSource& random);

// Whether there is a file of shares, of whatever study.
bool HasKeyShares(const std::filesystem::path& folder);

// One round among all processes of the channel, of which the first num_computing compute. own: null
// at the dealer. Throws kUsage if it is null elsewhere.
RunKeys AgreeOnKeys(net::Channel& channel, size_t num_computing, const KeyShares* own,
                    const crypto::Digest& binding);

// What checkpoints are bound to: the study and the keys.
crypto::Digest CheckpointBinding(const RunKeys& keys, const crypto::Digest& binding);

}  // namespace partita::methods::dpvi
