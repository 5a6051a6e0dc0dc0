// The cells in which marginals of real and synthetic rows are compared, by name: levels, whole
// numbers, bins, and ten equal parts of the range of what is continuous (stats/mixture/utility.h).
// Shares of real rows are for their holder.
#pragma once

#include <string>
#include <vector>

#include "methods/mixture/columns.h"
#include "stats/mixture/utility.h"

namespace partita::methods::mixture {

struct CellShare {
  std::string column, cell;
  double real = 0, synthetic = 0;  // shares of the rows
};

// "female"; "f, g" where rare levels share one; "3"; "[0, 8.5)"; "[2020-01-01, 2020-02-06)".
std::vector<std::string> CellNames(const ModelColumn& column, size_t cells);

// Of all columns, in their order and that of the cells. marginals: of just these columns.
std::vector<CellShare> CellShares(const std::vector<ModelColumn>& columns,
                                  const std::vector<stats::mixture::MarginalDistance>& marginals);

// The largest differences first.
std::vector<CellShare> FarthestApart(std::vector<CellShare> shares, size_t count);

}  // namespace partita::methods::mixture
