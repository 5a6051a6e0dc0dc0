// Who holds what of a study's rows, and what columns that are split ask of it.
#pragma once

#include <vector>

#include "methods/describe/study.h"

namespace partita::methods::describe {

// Throws kBadInput with the place where columns are split and: holders are the groups, or strata; the
// group and the variables of all conditions are not one holder's of a block; a party has rows with
// some parties and other rows with others, or alone; more than 2^32 rows.
std::vector<Rows> HoldersOf(const DescribeStudy& study);

// The rows and the part of a party; none of one that describes nothing and selects nothing.
struct PlaceOfParty {
  const Rows* rows = nullptr;
  const Part* part = nullptr;                // null: it has whole rows
  bool selects = false, by_product = false;  // both: it has the group of hidden rows
};
PlaceOfParty PlaceOf(const Task& task, size_t party);

}  // namespace partita::methods::describe
