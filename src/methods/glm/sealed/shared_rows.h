// The rows of level `sealed`, on shares: columns where their holders keep them, and what is made of
// several holders' columns once, before anything is fitted.
//
// Method    A holder's columns are a fixed operand (mpc/engine.h), masked once. Where another holder
//           may leave rows out they are multiplied by that choice, a shared 0 or 1 for each row, and
//           stay shared. Products of columns of several holders cost a product of n numbers each. A
//           row that does not take part is 0 in every column, the intercept's included, so that it
//           adds nothing to score and information.
// Precision Columns at 32 bits after the point, products of 0/1 columns exact; outcomes of gaussian
//           models, and logarithms of gamma ones, at 40. Frequencies are whole numbers, other weights have 30.
// Weights   Where another holder may leave rows out they are 0 there. What a row adds once, its outcome and
//           the constants of its likelihood, is multiplied by its weight here; what it adds at every point
//           there (sums.h).
// Rounds    One input; a product for every selecting holder of a block but the first, or factor of a
//           crossed column but the first; one product where rows are left out, one where there are weights.
// Revealed  Nothing.
#pragma once

#include <optional>
#include <vector>

#include "methods/glm/sealed/own_blocks.h"
#include "methods/glm/task.h"
#include "mpc/engine.h"

namespace partita::methods::glm {

inline constexpr int kSealedWeightBits = 30;  // but of frequencies
inline constexpr int kColumnBits = 32, kOutcomeBits = 40, kConstantBits = 36;

// Columns of one block that are in one operand.
struct ColumnPart {
  mpc::Operand operand;         // n x columns, entries at most 1, kColumnBits
  std::vector<size_t> columns;  // of the model
};

struct SharedBlock {
  size_t rows = 0;
  std::vector<ColumnPart> parts;
  // n x 1: a whole number, of gaussian models at kOutcomeBits, of gamma models its logarithm at kStepBits.
  mpc::Shared outcome;
  mpc::Shared offset;  // n x 1 at kStepBits; empty: none
  // Of poisson models: y log y - y - log y! and y log y of each row, n x 2; e^offset, n x 1. Of gamma models:
  // y over its upper bound, n x 1; e^-offset, n x 1, which is not weighted. They stand at kConstantBits.
  mpc::Shared constants, rates;
  // Weights, n x 1, and the outcome times them, as it is without (one number of both without weights).
  mpc::Shared weights, weighted_outcome;
  // Of a split block: 1 where a row takes part, n x 1; its products of 0/1 columns, by crossed column,
  // n x 1 without fraction bits (empty: not of such).
  mpc::Shared ones;
  std::vector<mpc::Shared> products;
  std::optional<mpc::FixedOperand> clusters;  // n x values, 0 or 1 (clusters.h)
};

// Place of each column of the model among those of the parts, one after the other.
std::vector<size_t> PlacesOfColumns(const SharedBlock& block);

// own: OwnBlocksOf at a holder, by block; else empty. It must outlive what is made of it.
std::vector<SharedBlock> ShareBlocks(mpc::Engine& engine, const Task& task,
                                     const SealedLayout& layout, const std::vector<OwnBlock>& own);

// counts.h, of every row: over all of them, and without those of each group where there are several.
std::vector<mpc::Shared> RoomOfWeights(mpc::Engine& engine, const Task& task,
                                       const SealedLayout& layout,
                                       const std::vector<SharedBlock>& blocks);

// The counts that are checked, by group (counts.h). own, blocks: as above; counts: of a party with
// whole rows those of own_rows.h. One input and a round of products.
std::vector<mpc::Shared> CountsByGroup(mpc::Engine& engine, const Task& task,
                                       const SealedLayout& layout,
                                       const std::vector<SharedBlock>& blocks,
                                       const std::vector<OwnBlock>& own,
                                       const std::vector<Int128>& counts);

}  // namespace partita::methods::glm
