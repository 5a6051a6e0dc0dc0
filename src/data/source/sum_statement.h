// The text by which a database forms sums (sum_query.h): integers on the grid, products of them, counts of what is
// wrong, one number each, and nothing of any row. Levels, bounds and codes are bound, never written into the text.
//
// No sum of floating point numbers, whose result depends on the order: with the arithmetic of ToUnitInterval and
// RoundToGrid, value by value, any engine of IEEE doubles gives the same integers, whatever its plan.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "data/source/sum_dialect.h"
#include "data/source/sum_query.h"

namespace partita::data {

using SqlValue = std::variant<std::monostate, double, std::string>;  // NULL, number, text

// What a column of the query is in the database; kAny: known only cell by cell.
enum class SqlType { kAny, kNumber, kDate, kText, kBoolean };

// Where the value of this number stands, from 1 on; a text until the statement is written (SumStatements).
std::string PlaceOfValue(size_t number, bool is_text);

// q."NAME", of a SELECT that is called q.
std::string QuotedColumn(const std::string& name);

// The number of a code for missing cells: of a date its day. Nothing for other words.
std::optional<double> NumberOfCode(const ColumnSchema& schema, const std::string& code);

// The rows: one SELECT whose columns have the names of the query's.
struct SqlRows {
  std::string select;
  std::vector<SqlValue> values;  // bound in it, from the first on (PlaceOfValue)
  std::vector<SqlType> types;    // of the query's columns
};

struct SqlStatement {
  std::string text;
  std::vector<SqlValue> values;  // by place, or in the order of the text
  // Of the answer's numbers (NumbersOf): the result's columns, one for each, or two: a product's upper part, of
  // weight 2^32, and its lower.
  std::vector<bool> in_halves;
};

// All numbers in their order, over as many statements as their results' columns need; to be asked of one snapshot.
std::vector<SqlStatement> SumStatements(const SqlDialect& dialect, const SumQuery& query,
                                        const SqlRows& rows);

}  // namespace partita::data
