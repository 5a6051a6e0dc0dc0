// Auditing in one run (Steinke, Nasr & Jagielski 2023, arXiv:2305.08846): m canaries, each put in
// with probability 1/2 by a fair coin of its own; the auditor sees one output and guesses about
// some of them. If the mechanism is (epsilon, delta)-private with respect to every single canary,
// the guesses are hardly better than those of randomised response.
//
// A smoke test: looser than many runs, but one aggregation over 1e5 clients is 1e5 coin flips.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace partita::privacy {

struct Guesses {
  uint64_t canaries = 0;  // m, all that a coin was flipped for
  uint64_t made = 0;      // r <= m: abstaining is allowed
  uint64_t right = 0;     // v <= r
};

// P[at least v right] under the claim is at most (their Theorem 5.2)
//   beta + 2 m delta max_i (1/i) P[v - i <= B < v],   beta = P[B >= v],
//   B ~ Bin(r, e^eps/(1+e^eps)).
// At most 1. Throws kUsage for counts that are no guesses.
double OneRunPValue(const Guesses& guesses, double epsilon, double delta);

// The largest epsilon that these guesses refute with error probability alpha: 0 if none.
double OneRunEpsilonLower(const Guesses& guesses, double delta, double alpha);

// Guesses "in" for the `guesses` / 2 canaries of highest score and "out" for as many of the lowest;
// the number must be fixed before the scores are seen. Ties are broken by position.
Guesses GuessByScore(std::span<const double> scores, const std::vector<bool>& included,
                     uint64_t guesses);

}  // namespace partita::privacy
