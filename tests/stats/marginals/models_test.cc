// Graphical models and products against joint tables, cell by cell.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "stats/marginals/product_model.h"
#include "stats/marginals/tree_model.h"
#include "tests/stats/marginals/coded_table.h"
#include "tests/stats/marginals/joint.h"

namespace partita::stats::marginals::models_test {
namespace {

TableSet Tiny() { return AllTables({{"a", 2}, {"b", 3}, {"c", 2}, {"d", 4}}); }

std::vector<double> RandomJoint(uint8_t seed) {
  crypto::Prg source = SeededSource(seed);
  blr::Variates variates(source);
  std::vector<double> joint(48);
  for (double& cell : joint) cell = variates.Exponential();
  const double sum = std::accumulate(joint.begin(), joint.end(), 0.0);
  for (double& cell : joint) cell /= sum;
  return joint;
}

// The distribution of greatest entropy with these pair tables, by proportional fitting over all
// cells.
std::vector<double> ProportionalFit(const TableSet& set, const std::vector<double>& tables,
                                    const std::vector<Edge>& edges) {
  const Codes cells = AllCells(set);
  std::vector<double> joint(cells[0].size(), 1.0 / static_cast<double>(cells[0].size()));
  for (int sweep = 0; sweep < 3000; ++sweep) {
    for (const auto& [a, b] : edges) {
      const CountTable& table = set.Pair(a, b);
      const std::vector<double> now = TablesOfJoint(set, joint);
      for (size_t i = 0; i < joint.size(); ++i) {
        const size_t at = table.offset + cells[a][i] * table.columns + cells[b][i];
        joint[i] *= tables[at] / now[at];
      }
    }
  }
  return joint;
}

double Largest(const TableSet& set, const std::vector<double>& first,
               const std::vector<double>& second) {
  double largest = 0;
  for (size_t i = 0; i < set.num_cells; ++i) {
    largest = std::max(largest, std::abs(first[i] - second[i]));
  }
  return largest;
}

TEST(MarginalTree, IsTheGreatestEntropy) {
  const TableSet set = Tiny();
  const std::vector<double> tables = TablesOfJoint(set, RandomJoint(1));
  const std::vector<std::vector<Edge>> graphs = {
      {{0, 1}, {1, 2}, {2, 3}},  // a chain
      {{0, 1}, {0, 2}, {0, 3}},  // a star
      {{0, 1}, {1, 2}, {0, 2}},  // a triangle, and one alone
      {{0, 1}, {2, 3}},          // two parts
  };
  for (const std::vector<Edge>& edges : graphs) {
    const TreeModel model = FitTree(set, tables, MakeJunctionTree(set, edges), 3000);
    std::vector<double> wanted = ProportionalFit(set, tables, edges);
    const std::vector<double> ours = TablesOf(set, model);
    // The attribute without an edge keeps its one-way table.
    if (edges.back() == Edge{0, 2}) {
      const Codes cells = AllCells(set);
      for (size_t i = 0; i < wanted.size(); ++i) {
        wanted[i] *= 4 * tables[set.tables[3].offset + cells[3][i]];
      }
    }
    EXPECT_LT(Largest(set, ours, TablesOfJoint(set, wanted)), 1e-6) << edges.size();
  }
}

// A triple within a clique is met exactly, though pairs do not tell it; of any model its tables are
// those of the joint, within a clique or not.
TEST(MarginalTree, HasTriples) {
  const std::vector<Triple> triples = {{0, 1, 2}, {0, 1, 3}, {0, 2, 3}, {1, 2, 3}};
  const TableSet set = AllTables(Tiny().attributes, triples);
  const std::vector<double> tables = TablesOfJoint(set, RandomJoint(1));
  const TreeModel whole = FitTree(
      set, tables, MakeJunctionTree(set, std::vector<Edge>{{0, 1}, {1, 2}, {0, 2}, {2, 3}}), 3000);
  const std::vector<double> ours = TablesOf(set, whole);
  const CountTable& first = set.Triples()[0];
  for (size_t i = first.offset; i < first.offset + first.cells(); ++i)
    EXPECT_NEAR(ours[i], tables[i], 1e-6);
  // Of a chain no clique has three: the joint is the product of pairs over what they share.
  const TreeModel chain =
      FitTree(set, tables, MakeJunctionTree(set, std::vector<Edge>{{0, 2}, {2, 1}, {1, 3}}), 3000);
  const std::vector<double> of_chain = TablesOf(set, chain);
  const Codes cells = AllCells(set);
  std::vector<double> joint(cells[0].size());
  const auto pair = [&](size_t a, size_t b, size_t i) {
    const CountTable& table = set.Pair(a, b);
    return of_chain[table.offset + cells[a][i] * table.columns + cells[b][i]];
  };
  const auto one = [&](size_t a, size_t i) { return of_chain[set.tables[a].offset + cells[a][i]]; };
  for (size_t i = 0; i < joint.size(); ++i)
    joint[i] = pair(0, 2, i) * pair(1, 2, i) * pair(1, 3, i) / one(2, i) / one(1, i);
  EXPECT_LT(Largest(set, of_chain, TablesOfJoint(set, joint)), 1e-12);
}

// A table of weight 0 is passed over, whatever its numbers are; heavy tables win where tables
// disagree.
TEST(MarginalTree, WeighsTables) {
  const TableSet set = Tiny();
  std::vector<double> tables = TablesOfJoint(set, RandomJoint(1));
  const JunctionTree tree = MakeJunctionTree(set, std::vector<Edge>{{0, 1}, {1, 2}, {0, 2}});
  TableWeights weights(set.tables.size(), 1);
  const auto pair = static_cast<size_t>(&set.Pair(0, 2) - set.tables.data());
  weights[pair] = 0;
  const std::vector<double> before = TablesOf(set, FitTree(set, tables, tree, 500, weights));
  for (double& share : set.tables[pair].Of(std::span<double>(tables))) share = 9;
  EXPECT_EQ(TablesOf(set, FitTree(set, tables, tree, 500, weights)), before);
  // One-way tables of "d" say 1/4 each, its pair with "a" something else.
  crypto::Prg source = SeededSource(6);
  tables = TablesOfJoint(set, RandomJoint(1));
  for (double& share : set.tables[3].Of(std::span<double>(tables))) share = 0.25;
  for (const bool heavy : {true, false}) {
    weights.assign(set.tables.size(), 1);
    weights[3] = heavy ? 100 : 0.01;
    const auto miss = [&](const std::vector<double>& fitted) {
      double most = 0;
      for (const double share : set.tables[3].Of(std::span<const double>(fitted)))
        most = std::max(most, std::abs(share - 0.25));
      return most;
    };
    const std::vector<double> products =
        TablesOf(set, FitProducts(set, tables, 12, 1500, source, weights));
    const std::vector<double> chain = TablesOf(
        set, FitTree(set, tables, MakeJunctionTree(set, std::vector<Edge>{{0, 3}}), 3000, weights));
    if (heavy) {
      EXPECT_LT(miss(products), 0.005);
      EXPECT_LT(miss(chain), 0.005);
    } else {
      EXPECT_GT(miss(products), 0.02);
      EXPECT_GT(miss(chain), 0.02);
    }
  }
}

// A cycle is triangulated: pairs of the cliques that are no edges are fitted too.
TEST(MarginalTree, CyclesAreTriangulated) {
  const TableSet set = Tiny();
  const std::vector<Edge> edges = {{0, 1}, {1, 2}, {2, 3}, {0, 3}};
  const JunctionTree tree = MakeJunctionTree(set, edges);
  EXPECT_EQ(tree.cliques.size(), 2);
  EXPECT_EQ(static_cast<double>(tree.cells), TreeCells(set, edges));
  const std::vector<double> tables = TablesOfJoint(set, RandomJoint(2));
  const std::vector<double> ours = TablesOf(set, FitTree(set, tables, tree, 3000));
  for (const auto& [a, b] : edges) {
    const CountTable& table = set.Pair(a, b);
    for (size_t i = table.offset; i < table.offset + table.cells(); ++i) {
      EXPECT_NEAR(ours[i], tables[i], 1e-6);
    }
  }
}

TEST(MarginalTree, CliquesOfAnAttributeHangTogether) {
  crypto::Prg source = SeededSource(3);
  blr::Variates variates(source);
  for (int repeat = 0; repeat < 200; ++repeat) {
    std::vector<Attribute> attributes;
    for (size_t a = 0; a < 8; ++a) {
      attributes.push_back({std::string(1, static_cast<char>('a' + a)),
                            static_cast<uint32_t>(2 + variates.Below(3))});
    }
    const TableSet set = AllTables(attributes);
    std::vector<Edge> edges;
    for (uint32_t a = 0; a < 8; ++a) {
      for (uint32_t b = a + 1; b < 8; ++b) {
        if (variates.Below(4) == 0) edges.emplace_back(a, b);
      }
    }
    const JunctionTree tree = MakeJunctionTree(set, edges);
    for (const Edge& edge : edges) {
      EXPECT_TRUE(std::ranges::any_of(tree.cliques, [&](const Clique& clique) {
        return std::ranges::binary_search(clique.attributes, edge.first) &&
               std::ranges::binary_search(clique.attributes, edge.second);
      }));
    }
    // Of the cliques with an attribute one has no parent with it.
    for (uint32_t a = 0; a < 8; ++a) {
      size_t tops = 0;
      for (const Clique& clique : tree.cliques) {
        tops += std::ranges::binary_search(clique.attributes, a) &&
                !std::ranges::binary_search(clique.separator, a);
      }
      EXPECT_EQ(tops, 1);
    }
  }
}

// Rows drawn from a model have its tables, up to rounding and the chance that is left.
void ExpectRowsOf(const TableSet& set, const std::vector<double>& tables, const Codes& codes) {
  const std::vector<double> drawn = SharesOfRows(set, codes);
  const double rows = static_cast<double>(codes[0].size());
  for (size_t i = 0; i < set.num_cells; ++i) {
    EXPECT_NEAR(drawn[i], tables[i], 6 * std::sqrt(tables[i] / rows) + 2 / rows) << i;
  }
}

TEST(MarginalTree, RowsHaveItsTables) {
  const TableSet set = Tiny();
  const std::vector<double> tables = TablesOfJoint(set, RandomJoint(4));
  crypto::Prg source = SeededSource(4);
  for (const std::vector<Edge>& edges :
       {std::vector<Edge>{{0, 1}, {1, 2}, {2, 3}}, std::vector<Edge>{{0, 3}}}) {
    const TreeModel model = FitTree(set, tables, MakeJunctionTree(set, edges), 300);
    ExpectRowsOf(set, TablesOf(set, model), DrawRows(set, model, 20000, source));
    EXPECT_EQ(DrawRows(set, model, 0, source)[0].size(), 0);
    EXPECT_EQ(DrawRows(set, model, 1, source)[3].size(), 1);
  }
}

TEST(MarginalProducts, TablesAreThoseOfTheJoint) {
  const std::vector<Triple> triples = {{0, 1, 3}, {1, 2, 3}};
  const TableSet set = AllTables(Tiny().attributes, triples);
  crypto::Prg source = SeededSource(9);
  const ProductModel model = FitProducts(set, TablesOfJoint(set, RandomJoint(5)), 3, 20, source);
  const Codes cells = AllCells(set);
  std::vector<double> joint(cells[0].size(), 0);
  for (size_t i = 0; i < joint.size(); ++i) {
    for (Eigen::Index k = 0; k < 3; ++k) {
      joint[i] += model.weights[k] * model.levels(k, cells[0][i]) *
                  model.levels(k, 2 + cells[1][i]) * model.levels(k, 5 + cells[2][i]) *
                  model.levels(k, 7 + cells[3][i]);
    }
  }
  EXPECT_LT(Largest(set, TablesOf(set, model), TablesOfJoint(set, joint)), 1e-6);
  ExpectRowsOf(set, TablesOf(set, model), DrawRows(set, model, 20000, source));
}

TEST(MarginalProducts, FitWhatTheyCanBe) {
  const TableSet set = Tiny();
  crypto::Prg source = SeededSource(10);
  const std::vector<double> tables = TablesOfJoint(set, RandomJoint(6));
  // Independent attributes: the one-way tables, when the pairs say so.
  std::vector<double> independent = tables;
  for (const CountTable& table : set.tables) {
    for (size_t r = 0; !table.one_way() && r < table.rows; ++r) {
      for (size_t c = 0; c < table.columns; ++c) {
        independent[table.offset + r * table.columns + c] =
            tables[set.tables[table.first].offset + r] *
            tables[set.tables[table.second].offset + c];
      }
    }
  }
  EXPECT_LT(Largest(set, TablesOf(set, FitProducts(set, independent, 1, 300, source)), independent),
            1e-3);
  // A joint table of 48 cells is a mixture of twelve products.
  EXPECT_LT(Largest(set, TablesOf(set, FitProducts(set, tables, 12, 2000, source)), tables), 1e-3);
}

}  // namespace
}  // namespace partita::stats::marginals::models_test
