// The keys of a run: of the batches, and of what is public at the parties (eta, the starting
// point).
//
// Every computing party draws a share of both and commits to it before it sees another's
// (net/joint_draw.h); a key is the exclusive or of all shares, bound to the study. So nobody
// chooses it, the last to speak neither, the dealer contributes nothing (R-b), and who is not told
// a share knows nothing of it: the analyst outside no batch, the dealer no parameters.
//
// A resumed run goes on in the streams of the earlier attempt, so a party keeps its shares as soon
// as the keys are made, with a digest of these, and sends the same again. The others know them by
// then and could fit theirs to them, but keys that come out different are refused. If one party did
// not keep its shares, or kept those of another attempt, all draw new ones: nothing had opened,
// because all keep shares of the same keys before the first sum can open. If one lost them later,
// the keys are other ones, and checkpoints bound to them (CheckpointBinding) are refused.
#pragma once

#include <filesystem>
#include <optional>

#include "crypto/hash.h"
#include "crypto/random.h"
#include "net/channel.h"

namespace partita::methods::mixture {

inline constexpr char kKeysPhase[] = "keys";

struct RunKeys {
  crypto::Key batch;       // every process
  crypto::Key public_key;  // computing parties; zero at the dealer
};

// One party's part of them.
struct KeyShares {
  crypto::Key batch, public_key;
};

KeyShares DrawKeyShares(crypto::RandomSource& random);

// What a party keeps: its shares, and of the keys that came of them CheckpointBinding, which is its
// own, and a digest that is the same at all.
struct KeptShares {
  KeyShares shares;
  crypto::Digest keys{};
  crypto::Digest run{};
};

// Whether there is a file of shares, of whatever study.
bool HasKeyShares(const std::filesystem::path& folder);

// binding: of the study, as the checkpoints'. Empty if there are none. Throws kRefused for shares
// of another study, kBadInput for a file that holds none.
std::optional<KeptShares> LoadShares(const std::filesystem::path& folder,
                                     const crypto::Digest& binding);
// Readable by the owner only, and durable on return.
void KeepShares(const std::filesystem::path& folder, const crypto::Digest& binding,
                const KeptShares& kept);

// Whether every computing party has kept shares, of the same keys: a party may have kept those of
// an attempt in which another was stopped before it did. One round among them, kKeptBytes to each
// other: whether, and KeptShares::run. Empty at the dealer, which takes no part.
inline constexpr uint64_t kKeptBytes = 1 + 32;
std::optional<bool> AllKeptTheSame(net::Channel& channel, size_t num_computing,
                                   const std::optional<KeptShares>& kept);

// Two rounds among all processes of the channel, of which the first num_computing compute: both
// keys go to these, that of the batches to the dealer too, at the cost of net/joint_draw.h. own,
// random: null at the dealer. run: public, of this run alone. Throws as net::DrawTogether.
RunKeys AgreeOnKeys(net::Channel& channel, size_t num_computing, const KeyShares* own,
                    const crypto::Digest& binding, ByteView run, crypto::RandomSource* random);

// What checkpoints are bound to: the study and the keys.
crypto::Digest CheckpointBinding(const RunKeys& keys, const crypto::Digest& binding);

}  // namespace partita::methods::mixture
