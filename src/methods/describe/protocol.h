// The table of descriptions, on shares.
//
// Ideal function   (every holder's rows) -> to everybody one bit, whether there are min_rows rows;
//                  if so to the receiver, or to all where the study says so, the table: by variable
//                  and column of the table (the levels of the group; all rows together) counts,
//                  means and standard deviations on the grid, cells of quantiles, and between the groups
//                  the rank statistic of each number on its grid and, of variables of two values, the
//                  odds ratio within holders. What the checks withhold is 0. With a column for every
//                  holder there are min_rows rows of each.
// Checks           Of a variable by group: every count of it, by group, is 0 or at least min_cell,
//                  over all holders and over all but each one (mpc/functions/small_cells.h). Where
//                  one fails, the counts over all groups are held to the same, and only these open;
//                  where they fail as well nothing of the variable opens. Where the groups open all
//                  rows together do not: they follow. Quantiles: quantiles.h. Ranks: with
//                  the groups of the number.
// Named            Where columns are split rows that do not take part count as one more group of what is
//                  compared, but of hidden rows (hidden.h), whatever says something of all persons that a party knows by name fails
//                  as well (named_rows.h), and a quantile of values that do not vary is withheld.
// Method           Holders of whole rows count and add up in the clear, so that the cost does not
//                  depend on the rows (share_table.h). Everything is made beside the checks
//                  and each other (mpc/together.h), and last of all multiplied by their shared bits:
//                  nothing that a check withholds is ever opened, and the messages are the same
//                  whatever these are.
// Revealed         Release `disclosure`: the bit. Release `table`: NumOpened numbers. To others
//                  nothing; which variables were withheld sees who has the table.
// Cost             share_table.h, two openings, and between them small_cells.h, named_rows.h, means.h,
//                  quantiles.h, ranks.h and mantel_haenszel.h: rounds of the longest of these, and
//                  two products.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "methods/describe/layout.h"
#include "methods/describe/mantel_haenszel.h"
#include "methods/describe/share_table.h"
#include "methods/describe/task.h"
#include "mpc/engine.h"

namespace partita::methods::describe {

inline constexpr char kDisclosureRelease[] = "disclosure", kTableRelease[] = "table";

// Numbers of the table's opening.
uint64_t NumOpened(const Task& task);

// Opens the answer to everybody; empty where engine.self() is empty.
std::optional<bool> EnoughRows(mpc::Engine& engine, const Task& task, const SharedTable& table,
                               uint64_t min_rows);

// What opens, as it is: row-major, with a column for every group and one for all rows.
struct OpenedTable {
  std::vector<uint64_t> counts;  // rows of the layout x arms
  // Numbers x arms. Multiples of step, in units of half-widths from the centre; step 0: withheld.
  std::vector<double> step, mean, deviation;
  std::vector<uint64_t> cells;  // numbers x arms x quantiles; counted from 1, 0: withheld
  std::vector<std::optional<double>> rank_roots;  // by number, where asked for: ranks.h
  std::vector<OpenedStrata> strata;               // by two-valued variable, where asked for
};

// Empty where the table is not learned.
std::optional<OpenedTable> OpenTable(mpc::Engine& engine, const Task& task,
                                     const SharedTable& table, uint64_t min_cell);

}  // namespace partita::methods::describe
