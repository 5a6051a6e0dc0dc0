// Whether a table says something for certain of persons that a party knows by name, on shares.
//
// Where several parties hold columns of the same rows, each knows whose rows they are. Counts that
// are 0 or large may still say what all of them have, or all whom it knows by a value of its own:
//
//   by group   Of a crossed variable: all rows with a value, or without one, are of one group (its
//              holder knows which rows these are); all values of a group are the same (the group's
//              holder knows that one's rows). Of another variable: all rows are of one group, or all
//              values are the same, as those see who hold neither.
//   all rows   All values are the same.
//
// Rows that do not take part count as one more group where the holder of the variable knows them.
// Method    [c > 0] of each count c, added up along every such line; a line fails where the sum is 1.
// Cost      compare.h IsZero of rows (groups + 2) + groups values within max_rows, of one for each
//           line and each table, and ToRing of the first two.
// Revealed  Nothing.
// Timing    constant in shares; not in shapes and bounds (public). Not run by tests/ctime.
#pragma once

#include <optional>
#include <vector>

#include "methods/describe/layout.h"
#include "methods/describe/task.h"

namespace partita::methods::describe {

// counts, left_out: over all holders, rows of the layout x groups and x 1. One bit for each variable
// by group, where there are groups, and below one for each over all rows; set: the table passes.
// None where no line has to be compared: all pass.
std::optional<mpc::SharedBits> NobodyNamed(mpc::Engine& engine, const Task& task,
                                           const Layout& layout, const mpc::Shared& counts,
                                           const mpc::Shared& left_out);

}  // namespace partita::methods::describe
