// What rows of one group have of each two levels: what a covariance matrix of coefficients tells beside how many rows have
// both.
//
// X'V^-1 X is X'X less, of each group, a factor times s s', s the sums of its columns. So beside rows with two
// levels it is made of groups in which one row has the one and another row the other: where a single group
// has them, of the product of its two counts; and where all groups but one have them once each, of that one.
//
// Tables  For each two of data::LevelMargins, in both orders, and of each with itself: by level of the first, level of the
//         second, and the outcome of the first where that is 0 or 1, the rows with the first whose group has another row
//         with the second, and those whose group has no other. Where a person may have several rows, the groups that have
//         two such rows, and of those with the first level the groups that have not. None without a covariance.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "methods/mixed/spec.h"

namespace partita::methods::mixed {

// Puts them behind those of the model. Throws kBadInput where one has more than data::kMostCellsTogether pairs of
// levels, or all have more than data::kMostCellsOfTables cells.
void AddGroupPairs(const Spec& spec, data::ModelCounts& counts);

// Rows of a table, group by group.
struct GroupedNumbers {
  std::vector<size_t> rows, sizes;  // sizes: of the groups
  std::vector<uint8_t> classes;     // of each row; empty where there is one class
};
// What AddGroupPairs counts, table by table.
std::vector<Int128> CountGroupPairs(const Spec& spec, const data::ModelCounts& counts,
                                    const data::Table& table, const GroupedNumbers& grouped,
                                    bool count_groups);

}  // namespace partita::methods::mixed
