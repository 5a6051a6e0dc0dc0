// Whole fits by every protocol of maximum likelihood, all parties in this process.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "methods/mle/published/published.h"
#include "papers/smle_sample.h"

namespace partita::papers {

// Of method `mle`: `conditional` and what follows are those of the literature
// (methods/mle/published).
inline constexpr std::array<const char*, 8> kSmleProtocols = {
    "pooled-moments", "likelihood",         "sealed",       "conditional", "secure-sum",
    "secure-matmul",  "oblivious-transfer", "plain-passing"};

// Whether it needs whole rows at every node; the others take any layout.
bool NeedsWholeRows(const std::string& protocol);
// Whether the central node asks for likelihoods, one after the other.
bool AsksLikelihoods(const std::string& protocol);

struct SmleRun {
  std::string protocol;  // with its masks where it has them: "conditional (ring)"
  stats::SemFit fit;
  double seconds = 0;      // all of it
  double fit_seconds = 0;  // after moments are shared or opened; published protocols: all
  uint64_t bytes = 0, rounds = 0;
  // Questions that the central node asked; 0 where it asks none. Of `likelihood`, evaluations with
  // a gradient count once.
  int questions = 0;
  // How far what the central node was told goes towards all moments: of weights or, where moments
  // or estimates open, of opened numbers.
  int told = 0, unknown = 0;
  // What the central node can keep, one entry per question; in the units of published::UnitsOf.
  std::vector<methods::mle::published::Answer> answers;
};

struct SmleRunOptions {
  methods::mle::published::Masks masks = methods::mle::published::Masks::kRing;
  bool rows_may_leak = false;  // passed on to the published protocols, which refuse otherwise
};

// By the protocol of this name. Those of `mle` run on the engine `dealer` with the central node as
// a computing party without rows. progress: of the central node.
SmleRun RunSmle(const std::string& protocol, const SmleSample& sample, const SmleSetting& setting,
                const SmleRunOptions& options, Progress& progress);

// How far estimates are from those of a fit of the pooled rows in the clear.
struct SmleGap {
  double estimates = 0;  // largest difference, in standard errors
  double errors = 0;     // largest relative difference of standard errors
};
SmleGap Compare(const stats::SemFit& fit, const stats::SemFit& plain);

// The task of a published protocol, to ask single questions with.
methods::mle::published::Task PublishedTask(const std::string& protocol, const SmleSample& sample,
                                            const SmleSetting& setting,
                                            const SmleRunOptions& options);

}  // namespace partita::papers
