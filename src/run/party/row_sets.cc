#include "run/party/row_sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "crypto/hash.h"
#include "crypto/state_file.h"
#include "data/csv_tokenizer.h"
#include "data/source/open_table.h"
#include "run/matching/matched_rows.h"
#include "run/party/locked_file.h"

namespace partita::run {
namespace {

const crypto::StateKind kRowSetsKind = {
    "partita row sets 1", "the record of served rows",
    "bring it back from a backup, or delete it if no exact result of this table was released"};

struct TableRecord {
  uint64_t digest = 0;
  std::vector<uint64_t> as_keys;  // of every cell, as if its column were the key; if asked for
  std::string key, block;
};

// What sets of rows begin with of which nobody knows which match: no digest, and then one that stands
// for their matching.
constexpr uint64_t kHiddenSet = 1;
// Also in sets of all cells of such rows: these stand for keys of studies with a key column alone, since
// rows of different people have many cells in common.
constexpr uint64_t kCellsAsKeys = 2;

bool Has(std::span<const uint64_t> set, uint64_t digest) {
  return std::binary_search(set.begin(), set.end(), digest);
}

// Of rows.
bool HaveCommon(std::span<const uint64_t> a, std::span<const uint64_t> b) {
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j] && a[i] > kCellsAsKeys) return true;
    a[i] < b[j] ? ++i : ++j;
  }
  return false;
}

uint64_t FirstBytes(const crypto::Digest& digest) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof value; ++i) value |= uint64_t{digest[i]} << (8 * i);
  return value;
}

uint64_t KeyDigest(const crypto::Key& key, const std::string& text) {
  crypto::Sha256 hash;
  hash.Field(key.Expose()).Field("key").Field(text);
  return FirstBytes(hash.Finish());
}

size_t ColumnOf(const std::vector<std::string>& header, const std::string& name) {
  return static_cast<size_t>(std::find(header.begin(), header.end(), name) - header.begin());
}

// Gives the table's records to `take`, in the order of the file; one at a time is in memory.
void ForEachRecord(const Study& study, const std::filesystem::path& data, const crypto::Key& key,
                   bool every_column, const std::function<void(TableRecord record)>& take) {
  data::CsvOptions options;
  options.separator = study.file.table.separator;
  options.decimal = study.file.table.decimal;
  const data::OpenedTable opened = data::OpenTableFile(data);
  options = data::WithDialect(options, opened.dialect);
  const data::ByteObserver none;
  data::CsvTokenizer csv(opened.bytes, data.string(), options, none);
  std::vector<std::string> texts;
  std::string scratch;
  crypto::Sha256 hash;
  size_t key_column = 0, block_column = 0;
  for (bool header = true; csv.Next(); header = false) {
    texts.resize(csv.fields().size());
    for (size_t f = 0; f < texts.size(); ++f)
      texts[f] = data::CsvTokenizer::Text(csv.fields()[f], scratch);
    if (header) {
      key_column = ColumnOf(texts, study.row_columns.key);
      block_column = ColumnOf(texts, study.row_columns.block);
      continue;
    }
    TableRecord record;
    if (key_column < texts.size()) {
      record.key = texts[key_column];
      record.digest = KeyDigest(key, record.key);
    } else {
      hash.Field(key.Expose()).Field("cells");
      for (const std::string& text : texts) hash.Field(text);
      record.digest = FirstBytes(hash.Finish());
    }
    if (block_column < texts.size()) record.block = texts[block_column];
    if (every_column) {
      for (const std::string& text : texts) record.as_keys.push_back(KeyDigest(key, text));
    }
    take(std::move(record));
  }
}

std::vector<TableRecord> ReadRecords(const Study& study, const std::filesystem::path& data,
                                     const crypto::Key& key, bool every_column = false) {
  std::vector<TableRecord> records;
  ForEachRecord(study, data, key, every_column,
                [&](TableRecord record) { records.push_back(std::move(record)); });
  return records;
}

// Digests of the rows that are chosen; 0 is of a position without a row.
RowDigests Chosen(std::vector<uint64_t> digests, std::span<const uint8_t> chosen) {
  size_t kept = 0;
  for (size_t r = 0; r < digests.size(); ++r) {
    if (chosen[r] != 0 && digests[r] != 0) digests[kept++] = digests[r];
  }
  digests.resize(kept);
  return digests;
}

// Of the holding's block; null: it is not matched.
const study::RowMatch* MatchOf(const Study& study, const data::Holding& holding) {
  for (const data::BlockRows& block : holding.blocks) {
    for (const study::RowBlock& spec : study.file.blocks) {
      if (spec.name == study.partition.blocks[block.block].name && spec.match) return &*spec.match;
    }
  }
  return nullptr;
}

[[noreturn]] void ThrowTableChanged() {
  throw Error(ErrorCode::kBadData, "the table changed while it was read", "start again");
}

uint64_t HiddenMatching(const study::RowMatch& match, const crypto::Key& key) {
  crypto::Sha256 hash;
  hash.Field(key.Expose()).Field("hidden matching").Update(match.record);
  return FirstBytes(hash.Finish());
}

// In the common order: of what was matched, whatever other columns the table has meanwhile, and of the
// records, whatever they were matched by.
std::vector<std::vector<uint64_t>> MatchedDigests(const study::RowMatch& match,
                                                  const LocalData& local,
                                                  const std::vector<TableRecord>& records,
                                                  const std::filesystem::path& data,
                                                  const crypto::Key& key) {
  const MatchedRows matched = LoadMatchedRows(MatchedRowsPath(data, match.matching));
  SilentProgress silent;
  const match::KeyList list = RequireSameKeys(matched, data, silent);
  if (matched.rows != local.matched) ThrowTableChanged();
  if (list.texts.size() != records.size()) ThrowTableChanged();
  std::vector<uint64_t> by_keys, by_records;
  for (const uint32_t row : matched.rows) {
    if (row == match::kNoRow) {  // no holder chooses what it has not
      by_keys.push_back(0);
      by_records.push_back(0);
      continue;
    }
    crypto::Sha256 hash;
    hash.Field(key.Expose()).Field("matched").Update(list.texts[row]);
    by_keys.push_back(FirstBytes(hash.Finish()));
    by_records.push_back(records[row].digest);
  }
  return {by_keys, by_records};
}

// A study with a key column names rows by it, and which column that was or will be a matching does
// not know: of hidden rows, the cells of all of them, so that a keyed study of any has one in common.
std::vector<uint64_t> CellsAsKeys(const Study& study, const LocalData& local,
                                  const std::filesystem::path& data, const crypto::Key& key) {
  const std::vector<TableRecord> records = ReadRecords(study, data, key, true);
  std::vector<uint64_t> digests;
  for (const uint32_t row : local.matched) {
    if (row == match::kNoRow) continue;
    if (row >= records.size()) ThrowTableChanged();
    digests.insert(digests.end(), records[row].as_keys.begin(), records[row].as_keys.end());
  }
  return digests;
}

// In the order of the holding's table, by every way to name its rows.
std::vector<std::vector<uint64_t>> DigestsOf(const Study& study, const LocalData& local,
                                             const std::filesystem::path& data,
                                             const crypto::Key& key) {
  const data::Holding& holding = local.holding;
  if (data::HoldsOneBlockAlone(study.partition, holding.party)) {
    std::vector<std::vector<uint64_t>> digests(1);
    ForEachRecord(study, data, key, false,
                  [&](const TableRecord& record) { digests.front().push_back(record.digest); });
    if (digests.front().size() != local.cells.rows) ThrowTableChanged();
    return digests;
  }
  const std::vector<TableRecord> records = ReadRecords(study, data, key);
  // A matched block is the only one of its holder.
  if (const study::RowMatch* match = MatchOf(study, holding))
    return MatchedDigests(*match, local, records, data, key);
  std::vector<uint64_t> digests;
  for (const data::BlockRows& block : holding.blocks) {
    const std::string& name = study.partition.blocks[block.block].name;
    std::vector<const TableRecord*> rows;
    for (const TableRecord& record : records) {
      if (holding.blocks.size() == 1 || record.block == name) rows.push_back(&record);
    }
    if (block.shared) {
      std::sort(rows.begin(), rows.end(),
                [](const TableRecord* a, const TableRecord* b) { return a->key < b->key; });
    }
    for (const TableRecord* row : rows) digests.push_back(row->digest);
  }
  if (digests.size() != holding.table->num_rows) ThrowTableChanged();
  return {digests};
}

}  // namespace

std::filesystem::path RowSetsPath(const std::filesystem::path& data) {
  return data::FileOfRows(data).string() + ".row-sets";
}

uint64_t RowsApart(std::span<const uint64_t> a, std::span<const uint64_t> b) {
  uint64_t apart = 0;
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (a[i] == b[j]) {
      ++i;
      ++j;
      continue;
    }
    ++apart;
    a[i] < b[j] ? ++i : ++j;
  }
  return apart + (a.size() - i) + (b.size() - j);
}

RowSets::RowSets(std::filesystem::path file, crypto::RandomSource& random)
    : file_(std::move(file)), key_(crypto::RandomKey(random)) {
  kept_ = Read();
}

void RowSets::Require(const Study& study, size_t party, const LocalData& local,
                      const std::filesystem::path& data) {
  asked_.clear();
  matching_ = 0;
  const std::vector<std::vector<uint8_t>> sets = study.ExactRowSets(*local.method, local.holding);
  if (sets.empty()) return;
  party_ = study.parties[party].name;
  least_ = study.LeastRowsApart();
  if (!kept_) {
    // The key is fixed before the first digest: runs that begin at once come to the same.
    const LockedFile locked(file_, kRowSetsKind.name);
    if (!Read()) Write();
    kept_ = true;
  }
  std::vector<std::vector<uint64_t>> ways = DigestsOf(study, local, data, key_);
  const study::RowMatch* match = MatchOf(study, local.holding);
  if (match != nullptr && match->hidden) matching_ = HiddenMatching(*match, key_);
  for (size_t s = 0; s < sets.size(); ++s) {
    std::vector<RowDigests>& asked = asked_.emplace_back();
    for (std::vector<uint64_t>& digests : ways) {
      RowDigests& set =
          asked.emplace_back(Chosen(s + 1 < sets.size() ? digests : std::move(digests), sets[s]));
      if (matching_ != 0) set.insert(set.end(), {kHiddenSet, matching_});
    }
    if (matching_ != 0) {
      RowDigests& set = asked.emplace_back(CellsAsKeys(study, local, data, key_));
      set.insert(set.end(), {kHiddenSet, kCellsAsKeys, matching_});
    }
    for (RowDigests& set : asked) {
      std::sort(set.begin(), set.end());
      set.erase(std::unique(set.begin(), set.end()), set.end());
    }
  }
  RequireApart();
}

void RowSets::Record() {
  if (asked_.empty()) return;
  const LockedFile locked(file_, kRowSetsKind.name);
  const crypto::Key asked_under = key_;
  Read();
  if (asked_under.Expose() != key_.Expose()) {  // digests under two keys say nothing of each other
    throw Error(ErrorCode::kRefused,
                fmt::format("the record of served rows, {}, was replaced while this run began",
                            file_.string()),
                "start again");
  }
  RequireApart();
  bool changed = false;
  for (std::vector<RowDigests>& asked : asked_) {
    for (RowDigests& set : asked) {
      if (std::find(served_.begin(), served_.end(), set) != served_.end()) continue;
      served_.push_back(std::move(set));
      changed = true;
    }
  }
  asked_.clear();
  if (changed) Write();
}

bool RowSets::Read() {
  const std::optional<SecretBytes> bytes = crypto::ReadState(kRowSetsKind, file_);
  served_.clear();
  if (!bytes) return false;
  crypto::DecodeState(kRowSetsKind, bytes->Expose(), {}, [this](ByteReader& content) {
    const ByteView key = content.Raw(key_.Expose().size());
    std::copy(key.begin(), key.end(), key_.Expose().begin());
    const uint64_t num_sets = content.U64();
    for (uint64_t s = 0; s < num_sets; ++s) {
      const uint64_t rows = content.U64();
      RowDigests& set = served_.emplace_back();
      for (uint64_t r = 0; r < rows; ++r) set.push_back(content.U64());
    }
  });
  return true;
}

void RowSets::Write() const {
  ByteWriter content;
  content.Raw(key_.Expose());
  content.U64(served_.size());
  for (const RowDigests& set : served_) {
    content.U64(set.size());
    for (const uint64_t digest : set) content.U64(digest);
  }
  crypto::WriteState(file_, crypto::EncodeState(kRowSetsKind, {}, content.Take()));
}

// Of hidden rows nobody knows by how many people the rows of two studies differ. The sets of one
// matching have its digest in common.
void RowSets::RequireComparable(const RowDigests& set, const RowDigests& served) const {
  if (!Has(set, kHiddenSet) && !Has(served, kHiddenSet)) return;
  const bool cells = Has(set, kCellsAsKeys) && Has(served, kCellsAsKeys) && !Has(served, matching_);
  if (set == served || cells || !HaveCommon(set, served)) return;
  throw Error(ErrorCode::kRefused,
              fmt::format("party {} has served other rows of this table, or the same with other "
                          "cells, and of one of the two studies which rows match is hidden: exact "
                          "results of both could show the people in which they differ, or whether "
                          "these match, and how few these are nobody can see",
                          party_),
              fmt::format("ask for the rows that were served, of the same matching and of the same "
                          "table, cell by cell; what was served is in {}",
                          file_.string()));
}

void RowSets::RequireApart() const {
  const auto was_served = [this](const RowDigests& set) {
    return std::find(served_.begin(), served_.end(), set) != served_.end();
  };
  std::vector<const RowDigests*> anew;
  for (const std::vector<RowDigests>& asked : asked_) {
    // Hidden rows are the same if no cell of them has changed.
    if (matching_ != 0 ? std::all_of(asked.begin(), asked.end(), was_served)
                       : std::any_of(asked.begin(), asked.end(), was_served))
      continue;
    for (const RowDigests& set : asked) anew.push_back(&set);
  }
  for (const RowDigests* const set : anew) {
    for (const RowDigests& served : served_) {
      RequireComparable(*set, served);
      const uint64_t apart = RowsApart(*set, served);
      if (apart == 0 || apart >= least_) continue;
      throw Error(
          ErrorCode::kRefused,
          fmt::format("party {} has served rows of this table that differ from those of this study "
                      "by {}, fewer than {}: exact results of both would show these rows",
                      party_, apart, least_),
          fmt::format("use the same rows as before: where missing cells leave rows out, let every "
                      "study of this table say the same [population], subset = [{{variable = ..., "
                      "present = true}}]; what was served is in {}",
                      file_.string()));
    }
  }
}

void RequireServable(const Study& study, size_t party, const std::filesystem::path& data,
                     const std::filesystem::path& record, crypto::RandomSource& random,
                     Progress& progress) {
  if (!study.parties[party].holder || !std::filesystem::exists(record)) return;
  const LocalData local = LoadLocalData(study, party, data, crypto::RandomKey(random), progress);
  RowSets(record, random).Require(study, party, local, data);
}

}  // namespace partita::run
