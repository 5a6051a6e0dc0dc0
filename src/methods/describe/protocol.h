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
// Method           Holders count and add up in the clear (own_numbers.h) and share the results, so
//                  that the cost does not depend on the rows. Everything is made beside the checks
//                  and each other (mpc/together.h), and last of all multiplied by their shared bits:
//                  nothing that a check withholds is ever opened, and the messages are the same
//                  whatever these are.
// Revealed         Release `disclosure`: the bit. Release `table`: NumOpened numbers. To others
//                  nothing; which variables were withheld sees who has the table.
// Cost             One input, two openings, and between them small_cells.h, means.h, quantiles.h,
//                  ranks.h and mantel_haenszel.h: rounds of the longest of these, and two products.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "methods/describe/layout.h"
#include "methods/describe/mantel_haenszel.h"
#include "methods/describe/own_numbers.h"
#include "mpc/engine.h"
#include "run/method/row_holder.h"

namespace partita::methods::describe {

inline constexpr char kDisclosureRelease[] = "disclosure", kTableRelease[] = "table";

struct Task {
  Spec spec;
  std::vector<run::RowHolder> holders;  // at least one, each party once
  int grid_bits = 0;                    // means open on 2^-grid_bits of their standard errors
  mpc::PartyIndex to = 0;               // the receiver, or mpc::kEverybody

  uint64_t max_rows() const;
};

// Numbers of the table's opening.
uint64_t NumOpened(const Task& task);

struct SharedTable {
  struct Own {
    mpc::Shared counts, sums, squares;  // rows, numbers and numbers x groups
    std::vector<mpc::Shared> histograms;
    mpc::Shared stratum;  // two-valued variables x kStratumTerms, where it is asked for
  };
  std::vector<Own> by_holder;
};

// own: at a holder; not used elsewhere.
SharedTable ShareTable(mpc::Engine& engine, const Task& task, const OwnNumbers& own);

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
