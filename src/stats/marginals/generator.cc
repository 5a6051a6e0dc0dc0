#include "stats/marginals/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numbers>
#include <numeric>

#include "base/error.h"
#include "stats/blr/variates.h"
#include "stats/marginals/apportion.h"
#include "stats/marginals/blend.h"
#include "stats/marginals/consistent.h"

namespace partita::stats::marginals {
namespace {

constexpr double kThinning = 0.6;
// With next to no rows, and their number unknown, its estimate may be anything.
constexpr double kFewestRows = 1;
constexpr double kAboveNoise = 1.25;
constexpr size_t kProductSteps = 300, kGrowthSteps = 40, kTreeSteps = 200;

struct Shares {
  std::vector<double> cells;
  double noise_stddev = 0;  // of a table of weight 1
  TableWeights weights;
};

Shares SharesOf(const TableSet& set, const NoisyTables& noisy) {
  if (!(noisy.noise_stddev > 0)) {
    throw Error(ErrorCode::kUsage, "Noisy tables have no noise", "Give its standard deviation.");
  }
  // Impossible cells are known to be 0: their noise is kept out of the margins of their tables,
  // too.
  std::vector<double> cells = noisy.cells;
  const auto set_to_0 = [&](std::vector<double>& all) {
    for (const ImpossibleCell& impossible : noisy.impossible) {
      for (const size_t cell : CellsOf(set, impossible)) all[cell] = 0;
    }
  };
  set_to_0(cells);
  ConsistentTables tables = MakeConsistent(set, cells, noisy.rows, noisy.weights);
  set_to_0(tables.cells);
  const double rows = std::max(tables.rows, kFewestRows);
  for (double& cell : tables.cells) cell /= rows;
  return {std::move(tables.cells), noisy.noise_stddev / rows, noisy.weights};
}

// What noise alone is expected to give a pair's distance (L1) from a model without it.
double NoiseDistance(const CountTable& table, double noise_stddev) {
  return std::sqrt(2 / std::numbers::pi * (1 - 1.0 / table.rows) * (1 - 1.0 / table.columns)) *
         noise_stddev * static_cast<double>(table.cells());
}

std::vector<double> IndependentTables(const TableSet& set, std::span<const double> shares) {
  std::vector<double> tables(shares.begin(), shares.end());
  for (const CountTable& table : set.tables) {
    if (table.one_way()) continue;
    const std::span<const double> first = set.tables[table.first].Of(shares),
                                  second = set.tables[table.second].Of(shares);
    size_t at = table.offset;
    for (const double p : first) {
      for (const double q : second) {
        if (!table.third) {
          tables[at++] = p * q;
          continue;
        }
        for (const double r : set.tables[*table.third].Of(shares)) tables[at++] = p * q * r;
      }
    }
  }
  return tables;
}

// Pairs whose measured table is further from the model than noise explains, the strongest first.
std::vector<Edge> StrongPairs(const TableSet& set, const Shares& shares,
                              std::span<const double> model) {
  struct Strong {
    double excess;
    Edge edge;
  };
  std::vector<Strong> strong;
  for (size_t t = 0; t < set.tables.size(); ++t) {
    const CountTable& table = set.tables[t];
    if (!table.two_way() || WeightOf(shares.weights, t) == 0) continue;
    double distance = 0;
    for (size_t i = table.offset; i < table.offset + table.cells(); ++i) {
      distance += std::abs(shares.cells[i] - model[i]);
    }
    const double noise = NoiseDistance(table, shares.noise_stddev / WeightOf(shares.weights, t));
    if (distance > kAboveNoise * noise) {
      strong.push_back({distance - noise, {table.first, table.second}});
    }
  }
  std::ranges::stable_sort(strong, std::greater<>(), &Strong::excess);
  std::vector<Edge> edges;
  for (const Strong& pair : strong) edges.push_back(pair.edge);
  return edges;
}

// Triples whose interaction of all three is further from 0 than noise explains, the strongest first.
// Only their own tables measure it.
std::vector<CountTable> StrongTriples(const TableSet& set, const Shares& shares) {
  struct Strong {
    double excess;
    CountTable table;
  };
  std::vector<Strong> strong;
  for (const CountTable& table : set.Triples()) {
    const auto t = static_cast<size_t>(&table - set.tables.data());
    double noise = std::sqrt(2 / std::numbers::pi) * shares.noise_stddev /
                   WeightOf(shares.weights, t) * static_cast<double>(table.cells());
    std::vector<uint32_t> levels;
    for (const uint32_t a : table.Attributes()) {
      levels.push_back(set.attributes[a].levels);
      noise *= std::sqrt(1 - 1.0 / levels.back());
    }
    const std::span<const double> of = table.Of(std::span<const double>(shares.cells));
    std::vector<double> cells(of.begin(), of.end());
    CenterCells(levels, cells);
    double distance = 0;
    for (const double cell : cells) distance += std::abs(cell);
    if (distance > kAboveNoise * noise) strong.push_back({distance - noise, table});
  }
  std::ranges::stable_sort(strong, std::greater<>(), &Strong::excess);
  std::vector<CountTable> triples;
  for (const Strong& triple : strong) triples.push_back(triple.table);
  return triples;
}

bool Fits(const TableSet& set, std::span<const Edge> edges, size_t most_cells) {
  return TreeCells(set, edges) <= static_cast<double>(most_cells);
}

// Kruskal's forest of the strongest pairs that fit.
std::vector<Edge> Forest(const TableSet& set, const Shares& shares) {
  std::vector<uint32_t> root(set.attributes.size());
  std::iota(root.begin(), root.end(), 0U);
  std::vector<Edge> forest;
  for (const Edge& edge : StrongPairs(set, shares, IndependentTables(set, shares.cells))) {
    const uint32_t from = root[edge.first], to = root[edge.second];
    if (from == to) continue;
    forest.push_back(edge);
    if (!Fits(set, forest, kTreeCells)) {
      forest.pop_back();
      continue;
    }
    std::ranges::replace(root, from, to);
  }
  return forest;
}

// The edges of strong triples, then those of the forest, as far as they fit.
std::vector<Edge> TriplesAndForest(const TableSet& set, const Shares& shares) {
  std::vector<Edge> edges;
  const auto add = [&](std::initializer_list<Edge> more) {
    std::vector<Edge> with = edges;
    for (const Edge& edge : more) {
      if (std::ranges::find(with, edge) == with.end()) with.push_back(edge);
    }
    if (Fits(set, with, kTreeCells)) edges = std::move(with);
  };
  for (const CountTable& triple : StrongTriples(set, shares)) {
    const uint32_t a = triple.first, b = triple.second, c = *triple.third;
    add({{a, b}, {a, c}, {b, c}});
  }
  for (const Edge& edge : Forest(set, shares)) add({edge});
  return edges;
}

std::vector<Edge> Grown(const TableSet& set, const Shares& shares, std::vector<Edge> edges) {
  const TableSet pairs = AllTables(set.attributes);  // triples have their edges already
  // The bound on the tree's cells rises with the rounds, so that the first ones do not fill it.
  for (size_t round = 1; round <= kGrowthRounds; ++round) {
    const TreeModel model =
        FitTree(set, shares.cells, MakeJunctionTree(set, edges), kGrowthSteps, shares.weights);
    const std::vector<Edge> strong = StrongPairs(pairs, shares, TablesOf(pairs, model));
    const size_t most_cells = kTreeCells * round / kGrowthRounds;
    size_t added = 0;
    for (const Edge& edge : strong) {
      if (added == set.attributes.size()) break;
      if (std::ranges::find(edges, edge) != edges.end()) continue;
      edges.push_back(edge);
      if (Fits(set, edges, most_cells)) {
        ++added;
      } else {
        edges.pop_back();
      }
    }
    if (added == 0 && round == kGrowthRounds) break;
  }
  return edges;
}

std::vector<SquaredDistance> Distances(const TableSet& set, const NoisyTables& noisy,
                                       std::span<const double> shares, double rows) {
  std::vector<SquaredDistance> distances;
  for (size_t t = 0; t < set.tables.size(); ++t) {
    const CountTable& table = set.tables[t];
    if (!noisy.Measured(t)) {
      distances.emplace_back();
      continue;
    }
    const double variance = noisy.Stddev(t) * noisy.Stddev(t);
    double sum = 0;
    for (size_t i = table.offset; i < table.offset + table.cells(); ++i) {
      const double difference = noisy.cells[i] - rows * shares[i];
      sum += difference * difference;
    }
    const double cells = static_cast<double>(table.cells());
    const double estimate = sum - cells * variance;
    distances.push_back({estimate, std::sqrt(2 * cells * variance * variance +
                                             4 * variance * std::max(estimate, 0.0))});
  }
  return distances;
}

double Score(const TableSet& set, const NoisyTables& noisy, std::span<const double> shares,
             double rows) {
  double sum = 0;
  size_t cells = 0;
  for (size_t t = 0; t < set.tables.size(); ++t) {
    const CountTable& table = set.tables[t];
    if (!noisy.Measured(t)) continue;
    cells += table.cells();
    for (size_t i = table.offset; i < table.offset + table.cells(); ++i) {
      const double difference = (noisy.cells[i] - rows * shares[i]) / noisy.Stddev(t);
      sum += difference * difference;
    }
  }
  return sum / static_cast<double>(cells);
}

}  // namespace

bool Choice::IsIndependent() const {
  return std::ranges::all_of(generator.parts, [](const Generator& part) {
    if (const auto* products = std::get_if<ProductModel>(&part))
      return products->weights.size() == 1;
    return std::ranges::all_of(std::get<TreeModel>(part).tree.cliques,
                               [](const Clique& clique) { return clique.attributes.size() == 1; });
  });
}

std::string CandidateName(const Candidate& candidate) {
  switch (candidate.kind) {
    case CandidateKind::kForest:
      return "forest";
    case CandidateKind::kTree:
      return "tree";
    case CandidateKind::kProducts:
      break;
  }
  return candidate.components == 1 ? "independent"
                                   : fmt::format("products {}", candidate.components);
}

std::vector<Candidate> AllCandidates() {
  std::vector<Candidate> candidates;
  for (const size_t components : {1, 2, 4, 12, 40, 100, 250}) {
    candidates.push_back({CandidateKind::kProducts, components});
  }
  candidates.push_back({CandidateKind::kForest});
  candidates.push_back({CandidateKind::kTree});
  return candidates;
}

std::vector<Candidate> CandidatesFor(const NoisyTables& noisy) {
  if (std::ranges::count(noisy.weights, 0.0) == 0) return AllCandidates();
  return {{CandidateKind::kProducts, 1}, {CandidateKind::kForest}, {CandidateKind::kTree}};
}

TreeModel FitGraph(const TableSet& set, const NoisyTables& noisy, std::span<const Edge> edges) {
  const Shares shares = SharesOf(set, noisy);
  return FitTree(set, shares.cells, MakeJunctionTree(set, edges), kTreeSteps, shares.weights,
                 shares.noise_stddev);
}

Generator FitGenerator(const TableSet& set, const NoisyTables& noisy, const Candidate& candidate,
                       crypto::RandomSource& source) {
  const Shares shares = SharesOf(set, noisy);
  if (candidate.kind == CandidateKind::kProducts) {
    return FitProducts(set, shares.cells, candidate.components, kProductSteps, source,
                       shares.weights);
  }
  const std::vector<Edge> edges = candidate.kind == CandidateKind::kForest
                                      ? Forest(set, shares)
                                      : Grown(set, shares, TriplesAndForest(set, shares));
  return FitTree(set, shares.cells, MakeJunctionTree(set, edges), kTreeSteps, shares.weights);
}

std::vector<double> TablesOf(const TableSet& set, const Generator& generator) {
  return std::visit([&](const auto& model) { return TablesOf(set, model); }, generator);
}

Codes DrawRows(const TableSet& set, const Generator& generator, size_t rows,
               crypto::RandomSource& source) {
  return std::visit([&](const auto& model) { return DrawRows(set, model, rows, source); },
                    generator);
}

std::vector<double> TablesOf(const TableSet& set, const Blend& blend) {
  std::vector<std::vector<double>> tables;
  for (const Generator& part : blend.parts) tables.push_back(TablesOf(set, part));
  return Blended(blend.shares, tables);
}

Codes DrawRows(const TableSet& set, const Blend& blend, size_t rows, crypto::RandomSource& source) {
  if (blend.parts.size() == 1) return DrawRows(set, blend.parts.front(), rows, source);
  blr::Variates variates(source);
  const std::vector<uint32_t> sizes = Apportion(rows, blend.shares, variates);
  std::vector<size_t> order(rows);
  std::iota(order.begin(), order.end(), size_t{0});
  Shuffle(std::span<size_t>(order), variates);
  Codes codes(set.attributes.size(), std::vector<uint16_t>(rows));
  size_t first = 0;
  for (size_t j = 0; j < sizes.size(); ++j) {
    const Codes part = DrawRows(set, blend.parts[j], sizes[j], source);
    for (size_t a = 0; a < codes.size(); ++a) {
      for (size_t n = 0; n < sizes[j]; ++n) codes[a][order[first + n]] = part[a][n];
    }
    first += sizes[j];
  }
  return codes;
}

std::string ChoiceName(const Choice& choice) {
  const std::vector<Candidate>& candidates = choice.candidates;
  std::string name;
  for (size_t j = 0; j < candidates.size(); ++j) {
    if (choice.shares[j] == 1) return CandidateName(candidates[j]);
    if (choice.shares[j] == 0) continue;
    name += fmt::format("{}{} ({:.0f} %)", name.empty() ? "" : ", ", CandidateName(candidates[j]),
                        100 * choice.shares[j]);
  }
  return name;
}

ThinnedTables Thin(const TableSet& set, const NoisyTables& noisy, crypto::RandomSource& source) {
  ThinnedTables thinned = {noisy, noisy};
  blr::Variates variates(source);
  for (size_t t = 0; t < set.tables.size(); ++t) {
    const CountTable& table = set.tables[t];
    if (!noisy.Measured(t)) continue;
    for (size_t i = table.offset; i < table.offset + table.cells(); ++i) {
      const double fresh = noisy.Stddev(t) * variates.Normal();
      thinned.fit.cells[i] += kThinning * fresh;
      thinned.score.cells[i] -= fresh / kThinning;
    }
  }
  thinned.fit.noise_stddev *= std::sqrt(1 + kThinning * kThinning);
  thinned.score.noise_stddev *= std::sqrt(1 + 1 / (kThinning * kThinning));
  return thinned;
}

Choice ChooseGenerator(const TableSet& set, const NoisyTables& noisy,
                       crypto::RandomSource& source) {
  const ThinnedTables thinned = Thin(set, noisy, source);
  Choice choice;
  choice.rows = std::max(MakeConsistent(set, noisy.cells, noisy.rows, noisy.weights).rows, 0.0);
  const double thinned_rows =
      std::max(MakeConsistent(set, thinned.fit.cells, noisy.rows, noisy.weights).rows, kFewestRows);
  choice.candidates = CandidatesFor(noisy);
  const std::vector<Candidate>& candidates = choice.candidates;
  std::vector<std::vector<double>> fits;
  for (const Candidate& candidate : candidates) {
    fits.push_back(TablesOf(set, FitGenerator(set, thinned.fit, candidate, source)));
    choice.scores.push_back(Score(set, thinned.score, fits.back(), thinned_rows));
  }
  choice.shares = BlendWeights(set, thinned.score, thinned_rows, fits);
  choice.distances = Distances(set, thinned.score, Blended(choice.shares, fits), thinned_rows);
  for (size_t j = 0; j < candidates.size(); ++j) {
    if (choice.shares[j] == 0) continue;
    choice.generator.shares.push_back(choice.shares[j]);
    choice.generator.parts.push_back(FitGenerator(set, noisy, candidates[j], source));
  }
  return choice;
}

}  // namespace partita::stats::marginals
