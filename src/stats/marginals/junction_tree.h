// Junction trees: which attributes stand together so that a graphical model over chosen pairs has
// its distribution as a product of small tables (Lauritzen & Spiegelhalter 1988; Koller & Friedman
// 2009, chapter 10).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "stats/marginals/tables.h"

namespace partita::stats::marginals {

using Edge = std::pair<uint32_t, uint32_t>;

struct Clique {
  std::vector<uint32_t> attributes;  // increasing; a cell is row-major, the last one fastest
  size_t cells = 0;
  std::optional<size_t> parent;     // an earlier clique; none: the root
  std::vector<uint32_t> separator;  // attributes shared with the parent; may be none
  size_t separator_cells = 1;
  std::vector<uint32_t> to_separator;  // by cell of this clique
  std::vector<uint32_t> from_parent;   // by cell of the parent: its cell of the separator
};

// Parents come before their children; the first is the root.
struct JunctionTree {
  std::vector<Clique> cliques;
  size_t cells = 0;
};

// Attributes are eliminated in the order of the smallest clique that they leave.
// Cells of all cliques, without making their tables; infinity if beyond what a double counts.
double TreeCells(const TableSet& set, std::span<const Edge> edges);
// TreeCells must be small enough for the memory: 8 bytes a cell for each clique and neighbour.
JunctionTree MakeJunctionTree(const TableSet& set, std::span<const Edge> edges);

// By cell of the clique, the cell of the table of some of its attributes.
std::vector<uint32_t> Projection(const TableSet& set, const Clique& clique,
                                 std::span<const uint32_t> attributes);

}  // namespace partita::stats::marginals
