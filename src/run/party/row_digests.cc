#include "run/party/row_digests.h"

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <string>

#include "base/error.h"
#include "base/secret.h"
#include "crypto/hash.h"
#include "data/csv_tokenizer.h"
#include "data/source/open_table.h"
#include "run/matching/matched_rows.h"

namespace partita::run {
namespace {

struct TableRecord {
  uint64_t digest = 0;
  std::vector<uint64_t> as_keys;  // of every cell, as if its column were the key; if asked for
  std::string key, block;
};

uint64_t FirstBytes(const crypto::Digest& digest) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof value; ++i) value |= uint64_t{digest[i]} << (8 * i);
  return value;
}

// FirstBytes of Sha256's Field(key), Field(label) and Field(text) of each text, the same message in two pieces:
// most of the time of a short row goes by the number of pieces.
class KeyedDigest {
 public:
  KeyedDigest(const crypto::Key& key, std::string_view label)
      : head_(2 * kLengthBytes + key.Expose().size() + label.size()) {
    uint8_t* out = head_.Expose().data();
    for (const ByteView part : {ByteView(key.Expose()), AsBytes(label)}) {
      out = PutLength(part.size(), out);
      out = std::copy(part.begin(), part.end(), out);
    }
  }

  void Add(std::string_view text) {
    std::array<uint8_t, kLengthBytes> length{};
    PutLength(text.size(), length.data());
    texts_.append(reinterpret_cast<const char*>(length.data()), length.size());
    texts_.append(text);
  }

  // Of what was added since the last time.
  uint64_t Finish() {
    hash_.Update(head_.Expose()).Update(AsBytes(texts_));
    texts_.clear();
    return FirstBytes(hash_.Finish());
  }

  uint64_t Of(std::string_view text) {
    Add(text);
    return Finish();
  }

 private:
  static constexpr size_t kLengthBytes = 8;

  static uint8_t* PutLength(uint64_t length, uint8_t* out) {
    for (size_t i = 0; i < kLengthBytes; ++i) *out++ = static_cast<uint8_t>(length >> (8 * i));
    return out;
  }

  SecretBytes head_;
  std::string texts_;
  crypto::Sha256 hash_;
};

size_t ColumnOf(const std::vector<std::string>& header, const std::string& name) {
  return static_cast<size_t>(std::find(header.begin(), header.end(), name) - header.begin());
}

// Gives the table's records to `take`, in the order of the file; one at a time is in memory.
void ForEachRecord(const Study& study, const std::filesystem::path& data, const crypto::Key& key,
                   bool every_column, const std::function<void(TableRecord& record)>& take) {
  data::CsvOptions options;
  options.separator = study.file.table.separator;
  options.decimal = study.file.table.decimal;
  const data::OpenedTable opened = data::OpenTableFile(data);
  options = data::WithDialect(options, opened.dialect);
  const data::ByteObserver none;
  data::CsvTokenizer csv(opened.bytes, data.string(), options, none);
  if (!csv.Next()) return;
  std::string scratch;
  const auto text = [&](const data::CsvField& field) {
    return data::CsvTokenizer::Text(field, scratch);
  };
  std::vector<std::string> header;
  for (const data::CsvField& field : csv.fields()) header.emplace_back(text(field));
  const size_t key_column = ColumnOf(header, study.row_columns.key);
  const size_t block_column = ColumnOf(header, study.row_columns.block);
  KeyedDigest of_key(key, "key"), of_cells(key, "cells");
  TableRecord record;
  while (csv.Next()) {
    const std::span<const data::CsvField> fields = csv.fields();
    if (key_column < fields.size()) {
      record.key = text(fields[key_column]);
      record.digest = of_key.Of(record.key);
    } else {
      for (const data::CsvField& field : fields) of_cells.Add(text(field));
      record.digest = of_cells.Finish();
    }
    record.block.clear();
    if (block_column < fields.size()) record.block = text(fields[block_column]);
    record.as_keys.clear();
    if (every_column) {
      for (const data::CsvField& field : fields) record.as_keys.push_back(of_key.Of(text(field)));
    }
    take(record);
  }
}

std::vector<TableRecord> ReadRecords(const Study& study, const std::filesystem::path& data,
                                     const crypto::Key& key, bool every_column = false) {
  std::vector<TableRecord> records;
  ForEachRecord(study, data, key, every_column,
                [&](const TableRecord& record) { records.push_back(record); });
  return records;
}

[[noreturn]] void ThrowTableChanged() {
  throw Error(ErrorCode::kBadData, "the table changed while it was read", "start again");
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

}  // namespace

const study::RowMatch* HoldingMatch(const Study& study, const data::Holding& holding) {
  for (const data::BlockRows& block : holding.blocks) {
    for (const study::RowBlock& spec : study.file.blocks) {
      if (spec.name == study.partition.blocks[block.block].name && spec.match) return &*spec.match;
    }
  }
  return nullptr;
}

uint64_t HiddenMatching(const study::RowMatch& match, const crypto::Key& key) {
  crypto::Sha256 hash;
  hash.Field(key.Expose()).Field("hidden matching").Update(match.record);
  return FirstBytes(hash.Finish());
}

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

std::vector<std::vector<uint64_t>> DigestsOf(const Study& study, const LocalData& local,
                                             const std::filesystem::path& data,
                                             const crypto::Key& key) {
  const data::Holding& holding = local.holding;
  if (data::HoldsOneBlockAlone(study.partition, holding.party)) {
    std::vector<uint64_t> digests;
    digests.reserve(local.cells.rows);
    ForEachRecord(study, data, key, false,
                  [&](const TableRecord& record) { digests.push_back(record.digest); });
    if (digests.size() != local.cells.rows) ThrowTableChanged();
    std::vector<std::vector<uint64_t>> ways;
    ways.push_back(std::move(digests));
    return ways;
  }
  const std::vector<TableRecord> records = ReadRecords(study, data, key);
  // A matched block is the only one of its holder.
  if (const study::RowMatch* match = HoldingMatch(study, holding))
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

}  // namespace partita::run
