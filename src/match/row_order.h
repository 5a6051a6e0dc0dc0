// Do all holders of a row block list the same rows in the same order? (methods.md, rule R-n)
//
// Ideal function  Per shared block: every holder hands in the digest of its ordered key list; all
//                 holders of the block learn whether the digests agree.
// Method          Commit, then open, between all pairs of holders. Commitment = SHA-256 over
//                 (label, party, block, nonce, digest), nonce: 32 fresh random bytes. Nobody can
//                 copy a digest it has not computed: it commits before it sees another's, and a
//                 commitment names its maker.
// Revealed        To the other holders of the block only: the digest of the whole list. Equal
//                 lists: nothing that the receiver did not know. Unequal lists: a receiver can
//                 test guesses of the other's whole list. No per-row hash ever leaves a party.
// Cost            2 rounds in all. Per pair of parties that share at least one block and per
//                 direction: 2 messages, of 32 and then 64 bytes per block they share
//                 (RowOrderTrafficBetween). Asserted by tests/match/row_order_test.cc.
// Threat model    Semi-honest holders; a holder that deviates can at most make the comparison
//                 fail, unless it knows the list.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crypto/hash.h"
#include "crypto/random.h"
#include "data/holding.h"
#include "net/channel.h"

namespace partita::match {

// A row block that two or more parties hold.
struct SharedBlock {
  std::string name;
  std::vector<net::PartyIndex> holders;  // increasing
};

// The shared blocks of a partition, in its order.
std::vector<SharedBlock> SharedBlocks(const data::Partition& partition);

// SHA-256 over label, block name, number of keys and every key, all length-prefixed. Keys in order.
crypto::Digest RowOrderDigest(std::string_view block_name, std::span<const std::string> keys);

// One digest per shared block; empty where the party does not hold the block.
using BlockDigests = std::vector<std::optional<crypto::Digest>>;
BlockDigests RowOrderDigests(const data::Partition& partition, const data::Holding& holding);

// What `from` sends to `to`; nothing if they share no block.
struct RowOrderTraffic {
  uint64_t messages = 0;
  uint64_t bytes = 0;
};
RowOrderTraffic RowOrderTrafficBetween(std::span<const SharedBlock> blocks, net::PartyIndex from,
                                       net::PartyIndex to);
// 2 if there is a shared block, else 0.
uint64_t RowOrderRounds(std::span<const SharedBlock> blocks);

// Compares the lists of all blocks at once. Every party may call it; those without a shared block
// return at once. party_names: by roster index. Begins no phase of its own.
//
// Throws kBadData at every holder of the first block whose lists differ, naming the block and two
// holders and no row. kPeerFault if an opening does not fit its commitment.
void CompareRowOrder(net::Channel& channel, std::span<const SharedBlock> blocks,
                     const BlockDigests& mine, std::span<const std::string> party_names,
                     crypto::RandomSource& random);

}  // namespace partita::match
