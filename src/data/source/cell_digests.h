// What stands in a table, as digests of its cells under a secret salt: enough to count by how many persons two
// states of one table differ, without keeping the older one.
//
// A digest    The first 8 bytes of SHA-256 over salt, column and text of a cell, each behind its length; 0 of a
//             missing cell. Whoever has salt and digests can try out values: they are as confidential as the table.
// A person    All rows with one key.
// Counted     Who came, who went, and, column by column, whose cells in it are others. So that whatever columns two
//             studies ask for, it can be said by how many persons what they see differs: a column that changes for
//             everybody (a date of the last visit) hides nobody who came.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "crypto/random.h"
#include "data/csv_reader.h"

namespace partita::data {

struct CellDigests {
  std::vector<std::string> columns;
  std::vector<uint64_t> cells;  // row by row
  uint64_t rows() const { return columns.empty() ? 0 : cells.size() / columns.size(); }
};

// Throws as ReadCsv for what is no CSV; kBadData for a table without a header.
CellDigests DigestCells(const ByteSource& source, const std::string& source_name,
                        const CsvOptions& options, const crypto::Key& salt);
uint64_t CellDigest(const crypto::Key& salt, const std::string& column, std::string_view text);

// Persons.
struct PersonsApart {
  uint64_t came = 0, changed = 0, went = 0;  // changed: with any cell that is another
  // Changed in no column by itself: which cells of several rows stand together is what changed.
  uint64_t regrouped = 0;
  // Whose cells in a column are others; without those who came or went.
  std::map<std::string, uint64_t> columns;

  uint64_t all() const { return came + changed + went; }
  // Of a column that the older state has not: who came or went.
  uint64_t In(const std::string& column) const;
  bool operator==(const PersonsApart&) const = default;
};
bool HasColumn(const CellDigests& table, const std::string& name);
// Throws kBadData if there is no such column, or a row has no key in it.
void RequireKeys(const CellDigests& table, const std::string& key);
// Throws kBadData if a column of keys is not in both, or a row has no key.
PersonsApart ComparePersons(const CellDigests& before, const CellDigests& now,
                            const std::string& key);

// The smallest number of persons, but none, by which what somebody who asks for these columns sees of the two differs;
// 0: nothing differs.
uint64_t FewestApart(const PersonsApart& apart, const std::vector<std::string>& columns);

}  // namespace partita::data
