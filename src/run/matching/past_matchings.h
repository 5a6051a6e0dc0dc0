// With whom a table has been matched: a file beside it, TABLE.matchings, for its owner only.
//
// Two matchings whose lists differ in one person tell whether that person is in the other's list
// (S. Guo et al., USENIX Security 2022, find 26 members in 135 runs), and no protocol here proves
// that a list is genuine. So the number of matchings of a table in 365 days is limited, over all
// partners and for each of them, failed ones included from the moment when a list may leave. The
// steward sets the limits, and sees the record before an approval is signed.
//
// Of the keys the file has digests under a secret of its own, for one thing: to say in how many
// rows the own list differs from earlier ones. It is as private as the table. It does not know of
// copies of the table elsewhere, and an export under another name has a record of its own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "crypto/random.h"
#include "match/key_list.h"

namespace partita::run {

inline constexpr uint64_t kMatchingsPerYear = 5;  // of a table, unless its steward says otherwise
inline constexpr uint64_t kMostMatchingsPerYear = 1000;
inline constexpr int64_t kMatchingYear = int64_t{365} * 86'400;

// Matchings with somebody are those under its name or with its certificate.
struct Partner {
  std::string name, fingerprint;
};

struct PastMatching {
  crypto::Digest run_id{};
  std::string matching, peer, fingerprint;  // of the peer's certificate
  int64_t at = 0;
  uint64_t own_bound = 0, peer_bound = 0;
  std::vector<uint64_t> counts;   // of matches, by pass; as far as this party came to know them
  crypto::Digest columns{};       // match::ColumnsDigest: of others digests say nothing
  std::vector<uint64_t> digests;  // of the rows that had a key, sorted
};

// TABLE.matchings, of the file that a symbolic link names.
std::filesystem::path PastMatchingsPath(const std::filesystem::path& table);

class PastMatchings {
 public:
  // Reads the record; none: nothing was matched. Throws kBadInput if it is damaged or
  // others may read it.
  PastMatchings(std::filesystem::path file, crypto::RandomSource& random);

  const std::vector<PastMatching>& all() const { return all_; }
  uint64_t limit() const { return limit_; }
  // The lowest of those under any name that its certificate had.
  uint64_t LimitWith(const Partner& peer) const;
  // In the 365 days before `now`; with `peer`, or with anybody.
  uint64_t NumSince(const Partner& peer, int64_t now) const;
  uint64_t NumSince(int64_t now) const;
  // By which lists are compared under this record's secret.
  std::vector<uint64_t> DigestsOf(const match::KeyList& list) const;

  // Throws kRefused, naming the limit, if no matching with `peer` is left at `now`.
  void Require(const Partner& peer, int64_t now) const;
  // Enters a matching, durably, before its first list leaves: requires it again by what other runs
  // entered since. `list` gives its digests, and `columns` is its ColumnsDigest.
  void Begin(PastMatching entry, const match::KeyList& list, const crypto::Digest& columns);
  // The count of one more pass of the matching that was entered.
  void AddCount(uint64_t count);
  // peer: empty: over all partners.
  void SetLimit(const std::string& peer, uint64_t limit);

 private:
  void Read();
  void Write() const;

  std::filesystem::path file_;
  crypto::Key key_;
  uint64_t limit_ = kMatchingsPerYear;
  std::map<std::string, uint64_t> limits_;
  std::vector<PastMatching> all_;
  crypto::Digest entered_{};
};

// What a steward reads before it approves one more with `peer`: limits, past matchings, and in how
// many rows `list` differs from theirs, where they were matched by the same columns.
std::string PastMatchingsText(const PastMatchings& past, const Partner& peer,
                              const match::KeyList& list, const crypto::Digest& columns,
                              int64_t now);

}  // namespace partita::run
