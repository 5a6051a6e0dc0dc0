// With whom a holder's lists have been matched: a file beside its private key, KEY.matchings, for its
// owner only, whatever table a list came from.
//
// Two matchings whose lists differ in one person tell whether that person is in the other's list
// (S. Guo et al., USENIX Security 2022, find 26 members in 135 runs), and no protocol here proves
// that a list is genuine. So the number of matchings of a source of data in 365 days is limited, over
// all partners and for each of them, failed ones included from the moment when a list may leave. The
// steward sets the limits, and sees the record before an approval is signed.
//
// A source is known by its people, not by a file's name: two lists are of one if a key of any pass is
// in both, or if they were matched by other passes, rules, headers, formats or codes for missing
// cells, which keeps one from knowing. For that, and to say in how many rows a list differs from
// earlier ones, the file has digests of rows and keys under a secret of its own; those of matchings
// that no longer count go when the next one is entered. It is as private as the tables. A holder that
// takes another key starts another record, and a copy of a key under another name one of its own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "crypto/random.h"
#include "match/key_list.h"

namespace partita::run {

inline constexpr uint64_t kMatchingsPerYear = 5;  // of a source, unless its steward says otherwise
inline constexpr uint64_t kMostMatchingsPerYear = 1000;
inline constexpr int64_t kMatchingYear = int64_t{365} * 86'400;

// Matchings with somebody are those under its name or with its certificate.
struct Partner {
  std::string name, fingerprint;
  uint64_t bound = 0;  // of its list
};

// What a list is known again by.
struct ListMark {
  crypto::Digest columns{};       // match::ColumnsDigest: of others digests say nothing
  crypto::Digest passes{};        // match::PassesDigest: of others keys say nothing
  std::vector<uint64_t> digests;  // of the rows that have a key, sorted
  std::vector<uint64_t> keys;     // digests of the keys of all passes, sorted
};

struct PastMatching {
  crypto::Digest run_id{};
  std::string matching, table;    // table: the file's name, for its owner
  std::vector<Partner> partners;  // the other holders
  std::string linker;             // empty: none
  int64_t at = 0;
  uint64_t own_bound = 0;
  std::vector<uint64_t> counts;  // of matches, by pass; as far as this party came to know them
  bool noisy = false;            // they have noise
  ListMark list;
};

// KEY.matchings, of the file that a symbolic link names.
std::filesystem::path PastMatchingsPath(const std::filesystem::path& key);

class PastMatchings {
 public:
  // Reads the record; none: nothing was matched. Throws kBadInput if it is damaged or
  // others may read it.
  PastMatchings(std::filesystem::path file, crypto::RandomSource& random);

  const std::vector<PastMatching>& all() const { return all_; }
  uint64_t limit() const { return limit_; }
  // The lowest of those under any name that its certificate had.
  uint64_t LimitWith(const Partner& partner) const;
  // Of `list` under this record's secret. columns, passes: its ColumnsDigest and PassesDigest.
  ListMark MarkOf(const match::KeyList& list, const crypto::Digest& columns,
                  const crypto::Digest& passes) const;
  // In the 365 days before `now`, of the source of `list`; null: of any. With `partner`, or with
  // anybody.
  uint64_t NumSince(int64_t now, const ListMark* list,
                    const std::optional<Partner>& partner = {}) const;

  // Throws kRefused, naming the limit, if no matching of `list` with all of `partners` is left.
  void Require(const std::vector<Partner>& partners, const ListMark& list, int64_t now) const;
  // Enters a matching, durably, before its first list leaves: requires it again by what other runs
  // entered since.
  void Begin(PastMatching entry);
  // The count of one more pass of the matching that was entered.
  void AddCount(uint64_t count);
  // partner: empty: over all partners.
  void SetLimit(const std::string& partner, uint64_t limit);

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

// "750", "743, with noise", "not known".
std::string CountsText(const PastMatching& entry);

// "registry, office".
std::string PartnerNames(const PastMatching& entry);

// What a steward reads before it approves one more with `partners`: limits, past matchings, and in
// how many rows `list` differs from theirs, where they were matched by the same columns.
std::string PastMatchingsText(const PastMatchings& past, const std::vector<Partner>& partners,
                              const ListMark& list, int64_t now);

}  // namespace partita::run
