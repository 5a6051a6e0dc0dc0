// Which rows of two holders are the same person: both learn which of their own rows match.
//
// Ideal function  Both hand in their distinct keys. Each learns the number of keys that both have.
//                 If both then say that it reaches the minimum, each learns which of its own keys
//                 they are, in one order that is the same for both; else neither does.
// Method          By Diffie-Hellman with two exponents (C. Meadows, IEEE Symposium on Security and
//                 Privacy 1986; B. Huberman, M. Franklin, T. Hogg, ACM Conference on Electronic
//                 Commerce 1999), in a group where the decisional Diffie-Hellman problem is hard:
//                   round 1: nonces; the salt is a hash of both, the names and `session`
//                   round 2: A sends H(salt, x)^a of every key x, and of random keys up to its
//                            bound, in random order; B likewise with b
//                   round 3: each raises the other's elements to its own exponent, permutes them
//                            and sends a hash of its own name and the result
//                   round 4: each sends the result. It must fit the hash, hold no element twice and
//                            none of the two lists of round 2
//                   round 5: a bit each: the elements that are in both results reach the minimum
//                   round 6: after two ones, the permutations of round 3
//                 The common order is the one of the elements' bytes.
// Revealed        Bounds and names beforehand; the number of matches to both, whatever the minimum;
//                 after two ones, which of its rows match to each. No key leaves a party.
// Deviations      The minimum binds parties that follow the protocol. One that does not may take an
//                 exponent of its own for each key in round 2: it then finds in the other's result
//                 which of its keys match, whatever the count and unnoticed, and the other sees no
//                 or few matches (two_party_join_test.cc does so). It may list keys that it guesses:
//                 no protocol of this kind proves that a list is genuine. So a bound is how many
//                 memberships a peer can learn. The hash of round 3 keeps one from waiting for the
//                 other's result and returning it as its own, which would make everything match; the
//                 name keeps it from copying the hash. One that keeps back its permutation links
//                 alone, and one that sends another makes the other join wrong rows.
// Failure         Two keys that hash to one element, or one of these that a random one meets: below
//                 2^-200 for 10^7 rows; that honest parties' elements pass for repeated: below 2^-74. Everything else that does not fit is a kPeerFault.
// Cost            6 rounds; sent 32 + 32 n + 32 + 32 m + 1 + 4 m bytes for the own bound n and the
//                 other's m (TwoPartyJoinTraffic). n hashes to the group, n + m multiplications, n
//                 decodings and some sorting between rounds. By count 70 bytes a row of both lists, beside
//                 the keys (match/element_tags.h). Elements are raised while they come.
// Timing          Constant in the exponents (crypto/ristretto.h), and in how many of a list's elements
//                 are keys: padding takes one hash and one multiplication, too. Not in which they
//                 are, since keys and permutations are sorted and looked up in the owner's memory.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/progress.h"
#include "crypto/hash.h"
#include "crypto/random.h"
#include "net/channel.h"

namespace partita::match {

struct TwoPartyJoinTask {
  net::PartyIndex peer = 0;
  uint64_t own_bound = 0, peer_bound = 0;  // of the lists; at most 2^31
  uint64_t minimum = 1;
  crypto::Digest session{};      // of what both agreed on: the matching file, and UnicodeVersion()
  Progress* progress = nullptr;  // told how many elements came, and what is compared; borrowed
  // Called with the number of matches before the bit of round 5 leaves; may throw.
  std::function<void(uint64_t count)> counted = nullptr;
};

struct TwoPartyJoin {
  uint64_t count = 0;
  bool linked = false;         // both said that the minimum is reached
  std::vector<uint32_t> rows;  // indices of own keys that match, in the common order; if linked
  // Of the elements that are in both results, in order: equal at both, and for anybody without
  // one of the exponents, which nobody keeps, no help in testing names.
  crypto::Digest common{};
};

// What one party sends, all rounds together.
struct TwoPartyJoinTraffic {
  uint64_t rounds = 0, messages = 0, bytes = 0;
};
TwoPartyJoinTraffic TwoPartyJoinTrafficOf(const TwoPartyJoinTask& task);

// keys: distinct, at most own_bound of them. Throws kPeerFault if the peer departs from what is
// written above, and what Channel::Exchange throws. Begins no phase of its own.
TwoPartyJoin JoinTwoLists(net::Channel& channel, const TwoPartyJoinTask& task,
                          std::span<const crypto::Digest> keys, crypto::RandomSource& random);

}  // namespace partita::match
