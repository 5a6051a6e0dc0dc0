// Sums over a table that whoever keeps the rows can form without handing any out: what is asked follows from a
// study alone, and what comes back are whole numbers.
//
// A value x of a variable is k = RoundToGrid(ToUnitInterval(x)) on the grid 2^-bits (data/scaling.h), or a
// number of its level, times signs of other columns. Of every cell of rows: n, Sum k_i and Sum k_i k_j. Exact in any
// order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/int128.h"
#include "crypto/hash.h"
#include "data/condition.h"
#include "data/scaling.h"
#include "data/schema.h"
#include "data/table.h"

namespace partita::data {

// With so many bits and weights that add up to so much at most, all sums of halves of products stay below 2^63.
inline constexpr int kMostSumBits = 30;
inline constexpr int64_t kMostSummedWeight = int64_t{1} << 31;

// A factor of -1, 0 or 1, by which a product stays on the grid.
struct SumSign {
  size_t column = 0;              // of SumQuery::columns
  std::vector<int64_t> by_level;  // of factors and ordered variables; else none: the number itself
};

struct SumVariable {
  size_t column = 0;              // of SumQuery::columns
  ColumnScale scale;              // of numbers and dates
  std::vector<int64_t> by_level;  // of factors and ordered variables: k by level
  std::vector<SumSign> signs = {};
};

// Rows for which all conditions hold; each is about one of SumQuery::columns.
struct SumCondition {
  size_t column = 0;
  Condition condition;
};
using SumRows = std::vector<SumCondition>;

struct SumQuery {
  int bits = kMostSumBits;
  // Numeric, integer, date, factor, ordered. Two may be one column of the table.
  std::vector<ColumnSchema> columns;
  std::vector<SumVariable> variables;
  std::vector<SumRows> cells;
  bool only_squares = false;    // of the products those of a variable with itself
  std::vector<SumRows> counts;  // numbers of rows, without sums
  // A row counts so often in cells and counts: an integer column, of bounds from 0 to 10^6; empty: once.
  std::vector<size_t> weight;  // none or one
  // Of these sets every row counts once, and of these pairs each row that is in exactly one of the two.
  std::vector<SumRows> sets;
  std::vector<std::pair<SumRows, SumRows>> apart;
};

// What is wrong with cells of a column, as numbers of rows.
struct SumChecks {
  Int128 missing = 0, outside = 0,
         unusable = 0;  // unusable: not of the column's type, or an unknown level
};

struct SumCell {
  Int128 n = 0;
  std::vector<Int128> sums,
      products;  // products: of i >= j, at i (i + 1) / 2 + j; only squares: at i
};

struct SumAnswer {
  Int128 rows = 0, weight = 0;  // of the whole table
  std::vector<SumChecks> checks;
  std::vector<Int128> sets, apart, counts;
  std::vector<SumCell> cells;
};

// The answer as numbers in a fixed order, and back. Throws kInternal for another number of them.
size_t NumSums(const SumQuery& query);
std::vector<Int128> NumbersOf(const SumAnswer& answer);
SumAnswer AnswerOf(const SumQuery& query, const std::vector<Int128>& numbers);

// The same from rows in memory, by the functions that make the sums of a CSV file. The table has a column for each
// of the query's, in its order; a code -2 is an unknown level.
SumAnswer SumsOfTable(const SumQuery& query, const Table& table);

// Throws kBadData, in the name of `source` and for its owner's eyes, for cells that a study refuses: unusable ones
// and those out of bounds, missing ones unless `allow_missing`, more weight than kMostSummedWeight, and a
// table without rows.
void RequireUsable(const SumQuery& query, const SumAnswer& answer, bool allow_missing,
                   const std::string& source);

Bytes EncodeSumQuery(const SumQuery& query);
// Throws kPeerFault or kBadInput for what EncodeSumQuery did not write.
SumQuery DecodeSumQuery(ByteView bytes);
crypto::Digest DigestOf(const SumQuery& query);

}  // namespace partita::data
