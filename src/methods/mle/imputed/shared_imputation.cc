#include "methods/mle/imputed/shared_imputation.h"

#include <algorithm>

#include "methods/mle/imputed/imputation_noise.h"
#include "methods/mle/sealed/values.h"
#include "methods/mle/sealed/within_limit.h"
#include "mpc/functions/definite.h"
#include "mpc/functions/reciprocal.h"
#include "mpc/functions/triangular.h"

namespace partita::methods::mle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using mpc::DefiniteFactor;
using mpc::Engine;
using mpc::Shared;

constexpr double kSmallestImputedPivot = 0x1p-14;
// Multipliers of factors are below 2^10 within the domain, their powers and what is made of them
// larger, but in contrived cases below this.
constexpr double kLargestPower = 0x1p44;

// What one step draws for one pattern, over the root of n or over n.
struct PatternNoise {
  Shared normals;  // (k + 1) x m
  Shared wishart;  // m x m
};

// One pattern with missing variables in one chain.
struct Completion {
  Shared lower, pivots;  // of the covariance in the order observed, missing
  Shared oo, mo, mm;     // blocks of `lower`; oo is inverted
  Shared slopes;         // k x m, regression of missing on observed
  Shared residual;       // m x m, transpose of the residual covariance's root
  Shared rows;           // (k + 1) x m: completed values over the rows of the pattern's root
  Shared cross, square, spread, spread_square;  // k x m, m x m each
};

struct Chain {
  const SharedPatterns* group = nullptr;
  size_t tape = 0;
  Shared mean, covariance;  // p x 1, p x p: parameters
  std::vector<PatternNoise> pattern_noise;
  Shared wishart, step;  // p x p over n, p x 1 over its root
  std::vector<Completion> completions;
  Shared factor, pivots;  // of the Wishart matrix
  Shared completed_mean, completed;
  Shared root;  // of the drawn covariance, transposed
};

Shared Identity(Engine& engine, size_t size) {
  return engine.Public(EncodeMatrix(
      MatrixXd::Identity(static_cast<Index>(size), static_cast<Index>(size)), kSealedBits));
}

class Imputation {
 public:
  Imputation(Engine& engine, const std::vector<SharedPatterns>& groups,
             const stats::ImputationOptions& options,
             const std::vector<stats::ImputationTape*>& tapes)
      : engine_(engine), groups_(groups), options_(options), tapes_(tapes) {
    beyond_ = Constant(engine, {1, 1}, 0, 0);
    for (size_t g = 0; g < groups.size(); ++g) {
      beyond_ = Plus(engine, beyond_, groups[g].beyond);
      for (size_t i = 0; i < options.imputations; ++i) {
        Chain chain;
        chain.group = &groups[g];
        chain.tape = chains_.size();
        const size_t p = groups[g].mean.shape.rows;
        chain.mean = Constant(engine, {p, 1}, 0);
        chain.covariance = Bounded(Identity(engine, p), kLargestImputedVariance);
        chains_.push_back(std::move(chain));
      }
    }
  }

  SharedImputations Run(Progress& progress) {
    for (size_t t = 0;; ++t) {
      progress.Step(t, options_.iterations + 1);
      progress.CheckCancelled();
      const bool last = t == options_.iterations;
      DrawNoise(!last);
      FactorParameters(!last);
      Regress(!last);
      Complete();
      if (!last) {
        DrawParameters();
        continue;
      }
      Factor(Completed());  // only whether it can be
      break;
    }
    return Finish();
  }

 private:
  template <typename F>
  void ForCompletions(F f) {
    for (Chain& chain : chains_) {
      size_t next = 0;
      for (const SharedPattern& pattern : chain.group->patterns) {
        if (pattern.missing.empty()) continue;
        f(chain, pattern, chain.completions[next], chain.pattern_noise[next]);
        ++next;
      }
    }
  }

  // In the order of stats::ImputeMoments: patterns, then parameters.
  void DrawNoise(bool parameters) {
    ImputationNoise input(engine_);
    for (Chain& chain : chains_) {
      stats::ImputationTape* tape = tapes_.empty() ? nullptr : tapes_.at(chain.tape);
      chain.pattern_noise.clear();
      chain.completions.clear();
      chain.pattern_noise.reserve(chain.group->patterns.size());
      for (const SharedPattern& pattern : chain.group->patterns) {
        if (pattern.missing.empty()) continue;
        chain.pattern_noise.emplace_back();
        chain.completions.emplace_back();
        const size_t k = pattern.observed.size(), m = pattern.missing.size();
        const double free = std::max(0.0, pattern.n - static_cast<double>(k + 1));
        input.Normals(tape, {k + 1, m}, pattern.n, chain.pattern_noise.back().normals);
        input.Wishart(tape, free, m, pattern.n, chain.pattern_noise.back().wishart);
      }
      if (!parameters) continue;
      const size_t p = chain.mean.shape.rows;
      double rows = 0, values = 0;
      for (const SharedPattern& pattern : chain.group->patterns) {
        if (pattern.missing.empty()) continue;
        rows += pattern.n;
        values += static_cast<double>(pattern.missing.size()) * pattern.n;
      }
      input.Wishart(tape, stats::PosteriorDegrees(chain.group->n, rows, values), p, chain.group->n,
                    chain.wishart);
      input.Normals(tape, {p, 1}, chain.group->n, chain.step);
    }
    input.Run();
  }

  // LDL' of every pattern's covariance and of the Wishart matrices.
  void FactorParameters(bool parameters) {
    std::vector<Shared> matrices;
    const auto add = [&](const Shared& matrix) { matrices.push_back(matrix); };
    ForCompletions([&](Chain& chain, const SharedPattern& pattern, Completion&, PatternNoise&) {
      std::vector<size_t> order = pattern.observed;
      order.insert(order.end(), pattern.missing.begin(), pattern.missing.end());
      add(SelectBoth(engine_, chain.covariance, order));
    });
    for (Chain& chain : chains_) {
      if (parameters) add(chain.wishart);
    }
    if (matrices.empty()) return;
    std::vector<DefiniteFactor> factors = Factor(std::move(matrices));
    auto next = factors.begin();
    ForCompletions([&](Chain&, const SharedPattern&, Completion& completion, PatternNoise&) {
      completion.lower = next->lower;
      completion.pivots = next++->pivots;
    });
    for (Chain& chain : chains_) {
      if (!parameters) continue;
      chain.factor = next->lower;
      chain.pivots = next++->pivots;
    }
  }

  // Slopes and residual roots; the inverse roots of the Wishart matrices.
  void Regress(bool parameters) {
    std::vector<mpc::PositiveValue> pivots;
    std::vector<Shared*> triangular;
    const auto add = [&](const Shared& value) {
      pivots.push_back({Bounded(value, kLargestImputedVariance), kSmallestImputedPivot});
    };
    ForCompletions(
        [&](Chain&, const SharedPattern& pattern, Completion& completion, PatternNoise&) {
          const size_t k = pattern.observed.size(), m = pattern.missing.size();
          completion.oo = engine_.Slice(completion.lower, 0, 0, {k, k});
          completion.mo = engine_.Slice(completion.lower, k, 0, {m, k});
          completion.mm = engine_.Slice(completion.lower, k, k, {m, m});
          add(engine_.Slice(completion.pivots, k, 0, {m, 1}));
          triangular.push_back(&completion.oo);
        });
    for (Chain& chain : chains_) {
      if (!parameters) continue;
      add(chain.pivots);
      triangular.push_back(&chain.factor);
    }
    if (pivots.empty()) return;
    const std::vector<Shared> inverse_roots = mpc::InverseRoot(engine_, pivots, kSealedBits);
    InvertUnitLower(engine_, triangular, kSealedBits, kLargestPower);
    std::vector<Shared> roots(pivots.size());
    Products products(engine_);
    size_t i = 0;
    ForCompletions([&](Chain&, const SharedPattern&, Completion& completion, PatternNoise&) {
      products.Elementwise(pivots[i].value, inverse_roots[i], roots[i], 16);
      products.Gram(completion.oo, engine_.Transpose(completion.mo), completion.slopes,
                    kLargestPower);
      ++i;
    });
    for (Chain& chain : chains_) {
      if (!parameters) continue;
      products.Elementwise(inverse_roots[i], chain.factor, chain.factor);
      ++i;
    }
    products.Run();
    i = 0;
    ForCompletions([&](Chain&, const SharedPattern&, Completion& completion, PatternNoise&) {
      products.Elementwise(roots[i++], engine_.Transpose(completion.mm), completion.residual);
    });
    products.Run();
  }

  // One draw of the completed moments of every chain.
  void Complete() {
    Products products(engine_);
    ForCompletions([&](Chain& chain, const SharedPattern& pattern, Completion& completion,
                       PatternNoise& noise) {
      // The rows of the pattern's root around the parameters, times the regression, and noise.
      const Shared centre = engine_.SelectRows(chain.mean, pattern.observed);
      const std::vector<Shared> rows = {engine_.Transpose(Minus(engine_, pattern.mean, centre)),
                                        Bounded(pattern.root)};
      const std::vector<Shared> left = {engine_.Concatenate(rows, true), Bounded(noise.normals)};
      const std::vector<Shared> right = {completion.slopes, completion.residual};
      products.Matrix(engine_.Concatenate(left, false), engine_.Concatenate(right, true),
                      completion.rows, kLargestPower);
      products.Gram(completion.residual, noise.wishart, completion.spread);
    });
    products.Run();
    ForCompletions(
        [&](Chain& chain, const SharedPattern& pattern, Completion& completion, PatternNoise&) {
          const Shared centre = engine_.Transpose(engine_.SelectRows(chain.mean, pattern.missing));
          const size_t k = pattern.observed.size(), m = pattern.missing.size();
          const std::vector<Shared> rows = {
              Plus(engine_, engine_.Slice(completion.rows, 0, 0, {1, m}), centre, kLargestPower),
              engine_.Slice(completion.rows, 1, 0, {k, m})};
          completion.rows = engine_.Concatenate(rows, true);
          const std::vector<Shared> known = {Bounded(pattern.mean),
                                             engine_.Transpose(Bounded(pattern.root))};
          products.Matrix(engine_.Concatenate(known, false), completion.rows, completion.cross,
                          kLargestPower);
          products.Gram(completion.rows, completion.rows, completion.square, kLargestPower);
          products.Matrix(completion.spread, completion.residual, completion.spread_square);
        });
    products.Run();
    mpc::CutRound cut(engine_);
    for (Chain& chain : chains_) {
      SumPatterns(chain);
      cut.Add(chain.completed_mean, kSealedBits, kLargestPower);
      cut.Add(chain.completed, kSealedBits, kLargestPower);
    }
    cut.Run();
    std::vector<Shared> squares(chains_.size());
    for (size_t c = 0; c < chains_.size(); ++c) {
      const Shared& mean = chains_[c].completed_mean;
      products.Matrix(mean, engine_.Transpose(mean), squares[c], kLargestPower);
    }
    products.Run();
    for (size_t c = 0; c < chains_.size(); ++c) {
      chains_[c].completed = Minus(engine_, chains_[c].completed, squares[c], kLargestPower);
    }
  }

  // Means and second moments over all patterns, still to be cut.
  void SumPatterns(Chain& chain) {
    size_t next = 0;
    bool first = true;
    for (const SharedPattern& pattern : chain.group->patterns) {
      Shared mean = Bounded(pattern.mean), squares = Bounded(pattern.squares);
      std::vector<size_t> order = pattern.observed;
      if (!pattern.missing.empty()) {
        const Completion& completion = chain.completions[next++];
        order.insert(order.end(), pattern.missing.begin(), pattern.missing.end());
        const size_t m = pattern.missing.size();
        const Shared added = engine_.Slice(completion.rows, 0, 0, {1, m});
        const std::vector<Shared> means = {mean, engine_.Transpose(added)};
        mean = engine_.Concatenate(means, true);
        const std::vector<Shared> above = {squares, completion.cross};
        const std::vector<Shared> below = {
            engine_.Transpose(completion.cross),
            Plus(engine_, completion.square, completion.spread_square, kLargestPower)};
        const std::vector<Shared> blocks = {engine_.Concatenate(above, false),
                                            engine_.Concatenate(below, false)};
        squares = engine_.Concatenate(blocks, true);
      }
      std::vector<size_t> places(order.size());
      for (size_t i = 0; i < order.size(); ++i) places[order[i]] = i;
      const double weight = chain.group->n > 0 ? pattern.n / chain.group->n : 0;
      const auto weighted = [&](const Shared& value) {
        return Bounded(mpc::TimesConstant(engine_, value, weight, kSealedBits), kLargestPower);
      };
      const Shared mean_part = weighted(engine_.SelectRows(mean, places));
      const Shared part = weighted(SelectBoth(engine_, squares, places));
      chain.completed_mean =
          first ? mean_part : Plus(engine_, chain.completed_mean, mean_part, kLargestPower);
      chain.completed = first ? part : Plus(engine_, chain.completed, part, kLargestPower);
      first = false;
    }
  }

  // Sigma = root root' with root' = W^-1/2 times the transposed Cholesky factor of the completed
  // covariance; the mean around the completed one.
  void DrawParameters() {
    const std::vector<DefiniteFactor> factors = Factor(Completed());
    std::vector<mpc::PositiveValue> pivots;
    for (const DefiniteFactor& factor : factors)
      pivots.push_back({Bounded(factor.pivots, kLargestImputedVariance), kSmallestImputedPivot});
    const std::vector<Shared> roots = mpc::Root(engine_, pivots, kSealedBits);
    std::vector<Shared> scatter(chains_.size()), steps(chains_.size());
    Products products(engine_);
    for (size_t c = 0; c < chains_.size(); ++c)
      products.Elementwise(roots[c], engine_.Transpose(factors[c].lower), scatter[c]);
    products.Run();
    for (size_t c = 0; c < chains_.size(); ++c)
      products.Matrix(chains_[c].factor, scatter[c], chains_[c].root);
    products.Run();
    for (size_t c = 0; c < chains_.size(); ++c) {
      Chain& chain = chains_[c];
      products.Gram(chain.root, chain.root, chain.covariance);
      products.Gram(chain.root, chain.step, steps[c]);
    }
    products.Run();
    for (size_t c = 0; c < chains_.size(); ++c) {
      chains_[c].mean = Plus(engine_, chains_[c].completed_mean, steps[c]);
    }
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

  std::vector<Shared> Completed() const {
    std::vector<Shared> completed;
    for (const Chain& chain : chains_) completed.push_back(chain.completed);
    return completed;
  }

  // Of matrices within the domain; others are counted, and replaced before anything is computed.
  std::vector<DefiniteFactor> Factor(std::vector<Shared> matrices) {
    std::vector<Shared*> places;
    for (Shared& matrix : matrices) places.push_back(&matrix);
    for (const Shared& count : KeepWithin(engine_, places, kLargestImputedVariance))
      beyond_ = Plus(engine_, beyond_, count);
    std::vector<mpc::DefiniteMatrix> definite;
    for (const Shared& matrix : matrices) definite.push_back({matrix, kSmallestImputedPivot});
    std::vector<DefiniteFactor> factors = mpc::FactorDefinite(engine_, definite);
    mpc::CutRound cut(engine_);
    for (DefiniteFactor& factor : factors) {
      beyond_ = Plus(engine_, beyond_, SumAll(engine_, factor.collinear, kLargestEntry));
      cut.Add(factor.lower, kSealedBits, kLargestEntry);
    }
    cut.Run();
    return factors;
  }

  Engine& engine_;
  const std::vector<SharedPatterns>& groups_;
  const stats::ImputationOptions& options_;
  const std::vector<stats::ImputationTape*>& tapes_;
  std::vector<Chain> chains_;  // imputations of the first group, then of the next
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
