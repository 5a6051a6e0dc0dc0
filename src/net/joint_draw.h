// Random keys that several processes draw together and none of them chooses, the last to speak
// included.
//
// Ideal function  (a random share of every drawing process) -> to the processes that may know it:
//                 the exclusive or of all shares.
// Method          Commit, then open, all keys at once (M. Blum, CRYPTO 1981):
//                   round 1: every drawing process sends SHA-256 of (label, run, purpose, its own
//                   number, a nonce of 32 bytes, its share)
//                   round 2: it sends share, nonce, and a digest of all the commitments to this key
//                   that it saw, its own included
//                 and everybody checks each opening against its commitment, and that all saw the
//                 same commitments. What was committed under another number, in another run or for
//                 another purpose opens nothing here.
// Revealed        To the processes that may know a key: all shares. To others: nothing.
// Security        Whoever waits for the others' messages of a round learns before its own first
//                 message only commitments, which hide (SHA-256 as a random oracle, 256 bits of
//                 nonce) and bind (collision resistance): its share does not depend on theirs. It
//                 can still see the result before the others do and stop, which makes the run end:
//                 it may choose among as many keys as runs are begun with it, each of which the
//                 others have to start again with new shares.
// Cost            2 rounds. Per key, from every drawing process to every other that may know the
//                 key: kCommitmentBytes, then kOpeningBytes; the keys of one link share a message.
// Errors          kPeerFault naming the process whose opening does not fit its commitment or that
//                 saw other commitments; those of Channel::Exchange.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "crypto/random.h"
#include "net/channel.h"

namespace partita::net {

struct JointKey {
  std::string purpose;  // the same at every process; no two keys of a run have one
  size_t known_to = 0;  // the first so many processes of the channel, the drawing ones among them
};

inline constexpr uint64_t kCommitmentBytes = 32, kOpeningBytes = 96;

// The first num_drawing processes draw. shares: by key, one's own; empty at the others. run:
// public, of this run alone. random: for the nonces; not used by a process that does not draw.
// Returns the keys that this process may know, by key; zeros in the place of others. Throws kUsage
// for shares where none belong, or none where they do.
std::vector<crypto::Key> DrawTogether(Channel& channel, size_t num_drawing,
                                      std::span<const JointKey> keys,
                                      std::span<const crypto::Key> shares, ByteView run,
                                      crypto::RandomSource* random);

}  // namespace partita::net
