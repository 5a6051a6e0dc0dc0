#include "methods/mle/imputed/shared_imputation.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "methods/mle/imputed/imputation_chain.h"
#include "methods/mle/imputed/imputation_noise.h"
#include "methods/mle/sealed/values.h"
#include "methods/mle/sealed/within_limit.h"
#include "mpc/functions/inverse.h"
#include "mpc/functions/matrix_root.h"

namespace partita::methods::mle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using mpc::Engine;
using mpc::InverseRootProduct;
using Kind = mpc::Product::Kind;
using mpc::Shared;

constexpr double kSmallestImputedEigenvalue = 0x1p-14;
// Of the Wishart matrices over n: with ten rows more than variables they are further out less than
// once in 10^10 draws.
constexpr double kSmallestWishart = 0x1p-9, kLargestWishart = 12;
// Of inverses of the draws' blocks; and how far the guesses they begin with may be off.
constexpr double kInverseResidual = 0x1p-28, kGuessSlack = 1.01;
// Bounds within the domain: of norms of columns of the roots of a Wishart matrix, and of what is
// solved for, regressions and residuals.
constexpr double kLargestWishartRoot = 64, kLargestSolution = 0x1p18;
// How much is drawn, and how many limits are kept, before either is settled.
constexpr size_t kLargestBlock = size_t{1} << 21, kMostLimits = 4096;

MatrixXd IdentityRows(size_t size, const std::vector<size_t>& columns) {
  MatrixXd rows = MatrixXd::Zero(static_cast<Index>(size), static_cast<Index>(columns.size()));
  for (size_t j = 0; j < columns.size(); ++j)
    rows(static_cast<Index>(columns[j]), static_cast<Index>(j)) = 1;
  return rows;
}

// Entries of what one iteration of a chain draws.
size_t EntriesOf(const SharedPatterns& group) {
  const size_t p = group.mean.shape.rows;
  size_t entries = p * (p + 1);
  for (const SharedPattern& pattern : group.patterns) {
    if (!pattern.missing.empty()) entries += (pattern.observed.size() + 1 + p) * p;
  }
  return entries;
}

class Imputation {
 public:
  Imputation(Engine& engine, const std::vector<SharedPatterns>& groups,
             const stats::ImputationOptions& options,
             const std::vector<stats::ImputationTape*>& tapes)
      : engine_(engine), groups_(groups), options_(options), tapes_(tapes) {
    beyond_ = Constant(engine, {1, 1}, 0, 0);
    size_t entries = 0;
    for (size_t g = 0; g < groups.size(); ++g) {
      beyond_ = Plus(engine, beyond_, groups[g].beyond);
      entries += options.imputations * EntriesOf(groups[g]);
      for (size_t i = 0; i < options.imputations; ++i) {
        chains_.push_back({&groups[g], chains_.size(), {}, {}, {}, {}, {}});
        Start(chains_.back());
      }
    }
    block_ =
        std::clamp<size_t>(kLargestBlock / std::max<size_t>(entries, 1), 1, options.iterations + 1);
  }

  SharedImputations Run(Progress& progress) {
    for (size_t t = 0;; ++t) {
      progress.Step(t, options_.iterations + 1);
      progress.CheckCancelled();
      if (t % block_ == 0) DrawNoise(t);
      CompleteMoments(engine_, chains_, t % block_);
      if (t == options_.iterations) break;
      DrawParameters(t % block_);
      if (num_limits_ > kMostLimits) Settle();
    }
    CheckCompleted();
    Settle();
    return Finish();
  }

 private:
  // Means of 0 and the identity: nothing of the observed variables says what is missing.
  void Start(ImputationChain& chain) {
    const size_t p = chain.group->mean.shape.rows;
    chain.mean = Constant(engine_, {p, 1}, 0);
    for (const SharedPattern& pattern : chain.group->patterns) {
      const size_t k = pattern.observed.size(), m = pattern.missing.size();
      if (m == 0) continue;
      chain.completions.emplace_back();
      chain.completions.back().slopes = Constant(engine_, {k, m}, 0);
      chain.completions.back().residual =
          engine_.Public(EncodeMatrix(IdentityRows(p, pattern.missing), kSealedBits));
    }
  }

  // What the iterations from `first` on draw, as many as a block holds. By chain in the order of
  // stats::ImputeMoments: patterns, then parameters.
  void DrawNoise(size_t first) {
    const size_t count = std::min(block_, options_.iterations + 1 - first);
    ImputationNoise input(engine_);
    for (ImputationChain& chain : chains_) {
      stats::ImputationTape* tape = tapes_.empty() ? nullptr : tapes_.at(chain.tape);
      chain.noise.assign(count, {});
      for (size_t t = 0; t < count; ++t)
        DrawIteration(input, tape, chain, first + t == options_.iterations, chain.noise[t]);
    }
    input.Run();
    TakeWishartRoots(first);
  }

  void DrawIteration(ImputationNoise& input, stats::ImputationTape* tape,
                     const ImputationChain& chain, bool last, ChainNoise& noise) {
    const size_t p = chain.mean.shape.rows;
    double rows = 0, values = 0;
    noise.patterns.resize(chain.completions.size());
    auto next = noise.patterns.begin();
    for (const SharedPattern& pattern : chain.group->patterns) {
      if (pattern.missing.empty()) continue;
      const size_t k = pattern.observed.size();
      const double free = std::max(0.0, pattern.n - static_cast<double>(k + 1));
      input.Normals(tape, {k + 1, p}, pattern.n, next->normals);
      input.Wishart(tape, free, p, pattern.n, next++->wishart);
      rows += pattern.n;
      values += static_cast<double>(pattern.missing.size()) * pattern.n;
    }
    if (last) return;
    input.Wishart(tape, stats::PosteriorDegrees(chain.group->n, rows, values), p, chain.group->n,
                  noise.wishart);
    input.Normals(tape, {p, 1}, chain.group->n, noise.step);
  }

  // W^1/2 = W^-1/2 W and W^-1/2 times the step of the mean, of all iterations of the block at once:
  // they depend on no row.
  void TakeWishartRoots(size_t first) {
    std::vector<mpc::RootedMatrix> matrices;
    std::vector<ChainNoise*> places;
    mpc::ProductRound round(engine_);
    std::vector<Shared> distances(chains_.size() * block_), squares;
    for (ImputationChain& chain : chains_) {
      for (size_t t = 0; t < chain.noise.size() && first + t < options_.iterations; ++t) {
        ChainNoise& noise = chain.noise[t];
        const std::vector<Shared> right = {noise.wishart, noise.step};
        matrices.push_back({noise.wishart, kLargestWishart, kSmallestWishart,
                            Bounded(engine_.Concatenate(right, false), kLargestWishartRoot)});
        AddSquare(PlusIdentity(engine_, noise.wishart, -1, kLargestNoise), round,
                  distances[places.size()]);
        places.push_back(&noise);
      }
    }
    if (matrices.empty()) return;
    const std::vector<InverseRootProduct> roots =
        mpc::InverseRootTimes(engine_, matrices, kSealedBits);
    squares.resize(roots.size());
    for (size_t i = 0; i < roots.size(); ++i) AddSquare(roots[i].residual, round, squares[i]);
    round.Run();
    // All eigenvalues are below 1 and the norm of W - I.
    for (size_t i = 0; i < places.size(); ++i) {
      places[i]->root = roots[i].product;
      Keep(distances[i], std::pow(kLargestWishart - 1, 2));
    }
    KeepSquares(squares, NumVariables(), kLargestWishart, kSmallestWishart);
  }

  // Inverse roots of all completed covariances, times those of the noise of `at`; and of every
  // pattern's observed part, times its covariances with the missing one.
  std::vector<InverseRootProduct> Roots(size_t at) {
    std::vector<mpc::RootedMatrix> matrices;
    const auto add = [&](const Shared& matrix, const Shared& right, double bound) {
      const double largest = LargestEigenvalue(), smallest = kSmallestImputedEigenvalue;
      matrices.push_back({matrix, largest, smallest, Bounded(right, bound)});
    };
    for (ImputationChain& chain : chains_)
      add(chain.completed, chain.noise[at].root, kLargestWishartRoot);
    ForCompletions(
        chains_, [&](ImputationChain& chain, const SharedPattern& pattern, Completion&, size_t) {
          const Shared rows = engine_.SelectRows(chain.completed, pattern.observed);
          const Shared across =
              engine_.Transpose(engine_.SelectRows(engine_.Transpose(rows), pattern.missing));
          add(SelectBoth(engine_, chain.completed, pattern.observed), across, LargestEigenvalue());
        });
    return mpc::InverseRootTimes(engine_, matrices, kSealedBits);
  }

  // With S the completed covariance, S X = X^-1 and X^2 S = I: the drawn covariance is (H'H)^-1 for H
  // = W^1/2 X. Missing variables have the regression -(K_mm)^-1 K_mo on the observed ones, K =
  // H'H, and the residual covariance K_mm^-1 = Q'Q for Q = H_m K_mm^-1. What K_mm^-1 is begun
  // with, S_mm - S_mo S_oo^-1 S_om, is its inverse but for W.
  void DrawParameters(size_t at) {
    const std::vector<InverseRootProduct> roots = Roots(at);
    const size_t p = chains_.front().mean.shape.rows;
    std::vector<Shared> steps(chains_.size()), squares(chains_.size());
    std::vector<Blocks> blocks;
    blocks.reserve(roots.size() - chains_.size());
    mpc::ProductRound round(engine_);
    const auto multiply = [&](Kind kind, const Shared& a, const Shared& b, double bound,
                              Shared& result) {
      round.AddCut(kind, a, b, bound, kSealedBits, result);
    };
    for (size_t c = 0; c < chains_.size(); ++c) {
      multiply(Kind::kMatrix, chains_[c].completed, engine_.Slice(roots[c].product, 0, p, {p, 1}),
               kLargestEntry, steps[c]);
      AddSquare(roots[c].residual, round, squares[c]);
    }
    ForCompletions(
        chains_, [&](ImputationChain& chain, const SharedPattern& pattern, Completion&, size_t) {
          const Shared& explained = roots[chains_.size() + blocks.size()].product;
          Blocks& own = blocks.emplace_back();
          const auto c = static_cast<size_t>(&chain - chains_.data());
          const Shared h = engine_.Slice(roots[c].product, 0, 0, {p, p});  // H'
          std::vector<size_t> order = pattern.missing;
          order.insert(order.end(), pattern.observed.begin(), pattern.observed.end());
          own.rows = engine_.SelectRows(h, pattern.missing);
          multiply(Kind::kMatrix, own.rows, engine_.Transpose(engine_.SelectRows(h, order)),
                   kLargestEntry, own.precision);
          multiply(Kind::kGram, explained, explained, kLargestImputedVariance * 4, own.explained);
        });
    round.Run();
    KeepCompleted(squares);
    Solve(blocks);
    for (size_t c = 0; c < chains_.size(); ++c)
      chains_[c].mean = Plus(engine_, chains_[c].completed_mean, steps[c]);
  }

  // Whether the last covariances are definite, and nothing else of their roots.
  void CheckCompleted() {
    std::vector<mpc::RootedMatrix> matrices;
    for (ImputationChain& chain : chains_) {
      const Shared none = Constant(engine_, chain.mean.shape, 0);
      matrices.push_back(
          {chain.completed, LargestEigenvalue(), kSmallestImputedEigenvalue, Bounded(none, 1)});
    }
    const std::vector<InverseRootProduct> roots =
        mpc::InverseRootTimes(engine_, matrices, kSealedBits);
    std::vector<Shared> squares(roots.size());
    mpc::ProductRound round(engine_);
    for (size_t c = 0; c < roots.size(); ++c) AddSquare(roots[c].residual, round, squares[c]);
    round.Run();
    KeepCompleted(squares);
  }

  // Of a pattern: m columns of H, transposed; K_mm and K_mo side by side; S_mo S_oo^-1 S_om.
  struct Blocks {
    Shared rows, precision, explained;
  };

  void Solve(const std::vector<Blocks>& blocks) {
    std::vector<mpc::GuessedSystem> systems;
    ForCompletions(
        chains_, [&](ImputationChain& chain, const SharedPattern& pattern, Completion&, size_t) {
          const Blocks& own = blocks[systems.size()];
          const size_t k = pattern.observed.size(), m = pattern.missing.size();
          const std::vector<Shared> right = {engine_.Slice(own.precision, 0, m, {m, k}), own.rows};
          const Shared among = SelectBoth(engine_, chain.completed, pattern.missing);
          systems.push_back({engine_.Slice(own.precision, 0, 0, {m, m}),
                             Minus(engine_, among, own.explained, kLargestImputedVariance * 4),
                             Bounded(engine_.Concatenate(right, false), kLargestSolution),
                             kLargestWishart * kGuessSlack, kSmallestWishart / kGuessSlack});
        });
    const std::vector<Shared> solutions =
        mpc::SolveFromGuess(engine_, systems, kInverseResidual, kSealedBits);
    auto next = solutions.begin();
    ForCompletions(chains_, [&](ImputationChain& chain, const SharedPattern& pattern,
                                Completion& completion, size_t) {
      const size_t k = pattern.observed.size(), p = chain.mean.shape.rows;
      const Shared solution = engine_.Transpose(*next++);
      const size_t m = pattern.missing.size();
      completion.slopes = engine_.Scale(engine_.Slice(solution, 0, 0, {k, m}), -1);
      completion.residual = engine_.Slice(solution, k, 0, {p, m});
    });
  }

  // Variances that add up to so much, of which one may be the largest.
  double LargestEigenvalue() const { return NumVariables() - 1 + kLargestImputedVariance; }
  double NumVariables() const { return static_cast<double>(groups_.front().mean.shape.rows); }

  void AddSquare(const Shared& matrix, mpc::ProductRound& round, Shared& square) {
    const Shared row = AsRow(matrix);
    round.Add(Kind::kMatrix, row, engine_.Transpose(row), 0x1p20, square);
  }

  void Keep(const Shared& value, double most) {
    limits_[{value.fraction_bits, most}].push_back(value);
    ++num_limits_;
  }

  // Squares of the residuals of roots.
  void KeepSquares(const std::vector<Shared>& squares, double size, double largest,
                   double smallest) {
    const double most = size * std::pow(mpc::ResidualOf(largest, smallest), 2);
    for (const Shared& square : squares) Keep(square, most);
  }

  // All completed covariances were within the domain.
  void KeepCompleted(const std::vector<Shared>& squares) {
    for (const ImputationChain& chain : chains_) {
      const Shared diagonal = Diagonal(engine_, chain.completed);
      Keep(SumAll(engine_, diagonal, kLargestImputed), LargestEigenvalue());
    }
    KeepSquares(squares, NumVariables(), LargestEigenvalue(), kSmallestImputedEigenvalue);
  }

  void Settle() {
    std::vector<Limit> limits;
    for (const auto& [kind, values] : limits_)
      limits.push_back({engine_.Concatenate(values, true), kind.second});
    beyond_ = Plus(engine_, beyond_, CountBeyond(engine_, {limits}).front());
    limits_.clear();
    num_limits_ = 0;
  }

  SharedImputations Finish() {
    SharedImputations result;
    result.groups.resize(groups_.size());
    std::vector<Shared> outer(groups_.size());
    Products products(engine_);
    for (size_t g = 0; g < groups_.size(); ++g) {
      const Shared& deviation = groups_[g].deviation;
      products.Matrix(deviation, engine_.Transpose(deviation), outer[g], 1);
      result.groups[g].resize(options_.imputations);
    }
    products.Run();
    const auto of = [&](size_t c) -> ImputedMoments& {
      return result.groups[c / options_.imputations][c % options_.imputations];
    };
    for (size_t c = 0; c < chains_.size(); ++c) {
      const SharedPatterns& group = *chains_[c].group;
      products.Elementwise(chains_[c].completed_mean, group.deviation, of(c).mean);
      products.Elementwise(chains_[c].completed, outer[c / options_.imputations], of(c).covariance);
    }
    mpc::CutRound cut(engine_);
    std::vector<Shared> centres;
    for (const SharedPatterns& group : groups_) centres.push_back(group.mean);
    for (Shared& centre : centres) cut.Add(centre, kSealedBits, 1);
    products.Run();
    cut.Run();
    for (size_t c = 0; c < chains_.size(); ++c)
      of(c).mean = Plus(engine_, of(c).mean, centres[c / options_.imputations]);
    result.beyond = beyond_;
    return result;
  }

  Engine& engine_;
  const std::vector<SharedPatterns>& groups_;
  const stats::ImputationOptions& options_;
  const std::vector<stats::ImputationTape*>& tapes_;
  std::vector<ImputationChain> chains_;  // imputations of the first group, then of the next
  size_t block_ = 1;                     // iterations whose noise is drawn together
  // Not yet compared, by fraction bits and what they have to be below.
  std::map<std::pair<int, double>, std::vector<Shared>> limits_;
  size_t num_limits_ = 0;
  Shared beyond_;
};

}  // namespace

SharedImputations ImputeOnShares(Engine& engine, const std::vector<SharedPatterns>& groups,
                                 const stats::ImputationOptions& options,
                                 const std::vector<stats::ImputationTape*>& tapes,
                                 Progress& progress) {
  return Imputation(engine, groups, options, tapes).Run(progress);
}

}  // namespace partita::methods::mle
