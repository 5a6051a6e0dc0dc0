#include "stats/marginals/tree_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "stats/blr/variates.h"
#include "stats/marginals/apportion.h"

namespace partita::stats::marginals {
namespace {

using Vector = std::vector<double>;

constexpr double kLeastStart = 1e-6;  // of a level at the start
constexpr double kNever = -std::numeric_limits<double>::infinity();

Vector Sums(const Vector& cells, std::span<const uint32_t> to, size_t size) {
  Vector sums(size, 0);
  for (size_t i = 0; i < cells.size(); ++i) sums[to[i]] += cells[i];
  return sums;
}

// log sum exp of `logs` over the cells that go to the same place.
Vector LogSums(const Vector& logs, std::span<const uint32_t> to, size_t size) {
  Vector largest(size, kNever), sums(size, 0);
  for (size_t i = 0; i < logs.size(); ++i) largest[to[i]] = std::max(largest[to[i]], logs[i]);
  for (size_t i = 0; i < logs.size(); ++i) sums[to[i]] += std::exp(logs[i] - largest[to[i]]);
  for (size_t s = 0; s < size; ++s) sums[s] = largest[s] + std::log(sums[s]);
  return sums;
}

// From logarithms of factors by clique to probabilities by clique: two passes of messages.
std::vector<Vector> Propagate(const JunctionTree& tree, std::vector<Vector> logs) {
  std::vector<Vector> up(tree.cliques.size());
  for (size_t c = tree.cliques.size(); c-- > 1;) {
    const Clique& clique = tree.cliques[c];
    up[c] = LogSums(logs[c], clique.to_separator, clique.separator_cells);
    Vector& parent = logs[*clique.parent];
    for (size_t i = 0; i < parent.size(); ++i) parent[i] += up[c][clique.from_parent[i]];
  }
  for (size_t c = 0; c < tree.cliques.size(); ++c) {
    const Clique& clique = tree.cliques[c];
    if (c == 0) {
      const double largest = *std::ranges::max_element(logs[0]);
      double sum = 0;
      for (double& value : logs[0]) sum += value = std::exp(value - largest);
      for (double& value : logs[0]) value /= sum;
      continue;
    }
    // The parent is done: its separator over what came up is what the rest of the tree says.
    Vector down = Sums(logs[*clique.parent], clique.from_parent, clique.separator_cells);
    for (size_t s = 0; s < down.size(); ++s) down[s] = std::log(down[s]) - up[c][s];
    for (size_t i = 0; i < logs[c].size(); ++i) {
      logs[c][i] = std::exp(logs[c][i] + down[clique.to_separator[i]]);
    }
  }
  return logs;
}

// A table that some clique has whole.
struct Measured {
  const CountTable* table;
  size_t clique;
  std::vector<uint32_t> to;  // by cell of the clique
  Vector precision;          // by cell
};

std::vector<Measured> MeasuredTables(const TableSet& set, std::span<const double> shares,
                                     const JunctionTree& tree, const TableWeights& weights,
                                     double least_share) {
  const double most = weights.empty() ? 1 : *std::ranges::max_element(weights);
  std::vector<Measured> measured;
  for (size_t t = 0; t < set.tables.size(); ++t) {
    const CountTable& table = set.tables[t];
    const double weight = WeightOf(weights, t) / most;
    if (weight == 0) continue;
    const std::vector<uint32_t> attributes = table.Attributes();
    std::optional<size_t> smallest;
    for (size_t c = 0; c < tree.cliques.size(); ++c) {
      const Clique& clique = tree.cliques[c];
      if (!std::ranges::includes(clique.attributes, attributes)) continue;
      if (!smallest || clique.cells < tree.cliques[*smallest].cells) smallest = c;
    }
    if (!smallest) continue;
    Vector precision(table.cells(), weight * weight);
    if (least_share > 0) {
      const std::span<const double> wanted = table.Of(shares);
      for (size_t i = 0; i < wanted.size(); ++i) precision[i] /= std::max(wanted[i], least_share);
    }
    measured.push_back({&table, *smallest, Projection(set, tree.cliques[*smallest], attributes),
                        std::move(precision)});
  }
  return measured;
}

class TreeFit {
 public:
  TreeFit(const TableSet& set, std::span<const double> shares, const JunctionTree& tree,
          const TableWeights& weights, double least_share)
      : shares_(shares),
        tree_(tree),
        measured_(MeasuredTables(set, shares, tree, weights, least_share)) {
    for (const Measured& m : measured_) {
      Vector factor(m.table->cells(), 0);
      if (m.table->one_way()) {
        const std::span<const double> start = m.table->Of(shares);
        for (size_t i = 0; i < factor.size(); ++i) {
          factor[i] = std::log(std::max(start[i], kLeastStart));
        }
      }
      factors_.push_back(std::move(factor));
    }
    Evaluate(factors_, cliques_, gradient_, objective_);
    length_ = 1.0 / static_cast<double>(measured_.size());
  }

  void Step() {
    std::vector<Vector> factors = factors_, cliques, gradient;
    for (size_t m = 0; m < factors.size(); ++m) {
      for (size_t i = 0; i < factors[m].size(); ++i) factors[m][i] -= length_ * gradient_[m][i];
    }
    double objective = 0;
    Evaluate(factors, cliques, gradient, objective);
    if (!(objective < objective_)) {
      length_ /= 2;
      return;
    }
    length_ *= 1.5;
    objective_ = objective;
    factors_ = std::move(factors);
    cliques_ = std::move(cliques);
    gradient_ = std::move(gradient);
  }

  std::vector<Vector> Take() { return std::move(cliques_); }

 private:
  void Evaluate(const std::vector<Vector>& factors, std::vector<Vector>& cliques,
                std::vector<Vector>& gradient, double& objective) const {
    cliques.clear();
    for (const Clique& clique : tree_.cliques) cliques.emplace_back(clique.cells, 0);
    for (size_t m = 0; m < measured_.size(); ++m) {
      Vector& cells = cliques[measured_[m].clique];
      const std::vector<uint32_t>& to = measured_[m].to;
      for (size_t i = 0; i < cells.size(); ++i) cells[i] += factors[m][to[i]];
    }
    cliques = Propagate(tree_, std::move(cliques));
    gradient.clear();
    objective = 0;
    for (const Measured& m : measured_) {
      gradient.push_back(Sums(cliques[m.clique], m.to, m.table->cells()));
      const std::span<const double> wanted = m.table->Of(shares_);
      for (size_t i = 0; i < wanted.size(); ++i) {
        const double difference = gradient.back()[i] - wanted[i];
        gradient.back()[i] = m.precision[i] * difference;
        objective += m.precision[i] * difference * difference / 2;
      }
    }
  }

  std::span<const double> shares_;
  const JunctionTree& tree_;
  std::vector<Measured> measured_;
  std::vector<Vector> factors_, cliques_, gradient_;
  double objective_ = 0, length_ = 0;
};

// How a vector over one clique becomes one over a neighbour: summed to the separator, divided by
// its probabilities there.
struct Passage {
  size_t from, to;
  std::span<const uint32_t> from_cells, to_cells;
  Vector ratio;  // 1 / probability of the separator's cells; 0 where that is as good as 0
};

using AllPassages = std::vector<std::vector<Passage>>;  // by the clique that they come from

AllPassages Passages(const JunctionTree& tree, const std::vector<Vector>& cliques) {
  AllPassages passages(tree.cliques.size());
  for (size_t c = 1; c < tree.cliques.size(); ++c) {
    const Clique& clique = tree.cliques[c];
    Vector ratio = Sums(cliques[c], clique.to_separator, clique.separator_cells);
    for (double& value : ratio) value = std::isnormal(value) ? 1 / value : 0;
    const size_t parent = *clique.parent;
    passages[parent].push_back({parent, c, clique.from_parent, clique.to_separator, ratio});
    passages[c].push_back({c, parent, clique.to_separator, clique.from_parent, std::move(ratio)});
  }
  return passages;
}

// Where an attribute is read off: the first clique that has it.
struct Reading {
  size_t clique = 0;
  std::vector<uint32_t> to;  // its level, by cell
};

// Consistent cliques, restricted to one level of an attribute: from where it is read outwards.
void Restrict(const AllPassages& passages, const std::vector<Vector>& cliques, const Reading& start,
              uint32_t level, std::vector<Vector>& restricted) {
  restricted.resize(cliques.size());
  restricted[start.clique] = cliques[start.clique];
  for (size_t i = 0; i < start.to.size(); ++i) {
    if (start.to[i] != level) restricted[start.clique][i] = 0;
  }
  std::vector<std::pair<size_t, size_t>> open = {{start.clique, start.clique}};
  while (!open.empty()) {
    const auto [here, before] = open.back();
    open.pop_back();
    for (const Passage& passage : passages[here]) {
      if (passage.to == before) continue;
      Vector message = Sums(restricted[here], passage.from_cells, passage.ratio.size());
      for (size_t s = 0; s < message.size(); ++s) message[s] *= passage.ratio[s];
      Vector& there = restricted[passage.to] = cliques[passage.to];
      for (size_t i = 0; i < there.size(); ++i) there[i] *= message[passage.to_cells[i]];
      open.emplace_back(passage.to, here);
    }
  }
}

// Shares of a triple: summed from a clique that has it, else restricted to the levels of two of its
// attributes, those with the fewest.
Vector TripleOf(const TableSet& set, const TreeModel& model, const AllPassages& passages,
                const std::vector<Reading>& readings, const CountTable& table) {
  const std::vector<uint32_t> attributes = table.Attributes();
  for (size_t c = 0; c < model.cliques.size(); ++c) {
    if (std::ranges::includes(model.tree.cliques[c].attributes, attributes))
      return Sums(model.cliques[c], Projection(set, model.tree.cliques[c], attributes),
                  table.cells());
  }
  const auto levels = [&](size_t axis) { return set.attributes[attributes[axis]].levels; };
  std::array<size_t, 3> axes = {0, 1, 2};
  std::ranges::stable_sort(axes, {}, levels);
  const std::array<size_t, 3> steps = StepsOf(set, table);
  Vector shares(table.cells());
  std::vector<Vector> of_first, of_both;
  const Reading& last = readings[attributes[axes[2]]];
  for (uint32_t first = 0; first < levels(axes[0]); ++first) {
    Restrict(passages, model.cliques, readings[attributes[axes[0]]], first, of_first);
    const AllPassages within = Passages(model.tree, of_first);
    for (uint32_t second = 0; second < levels(axes[1]); ++second) {
      Restrict(within, of_first, readings[attributes[axes[1]]], second, of_both);
      const Vector row = Sums(of_both[last.clique], last.to, levels(axes[2]));
      for (size_t third = 0; third < row.size(); ++third)
        shares[first * steps[axes[0]] + second * steps[axes[1]] + third * steps[axes[2]]] =
            row[third];
    }
  }
  return shares;
}

}  // namespace

TreeModel FitTree(const TableSet& set, std::span<const double> shares, JunctionTree tree,
                  size_t steps, const TableWeights& weights, double least_share) {
  TreeModel model = {std::move(tree), {}};
  TreeFit fit(set, shares, model.tree, weights, least_share);
  for (size_t step = 0; step < steps; ++step) fit.Step();
  model.cliques = fit.Take();
  return model;
}

std::vector<double> TablesOf(const TableSet& set, const TreeModel& model) {
  const size_t d = set.attributes.size();
  const AllPassages passages = Passages(model.tree, model.cliques);
  std::vector<Reading> readings(d);
  for (uint32_t a = 0; a < d; ++a) {
    while (!std::ranges::binary_search(model.tree.cliques[readings[a].clique].attributes, a)) {
      ++readings[a].clique;
    }
    readings[a].to = Projection(set, model.tree.cliques[readings[a].clique], {&a, 1});
  }
  Vector tables(set.num_cells, 0);
  std::vector<Vector> restricted;
  for (size_t a = 0; a < d; ++a) {
    for (uint32_t level = 0; level < set.attributes[a].levels; ++level) {
      Restrict(passages, model.cliques, readings[a], level, restricted);
      for (size_t b = a; b < d; ++b) {
        const Vector shares =
            Sums(restricted[readings[b].clique], readings[b].to, set.attributes[b].levels);
        if (b == a) {
          tables[set.tables[a].offset + level] = shares[level];
          continue;
        }
        const CountTable& table = set.Pair(a, b);
        std::ranges::copy(
            shares, tables.begin() + static_cast<ptrdiff_t>(table.offset + level * table.columns));
      }
    }
  }
  for (const CountTable& triple : set.Triples()) {
    const Vector shares = TripleOf(set, model, passages, readings, triple);
    std::ranges::copy(shares, tables.begin() + static_cast<ptrdiff_t>(triple.offset));
  }
  return tables;
}

Codes DrawRows(const TableSet& set, const TreeModel& model, size_t rows,
               crypto::RandomSource& source) {
  blr::Variates variates(source);
  Codes codes(set.attributes.size(), std::vector<uint16_t>(rows));
  std::vector<std::vector<uint32_t>> cell_of_row;  // by clique
  for (size_t c = 0; c < model.tree.cliques.size(); ++c) {
    const Clique& clique = model.tree.cliques[c];
    // Rows and cells by the separator that is drawn already.
    std::vector<std::vector<uint32_t>> rows_at(clique.separator_cells), cells_at = rows_at;
    for (uint32_t n = 0; n < rows; ++n) {
      rows_at[c == 0 ? 0 : clique.from_parent[cell_of_row[*clique.parent][n]]].push_back(n);
    }
    for (uint32_t i = 0; i < clique.cells; ++i) {
      cells_at[c == 0 ? 0 : clique.to_separator[i]].push_back(i);
    }
    cell_of_row.emplace_back(rows);
    for (size_t s = 0; s < clique.separator_cells; ++s) {
      Vector weights;
      for (const uint32_t i : cells_at[s]) weights.push_back(model.cliques[c][i]);
      const std::vector<uint32_t> counts = Apportion(rows_at[s].size(), weights, variates);
      Shuffle(std::span<uint32_t>(rows_at[s]), variates);
      size_t at = 0;
      for (size_t i = 0; i < counts.size(); ++i) {
        for (uint32_t k = 0; k < counts[i]; ++k) cell_of_row[c][rows_at[s][at++]] = cells_at[s][i];
      }
    }
    for (const uint32_t a : clique.attributes) {
      const std::vector<uint32_t> level = Projection(set, clique, {&a, 1});
      for (size_t n = 0; n < rows; ++n)
        codes[a][n] = static_cast<uint16_t>(level[cell_of_row[c][n]]);
    }
  }
  return codes;
}

}  // namespace partita::stats::marginals
