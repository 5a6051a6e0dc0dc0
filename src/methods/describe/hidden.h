// What method `describe` can do where nobody knows which rows of a block match (level hidden).
//
// Method    As where columns are split, with the groups on shares (hidden_groups.h): everything is
//           counted by products, what the group's holder describes and a table without groups, too,
//           and conditions may be of several holders.
// Checks    Of the rows that match. Rows that do not are left out of the comparison: the reader of
//           the table has no rows to subtract, and a holder of which hardly a row does not match would
//           never see a table.
// Revealed  To holders whether there are min_rows rows, and nothing else.
#pragma once

#include <string>

#include "methods/describe/study.h"

namespace partita::methods::describe {

// Throws kBadInput, with the place, for what would show a holder which of its rows match: a receiver
// with such rows, a table that opens to all, another block, a subset of the analysis.
void RequireSupportedHidden(const DescribeStudy& study);

// What the plan assumes, and who sees what.
std::string HiddenText(const DescribeStudy& study);

}  // namespace partita::methods::describe
