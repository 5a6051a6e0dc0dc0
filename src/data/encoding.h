// Columns of a table as the generative model of synthetic data sees them, and back.
//
// Every constant is public: bounds, levels, bins and pooled levels come from the study's
// dictionary, never from data (methods.md, R-o). Each holder encodes its own columns; what a column
// becomes does not depend on any other.
//
//   encoding   of                      value for the model               decoded
//   levels     factor, ordered         the level, pooled ones together   that level; of pooled ones
//                                      as the last                       each as likely
//   whole      integer                 x - lower; one level per number   that number
//   bins       numeric, integer, date  the bin of equal width            uniform within the bin
//   indicator  factor, ordered of two  0 or 1                            that level
//   unit       numeric, integer, date  (x - lower) / (upper - lower),    the number, integers and
//                                      kept within [1e-6, 1 - 1e-6]      dates rounded
//   standard   numeric, integer, date  -1 at the lower, 1 at the upper   the same, within bounds
//                                      bound
//   count      integer                 x - lower                         the same, within bounds
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crypto/random.h"
#include "data/table.h"

namespace partita::data {

enum class EncodingKind { kLevels, kWhole, kBins, kIndicator, kUnit, kStandard, kCount };
std::string_view EncodingKindName(EncodingKind kind);  // "levels", "whole", ...

struct ColumnEncoding {
  ColumnSchema column;
  EncodingKind kind = EncodingKind::kLevels;
  uint32_t bins = 0;  // kBins: two or more
  // kLevels: levels known to be rare that share one, so that none is learned from a handful of
  // rows.
  std::vector<std::string> pooled;
  // kBins: the bounds of bins of unequal width, bins + 1 of them, increasing, from the lower to the
  // upper bound of the column; a bin has its first bound and not its last, the last bin both.
  // Empty:
  // bins are of equal width.
  std::vector<double> edges = {};
};

// An encoding of integers by one level per number is proposed up to this many.
inline constexpr double kMaxWholeLevels = 50;

// What is taken unless somebody says otherwise: levels of factors, whole numbers of integers with
// few values, unit for other numbers and dates. Throws kBadInput for keys and survival variables.
ColumnEncoding DefaultEncoding(const ColumnSchema& column);

// Throws kBadInput naming the column: a kind that does not fit its type, fewer than two levels or
// bins, bins narrower than whole numbers, edges that do not go from bound to bound, a pooled level
// that is none
// of the levels.
void CheckEncoding(const ColumnEncoding& encoding);

// How many levels the model sees: kLevels, kWhole and kBins; 2 for kIndicator; 0 else.
size_t NumLevels(const ColumnEncoding& encoding);

// The bounds of a bin of numbers.
std::pair<double, double> BoundsOfBin(const ColumnEncoding& encoding, double bin);
// The first and the last whole number of a bin of integers or dates.
std::pair<double, double> WholeNumbersOfBin(const ColumnEncoding& encoding, double bin);

// One value per row of the encoding's column. Throws kBadInput if the table's schema of the column
// has other levels or another type than the encoding; kBadData, for the owner only, naming column
// and row, for a missing cell or one outside the bounds.
std::vector<double> Encode(const ColumnEncoding& encoding, const Table& table);

// The column of these values. Throws kUsage for values that the encoding cannot give.
Column Decode(const ColumnEncoding& encoding, const std::vector<double>& values,
              crypto::RandomSource& source);

}  // namespace partita::data
