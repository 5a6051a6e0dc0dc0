// Which rows of two to five holders are the same person, found by a linker that sees keyed
// pseudonyms: every holder learns which of its own rows are in all lists, or (level hidden) only
// where its rows stand in a common order, in which rows of one person stand at one position.
//
// Ideal function  Every holder hands in, for each of its rows and each pass, a key or none; within a
//                 list and pass keys are distinct. In the order of the passes, the rows that have one
//                 key at all holders match, and take no part in later passes. If they are as many as
//                 the minimum, all passes together, every holder learns which of its own rows match,
//                 by which pass, in one order that is the same for all; else that they are fewer.
//                 Level hidden: the same rows match. Every holder learns the number of positions U and a
//                 position of each place of its list, padding included. Rows that match have one
//                 position, all others one of their own; which is which is drawn at random. U is the
//                 sum of the bounds less (holders - 1) times the matches (kHiddenExact), or that
//                 sum whatever matches (kHiddenNobody; there is no minimum then). kHiddenNoisy: that
//                 sum, too, and the number of matches with the linker's noise added, cut to 0 and
//                 the shortest bound, with which the minimum is compared.
// Method          round 1: every holder sends 32 random bytes to every other; the pseudonym key is a
//                 hash of all, the names and `session`. The linker lacks it
//                 round 2: every holder sends to the linker, for each place of a list filled up to
//                 its bound, in random order, one pseudonym a pass: the first 16 bytes of
//                 SHA-256(key, padding, key of the row), of a random key where there is none
//                 round 3: the linker matches and sends to every holder the numbers of matches by
//                 pass, and of each of its places the position in the common order, which it draws,
//                 or none; level hidden: U, and of each place its position. Below the minimum all
//                 of it is zero
//                 rounds 4 and 5: the holders compare, by a private equality test of every two
//                 (match/row_order.h), the keys that they think matched, in order; level hidden:
//                 U under the pseudonym key
//                 The pseudonyms are a pseudo-random function of the keys if SHA-256's compression
//                 function is one in its chaining value: the key fills the first block, and all
//                 inputs have one length (M. Bellare, R. Canetti, H. Krawczyk, Pseudorandom functions
//                 revisited: the cascade construction, FOCS 1996). That a party without data links
//                 pseudonyms under a key of the holders is old practice (P. Christen, T. Ranbaduge,
//                 R. Schnell, Linking Sensitive Data, Springer 2020); the comparison is ours.
// Revealed        Bounds, passes and names beforehand. To the linker: for every two lists how many
//                 of their rows have one key, in each pass, and how these pairs hang together, as
//                 numbers of rows in random order; so all sizes of overlaps, not the lengths of
//                 lists. To every holder: which of its rows match and by which pass, or that there
//                 are fewer matches than the minimum; nothing of overlaps of fewer than all lists.
//                 Level hidden: kHiddenExact the number of matches of all passes together, or that
//                 there are fewer than the minimum; kHiddenNobody nothing; kHiddenNoisy the noisy
//                 number, or that it is below the minimum. The positions of a holder's
//                 places are a uniformly random choice out of U without repetition, whatever matches.
// Deviations      Linker and one holder together can try any key against all lists, since that
//                 holder has the pseudonym key: they have all guessable keys. A linker that leaves
//                 out matches is not noticed, and lets later passes join other rows; one that joins
//                 rows whose keys of the pass differ is found by the comparison. It can test which
//                 places of a list are padding, by linking them: the holder stops before round 4.
//                 Holders with other shares of the key, which one gives, are found by the comparison,
//                 also below the minimum: `common` has the key. One that links below the minimum is found by the numbers.
//                 Level hidden: a linker that joins rows of different keys, or not those of one key, is
//                 not noticed; one that tells holders different U, or one that no number of matches
//                 from the minimum on gives, is. A linker that chooses positions instead of drawing them
//                 can tell a holder with them which of its rows match: holders trust it not to.
//                 A holder may list keys that it guesses, up to its bound in each pass.
// Failure         Two keys with one pseudonym: (places of all lists and passes)^2 / 2^129, below 2^-73
//                 for five lists of 10^7 rows and four passes, 2^-87 for two of 10^6 and one.
// Cost            LinkedJoinTraffic; 3 rounds and 2 of the comparison. n hashes a pass at each
//                 holder; the linker sorts. Memory at a holder some 20 bytes a place and 4 more a
//                 pass, at the linker 40 bytes a place and 16 more a pass.
// Timing          Padding and rows without a key take a hash of the same length. Not constant in
//                 which places are rows, nor in whether the minimum was reached: keys are looked up
//                 in the owner's memory, and linked rows are hashed again before rounds 4 and 5.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/progress.h"
#include "crypto/hash.h"
#include "crypto/random.h"
#include "match/key_list.h"
#include "match/level.h"
#include "net/channel.h"

namespace partita::match {

// The holders are the first parties of the channel, the linker is the last.
struct LinkedJoinTask {
  std::vector<uint64_t> bounds;  // by holder, of its list; at most 2^31 - 1
  size_t passes = 1;
  uint64_t minimum = 1;  // at least 1; kHiddenNobody: 0
  crypto::Digest session{};
  Progress* progress = nullptr;  // borrowed
  Level level = Level::kMatchedIds;
  int64_t noise = 0;  // kHiddenNoisy, at the linker: to be added to the number of matches
  size_t linker() const { return bounds.size(); }
  bool hidden() const { return IsHidden(level); }
  // Of the spine if so many rows match: U.
  uint64_t Positions(uint64_t matches) const;
};

struct LinkedJoin {
  bool linked = false;  // the minimum is reached
  // Of matches by pass; if linked, and always at the linker. At a holder, level hidden: of all passes
  // together (kHiddenExact), the noisy number of them (kHiddenNoisy), or empty.
  std::vector<uint64_t> counts;
  // At a holder: rows that match, pass after pass, in the common order; if linked.
  // Level hidden: by position of the spine, the row there or kNoRow. Rows without a key in any pass
  // are at none.
  std::vector<uint32_t> rows;
  // At a holder: of the keys of these rows under the holders' key, which nobody keeps: equal at all,
  // and no help in testing names. Level hidden: of that key, U and the number that was told.
  crypto::Digest common{};
};

// What party `from` sends to party `to` in rounds 1 to 3.
struct LinkedJoinTraffic {
  uint64_t messages = 0, bytes = 0;
};
LinkedJoinTraffic LinkedJoinTrafficBetween(const LinkedJoinTask& task, size_t from, size_t to);
// How the depth of a party grows in these rounds: 3 at a holder, 2 at the linker.
uint64_t LinkedJoinRounds(const LinkedJoinTask& task, size_t party);

// A holder's side of rounds 1 to 3. passes: as KeyList::passes, of a table of `rows` rows, at most
// the bound. Throws kPeerFault for an answer of the linker that cannot be, and what
// Channel::Exchange throws. Begins no phase of its own.
LinkedJoin JoinByLinker(net::Channel& channel, const LinkedJoinTask& task,
                        std::span<const std::vector<KeyedRow>> passes, uint64_t rows,
                        crypto::RandomSource& random);

// The linker's side. Throws kPeerFault if a list has a pseudonym twice.
LinkedJoin LinkLists(net::Channel& channel, const LinkedJoinTask& task,
                     crypto::RandomSource& random);

// Rounds 4 and 5 at every party; the linker has no part. Throws kPeerFault if the holders' matched
// rows are not of the same keys.
void CompareLinked(net::Channel& channel, const LinkedJoinTask& task, const LinkedJoin& join,
                   crypto::RandomSource& random);
// What `from` sends to `to` then, in 2 rounds: nothing to and from the linker.
LinkedJoinTraffic CompareLinkedTrafficBetween(const LinkedJoinTask& task, size_t from, size_t to);

}  // namespace partita::match
