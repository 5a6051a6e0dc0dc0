// What a holder brings to level `sealed`: its columns of every block, in the clear.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "data/holding.h"
#include "methods/glm/own_rows.h"
#include "methods/glm/sealed/layout.h"

namespace partita::methods::glm {

inline constexpr int32_t kNoCluster = -1;  // of a row that the holder leaves out

// Rows that the holder leaves out are 0 in everything. Columns and factors are in [-1, 1].
struct OwnBlock {
  Eigen::MatrixXd columns, factors;          // n x as SealedPart says
  Eigen::MatrixXd cells;                     // n x cells of its tables: 0 or 1
  Eigen::VectorXd selector;                  // n: 0 or 1
  Eigen::VectorXd outcome, offset, weights;  // n, where it has them; weights as of own_rows.h
  std::vector<int32_t> clusters;             // the same: the number of its value, or kNoCluster
};

// By block of the layout; empty where the party holds nothing. `taken`: by row of the holder's
// ordered table, as far as it knows.
std::vector<OwnBlock> OwnBlocksOf(const Spec& spec, const SealedLayout& layout, size_t party,
                                  const data::Holding& holding, const std::vector<uint8_t>& taken);

// What a part of a column is divided by, so that it is in [-1, 1]; those of all parts together are
// ModelColumn::scale.
double ScaleOfPart(const Spec& spec, const std::string& part);

}  // namespace partita::methods::glm
