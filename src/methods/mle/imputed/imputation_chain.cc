#include "methods/mle/imputed/imputation_chain.h"

#include "methods/mle/sealed/values.h"

namespace partita::methods::mle {
namespace {

using mpc::Engine;
using mpc::Product;
using mpc::Shared;

// The rows of every pattern's root around the parameters, times the regression, and noise.
void DrawRows(Engine& engine, std::vector<ImputationChain>& chains, size_t at) {
  Products products(engine);
  ForCompletions(chains, [&](ImputationChain& chain, const SharedPattern& pattern,
                             Completion& completion, size_t next) {
    const PatternNoise& noise = chain.noise[at].patterns[next];
    const Shared centre = engine.SelectRows(chain.mean, pattern.observed);
    const std::vector<Shared> rows = {engine.Transpose(Minus(engine, pattern.mean, centre)),
                                      Bounded(pattern.root)};
    const std::vector<Shared> left = {engine.Concatenate(rows, true), Bounded(noise.normals)};
    const std::vector<Shared> right = {completion.slopes, completion.residual};
    products.Matrix(engine.Concatenate(left, false), engine.Concatenate(right, true),
                    completion.rows, kLargestImputed);
    products.Gram(completion.residual, noise.wishart, completion.spread);
  });
  products.Run();
  ForCompletions(chains, [&](ImputationChain& chain, const SharedPattern& pattern,
                             Completion& completion, size_t) {
    const Shared centre = engine.Transpose(engine.SelectRows(chain.mean, pattern.missing));
    const size_t k = pattern.observed.size(), m = pattern.missing.size();
    const std::vector<Shared> rows = {
        Plus(engine, engine.Slice(completion.rows, 0, 0, {1, m}), centre, kLargestImputed),
        engine.Slice(completion.rows, 1, 0, {k, m})};
    completion.rows = engine.Concatenate(rows, true);
  });
}

std::vector<size_t> PlacesOf(const SharedPattern& pattern) {
  std::vector<size_t> places(pattern.observed.size() + pattern.missing.size());
  size_t next = 0;
  for (const size_t v : pattern.observed) places[v] = next++;
  for (const size_t v : pattern.missing) places[v] = next++;
  return places;
}

Shared Weighted(Engine& engine, const Shared& value, double n, double rows) {
  const double weight = rows > 0 ? n / rows : 0;
  return Bounded(mpc::TimesConstant(engine, value, weight, kSealedBits), kLargestImputed);
}

// The mean over all patterns, still to be cut.
Shared MeanOver(Engine& engine, const ImputationChain& chain) {
  Shared sum = Constant(engine, chain.mean.shape, 0, 2 * kSealedBits);
  size_t next = 0;
  for (const SharedPattern& pattern : chain.group->patterns) {
    Shared mean = Bounded(pattern.mean);
    if (!pattern.missing.empty()) {
      const Shared& rows = chain.completions[next++].rows;
      const std::vector<Shared> means = {
          mean, engine.Transpose(engine.Slice(rows, 0, 0, {1, pattern.missing.size()}))};
      mean = engine.Concatenate(means, true);
    }
    const Shared part =
        Weighted(engine, engine.SelectRows(mean, PlacesOf(pattern)), pattern.n, chain.group->n);
    sum = Plus(engine, sum, part, kLargestImputed);
  }
  return sum;
}

// Second moments over all patterns, still to be cut.
Shared SquaresOver(Engine& engine, const ImputationChain& chain) {
  const size_t p = chain.mean.shape.rows;
  Shared sum = Constant(engine, {p, p}, 0, 2 * kSealedBits);
  size_t next = 0;
  for (const SharedPattern& pattern : chain.group->patterns) {
    Shared squares = Bounded(pattern.squares);
    if (!pattern.missing.empty()) {
      const Completion& completion = chain.completions[next++];
      const std::vector<Shared> above = {squares, completion.cross};
      const std::vector<Shared> below = {
          engine.Transpose(completion.cross),
          Plus(engine, completion.square, completion.spread_square, kLargestImputed)};
      const std::vector<Shared> blocks = {engine.Concatenate(above, false),
                                          engine.Concatenate(below, false)};
      squares = engine.Concatenate(blocks, true);
    }
    const Shared part =
        Weighted(engine, SelectBoth(engine, squares, PlacesOf(pattern)), pattern.n, chain.group->n);
    sum = Plus(engine, sum, part, kLargestImputed);
  }
  return sum;
}

}  // namespace

void CompleteMoments(Engine& engine, std::vector<ImputationChain>& chains, size_t at) {
  DrawRows(engine, chains, at);
  mpc::ProductRound round(engine);
  const auto multiply = [&](Product::Kind kind, const Shared& a, const Shared& b, Shared& result) {
    round.AddCut(kind, a, b, kLargestImputed, kSealedBits, result);
  };
  ForCompletions(
      chains, [&](ImputationChain&, const SharedPattern& pattern, Completion& completion, size_t) {
        const std::vector<Shared> known = {Bounded(pattern.mean),
                                           engine.Transpose(Bounded(pattern.root))};
        multiply(Product::Kind::kMatrix, engine.Concatenate(known, false), completion.rows,
                 completion.cross);
        multiply(Product::Kind::kGram, completion.rows, completion.rows, completion.square);
        multiply(Product::Kind::kMatrix, completion.spread, completion.residual,
                 completion.spread_square);
      });
  for (ImputationChain& chain : chains)
    round.AddCut(MeanOver(engine, chain), kLargestImputed, kSealedBits, chain.completed_mean);
  round.Run();
  std::vector<Shared> squared_means(chains.size());
  for (size_t c = 0; c < chains.size(); ++c) {
    const Shared& mean = chains[c].completed_mean;
    round.Add(Product::Kind::kMatrix, mean, engine.Transpose(mean), kLargestImputed,
              squared_means[c]);
  }
  round.Run();
  mpc::CutRound cut(engine);
  for (size_t c = 0; c < chains.size(); ++c) {
    chains[c].completed =
        Minus(engine, SquaresOver(engine, chains[c]), squared_means[c], kLargestImputed);
    cut.Add(chains[c].completed, kSealedBits, kLargestImputed);
  }
  cut.Run();
}

}  // namespace partita::methods::mle
