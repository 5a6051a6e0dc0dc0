// From noisy tables to a generator of rows: public arithmetic on what opened, by anybody.
//
// Candidates   Products of 1, 2, 4, 12, 40, 100 and 250 components (product_model.h; one: independent
//              attributes), a forest of pairs, and a junction tree grown from it (tree_model.h).
// Edges        A pair is taken where its distance (L1) from the model so far exceeds 1.25 times what
//              noise alone gives it, sqrt(2/pi) sigma_ab cells with sigma_ab^2 = sigma^2 (of the
//              table)
//              (1 - 1/rows)(1 - 1/columns): first the strongest forest, measured from independence;
//              then, in kGrowthRounds rounds, others by their distance from the fit, while the tree
//              has at most kTreeCells cells.
//              Of named triples those whose interaction exceeds its noise likewise are in the
//              junction tree first, each whole in a clique.
// Choice       Y1 = Y + 0.6 Z and Y2 = Y - Z / 0.6 with fresh Z of the noise's law are independent
//              given the counts (exactly so for Gaussian noise). Every candidate is fitted to Y1;
//              what
//              share of the rows each gives is chosen for the least |Y2 - fit|^2 (blend.h), and
//              those with a
//              share are fitted again to Y. No budget and no rows.
// Distance     |Y2 - fit|^2 - cells sigma2^2 estimates a fixed fit's squared distance from the counts without bias.
//              Of the chosen blend it is that of fits to Y1, which have more noise than
//              those that are handed out, and its shares were chosen by it: an estimate, not a
//              bound.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "crypto/random.h"
#include "stats/marginals/possible.h"
#include "stats/marginals/product_model.h"
#include "stats/marginals/tables.h"
#include "stats/marginals/tree_model.h"

namespace partita::stats::marginals {

inline constexpr size_t kTreeCells = 60'000, kGrowthRounds = 3;

struct NoisyTables {
  std::vector<double> cells;   // as opened
  double noise_stddev = 0;     // per cell of a table of weight 1
  std::optional<double> rows;  // where their number is public
  std::vector<ImpossibleCell> impossible = {};
  TableWeights weights = {};  // 0: a pair that was not measured, its cells 0

  // Of a measured table.
  double Stddev(size_t table) const { return noise_stddev / WeightOf(weights, table); }
  bool Measured(size_t table) const { return WeightOf(weights, table) > 0; }
};

enum class CandidateKind { kProducts, kForest, kTree };
struct Candidate {
  CandidateKind kind = CandidateKind::kProducts;
  size_t components = 1;  // kProducts
};
std::string CandidateName(
    const Candidate& candidate);  // "independent", "products 12", "forest", "tree"
std::vector<Candidate> AllCandidates();
// Where some pairs were not measured: independent columns, forest and tree alone. A graphical model is
// the distribution of greatest entropy, which makes nothing up; products of several components, fitted
// to some pairs, give others whatever associations they happen to have.
std::vector<Candidate> CandidatesFor(const NoisyTables& noisy);

using Generator = std::variant<ProductModel, TreeModel>;

// The source gives the start of products. Throws kUsage for a noise_stddev that is not positive.
Generator FitGenerator(const TableSet& set, const NoisyTables& noisy, const Candidate& candidate,
                       crypto::RandomSource& source);
// The graphical model of these pairs, in its rare cells as in its common ones (least_share of FitTree is
// the noise); their cliques must fit into the memory (junction_tree.h).
TreeModel FitGraph(const TableSet& set, const NoisyTables& noisy, std::span<const Edge> edges);
std::vector<double> TablesOf(const TableSet& set, const Generator& generator);  // shares
// Without regard to impossible cells (MendImpossible).
Codes DrawRows(const TableSet& set, const Generator& generator, size_t rows,
               crypto::RandomSource& source);

// By thinning, each with independent noise given the counts.
struct ThinnedTables {
  NoisyTables fit, score;
};
ThinnedTables Thin(const TableSet& set, const NoisyTables& noisy, crypto::RandomSource& source);

// An estimate of a squared distance, in squared counts.
struct SquaredDistance {
  double estimate = 0, standard_error = 0;  // 0 of a table that was not measured
};

// Generators that give a share of the rows each.
struct Blend {
  std::vector<double> shares;  // positive, sum 1
  std::vector<Generator> parts;
};
std::vector<double> TablesOf(const TableSet& set, const Blend& blend);
// Whole numbers of rows by part, in random order.
Codes DrawRows(const TableSet& set, const Blend& blend, size_t rows, crypto::RandomSource& source);

struct Choice {
  std::vector<Candidate> candidates;
  std::vector<double> scores;  // |Y2 - fit|^2 / sigma2^2 per measured cell, by candidate
  std::vector<double> shares;  // of rows, by candidate; sum 1
  std::vector<SquaredDistance> distances;  // by table: of the blend of fits to Y1
  double rows = 0;                         // public, or their estimate
  Blend generator;

  // Whether no part relates columns: one product, or a forest that found no pair.
  bool IsIndependent() const;
};
std::string ChoiceName(const Choice& choice);  // "tree", "products 4 (57 %), products 12 (43 %)"
Choice ChooseGenerator(const TableSet& set, const NoisyTables& noisy, crypto::RandomSource& source);

}  // namespace partita::stats::marginals
