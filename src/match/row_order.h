// Do all holders of a row block list the same rows in the same order? (methods.md, rule R-n)
//
// Ideal function  Per shared block and pair of its holders: both hand in their ordered list of keys
//                 and learn whether the lists are equal, nothing else.
// Method          Private equality test by Diffie-Hellman on ristretto255 (crypto/ristretto.h), per
//                 block and pair (A, B), all blocks and pairs at once:
//                   P_A = hash to the group of (label, pair key, block name, A's list digest)
//                   round 1: A sends a P_A, B sends b P_B; a, b fresh per (peer, block)
//                   round 2: A computes K = a (b P_B), B computes K' = b (a P_A);
//                            A sends H(label, A, block, K), B sends H(label, B, block, K')
//                 and each checks the other's hash against its own point. K = K' if and only if
//                 P_A = P_B. The pair key is Channel::PairwiseKey: both ends have it, no other
//                 party and no other run. The sender in the hash keeps a party that has no list
//                 from sending back what it received.
//                 C. Meadows, IEEE Symposium on Security and Privacy 1986; B. Huberman, M.
//                 Franklin, T. Hogg, ACM Conference on Electronic Commerce 1999 (both send the
//                 point where this sends its hash, which can only show less); the exchange with
//                 a hashed base: D. Jablon, SPEKE, Computer Communication Review 26(5), 1996.
// Revealed        To each holder, per block and other holder of it: one bit, whether the lists are
//                 equal. That some shared block's lists differ also reaches every other party,
//                 through the abort of the run. No digest of keys leaves a party, neither of one
//                 key nor of the list: lists that differ in few rows can be guessed from one's
//                 own, and a digest, opened or salted with what the peer knows, lets the peer test
//                 every guess afterwards (docs/decisions/0007).
// Cost            2 rounds in all. Per pair of parties that share at least one block and per
//                 direction: 2 messages of 32 bytes per block they share (RowOrderTraffic). Per
//                 block and peer 2 multiplications, below 1 ms. Traffic asserted by
//                 tests/match/row_order_test.cc.
// Threat model    Semi-honest holders, any number of which may pool what they saw. Unequal lists
//                 stay hidden if the decisional Diffie-Hellman problem is hard in ristretto255 and
//                 SHA-512 is a random oracle. A holder that deviates can make the comparison fail,
//                 and can test one guess of another's whole list per block and run.
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
// matched: of a party whose block is matched, what both holders have from the matching instead of
// keys (TwoPartyJoin::common).
BlockDigests RowOrderDigests(const data::Partition& partition, const data::Holding& holding,
                             const crypto::Digest& matched = {});

// What `from` sends to `to`, one message per round; nothing if they share no block.
struct RowOrderTraffic {
  uint64_t messages = 0;
  uint64_t bytes_per_message = 0;
};
RowOrderTraffic RowOrderTrafficBetween(std::span<const SharedBlock> blocks, net::PartyIndex from,
                                       net::PartyIndex to);
// 2 if there is a shared block, else 0.
uint64_t RowOrderRounds(std::span<const SharedBlock> blocks);

// Compares the lists of all blocks at once. Every party may call it; those without a shared block
// return at once. party_names: by roster index. Begins no phase of its own.
//
// Throws kBadData at every holder of a block whose lists differ, naming the first such block, this
// holder and the first other whose list differs from its own, and no row. kPeerFault if a peer sent
// something that is no element of the group. What any party threw, the run ends for all of them.
void CompareRowOrder(net::Channel& channel, std::span<const SharedBlock> blocks,
                     const BlockDigests& mine, std::span<const std::string> party_names,
                     crypto::RandomSource& random);

}  // namespace partita::match
