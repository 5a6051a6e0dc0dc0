// Which rows take part, and of which group each is, on shares: where which rows match is hidden.
//
// Rows      Positions; a party has a row at some of them, in its own columns alone (holding.h). A row
//           takes part where every party of the block has one that its own conditions do not leave
//           out, also a party of which nothing is described.
// Method    Every part shares a 0/1 column of its own, the part with the group one for each group.
//           They are multiplied, one part after the other, the groups last. What is counted by
//           products with the result (share_table.h) is 0 at all other positions, whatever a party
//           has there.
// Revealed  Nothing: messages depend on the number of positions, of parties and of groups.
// Cost      Of n positions and k parts the input of n (k - 1 + groups) numbers (n k without a
//           group), then k - 1 rounds of n products, the last one of n groups.
// Timing    constant in shares; not in shapes (public). Not run by tests/ctime.
#pragma once

#include "methods/describe/own_columns.h"
#include "methods/describe/task.h"

namespace partita::methods::describe {

// positions x groups, 0 or 1. columns: at a party of the rows, OwnColumns::groups; else not used.
// Throws kInternal where they have another number of positions than the task says.
mpc::Shared ShareHiddenGroups(mpc::Engine& engine, const Task& task, const Rows& rows,
                              const OwnColumns& columns);

}  // namespace partita::methods::describe
