// Level hidden of two holders by themselves: where each one's rows stand in a common order, in which
// rows of one person stand at one position. Neither learns which rows match.
//
// Ideal function  Both hand in their distinct keys, filled up to their bounds. Each learns the number
//                 of keys that both have. If it reaches the minimum, each learns for each of its
//                 places, padding included, a position out of U = sum of the bounds less that number:
//                 for a key that both have one and the same, for all others one of its own, in an order that
//                 is random for who does not know both lists.
// Method          P. Buddhavarapu, A. Knox, P. Mohassel, S. Sengupta, E. Taubeneck, V. Vlaskin,
//                 Private Matching for Compute, IACR ePrint 2020/599 (Private-ID), in a group where the
//                 decisional Diffie-Hellman problem is hard. Party q draws s_q (compare), r_q (name)
//                 and b_q (blind); S and R are the products of both.
//                   round 1: nonces; the salt is a hash of both, the names and `session`
//                   round 2: A sends, of every key x and of random ones up to its bound, H(salt, x)^s_A in
//                            random order, and H(salt, x)^b_A in the order of its rows; B likewise
//                   round 3: each raises the first list to its s and permutes it, and sends a hash
//                            of its own name and the result
//                   round 4: each sends that result, which must fit the hash, and the second list raised
//                            to its r, in its order. Elements in both results are matches; D is the
//                            union. Taking a result to r / b gives H(salt, x)^R of one's own
//                   round 5: the first party takes D, in the order of its bytes, to r / s, permutes it
//                            and sends it
//                   round 6: the second does the same with that and sends it back: the names
//                            H(salt, x)^R of all keys. Positions are the order of their bytes
//                 Fewer matches than the minimum: rounds 5 and 6 do not take place.
// Revealed        Bounds and names beforehand; the number of matches to both, whatever the minimum. No key
//                 leaves a party. The equality of elements that a party sees depends on its own list and
//                 that number alone, if both follow the protocol (enumerated, two_party_spine_test.cc).
// Deviations      A party that does not follow it learns which of its own rows match, unnoticed, as at
//                 level matched-ids. The second can return some elements of the other's list in round 4
//                 under another exponent: the matches among them are not counted, and it finds them again
//                 by their names in round 5. The first can do so in round 5 with what only it has: the
//                 names that it then lacks are of its rows that do not match. Either may take an exponent of
//                 its own for each key in round 2, as in two_party_join.h. A party may list keys that it
//                 guesses. The minimum binds who follows the protocol.
// Failure         Two keys that hash to one element, or one that a random one meets: below 2^-200 for
//                 10^7 rows; that honest parties' elements pass for repeated: below 2^-74. An element that is lost, made up or there twice leaves a party without one of
//                 its names, or names other than as many as D: a kPeerFault.
// Cost            6 rounds, 4 below the minimum; sent 64 + 64 n + 64 m + 32 U bytes for the own bound n and
//                 the other's m. n hashes to the group, 3 n + 2 m + U multiplications, n decodings, and U
//                 at the first party. By count 130 bytes a row of both lists, beside the keys
//                 (match/element_tags.h).
// Timing          Constant in the exponents (crypto/ristretto.h), and in how many of a list's elements
//                 are keys. Not in which they are: they are sorted and looked up in the owner's memory.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/progress.h"
#include "crypto/hash.h"
#include "crypto/random.h"
#include "net/channel.h"

namespace partita::match {

struct TwoPartySpineTask {
  net::PartyIndex peer = 0;
  uint64_t own_bound = 0, peer_bound = 0;  // of the lists; at most 2^31
  uint64_t minimum = 1;
  crypto::Digest session{};      // of what both agreed on
  Progress* progress = nullptr;  // borrowed
  // Called with the number of matches as soon as it is known; may throw.
  std::function<void(uint64_t count)> counted = nullptr;
};

struct TwoPartySpine {
  uint64_t count = 0;
  bool linked = false;  // the minimum is reached
  std::vector<uint32_t>
      keys;  // by position, index of an own key or kNoRow (match/level.h); if linked
  // Of all names in order: equal at both, no help in testing keys.
  crypto::Digest common{};
};

// What one party sends, all rounds together, if so many match.
struct TwoPartySpineTraffic {
  uint64_t rounds = 0, messages = 0, bytes = 0;
};
TwoPartySpineTraffic TwoPartySpineTrafficOf(const TwoPartySpineTask& task, uint64_t matches);

// keys: distinct, at most own_bound of them. Throws kPeerFault if the peer departs from what is written
// above and that shows, and what Channel::Exchange throws. Begins no phase of its own.
TwoPartySpine AlignTwoLists(net::Channel& channel, const TwoPartySpineTask& task,
                            std::span<const crypto::Digest> keys, crypto::RandomSource& random);

}  // namespace partita::match
