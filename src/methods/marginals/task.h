// What the protocol is given: the tables, and who holds what. All of it is public.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mpc/engine.h"
#include "stats/marginals/selection.h"
#include "stats/marginals/tables.h"

namespace partita::methods::marginals {

inline constexpr char kTablesRelease[] = "tables";
// Where pairs are chosen by scores, before the chosen tables.
inline constexpr char kOneWayRelease[] = "one-way-tables", kScoresRelease[] = "scores";

// The columns of one holder in a block of rows.
struct BlockPart {
  mpc::PartyIndex party = 0;
  std::vector<uint32_t> attributes;  // increasing
};

// Rows whose columns tile the attributes: every attribute is in one part.
struct RowBlock {
  std::string name;
  uint64_t rows = 0;  // of several parts the number; of one an upper bound
  std::vector<BlockPart> parts;
};

// Where not all pairs are measured (stats/marginals/selection.h): how many, and what one-way tables,
// scores and chosen pairs are multiplied by before noise is added.
struct ScoredPairs {
  uint32_t pairs = 0;
  uint64_t one_way_lift = 0, score_lift = 0, pair_lift = 0;
};

struct Task {
  stats::marginals::TableSet set;
  std::vector<RowBlock> blocks;
  // By table, what its counts are multiplied by before noise is added: its weight in units of the
  // noise's grid.
  // Empty: 2^20 each, weight 1. 0: a pair that is not measured.
  std::vector<uint64_t> lifts = {};
  std::optional<ScoredPairs> scored = std::nullopt;  // instead of lifts; to = kEverybody
  mpc::PartyIndex to = mpc::kEverybody;
};

// What this party knows of one block; empty where it holds nothing.
struct LocalBlock {
  stats::marginals::Codes codes;  // by attribute of its part, by row: a level, always
};

// Of a table. Of all: weight 1 where it is empty.
uint64_t LiftOf(const Task& task, size_t table);
stats::marginals::TableWeights WeightsOf(const Task& task);

// Weights of a task with scored pairs.
stats::marginals::Selection SelectionOf(const Task& task);
// Numbers that noise is added to, all openings together; with scored pairs the cells of the largest
// pairs, whichever are chosen.
size_t NoiseDimension(const Task& task);
// How many numbers the last opening has.
size_t OpenedLast(const Task& task);

// 0/1 columns that a part of a split block has: its levels, and pairs of levels for triples.
size_t LevelsOfPart(const stats::marginals::TableSet& set, const BlockPart& part);
// Of a block: every level of one part with every level of another, for each row; and of pairs of levels
// of one with levels of another, where a triple needs them.
double ProductsPerRow(const stats::marginals::TableSet& set, const RowBlock& block);
// A triple of which three parts of the block have a column each; null: there is none.
const stats::marginals::CountTable* TripleOfThreeParts(const stats::marginals::TableSet& set,
                                                       const RowBlock& block);

// Throws kInternal unless every block's parts tile the attributes, or for a triple of three parts.
void CheckTask(const Task& task);

}  // namespace partita::methods::marginals
