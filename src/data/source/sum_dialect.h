// How engines differ in the text by which they form sums (sum_statement.h): plain data. In the pieces {0} stands for
// what they are about.
#pragma once

#include <string>
#include <vector>

namespace partita::data {

struct SqlDialect {
  std::string name;  // as ODBC's SQL_DBMS_NAME has it
  // Doubles and whole numbers of 64 bits, to be cast to; a double without its fraction, as a whole number and as a double.
  std::string real, integer, truncated, whole;
  std::string upper,
      lower;  // of a product of 60 bits: its part of weight 2^32, rounded down, and the rest
  // Of cells whose column is of such a type: a text; a date's days since 1970, and whether it is one. Empty: no dates.
  std::string text, days, is_day;
  std::string fence;     // ends a subquery that is computed once a row, not once for every use
  std::string bytewise;  // COLLATE of texts that are compared byte by byte
  // A value that is bound: {0} its place, counted from 1 on, or in the order of the text where it is not in there.
  std::string bound_number, bound_text;
  bool places = true;            // whether {0} is in there
  bool numbers_as_text = false;  // bound so, so that no digit hangs on how a driver writes them
  bool values_list = true;    // (VALUES (..), (..)) is a table; else SELECT .. UNION ALL SELECT ..
  bool typed_columns = true;  // else each cell has a type of its own (typeof)
  bool wide_sums = false;     // sum() of 64-bit integers does not overflow
  bool has_nan = false;       // a column may hold NaN
  bool repeatable_is_one_moment = false;  // transactions of level REPEATABLE READ see one moment
};

const SqlDialect& SqliteDialect();
const SqlDialect& PostgresDialect();
// Of the SQL standard, for engines that are not known: with floor and mod, and no more than 64 bits.
const SqlDialect& StandardDialect();

// By the name that an engine gives itself to ODBC, whose values are bound in the order of the text.
SqlDialect OdbcDialect(const std::string& engine);

// `piece` with what its {0} stands for.
std::string Filled(const std::string& piece, const std::string& what);

}  // namespace partita::data
