// A graphical model on a junction tree, fitted to the noisy tables that it has whole (McKenna,
// Sheldon & Miklau, ICML 2019, Algorithm 1: entropic mirror descent with belief propagation).
//
// Of all distributions with the same tables it is the one of greatest entropy. Objective: half the
// squared distance of the model's tables from the measured shares, weighted by precision, over all
// one-way tables
// and all pairs and triples within a clique that are measured, whether or not the pair is an edge. A fixed
// number of steps; a step that
// does not lessen the objective is halved, one that does makes the next 1.5 times as long.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "crypto/random.h"
#include "stats/marginals/junction_tree.h"
#include "stats/marginals/tables.h"

namespace partita::stats::marginals {

struct TreeModel {
  JunctionTree tree;
  std::vector<std::vector<double>> cliques;  // probabilities by cell; they agree on separators
};

// shares: consistent tables divided by the number of rows; may be negative. By mirror descent on squares
// of differences. least_share > 0: each square divided by the cell's share, or by this if it is less;
// rare cells then move as fast as common ones, which squares alone leave where they started.
TreeModel FitTree(const TableSet& set, std::span<const double> shares, JunctionTree tree,
                  size_t steps, const TableWeights& weights = {}, double least_share = 0);

// All tables of the model, as shares, those across cliques too: exact. Costs D passes over the tree,
// and for a triple that no clique has whole as many as the two of its attributes with the fewest
// levels have cells.
std::vector<double> TablesOf(const TableSet& set, const TreeModel& model);

Codes DrawRows(const TableSet& set, const TreeModel& model, size_t rows,
               crypto::RandomSource& source);

}  // namespace partita::stats::marginals
