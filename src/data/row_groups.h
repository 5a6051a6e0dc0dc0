// Groups of rows by the levels of factors.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/schema.h"
#include "data/table.h"

namespace partita::data {

struct GroupFactor {
  ColumnSchema schema;  // a factor or an ordered variable
  std::string source;   // the variable of the dictionary that it is made of
};

// A group for each level; of several factors for each combination, of which the last factor changes first.
struct RowGroups {
  ColumnSchema schema;  // of combinations "arm, sex" with levels such as "control, male"
  std::vector<GroupFactor> factors;
};

// factors: one or more, of different columns.
RowGroups GroupsOfFactors(std::vector<GroupFactor> factors);

// The group of a row of a table with the factors' columns; none if one of them is missing.
std::optional<size_t> GroupOfRow(const RowGroups& groups, const Table& table, size_t row);

}  // namespace partita::data
