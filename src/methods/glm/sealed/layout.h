// Who holds what of a model where columns may be split: public, and the same at every party.
//
// Blocks    Rows that the same parties hold. In a block of one holder that has whole rows; in the
//           others each part has the model's columns that it can compute alone, and its factor of
//           each product of columns of several holders (a crossed column).
// Rows      A row takes part unless a holder leaves it out: by conditions of the study, or because
//           it lacks a variable. A part `selects` where its own columns may do so, and in a block
//           of hidden matches always, also without a column: it may have no row at a position.
// Weights   One party of a block holds them; a row with weight 0 is one that it leaves out.
// Groups    Blocks of the same holders count together in the checks: a party that knows columns of
//           a block may know some of its counts, and subtract them.
#pragma once

#include <vector>

#include "methods/glm/spec.h"
#include "mpc/engine.h"
#include "run/method/row_holder.h"

namespace partita::methods::glm {

struct SealedPart {
  mpc::PartyIndex party = 0;
  bool selects = false, outcome = false, offset = false, weights = false, clusters = false;
  std::vector<size_t> columns;  // of the model, increasing; the intercept is the first part's
  std::vector<size_t> factors;  // of the block's crossed columns
  std::vector<size_t> tables;   // of counts; of a split block
};

struct CrossedColumn {
  size_t column = 0;  // of the model
  bool zero_one = false;
};

struct SealedBlock {
  size_t block = 0;  // of the partition
  size_t rows = 0;
  std::vector<SealedPart> parts;
  std::vector<CrossedColumn> crossed;
  bool split() const { return parts.size() > 1; }
};

struct SealedLayout {
  std::vector<SealedBlock> blocks;
  std::vector<std::vector<size_t>> groups;  // blocks, by index
  std::vector<size_t> table_cells;          // without the outcome
  std::vector<size_t> product_tables;       // by table: its column of the model; else kNoColumn
  size_t cluster_values = 0;                // that the clusters' variable may have; 0: no clusters

  size_t rows() const;
  // The blocks of each group together, with its first party.
  std::vector<run::RowHolder> Holders() const;
};
inline constexpr size_t kNoColumn = static_cast<size_t>(-1);

}  // namespace partita::methods::glm
