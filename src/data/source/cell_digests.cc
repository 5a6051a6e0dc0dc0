#include "data/source/cell_digests.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "base/error.h"
#include "crypto/buffered_hash.h"
#include "data/csv_tokenizer.h"
#include "data/utf8.h"

namespace partita::data {
namespace {

size_t KeyColumn(const CellDigests& table, const std::string& key) {
  const auto found = std::find(table.columns.begin(), table.columns.end(), key);
  if (found == table.columns.end()) {
    throw Error(ErrorCode::kBadData,
                fmt::format("the table has no column \"{}\" of keys, by which persons are known",
                            Printable(key)),
                "name it in the query, and let 'key' of the source file name it, in every edition");
  }
  return static_cast<size_t>(found - table.columns.begin());
}

// Rows by key, and of one person in an order that only what is in them decides.
class Persons {
 public:
  Persons(const CellDigests& table, const std::string& key)
      : table_(table), key_(KeyColumn(table, key)), order_(table.rows()) {
    RequireKeys(table, key);
    std::iota(order_.begin(), order_.end(), uint64_t{0});
    std::sort(order_.begin(), order_.end(), [this](uint64_t a, uint64_t b) {
      if (KeyOf(a) != KeyOf(b)) return KeyOf(a) < KeyOf(b);
      return std::ranges::lexicographical_compare(Row(a), Row(b));
    });
    Next();
  }

  bool ended() const { return rows_.empty(); }
  uint64_t key() const { return KeyOf(rows_.front()); }
  void Next() {
    const size_t begin = end_;
    while (end_ < order_.size() && KeyOf(order_[end_]) == KeyOf(order_[begin])) ++end_;
    rows_ = std::span<const uint64_t>(order_).subspan(begin, end_ - begin);
  }
  size_t rows() const { return rows_.size(); }
  // The person's cells of a column, sorted.
  std::vector<uint64_t> Column(size_t column) const {
    std::vector<uint64_t> cells;
    cells.reserve(rows_.size());
    for (const uint64_t row : rows_) cells.push_back(Row(row)[column]);
    std::sort(cells.begin(), cells.end());
    return cells;
  }
  // All of the person's cells in these columns, row by row.
  std::vector<std::vector<uint64_t>> Rows(const std::vector<size_t>& columns) const {
    std::vector<std::vector<uint64_t>> rows;
    for (const uint64_t row : rows_) {
      std::vector<uint64_t>& cells = rows.emplace_back();
      for (const size_t column : columns) cells.push_back(Row(row)[column]);
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }

 private:
  std::span<const uint64_t> Row(uint64_t row) const {
    return std::span<const uint64_t>(table_.cells)
        .subspan(row * table_.columns.size(), table_.columns.size());
  }
  uint64_t KeyOf(uint64_t row) const { return Row(row)[key_]; }

  const CellDigests& table_;
  size_t key_;
  std::vector<uint64_t> order_;
  size_t end_ = 0;
  std::span<const uint64_t> rows_;  // of the person
};

uint64_t CellDigestWith(crypto::BufferedSha256& hash, const crypto::Key& salt,
                        const std::string& column, std::string_view text) {
  if (text.empty()) return 0;
  const crypto::Digest digest =
      hash.Field(salt.Expose()).Field("cell").Field(column).Field(text).Finish();
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof value; ++i) value |= uint64_t{digest[i]} << (8 * i);
  return std::max<uint64_t>(value, 1);
}

}  // namespace

uint64_t CellDigest(const crypto::Key& salt, const std::string& column, std::string_view text) {
  crypto::BufferedSha256 hash;
  return CellDigestWith(hash, salt, column, text);
}

CellDigests DigestCells(const ByteSource& source, const std::string& source_name,
                        const CsvOptions& options, const crypto::Key& salt) {
  const ByteObserver none;
  CsvTokenizer csv(source, source_name, options, none);
  std::string scratch;
  crypto::BufferedSha256 hash;
  CellDigests digests;
  while (csv.Next()) {
    const bool header = digests.columns.empty();
    if (!header && csv.fields().size() != digests.columns.size()) {
      throw Error(ErrorCode::kBadData,
                  fmt::format("{}:{}: the record has {} fields, but the header has {}", source_name,
                              csv.line(), csv.fields().size(), digests.columns.size()));
    }
    for (size_t f = 0; f < csv.fields().size(); ++f) {
      const std::string_view text = CsvTokenizer::Text(csv.fields()[f], scratch);
      if (header) {
        digests.columns.emplace_back(text);
      } else {
        digests.cells.push_back(CellDigestWith(hash, salt, digests.columns[f], text));
      }
    }
  }
  if (digests.columns.empty()) {
    throw Error(ErrorCode::kBadData, source_name + ": the table is empty, without a header",
                "check the source");
  }
  return digests;
}

bool HasColumn(const CellDigests& table, const std::string& name) {
  return std::find(table.columns.begin(), table.columns.end(), name) != table.columns.end();
}

void RequireKeys(const CellDigests& table, const std::string& key) {
  const size_t column = KeyColumn(table, key);
  for (uint64_t row = 0; row < table.rows(); ++row) {
    if (table.cells[row * table.columns.size() + column] != 0) continue;
    throw Error(ErrorCode::kBadData,
                fmt::format("a row has no key in column \"{}\": nobody can tell whose it is",
                            Printable(key)),
                "leave such rows out in the query");
  }
}

uint64_t PersonsApart::In(const std::string& column) const {
  const auto found = columns.find(column);
  return came + went + (found == columns.end() ? 0 : found->second);
}

PersonsApart ComparePersons(const CellDigests& before, const CellDigests& now,
                            const std::string& key) {
  PersonsApart apart;
  std::vector<size_t> before_columns, now_columns;  // of those in both
  for (size_t c = 0; c < now.columns.size(); ++c) {
    const auto found = std::find(before.columns.begin(), before.columns.end(), now.columns[c]);
    if (found == before.columns.end()) continue;
    before_columns.push_back(static_cast<size_t>(found - before.columns.begin()));
    now_columns.push_back(c);
    apart.columns[now.columns[c]] = 0;
  }
  Persons old_persons(before, key), new_persons(now, key);
  while (!old_persons.ended() || !new_persons.ended()) {
    if (new_persons.ended() || (!old_persons.ended() && old_persons.key() < new_persons.key())) {
      ++apart.went;
      old_persons.Next();
      continue;
    }
    if (old_persons.ended() || new_persons.key() < old_persons.key()) {
      ++apart.came;
      new_persons.Next();
      continue;
    }
    bool in_a_column = false;
    for (size_t c = 0; c < now_columns.size(); ++c) {
      if (old_persons.Column(before_columns[c]) == new_persons.Column(now_columns[c])) continue;
      ++apart.columns[now.columns[now_columns[c]]];
      in_a_column = true;
    }
    const bool regrouped = !in_a_column && old_persons.rows() > 1 &&
                           old_persons.Rows(before_columns) != new_persons.Rows(now_columns);
    if (in_a_column || regrouped) ++apart.changed;
    if (regrouped) ++apart.regrouped;
    old_persons.Next();
    new_persons.Next();
  }
  return apart;
}

uint64_t FewestApart(const PersonsApart& apart, const std::vector<std::string>& columns) {
  uint64_t fewest = 0;
  const auto count = [&fewest](uint64_t persons) {
    if (persons > 0) fewest = fewest == 0 ? persons : std::min(fewest, persons);
  };
  count(apart.came + apart.went);
  count(apart.came + apart.went + apart.regrouped);
  for (const std::string& column : columns) count(apart.In(column));
  return fewest;
}

}  // namespace partita::data
