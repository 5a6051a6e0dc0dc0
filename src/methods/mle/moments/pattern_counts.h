// How many rows have each pattern, a combination of values of discrete columns, on shares, however
// rows and columns are split.
//
// Method    Rows of which one holder has all columns of the table it counts in the clear, and
//           shares K numbers. Of a block whose columns several holders have, each brings
//           indicators: a column of zeros and ones for every pattern of its own columns. The table
//           is the cross product X_a' X_b of two of them, whole numbers that are not truncated;
//           with more holders the two narrowest are multiplied into the indicators of both, n x
//           (A_a A_b) elementwise products, until two are left.
// Revealed  Nothing. Public beforehand: which columns, how many values each has, who holds which,
//           how many rows each block has at most, and exactly where it is split.
// Cost      Each holder that counts in the clear: one input of K numbers. Then, all blocks
//           together, s - 1 rounds of products, s the most holders that one block has columns of
//           the table of. The elements are those of the indicators: on `dealer`, two holders of n
//           rows with A_a and A_b patterns of their own, n A_a from a to b, n A_b from b to a.
#pragma once

#include <cstdint>
#include <vector>

#include "mpc/engine.h"

namespace partita::methods::mle {

struct CellHolder {
  mpc::PartyIndex party = 0;
  std::vector<size_t> parts;  // whose values its rows have, increasing
};

// Rows that the same holders have. Every part is one holder's.
struct CellBlock {
  std::vector<size_t> holders;  // indices into the task's, increasing
  uint64_t max_rows = 0;        // exactly so many where several have parts
};

struct PatternTask {
  // Of every column how many values it has. A pattern is a number whose digits these are, the last
  // one's lowest.
  std::vector<size_t> parts;
  std::vector<CellHolder> holders;  // each party once
  std::vector<CellBlock> blocks;
};

// Combinations of values of some of the parts.
size_t NumPatterns(const PatternTask& task, const std::vector<size_t>& parts);
size_t NumCells(const PatternTask& task);  // K, of all of them
// Which combination of values of these parts, in this order, a cell has.
size_t PatternOf(const PatternTask& task, size_t cell, const std::vector<size_t>& parts);

// By block: for every row that takes part the pattern of this party's own parts; empty for a block
// that it does not hold.
using OwnPatterns = std::vector<std::vector<uint32_t>>;

// Of rows that the same holders have.
struct PatternCounts {
  std::vector<size_t> holders;
  mpc::Shared cells;  // K x 1
};

// own: ignored where engine.self() is empty.
std::vector<PatternCounts> CountPatterns(mpc::Engine& engine, const PatternTask& task,
                                         const OwnPatterns& own);

}  // namespace partita::methods::mle
