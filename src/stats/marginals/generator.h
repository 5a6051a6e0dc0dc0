// From noisy tables to a generator of rows: public arithmetic on what opened, by anybody.
//
// Candidates   Products of 1, 2, 4, 12, 40, 100 and 250 components (product_model.h; one: independent
//              attributes), a forest of pairs, and a junction tree grown from it (tree_model.h).
// Edges        A pair is taken where its distance (L1) from the model so far exceeds 1.25 times what
//              noise alone gives it, sqrt(2/pi) sigma_ab cells with sigma_ab^2 = sigma^2
//              (1 - 1/rows)(1 - 1/columns): first the strongest forest, measured from independence;
//              then, in kGrowthRounds rounds, others by their distance from the fit, while the tree
//              has at most kTreeCells cells.
// Choice       Y1 = Y + 0.6 Z and Y2 = Y - Z / 0.6 with fresh Z of the noise's law are independent
//              given the counts (exactly so for Gaussian noise). Every candidate is fitted to Y1; the
//              one with the least |Y2 - fit|^2 is fitted again to Y. No budget and no rows.
// Distance     |Y2 - fit|^2 - cells sigma2^2 estimates a fixed fit's squared distance from the counts without bias.
//              Of the chosen one it is that of its fit to Y1, which has more noise than
//              the one that is handed out, and the least of several scores: an estimate, not a bound.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "crypto/random.h"
#include "stats/marginals/product_model.h"
#include "stats/marginals/tables.h"
#include "stats/marginals/tree_model.h"

namespace partita::stats::marginals {

inline constexpr size_t kTreeCells = 60'000, kGrowthRounds = 3;

struct NoisyTables {
  std::vector<double> cells;   // as opened
  double noise_stddev = 0;     // per cell
  std::optional<double> rows;  // where their number is public
};

enum class CandidateKind { kProducts, kForest, kTree };
struct Candidate {
  CandidateKind kind = CandidateKind::kProducts;
  size_t components = 1;  // kProducts
};
std::string CandidateName(
    const Candidate& candidate);  // "independent", "products 12", "forest", "tree"
std::vector<Candidate> AllCandidates();

using Generator = std::variant<ProductModel, TreeModel>;

// The source gives the start of products. Throws kUsage for a noise_stddev that is not positive.
Generator FitGenerator(const TableSet& set, const NoisyTables& noisy, const Candidate& candidate,
                       crypto::RandomSource& source);
std::vector<double> TablesOf(const TableSet& set, const Generator& generator);  // shares
Codes DrawRows(const TableSet& set, const Generator& generator, size_t rows,
               crypto::RandomSource& source);

// By thinning, each with independent noise given the counts.
struct ThinnedTables {
  NoisyTables fit, score;
};
ThinnedTables Thin(const NoisyTables& noisy, crypto::RandomSource& source);

// An estimate of a squared distance, in squared counts.
struct SquaredDistance {
  double estimate = 0, standard_error = 0;
};

struct Choice {
  Candidate chosen;
  std::vector<double> scores;              // of AllCandidates(): |Y2 - fit|^2 / sigma2^2 per cell
  std::vector<SquaredDistance> distances;  // by table: of the chosen candidate's fit to Y1
  double rows = 0;                         // public, or their estimate
  Generator generator;
};
Choice ChooseGenerator(const TableSet& set, const NoisyTables& noisy, crypto::RandomSource& source);

}  // namespace partita::stats::marginals
