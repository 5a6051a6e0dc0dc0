// The result of a matching at one of its holders: which of its rows match, in the order that is
// common to all; level hidden: at which positions of the common order its rows stand. It lies beside the table, TABLE_FOLDER/MATCHING.matched, readable by its owner only,
// and is what studies with `[rows.match]` take their rows from.
//
// Bound to what it came from: `record` is a digest that all holders have the same of, over the
// matching file, the plan, the run, all commitments, the numbers of matches and `common`, which
// stands for the matched people themselves (match/two_party_join.h, match/linked_join.h). A study
// file names the record; in the run of the study the holders compare `common` by an equality test.
// The file has no keys: it commits to the table's (match::CommitToKeys), so that a table that changed
// is noticed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/progress.h"
#include "crypto/hash.h"
#include "crypto/random.h"
#include "match/key_list.h"
#include "match/level.h"
#include "study/file/study_file.h"

namespace partita::run {

struct MatchedRows {
  std::string matching, party;
  std::vector<std::string> partners;  // the other holders
  std::string linker;                 // empty: none
  std::string file_text;              // of the matching file, whose rules make the keys
  char separator = ',';
  int64_t at = 0;
  std::string unicode;  // version by which its keys were folded
  crypto::Digest record{}, common{};
  crypto::Digest commitment{};  // to the table's keys, under the salt
  crypto::Key salt;
  uint64_t table_rows = 0;
  match::Level level = match::Level::kMatchedIds;
  // Of matches, by pass; level hidden: of all passes together (kHiddenExact), with noise (kHiddenNoisy),
  // or none.
  std::vector<uint64_t> counts;
  // Of the table, from 0, in the common order; level hidden: by position, match::kNoRow where this
  // holder has none.
  std::vector<uint32_t> rows;
  bool hidden() const { return match::IsHidden(level); }
};

// As [rows.match] of a study says it.
match::Level LevelOf(const study::RowMatch& match);
study::MatchCount CountOf(match::Level level);

// Beside the table.
std::filesystem::path MatchedRowsPath(const std::filesystem::path& table,
                                      const std::string& matching);

// What all holders have the same of.
struct MatchingRecord {
  crypto::Digest agreement_hash{}, plan_hash{}, run_id{}, common{};
  std::vector<crypto::Digest> commitments;  // by party
  uint64_t minimum = 0;
  std::vector<uint64_t> counts;
  uint64_t positions = 0;  // level hidden; else 0
};
crypto::Digest RecordDigest(const MatchingRecord& record);

Bytes EncodeMatchedRows(const MatchedRows& matched);
// Durable on return, readable by the owner only. Overwrites.
void SaveMatchedRows(const MatchedRows& matched, const std::filesystem::path& file);
// The same to a file that was not there, else to one beside it whose name ends in the record: a run
// counts, so that its result is kept in any case. Returns where it is.
std::filesystem::path SaveNewMatchedRows(const MatchedRows& matched,
                                         const std::filesystem::path& file);
// Throws kBadInput if others may read the file: who has it knows who is in the other lists.
void RequireOwnersResult(const std::filesystem::path& file);
// Throws kBadInput if the file is not there or damaged.
MatchedRows LoadMatchedRows(const std::filesystem::path& file);
// Throws kBadInput for whatever SaveMatchedRows does not write.
MatchedRows DecodeMatchedRows(ByteView bytes);

// Reads the keys of the table again. Throws kBadData if they are not those that were matched;
// kRefused if this program folds texts by another version of Unicode, so that it cannot know.
match::KeyList RequireSameKeys(const MatchedRows& matched, const std::filesystem::path& table,
                               Progress& progress);

}  // namespace partita::run
