#include "stats/marginals/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/error.h"
#include "stats/blr/variates.h"
#include "stats/marginals/consistent.h"

namespace partita::stats::marginals {
namespace {

constexpr double kThinning = 0.6;
constexpr double kAboveNoise = 1.25;
constexpr size_t kProductSteps = 300, kGrowthSteps = 40, kTreeSteps = 200;

struct Shares {
  std::vector<double> cells;
  double noise_stddev = 0;
};

Shares SharesOf(const TableSet& set, const NoisyTables& noisy) {
  if (!(noisy.noise_stddev > 0)) {
    throw Error(ErrorCode::kUsage, "Noisy tables have no noise", "Give its standard deviation.");
  }
  ConsistentTables tables = MakeConsistent(set, noisy.cells, noisy.rows);
  // With next to no rows, and their number unknown, the estimate may be anything.
  const double rows = std::max(tables.rows, 1.0);
  for (double& cell : tables.cells) cell /= rows;
  return {std::move(tables.cells), noisy.noise_stddev / rows};
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
      for (const double q : second) tables[at++] = p * q;
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
  for (const CountTable& table : set.tables) {
    if (table.one_way()) continue;
    double distance = 0;
    for (size_t i = table.offset; i < table.offset + table.cells(); ++i) {
      distance += std::abs(shares.cells[i] - model[i]);
    }
    const double noise = NoiseDistance(table, shares.noise_stddev);
    if (distance > kAboveNoise * noise) {
      strong.push_back({distance - noise, {table.first, table.second}});
    }
  }
  std::ranges::stable_sort(strong, std::greater<>(), &Strong::excess);
  std::vector<Edge> edges;
  for (const Strong& pair : strong) edges.push_back(pair.edge);
  return edges;
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

std::vector<Edge> Grown(const TableSet& set, const Shares& shares, std::vector<Edge> edges) {
  // The bound on the tree's cells rises with the rounds, so that the first ones do not fill it.
  for (size_t round = 1; round <= kGrowthRounds; ++round) {
    const TreeModel model = FitTree(set, shares.cells, MakeJunctionTree(set, edges), kGrowthSteps);
    const std::vector<Edge> strong = StrongPairs(set, shares, TablesOf(set, model));
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
  const double variance = noisy.noise_stddev * noisy.noise_stddev;
  std::vector<SquaredDistance> distances;
  for (const CountTable& table : set.tables) {
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

double Score(const NoisyTables& noisy, std::span<const double> shares, double rows) {
  double sum = 0;
  for (size_t i = 0; i < shares.size(); ++i) {
    const double difference = (noisy.cells[i] - rows * shares[i]) / noisy.noise_stddev;
    sum += difference * difference;
  }
  return sum / static_cast<double>(shares.size());
}

}  // namespace

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

Generator FitGenerator(const TableSet& set, const NoisyTables& noisy, const Candidate& candidate,
                       crypto::RandomSource& source) {
  const Shares shares = SharesOf(set, noisy);
  if (candidate.kind == CandidateKind::kProducts) {
    return FitProducts(set, shares.cells, candidate.components, kProductSteps, source);
  }
  std::vector<Edge> edges = Forest(set, shares);
  if (candidate.kind == CandidateKind::kTree) edges = Grown(set, shares, std::move(edges));
  return FitTree(set, shares.cells, MakeJunctionTree(set, edges), kTreeSteps);
}

std::vector<double> TablesOf(const TableSet& set, const Generator& generator) {
  return std::visit([&](const auto& model) { return TablesOf(set, model); }, generator);
}

Codes DrawRows(const TableSet& set, const Generator& generator, size_t rows,
               crypto::RandomSource& source) {
  return std::visit([&](const auto& model) { return DrawRows(set, model, rows, source); },
                    generator);
}

ThinnedTables Thin(const NoisyTables& noisy, crypto::RandomSource& source) {
  ThinnedTables thinned = {noisy, noisy};
  blr::Variates variates(source);
  for (size_t i = 0; i < noisy.cells.size(); ++i) {
    const double fresh = noisy.noise_stddev * variates.Normal();
    thinned.fit.cells[i] += kThinning * fresh;
    thinned.score.cells[i] -= fresh / kThinning;
  }
  thinned.fit.noise_stddev *= std::sqrt(1 + kThinning * kThinning);
  thinned.score.noise_stddev *= std::sqrt(1 + 1 / (kThinning * kThinning));
  return thinned;
}

Choice ChooseGenerator(const TableSet& set, const NoisyTables& noisy,
                       crypto::RandomSource& source) {
  const ThinnedTables thinned = Thin(noisy, source);
  Choice choice;
  choice.rows = std::max(MakeConsistent(set, noisy.cells, noisy.rows).rows, 0.0);
  const double thinned_rows = MakeConsistent(set, thinned.fit.cells, noisy.rows).rows;
  std::vector<double> best;
  for (const Candidate& candidate : AllCandidates()) {
    const std::vector<double> shares =
        TablesOf(set, FitGenerator(set, thinned.fit, candidate, source));
    const double score = Score(thinned.score, shares, thinned_rows);
    if (choice.scores.empty() || score < *std::ranges::min_element(choice.scores)) {
      choice.chosen = candidate;
      best = shares;
    }
    choice.scores.push_back(score);
  }
  choice.distances = Distances(set, thinned.score, best, thinned_rows);
  choice.generator = FitGenerator(set, noisy, choice.chosen, source);
  return choice;
}

}  // namespace partita::stats::marginals
