// What the chains of an imputation on shares hold. Shapes for p variables, of which a pattern has k
// and lacks m; all at kSealedBits, in units of shared_patterns.h.
#pragma once

#include <functional>
#include <vector>

#include "methods/mle/moments/shared_patterns.h"
#include "mpc/engine.h"

namespace partita::methods::mle {

inline constexpr double kLargestImputedVariance = 64;
// Multipliers of regressions are below 2^11 within the domain, what is made of them larger, but in
// contrived cases below this.
inline constexpr double kLargestImputed = 0x1p44;

// What one iteration draws for one pattern, over the root of n or over n.
struct PatternNoise {
  mpc::Shared normals;  // (k + 1) x p
  mpc::Shared wishart;  // p x p
};

// What one iteration draws.
struct ChainNoise {
  std::vector<PatternNoise> patterns;  // with missing variables
  mpc::Shared wishart, step;           // p x p over n, p x 1 over its root
  mpc::Shared root;                    // p x (p + 1): W^1/2, and W^-1/2 times the step
};

// A regression of missing variables on observed ones, and one draw from it.
struct Completion {
  mpc::Shared slopes;    // k x m
  mpc::Shared residual;  // p x m, Q with Q'Q the residual covariance
  mpc::Shared rows;      // (k + 1) x m: completed values over the rows of the pattern's root
  mpc::Shared cross, square, spread, spread_square;  // k x m, m x m each
};

struct ImputationChain {
  const SharedPatterns* group = nullptr;
  size_t tape = 0;
  mpc::Shared mean;                       // p x 1: parameters
  std::vector<Completion> completions;    // of patterns with missing variables
  mpc::Shared completed_mean, completed;  // p x 1, p x p
  std::vector<ChainNoise> noise;          // of the iterations that were drawn ahead
};

// f(chain, pattern, completion, number of the completion) for every pattern with missing variables.
template <typename F>
void ForCompletions(std::vector<ImputationChain>& chains, F f) {
  for (ImputationChain& chain : chains) {
    size_t next = 0;
    for (const SharedPattern& pattern : chain.group->patterns) {
      if (pattern.missing.empty()) continue;
      f(chain, pattern, chain.completions[next], next);
      ++next;
    }
  }
}

// One draw of the completed moments of every chain, noise[at] of it. Rounds: two products and cuts, a
// product, a cut.
void CompleteMoments(mpc::Engine& engine, std::vector<ImputationChain>& chains, size_t at);

}  // namespace partita::methods::mle
