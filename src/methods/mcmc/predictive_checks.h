// Posterior predictive checks (Gelman, Meng & Stern 1996) by one holder on its own rows: outcomes
// are drawn anew from the posterior draws that everybody has, and what they look like is compared
// with the real ones. Computed at the holder alone; every number depends on its rows, so that
// telling it is a release of its own (methods.md, R-i).
#pragma once

#include <string>
#include <vector>

#include "crypto/random.h"
#include "methods/mcmc/spec.h"
#include "stats/mcmc/chains.h"

namespace partita::methods::mcmc {

inline constexpr size_t kReplicates = 400;

struct PredictiveCheck {
  std::string statistic;  // "maximum", "share of zeros", ...
  double observed = 0;
  double mean = 0, lower = 0, upper = 0;  // of the replicates: mean, 2.5 and 97.5 %
  // The share of replicates above the observed value, those equal to it by half. Near 0 or 1: rows
  // like these are rare under the model.
  double p_value = 0;
};

// Of at most kReplicates draws, evenly spaced. Survival: a row without event is censored in its
// replicate when it was; when one with an event would have been is drawn from the times after it at
// which rows of the table were censored (Kaplan and Meier's estimate for censoring), or is the
// longest time. Cox's model draws no outcomes and gives no checks, nor does a party without rows.
std::vector<PredictiveCheck> CheckPredictions(const ChainSpec& spec, const ChainRows& rows,
                                              const stats::mcmc::Draws& draws,
                                              crypto::RandomSource& random);

}  // namespace partita::methods::mcmc
