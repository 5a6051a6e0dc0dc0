// One holder's keys, ready to be matched: canonical bytes, without rows that have no key, and without
// keys that several of its rows have.
//
// Duplicates are looked for after normalisation and in the whole list, before anything is sent: what
// two rows of one key mean to a join is not defined, and two equal elements would mark a row through
// every shuffle.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crypto/buffered_hash.h"
#include "crypto/hash.h"
#include "crypto/random.h"
#include "match/key_columns.h"
#include "match/key_rule.h"

namespace partita::match {

inline constexpr size_t kMostPasses = 4;

struct KeyColumn {
  std::string name;
  KeyRule rule;
};

enum class Unusable { kRefuse, kLeaveOut };

// What the holders agree on, in the matching file.
struct KeySpec {
  std::vector<KeyColumn> columns;
  std::vector<std::vector<size_t>> passes;  // columns of each, the strictest pass first
  Unusable duplicates = Unusable::kRefuse;
  Unusable faulty = Unusable::kRefuse;  // cells that do not fit their rule
};

// A row and what of it is matched: SHA-256 over the label, the rules (RulesDigest), the pass and the
// canonical texts, length-prefixed. Never leaves its owner: whoever has it can try names.
struct KeyedRow {
  uint32_t row = 0;
  crypto::Digest key{};
};

// Over the pass, the kinds of its rules in order, and the version of Unicode: texts of one rule mean
// nothing under another. How dates are written and which codes mean missing is each holder's own.
crypto::Digest RulesDigest(const KeySpec& spec, size_t pass);
crypto::Digest KeyOf(const crypto::Digest& rules, const std::vector<std::string>& texts);
// Over all columns in the order of their names: name, rule, codes for missing cells, format of dates,
// and of `headers`, by column, what the table calls it. KeyList::texts of one are comparable with
// those of another that has the same.
crypto::Digest ColumnsDigest(const KeySpec& spec, std::span<const std::string> headers);
// Over RulesDigest and columns of every pass: keys of one are comparable with those of another.
crypto::Digest PassesDigest(const KeySpec& spec);

// What only the owner is shown.
struct FaultyCell {
  uint64_t line = 0;
  std::string column, problem;
};
struct DuplicateKey {
  std::vector<uint64_t> lines;
};
struct PassReport {
  uint64_t usable = 0;
  uint64_t without_key = 0;  // a part of it is missing, or faulty
  std::vector<DuplicateKey> duplicates;
};
struct KeyReport {
  uint64_t rows = 0;
  std::vector<uint64_t> missing, changed;  // by column: cells
  std::vector<FaultyCell> faulty;          // by line
  std::vector<PassReport> passes;
};

struct KeyList {
  std::vector<std::vector<KeyedRow>> passes;  // by row
  KeyReport report;
  // By row: SHA-256 over the canonical texts of all columns, in the order of their names, whatever
  // the passes and the version of Unicode: by what an owner knows a row again in another matching.
  // Never leaves its owner, as keys.
  std::vector<crypto::Digest> texts;
};

// Makes a list of rows that come one after the other, of which no cell is kept. Memory 40 bytes a row
// and pass, and 40 a row; at the end 16 more a row, once.
class KeyListMaker {
 public:
  // spec: borrowed. Room is kept, not taken, for so many rows.
  explicit KeyListMaker(const KeySpec& spec, uint64_t most_rows = 0);
  // cells: by column of the spec. line: in the file, for the report.
  void Add(uint64_t line, std::span<const std::string> cells);
  KeyList Finish();

 private:
  void AddKey(size_t pass, uint32_t row);
  void AddTexts();

  const KeySpec& spec_;
  std::vector<crypto::Digest> rules_;              // by pass
  std::vector<size_t> by_name_;                    // columns
  std::vector<std::optional<std::string>> texts_;  // of one row
  std::vector<std::string_view> parts_;            // of a key: of these texts
  crypto::BufferedSha256 hash_;                    // one for all rows: a new one takes longer
  std::vector<uint64_t> lines_;                    // by row
  KeyList list_;
};

// Takes the rows of keys that several rows have out of a pass, which is by row and stays so, into the
// report. lines: by row.
void TakeOutDuplicates(const std::vector<uint64_t>& lines, std::vector<KeyedRow>& pass,
                       PassReport& report);

KeyList MakeKeyList(const KeySpec& spec, const KeyCells& cells);

// Commits under `salt` to how many rows there are and to the key of each in every pass: a table that
// changed in nothing that is matched has the same. Without the salt it tells nothing of the keys.
crypto::Digest CommitToKeys(const KeyList& list, const crypto::Key& salt);

// Throws kBadData at the owner if the report has what the spec refuses, naming lines, and no text.
void RequireUsable(const KeySpec& spec, const KeyReport& report, const std::string& source_name);

}  // namespace partita::match
