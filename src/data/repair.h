// What a private study does with cells that its dictionary does not allow.
//
// In a study that promises privacy nothing that depends on what is in a row may stop a run, or show
// in any other way: that a run stops tells two tables apart with certainty. So the reader moves
// numbers to the nearest bound and takes what is not of its type for missing
// (CsvOptions::repair), and where the study does not leave out or model incomplete rows, their
// missing cells get a value of the dictionary here. What becomes of a row depends on that row alone
// and on the study file: tables that differ in one row differ in one row afterwards, and whatever a
// method promises of tables within the dictionary it promises of all tables. A row counts as there
// and contributes nothing, or contributes what it was completed to, as the study file says.
#pragma once

#include <span>
#include <string>

#include "data/check_report.h"
#include "data/table.h"

namespace partita::data {

// faulty_rows of a study file, of rows that lack a value of a variable that the study uses.
enum class FaultyRows {
  kNeutral,  // the row contributes nothing (Table::neutral)
  kFill,     // it contributes with the value that stands in for the missing one
};

// Gives every missing cell of the columns `used` a value: numbers, dates and times the middle of
// their bounds, rounded down to a whole one for integers and dates; levels the reference; an event
// 0. Marks the rows that lacked one, unless they are filled. Other columns keep their missing
// cells: conditions on them do not hold, and no computation reads them.
void FillMissing(Table& table, std::span<const std::string> used, FaultyRows rule);

// For the owner only.
struct RepairedCells {
  uint64_t clamped = 0;        // outside the bounds
  uint64_t without_value = 0;  // missing, or not of their column's type
  uint64_t ragged_rows = 0;
  std::string where;  // "column 'age': 2 cells ... (first at line 7); ..."; empty: none
};

// allow_missing: empty cells are none of the faults.
RepairedCells CountRepaired(const CheckReport& report, bool allow_missing);

}  // namespace partita::data
