// What one compute node derives from its secret key for one round: its noise, and what tells its
// own records from those that somebody else put into its store.
//
// The store is read and written by others, and may be put back to an earlier state; the key is not
// in it. Everything here is HKDF-SHA256 of the key under a purpose of its own, the whole contract,
// the epoch, the node and the agreed set, hence the same for ever for one set of one round and
// unrelated for any other.
//
// Noise. A second sum of the same set has the same noise, bit for bit, however often a store is put
// back: averaging gains nothing. It does not depend on the uploads' contents: contents that differ
// under one set are a client's own doing, who then knows the difference; were the noise drawn anew
// for each, such a client could have it averaged away (decision 0218). It is worth what the key is
// worth: who learns the secret key of a node, also later, knows its noise in every round.
//
// Commitment. A node commits to its sum before it shows its closing, and shows no sum that it did
// not commit to. Without the key it cannot be told from random, so that it does not let anybody try
// out sums.
#pragma once

#include "crypto/hash.h"
#include "sums/protocol/accepted_set.h"
#include "sums/protocol/masked_sum.h"
#include "sums/protocol/open_upload.h"

namespace partita::sums {

// What a store keeps of the agreed set: the set, and 32 bytes that only this node can make.
Bytes SealSet(const NodeRound& round, const AcceptedSet& agreed);
// Throws kBadInput unless SealSet made it, for this round and by this node's key.
AcceptedSet OpenSealedSet(const NodeRound& round, ByteView sealed);

// set_hash: SetHash of the agreed set. words: the node's sum of the set's shares, without noise.
crypto::Digest CommitToSum(const NodeRound& round, const crypto::Digest& set_hash, ByteView words);

// A draw of the contract's law (noise_share.h) from the key stream of this node, round and set. One
// thread draws all coordinates, in their order; the samplers are exact, and what they read of the
// stream follows from what they have read of it.
void AddOwnNoise(const NodeRound& round, const crypto::Digest& set_hash, MaskedSum& sum);

}  // namespace partita::sums
