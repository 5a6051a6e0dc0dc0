// How much a posterior depends on its priors: the priors raised to a power, by importance weights
// on the draws that there are (power scaling; Kallioinen, Paananen, Buerkner & Vehtari 2023).
// Post-processing of what everybody has: no decision, no opening. The likelihood cannot be scaled
// so, because nobody knows its values.
#pragma once

#include <string>
#include <vector>

#include "stats/mcmc/chains.h"
#include "stats/mcmc/priors.h"

namespace partita::methods::mcmc {

// The powers: priors somewhat weaker and somewhat stronger.
inline constexpr double kWeakerPrior = 0.8, kStrongerPrior = 1.25;
// What counts as sensitive: a shift of so many posterior standard deviations, or a standard
// deviation that changes by this part.
inline constexpr double kSensitiveShift = 0.1, kSensitiveScale = 0.05;

struct ScaledPosterior {
  double shift = 0;  // of the mean, in posterior standard deviations
  double scale = 1;  // of the standard deviation, as a multiple
};

struct ParameterSensitivity {
  std::string name;
  ScaledPosterior weaker, stronger;
  bool sensitive() const;
};

struct PriorSensitivity {
  std::vector<ParameterSensitivity> parameters;
  // The smaller effective number of the two sets of weights, of `draws`; how the draws depend on
  // each other is not in it. Below a tenth of the draws the numbers above say little beyond that
  // the priors matter.
  double effective_draws = 0, draws = 0;
};

// All proper priors are scaled together, each as it is declared (that of a scale as a density of
// the scale); a flat one stays as it is. Throws kUsage for no draws.
PriorSensitivity ScalePriors(const std::vector<std::string>& names,
                             const std::vector<stats::mcmc::Prior>& priors,
                             const stats::mcmc::Draws& draws);

}  // namespace partita::methods::mcmc
