#include "stats/marginals/junction_tree.h"

#include <algorithm>
#include <iterator>

namespace partita::stats::marginals {
namespace {

using Group = std::vector<uint32_t>;

double CellsOf(const TableSet& set, const Group& group) {
  double cells = 1;
  for (const uint32_t a : group) cells *= set.attributes[a].levels;
  return cells;
}

// The maximal cliques of the graph made triangulated.
std::vector<Group> MaximalCliques(const TableSet& set, std::span<const Edge> edges) {
  const size_t d = set.attributes.size();
  std::vector<std::vector<bool>> linked(d, std::vector<bool>(d, false));
  for (const auto& [a, b] : edges) linked[a][b] = linked[b][a] = true;
  std::vector<bool> gone(d, false);
  const auto around = [&](uint32_t a) {
    Group group;
    for (uint32_t b = 0; b < d; ++b) {
      if (b == a || (!gone[b] && linked[a][b])) group.push_back(b);
    }
    return group;
  };
  std::vector<Group> cliques;
  for (size_t step = 0; step < d; ++step) {
    uint32_t best = 0;
    double fewest = -1;
    for (uint32_t a = 0; a < d; ++a) {
      if (gone[a]) continue;
      const double cells = CellsOf(set, around(a));
      if (fewest < 0 || cells < fewest) {
        fewest = cells;
        best = a;
      }
    }
    Group group = around(best);
    for (const uint32_t a : group) {
      for (const uint32_t b : group) {
        if (a != b) linked[a][b] = true;
      }
    }
    gone[best] = true;
    const bool inside = std::ranges::any_of(
        cliques, [&](const Group& other) { return std::ranges::includes(other, group); });
    if (!inside) cliques.push_back(std::move(group));
  }
  return cliques;
}

Group Shared(const Group& first, const Group& second) {
  Group both;
  std::ranges::set_intersection(first, second, std::back_inserter(both));
  return both;
}

}  // namespace

double TreeCells(const TableSet& set, std::span<const Edge> edges) {
  double cells = 0;
  for (const Group& group : MaximalCliques(set, edges)) cells += CellsOf(set, group);
  return cells;
}

std::vector<uint32_t> Projection(const TableSet& set, const Clique& clique,
                                 std::span<const uint32_t> attributes) {
  // The step of each of the clique's attributes in the smaller table; 0: summed over.
  const size_t size = clique.attributes.size();
  std::vector<uint32_t> steps(size, 0), levels(size), at(size, 0);
  uint32_t step = 1;
  for (size_t i = attributes.size(); i-- > 0;) {
    const auto found = std::ranges::find(clique.attributes, attributes[i]);
    steps[static_cast<size_t>(found - clique.attributes.begin())] = step;
    step *= set.attributes[attributes[i]].levels;
  }
  for (size_t i = 0; i < size; ++i) levels[i] = set.attributes[clique.attributes[i]].levels;
  std::vector<uint32_t> projection(clique.cells);
  uint32_t cell = 0;
  for (uint32_t& to : projection) {
    to = cell;
    for (size_t i = size; i-- > 0;) {
      cell += steps[i];
      if (++at[i] < levels[i]) break;
      cell -= steps[i] * levels[i];
      at[i] = 0;
    }
  }
  return projection;
}

JunctionTree MakeJunctionTree(const TableSet& set, std::span<const Edge> edges) {
  std::vector<Group> groups = MaximalCliques(set, edges);
  JunctionTree tree;
  // A spanning tree of greatest separators has the running intersection property (Jensen & Jensen
  // 1994); cliques without anything in common hang together by empty separators.
  std::vector<bool> taken(groups.size(), false);
  while (tree.cliques.size() < groups.size()) {
    Clique next;
    size_t best = 0, widest = 0;
    bool found = false;
    for (size_t g = 0; g < groups.size(); ++g) {
      if (taken[g]) continue;
      if (tree.cliques.empty()) {
        best = g;
        break;
      }
      for (size_t c = 0; c < tree.cliques.size(); ++c) {
        const size_t width = Shared(groups[g], tree.cliques[c].attributes).size();
        if (found && width <= widest) continue;
        found = true;
        widest = width;
        best = g;
        next.parent = c;
      }
    }
    taken[best] = true;
    next.attributes = groups[best];
    next.cells = static_cast<size_t>(CellsOf(set, next.attributes));
    tree.cells += next.cells;
    if (next.parent) {
      const Clique& parent = tree.cliques[*next.parent];
      next.separator = Shared(next.attributes, parent.attributes);
      next.separator_cells = static_cast<size_t>(CellsOf(set, next.separator));
      next.to_separator = Projection(set, next, next.separator);
      next.from_parent = Projection(set, parent, next.separator);
    }
    tree.cliques.push_back(std::move(next));
  }
  return tree;
}

}  // namespace partita::stats::marginals
