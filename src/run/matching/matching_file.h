// The matching file: which institutions match their lists of people, by what, and how.
//
//   matching = 1
//   name = "cohort-2026"
//   keys = [["nid"], ["surname", "born"]]   # passes, the strictest first
//   duplicates = "refuse"                   # or "leave-out"
//   faulty = "refuse"                       # cells that do not fit their rule; or "leave-out"
//   minimum = 100                           # fewer matches of the first pass: nobody links a row
//   level = "matched-ids"                   # or "hidden": no holder learns which rows match
//   count = "exact"                         # of level hidden: or "nobody" learns how many match,
//                                           # or "noisy", with epsilon = 0.5, and delta = 1e-9
//                                           # for two holders without a linker
//
//   [[column]]
//   name = "born"
//   rule = "date"
//   format = "YYYY-MM-DD"
//
//   [[party]]
//   name = "registry"
//   rows = 50000                            # its list is padded up to it; everybody sees it
//   [[party.column]]                        # where its table differs
//   name = "born"
//   header = "geburtsdatum"
//   format = "DD.MM.YYYY"
//   missing_codes = ["01.01.1900"]
//
//   [[party]]                               # sees pseudonyms; needed for more than two lists
//   name = "trust"
//   role = "linker"
//
// docs/matching.md is for who writes one.
#pragma once

#include <string>
#include <vector>

#include "base/progress.h"
#include "match/key_list.h"
#include "match/level.h"
#include "run/matching/count_noise.h"

namespace partita::run {

inline constexpr uint64_t kMostMatchedRows = 10'000'000;
inline constexpr size_t kMostMatchedColumns = 16;
inline constexpr uint64_t kUsualMinimum = 20;  // of matches; also min_rows of a study

struct MatchingParty {
  std::string name;
  uint64_t rows = 0;                 // at most so many has its table
  std::vector<std::string> headers;  // by column of the key, what its table calls it
  match::KeySpec keys;               // as its table writes them
};

struct MatchingFile {
  std::string file_name;
  std::string text;  // the exact bytes, for hashing
  std::string name, title;
  uint64_t minimum = kUsualMinimum;  // 0: of level kHiddenNobody, where nobody tests one
  match::Level level = match::Level::kMatchedIds;
  CountNoise noise;                    // of level kHiddenNoisy
  std::vector<MatchingParty> parties;  // the holders, two to five
  std::string linker;                  // empty: none, and two holders

  bool linked() const { return !linker.empty(); }
  bool hidden() const { return match::IsHidden(level); }
  // Of all who take part, in the order of the channel: the holders, and then the linker.
  std::vector<std::string> Names() const;
};

// Throws kBadInput "FILE:LINE:COLUMN: ..." with a hint.
MatchingFile ParseMatchingFile(std::string text, std::string file_name);
MatchingFile LoadMatchingFile(const std::string& path);

// A holder by its name. Throws kUsage with the names there are.
const MatchingParty& MatchingPartyByName(const MatchingFile& file, const std::string& name);

// Reads the party's table and makes its list, without refusing anything (match::RequireUsable).
// progress: of reading; null: nobody asks.
match::KeyList ReadKeyList(const MatchingParty& party, const std::string& table, char separator,
                           Progress* progress = nullptr);

}  // namespace partita::run
