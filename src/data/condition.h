// Which rows take part: conditions on single variables, each evaluated by the owner of its column.
//
// A row is selected if every condition holds; a condition on a missing cell does not hold. Because
// a condition names one variable, whoever holds that column of a row block can evaluate it alone,
// and no expression has to be parsed.
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
  double number = 0;                // the last four comparisons, and kIs / kIsNot of a number
  std::vector<std::string> levels;  // kIs / kIsNot of a factor: any of these
  bool operator==(const Condition&) const = default;
};

// "age >= 18", "sex is female", "income is present": for plans and messages.
std::string ConditionText(const Condition& condition);

// Throws kBadInput unless the condition fits its variable: the variable is in the dictionary, order
// and numbers go with numeric, integer, date and ordered variables, levels are among the factor's.
void ValidateCondition(const Condition& condition, const Schema& dictionary);

// 1 where all of `conditions` hold, else 0; one entry per row. Conditions on variables that are not
// in the table are an error (kInternal): the caller asks each owner for its own.
std::vector<uint8_t> SelectRows(const Table& table, std::span<const Condition> conditions);

// 1 where none of the named columns is missing.
std::vector<uint8_t> CompleteRows(const Table& table, std::span<const std::string> columns);

}  // namespace partita::data
