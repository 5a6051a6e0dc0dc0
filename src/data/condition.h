// Which rows take part: conditions on single variables, each evaluated by the owner of its column.
//
// A row is selected if every condition holds; a condition on a missing cell does not hold, kIsNot
// included. Because a condition names one variable, whoever holds that column of a row block can
// evaluate it alone, and no expression has to be parsed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/table.h"

namespace partita::data {

struct Condition {
  enum class Kind { kIs, kIsNot, kAtLeast, kAtMost, kAbove, kBelow, kPresent };
  std::string variable;
  Kind kind = Kind::kIs;
  // What numeric, integer and date variables are compared with; dates as days since 1970-01-01.
  double number = 0;
  bool is_date = false;  // `number` is a date, for ConditionText
  // Factor and ordered variables: kIs / kIsNot any of these; the comparisons of an ordered variable
  // take exactly one.
  std::vector<std::string> levels;
  bool operator==(const Condition&) const = default;
};

// "age >= 18", "sex is female or male", "visit < 2020-01-31", "stage > II", "income is present":
// for plans and messages.
std::string ConditionText(const Condition& condition);

// Throws kBadInput unless the condition fits its variable: the variable is in the dictionary,
// numbers go with numeric, integer and date variables and lie within their bounds, levels go with
// factors and ordered variables and are among theirs, order goes with everything but factors, only
// kPresent with survival variables; and some value of the variable satisfies it.
void ValidateCondition(const Condition& condition, const Schema& dictionary);

// 1 where all of `conditions` hold, else 0; one entry per row. Conditions on variables that are not
// in the table are an error (kInternal): the caller asks each owner for its own.
std::vector<uint8_t> SelectRows(const Table& table, std::span<const Condition> conditions);

// 1 where none of the named columns is missing. Naming a column that is not there is kInternal.
std::vector<uint8_t> CompleteRows(const Table& table, std::span<const std::string> columns);

}  // namespace partita::data
