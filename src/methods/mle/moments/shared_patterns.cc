#include "methods/mle/moments/shared_patterns.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "methods/mle/sealed/sample.h"
#include "methods/mle/sealed/values.h"
#include "methods/mle/sealed/within_limit.h"
#include "mpc/functions/matrix_root.h"
#include "mpc/functions/reciprocal.h"

namespace partita::methods::mle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using mpc::Engine;
using mpc::Shared;

// Of means and second moments before the division by deviations.
constexpr int kMomentBits = 50;
// Of the reciprocal of a count, relative.
constexpr int kPatternRelativeBits = 40;
// Of a pattern's covariances, relative to the largest that there may be.
constexpr double kSmallestPatternShare = 0x1p-24;

// Sums of the patterns that have the same variables.
struct Cell {
  double n = 0;
  Shared sums, cross;   // k x 1, k x k
  Shared mean, second;  // of half-widths, at kMomentBits
  Shared covariance;    // first of half-widths, then in units
};

class Standardisation {
 public:
  Standardisation(Engine& engine, const PatternSums& sums)
      : engine_(engine),
        sums_(sums),
        p_(sums.variables.size()),
        row_bits_(std::max(0, static_cast<int>(std::ceil(std::log2(sums.max_rows))))) {
    for (size_t c = 0; c < sums.cells.size(); ++c) {
      if (!sums.observed[c].empty()) Merge(c);
    }
    for (auto& [observed, cell] : merged_) {
      SharedPattern pattern;
      pattern.observed = observed;
      for (size_t v = 0; v < p_; ++v) {
        if (!std::binary_search(observed.begin(), observed.end(), v)) pattern.missing.push_back(v);
      }
      pattern.n = cell.n;
      result_.n += cell.n;
      result_.patterns.push_back(std::move(pattern));
      cells_.push_back(std::move(cell));
    }
  }

  // The rounds, each for all groups together.
  void CutSums(mpc::CutRound& round) {
    for (Cell& cell : cells_) round.Add(cell.cross, kMomentBits, RowBound());
  }
  void Divide(mpc::CutRound& round) {
    for (Cell& cell : cells_) {
      cell.mean = Over(cell.sums, cell.n);
      cell.second = Over(cell.cross, cell.n);
      round.Add(cell.mean, kMomentBits, 1);
      round.Add(cell.second, kMomentBits, 1);
    }
  }
  void Pool(mpc::CutRound& round) {
    result_.mean = OverPatterns([](const Cell& cell) { return cell.mean; });
    variance_ = OverPatterns([this](const Cell& cell) { return Diagonal(engine_, cell.second); });
    round.Add(result_.mean, kMomentBits, 1);
    round.Add(variance_, kMomentBits, 1);
  }
  void Square(mpc::ProductRound& round) {
    Cut(round, mpc::Product::Kind::kElementwise, result_.mean, result_.mean, squared_mean_);
    for (Cell& cell : cells_) {
      Cut(round, mpc::Product::Kind::kMatrix, cell.mean, engine_.Transpose(cell.mean),
          cell.covariance);
    }
  }
  mpc::PositiveValue Variance() {
    variance_ = Minus(engine_, variance_, squared_mean_, 2);
    for (Cell& cell : cells_) cell.covariance = Minus(engine_, cell.second, cell.covariance, 2);
    return {Bounded(variance_, 1), kSmallestVariance};
  }
  void Invert(const Shared& inverse_deviation, Products& round) {
    inverse_ = inverse_deviation;
    round.Elementwise(variance_, inverse_, result_.deviation, 1);
    round.Matrix(inverse_, engine_.Transpose(inverse_), outer_, 0x1p17);
  }
  void Scale(Products& round) {
    for (size_t c = 0; c < cells_.size(); ++c) {
      SharedPattern& pattern = result_.patterns[c];
      const Shared centre = engine_.SelectRows(result_.mean, pattern.observed);
      round.Elementwise(Minus(engine_, cells_[c].mean, centre, 2),
                        engine_.SelectRows(inverse_, pattern.observed), pattern.mean, 0x1p9);
      round.Elementwise(cells_[c].covariance, SelectBoth(engine_, outer_, pattern.observed),
                        cells_[c].covariance);
    }
  }
  void Squares(Products& round) {
    for (SharedPattern& pattern : result_.patterns)
      round.Matrix(pattern.mean, engine_.Transpose(pattern.mean), pattern.squares);
  }
  void AddCovariances() {
    for (size_t c = 0; c < cells_.size(); ++c) {
      SharedPattern& pattern = result_.patterns[c];
      pattern.squares = Plus(engine_, pattern.squares, cells_[c].covariance);
    }
  }
  // Covariances that have a root.
  void AddMatrices(std::vector<Shared*>& matrices) {
    for (size_t c = 0; c < cells_.size(); ++c) {
      if (!result_.patterns[c].missing.empty()) matrices.push_back(&cells_[c].covariance);
    }
  }
  void CountBeyond(std::vector<Shared>::const_iterator& count) {
    result_.beyond = Constant(engine_, {1, 1}, 0, 0);
    for (const SharedPattern& pattern : result_.patterns) {
      if (!pattern.missing.empty()) result_.beyond = Plus(engine_, result_.beyond, *count++);
    }
  }
  void TakeRoots(std::vector<mpc::InverseRootProduct>::const_iterator& root) {
    for (SharedPattern& pattern : result_.patterns) {
      if (!pattern.missing.empty()) pattern.root = Bounded(root++->product, 16);
    }
  }
  SharedPatterns Take() { return std::move(result_); }

 private:
  double RowBound() const { return std::ldexp(1.0, row_bits_); }

  void Cut(mpc::ProductRound& round, mpc::Product::Kind kind, const Shared& a, const Shared& b,
           Shared& result) {
    round.AddCut(kind, a, b, 1, kMomentBits, result);
  }

  void Merge(size_t c) {
    const std::vector<size_t>& observed = sums_.observed[c];
    std::vector<size_t> places;
    for (const size_t v : observed) places.push_back(sums_.variables[v]);
    const Shared sums = engine_.SelectRows(engine_.Transpose(sums_.cells[c].sums), places);
    const Shared cross = SelectBoth(engine_, sums_.cells[c].cross, places);
    const auto [place, added] = merged_.try_emplace(observed);
    Cell& cell = place->second;
    cell.n += sums_.counts[c];
    cell.sums = added ? Bounded(sums, RowBound()) : Plus(engine_, cell.sums, sums, RowBound());
    cell.cross = added ? Bounded(cross, RowBound()) : Plus(engine_, cell.cross, cross, RowBound());
  }

  // Sums over rows that are n of them, 0 for none; still to be cut.
  Shared Over(const Shared& sums, double n) {
    return Bounded(mpc::TimesConstant(engine_, Bounded(sums, std::max(n, 1.0)), n > 0 ? 1 / n : 0,
                                      kPatternRelativeBits + row_bits_),
                   1);
  }

  // p x 1: the mean over all rows that have the variable; still to be cut.
  template <typename ColumnOf>
  Shared OverPatterns(ColumnOf column_of) {
    std::vector<double> rows(p_);
    for (const SharedPattern& pattern : result_.patterns) {
      for (const size_t v : pattern.observed) rows[v] += pattern.n;
    }
    Shared sum;
    for (size_t c = 0; c < cells_.size(); ++c) {
      const SharedPattern& pattern = result_.patterns[c];
      MatrixXd weights =
          MatrixXd::Zero(static_cast<Index>(p_), static_cast<Index>(pattern.observed.size()));
      for (size_t i = 0; i < pattern.observed.size(); ++i) {
        const size_t v = pattern.observed[i];
        weights(static_cast<Index>(v), static_cast<Index>(i)) =
            rows[v] > 0 ? pattern.n / rows[v] : 0;
      }
      const Shared part = Bounded(
          engine_.MultiplyPublic(EncodeMatrix(weights, kPatternRelativeBits), column_of(cells_[c])),
          1);
      sum = c == 0 ? part : Plus(engine_, sum, part, 2);
    }
    return sum;
  }

  Engine& engine_;
  const PatternSums& sums_;
  size_t p_;
  int row_bits_;
  std::map<std::vector<size_t>, Cell> merged_;
  std::vector<Cell> cells_;  // by pattern of the result
  SharedPatterns result_;
  Shared variance_, squared_mean_, inverse_, outer_;
};

// S^1/2 = S^-1/2 S, symmetric.
std::vector<mpc::InverseRootProduct> RootsOf(Engine& engine, const std::vector<Shared*>& matrices) {
  std::vector<mpc::RootedMatrix> rooted;
  for (const Shared* matrix : matrices) {
    const double largest = kLargestPatternVariance * static_cast<double>(matrix->shape.rows);
    rooted.push_back(
        {*matrix, largest, largest * kSmallestPatternShare, Bounded(*matrix, largest)});
  }
  return mpc::InverseRootTimes(engine, rooted, kSealedBits);
}

}  // namespace

std::vector<SharedPatterns> StandardisePatterns(Engine& engine,
                                                const std::vector<PatternSums>& groups) {
  std::vector<Standardisation> all;
  all.reserve(groups.size());
  for (const PatternSums& sums : groups) all.emplace_back(engine, sums);
  mpc::CutRound cut(engine);
  mpc::ProductRound square(engine);
  Products products(engine);
  for (Standardisation& one : all) one.CutSums(cut);
  cut.Run();
  for (Standardisation& one : all) one.Divide(cut);
  cut.Run();
  for (Standardisation& one : all) one.Pool(cut);
  cut.Run();
  for (Standardisation& one : all) one.Square(square);
  square.Run();
  std::vector<mpc::PositiveValue> variances;
  for (Standardisation& one : all) variances.push_back(one.Variance());
  const std::vector<Shared> inverses = mpc::InverseRoot(engine, variances, kSealedBits);
  for (size_t g = 0; g < all.size(); ++g) all[g].Invert(inverses[g], products);
  products.Run();
  for (Standardisation& one : all) one.Scale(products);
  products.Run();
  for (Standardisation& one : all) one.Squares(products);
  products.Run();
  std::vector<Shared*> matrices;
  for (Standardisation& one : all) {
    one.AddCovariances();
    one.AddMatrices(matrices);
  }
  std::vector<Shared> counts;
  if (!matrices.empty()) counts = KeepWithin(engine, matrices, kLargestPatternVariance);
  auto count = counts.cbegin();
  for (Standardisation& one : all) one.CountBeyond(count);
  if (!matrices.empty()) {
    const std::vector<mpc::InverseRootProduct> roots = RootsOf(engine, matrices);
    auto root = roots.cbegin();
    for (Standardisation& one : all) one.TakeRoots(root);
  }
  std::vector<SharedPatterns> result;
  for (Standardisation& one : all) result.push_back(one.Take());
  return result;
}

}  // namespace partita::methods::mle
