// How much of who is in a group a holder could compute that knows its own variables of all persons.
//
// Attack    Where columns are split, a holder without the group has the table of its own variables
//           by group, and the values of these of everybody: it can try which persons fit. A group of
//           m of n persons is one of C(n, m), and B bits of it leave C(n, m) / 2^B.
// The rule  B <= log2 C(n, m) / 2 of a group of m = min_cell persons, the smallest one that opens:
//           larger ones have more candidates and hardly more bits. It is empirical, as that of
//           privacy/release_rule.h. Of hidden rows n is min_rows, and the attack is of a holder to
//           whom somebody shows the table.
// B         Of a group of m: log2 of the ways to write m as counts of a variable's values; of
//           numbers the grid's bits and three more for each mean, deviation and rank statistic, since
//           they are normal on a grid of their error, and log2 of the cells for each quantile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "methods/describe/study.h"

namespace partita::methods::describe {

struct GroupBits {
  size_t party = 0;              // which lacks the group
  uint64_t rows = 0, least = 0;  // n, m
  uint64_t opened = 0, group = 0;
  bool passes = false;
};

// Of every holder of crossed variables, on the task's grid.
std::vector<GroupBits> GroupBitsOf(const DescribeStudy& study);
bool GroupsPass(const DescribeStudy& study);

// Throws kBadInput, naming the first holder, where no grid passes and not everybody accepts the table
// of covariates.
void RequireGroupBits(DescribeStudy& study);

// Whole sentences for the plan.
std::vector<std::string> GroupBitsTexts(const DescribeStudy& study);

}  // namespace partita::methods::describe
