// What a table means: its columns, their types and public bounds. Written by hand by the table's
// owner; never derived from data.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crypto/hash.h"

namespace partita::data {

enum class ColumnType { kNumeric, kInteger, kFactor, kOrdered, kDate, kSurvival, kKey };

// "numeric", "integer", "factor", "ordered", "date", "survival", "key": as written in study files.
std::string_view ColumnTypeName(ColumnType type);

// How a factor becomes numbers in a model; the first three as in R.
enum class Contrasts { kTreatment, kSum, kPolynomial, kScores };

struct ColumnSchema {
  std::string name;
  ColumnType type = ColumnType::kNumeric;
  // Numeric and integer: public bounds, finite, lower < upper. Values outside are refused by their
  // owner. Date: days since 1970-01-01. Survival: of the time.
  double lower = 0, upper = 0;
  std::string unit;
  // Factor and ordered: levels in order; the first is the reference unless `reference` says
  // otherwise.
  std::vector<std::string> levels;
  std::string reference;
  Contrasts contrasts = Contrasts::kTreatment;
  // Survival: the table's columns of the follow-up time (numeric) and of the event (0 or 1).
  std::string time_column, event_column;
  // Cell texts that mean "missing", beside the empty cell.
  std::vector<std::string> missing_codes;
};

struct Schema {
  std::vector<ColumnSchema> columns;
  int max_rows_per_person = 1;

  // Null if there is no such column.
  const ColumnSchema* Find(std::string_view name) const;
};

bool HasLevels(ColumnType type);  // factor, ordered
bool HasBounds(ColumnType type);  // numeric, integer, date, survival

// "[0, 120]", dates as dates: for messages.
std::string BoundsText(const ColumnSchema& column);

// Throws kBadInput naming the column unless: there is a column; names are not empty, unique, valid
// UTF-8 and without control characters, the table's columns of survival variables included; bounds
// are finite and lower < upper (those of integers are whole and below 2^53 in magnitude, so that
// every integer is exact; dates are whole days of the years 1 to 9999; times are not negative); a
// factor or ordered variable has two or more levels, unique and not empty, with `reference` empty
// or among them and no missing code among them; levels and contrasts stand at those only,
// polynomials and scores at ordered variables only; a survival variable has two different columns;
// max_rows_per_person >= 1.
void ValidateSchema(const Schema& schema);

// SHA-256 over a length-prefixed encoding of every field in order: two schemas have one digest
// exactly if they are equal field by field.
crypto::Digest SchemaDigest(const Schema& schema);

}  // namespace partita::data
