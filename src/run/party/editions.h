// Editions of a table that changes: between two dates every exact study sees the same rows.
//
// Two exact results of a table on consecutive days subtract to yesterday's patients. What row_sets.h compares, which
// rows were served, does not show it where the two name rows in other ways, ask for other columns, or a cell has
// changed of somebody who was there before. So an exact study of a table that may change (data::MayChange) is given
// not the rows of now but those of the newest edition: all columns and rows of the table as they stood when it was
// opened, in a file that does not change. All columns, for then a row is the same row in the record of row sets
// whatever columns a study asks for.
//
// One home each: row_sets.h knows which rows of an edition exact results are about, this file by how many persons
// editions differ.
//
// Opened    The first by the first exact study. Any other by the steward, or by the first exact study after the
//           table's date (`edition` of the source file), and only if it differs from every edition that was served,
//           in every column, in nobody or in at least `edition_rows` persons, and in as many as an exact study of the
//           table has asked for; else the old one stays. The steward may open it against this rule, and says why.
// Used      An exact study is refused where its edition differs from one that was served, in a column that it asks
//           for, in fewer persons than its method says (EditionUse::least), but in some. This is what protects, and
//           no reason of a steward's changes it.
// A person  All rows with one key, in the column that the source file names (`key`). Without it nobody can tell by
//           how many persons two editions differ, and after an exact study only that edition is served.
// Counted   An edition is served when an exact study is given its rows, whether or not it runs.
// Not seen  Other subsets of two editions: row_sets.h compares these by key or by whole rows.
//
// Studies with noise of their own need no edition: what they protect does not hang on what others were told.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/source/freeze.h"
#include "data/source/source_file.h"
#include "run/method/study.h"
#include "run/party/edition_record.h"

namespace partita::run {

struct EditionTable {
  std::filesystem::path source;  // what OpenTable reads: data::MayChange
  std::filesystem::path record;  // edition_record.h
};
// SOURCE.edition
std::filesystem::path EditionRecordPath(const std::filesystem::path& source);

// Whether it is for editions: of a table that may change, a study that opens anything without noise.
bool NeedsEdition(const Study& study, const std::filesystem::path& source);

// Where nobody says for which study: any column, and as many persons as the rule for opening asks for.
struct EditionUse {
  std::vector<std::string> columns;  // that the study reads (table_columns.h); empty: any
  uint64_t least = 0;                // persons
};
EditionUse UseOf(const Study& study, size_t party);

// Marks the newest edition as served and has `take` copy or link its file, while nobody else opens one. Opens it where
// there is none, or it is time and the rule allows it. now: UTC. Throws kRefused by what stands at Used, for the
// owner's eyes; kBadInput if a file of the edition is missing or damaged; as data::Freeze.
Edition UseEdition(
    const EditionTable& table, const EditionUse& use, int64_t now, crypto::RandomSource& random,
    const std::function<void(const std::filesystem::path& extract, const Edition& edition)>& take);

struct EditionOpening {
  std::string reason;             // empty: by the rule alone
  std::vector<std::string> keys;  // of persons who are left out from now on
};
struct OpenedEdition {
  Edition edition;
  uint64_t keys_found =
      0;  // of those asked for: in rows of the table now, or of the edition before
};
// Where keys are named whose rows the newest edition has not, and nothing else has changed, that one stays. Throws
// kRefused by the rule, with the counts, and kUsage where keys are named and the source file names no column of
// them; nothing has changed then. As data::Freeze.
OpenedEdition OpenEdition(const EditionTable& table, const EditionOpening& opening, int64_t now,
                          crypto::RandomSource& random);

// For the steward's eyes.
struct EditionLook {
  std::vector<Edition> editions;
  uint64_t least = 0;      // by the rule, as it stands now
  bool due = false;        // its date has come
  uint64_t withdrawn = 0;  // keys
  uint64_t rows_now = 0;
  // The rows of now beside the newest edition; none without an edition or a key.
  std::optional<data::PersonsApart> since;
};
// Reads the table.
EditionLook LookAtEdition(const EditionTable& table, int64_t now);

// Of those who are left out: also of rows that a study with noise is given. Throws kBadInput.
data::DroppedRows WithdrawnRows(const EditionTable& table);

// "edition of 2026-11-28, 312 rows"
std::string EditionText(const Edition& edition);

}  // namespace partita::run
