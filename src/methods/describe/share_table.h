// Counts, sums, sums of squares and histograms by group, on shares: what the table is made of.
//
// Method    Whoever has whole rows, or all columns that it takes to know a row's group, counts and
//           adds up in the clear (own_numbers.h) and shares the results. Of rows whose group one
//           party knows and a variable another, they are G' X: G the 0/1 columns of the groups, and
//           one more of the rows that are left out, X the other party's columns: 0/1 columns of
//           values and missing cells, z, z^2, and 0/1 columns of cells. Whole multiples of 1, 2^-30
//           and 2^-60, of which nothing is truncated.
// Revealed  Nothing: messages depend on the layout, on how many rows split blocks have, and on who
//           holds what.
// Cost      One round of products (none where no variable is crossed) with the input. Of n rows,
//           n (groups + 1) elements of the party that selects, n (rows of counts + numbers (2 +
//           cells)) of each other one.
// Memory    Rows of X and G are made as they are needed, and never stand as a whole.
#pragma once

#include <vector>

#include "methods/describe/own_columns.h"
#include "methods/describe/own_numbers.h"
#include "methods/describe/task.h"

namespace partita::methods::describe {

struct SharedTable {
  // Of one of Task::holders.
  struct Own {
    mpc::Shared counts, sums, squares;  // rows, numbers and numbers x groups
    std::vector<mpc::Shared> histograms;
    // Rows of counts x 1, where the task is `named`: rows that do not take part, as who holds the
    // variable knows them. 0 of variables that are not crossed.
    mpc::Shared left_out;
    mpc::Shared stratum;  // two-valued variables x kStratumTerms, where it is asked for
  };
  std::vector<Own> by_holder;
};

// own, columns: at a holder; not used elsewhere. Of a part of rows that several parties hold `own` is of
// PartSpec. Throws kInternal where columns have another number of rows than the task says.
SharedTable ShareTable(mpc::Engine& engine, const Task& task, const OwnNumbers& own,
                       const OwnColumns& columns = {});

// Whether terms of Mantel and Haenszel are shared.
bool HasStrata(const Spec& spec);

}  // namespace partita::methods::describe
