// What moments are wanted of which rows, and who holds what: the public description from which
// every party derives the same protocol.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mpc/engine.h"

namespace partita::methods::mle {

// A set of rows: those that every holder's selector keeps, counted with their weights.
struct RowCell {
  std::string name;  // "female": for messages; may be empty
  // The cell is `total` without the rows of `others`, which come before it: its moments follow
  // without a product. Nobody selects it by itself.
  struct Difference {
    size_t total = 0;
    std::vector<size_t> others;
  };
  std::optional<Difference> difference;
  bool only_count = false;  // its sums and products are not wanted, and zero or not there
};

// One holder's part of a row block.
struct BlockHolder {
  mpc::PartyIndex party = 0;
  std::vector<size_t> variables;  // indices into the task's variables
  // By cell: whether this holder decides, by columns of its own, which rows are in it. Empty: of no
  // cell.
  std::vector<bool> selects;

  bool Selects(size_t cell) const { return cell < selects.size() && selects[cell]; }
};

struct RowBlock {
  std::string name;
  std::optional<size_t> count;  // public number of rows; required when there are several holders
  std::vector<BlockHolder> holders;
};

struct MomentsTask {
  size_t num_variables = 0;
  std::vector<RowCell> cells = {RowCell{}};
  int fraction_bits = 50;  // f_in
  int32_t max_weight = 1;  // largest value of any selector
  size_t max_rows = 0;     // public upper bound on the weighted rows of all blocks
  // 1, or more where values were moved away from [-1, 1]: the bound of every value.
  double value_bound = 1;
  // Fixed effects of the row blocks, by variable (empty: none): products of two such variables are
  // of deviations from the means of the block's rows in the cell, and their sums are zero. In a
  // block with one holder the holder subtracts s s^T / n, rounded to the grid; in a split block
  // the readers hand out values less their column's mean, and nobody may select.
  std::vector<bool> centred;
  std::vector<RowBlock> blocks;

  bool Centred(size_t variable) const { return variable < centred.size() && centred[variable]; }
};

struct OwnMoments;

// What this party knows of one block; empty where it holds nothing. Columns in the order of
// BlockHolder::variables at fraction_bits.
struct LocalBlock {
  size_t num_rows = 0;
  mpc::RowReader values;
  // By cell: for every row its weight, 0 if it is not in the cell; empty where the holder does not
  // select. A value in a row that this holder drops from every cell is read as whatever the reader
  // gives; it takes no part.
  std::vector<std::vector<int32_t>> selectors;
  // Of a block that this party holds alone and whose rows have passed: what they add up to, instead of
  // the above.
  std::shared_ptr<const OwnMoments> passed = nullptr;
};

// Throws kBadInput naming block or cell unless blocks have holders, split ones a count, and
// differences refer to cells before them; kInternal for shapes that do not belong together.
void ValidateTask(const MomentsTask& task);

}  // namespace partita::methods::mle
