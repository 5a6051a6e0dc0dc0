// What the priors of a study of method `mcmc` say about outcomes, before there is any data: draws
// of the parameters from their priors, and of outcomes from the model (prior predictive checks;
// Gabry, Simpson, Vehtari, Betancourt & Gelman 2019).
//
// Nothing but the study file goes in, so nothing is revealed. Rows are made up from the public
// dictionary:
//   reference rows   the middle row (every variable halfway between its bounds, integers and dates
//                    rounded down, factors at their reference level), and rows that differ from it
//                    in one variable, which is at a bound or at another level
//   random rows      one per draw, every variable on its own and even over its bounds or levels
// Real rows are correlated and lie nearer to the middle.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "study/file/study_file.h"

namespace partita::methods::mcmc {

struct PriorPredictiveOptions {
  size_t draws = 4000;
  uint64_t seed = 1;  // the same seed gives the same numbers; nothing secret is drawn from it
};

struct Quantiles {
  double lower = 0, median = 0, upper = 0;  // 2.5, 50 and 97.5 %
};

struct PriorPredictive {
  struct Parameter {
    std::string name, prior;
    Quantiles value;
  };
  // The expected outcome of a reference row over the draws.
  struct Expected {
    std::string row;  // "every variable in the middle", "age = 80", "sex = male"
    Quantiles value;
    double outside = 0;  // share of draws where it is beyond the outcome's bounds
  };
  std::string analysis, model, outcome;
  double lower = 0, upper = 0;  // the outcome's public bounds
  size_t draws = 0;
  std::vector<Parameter> parameters;
  std::string expected;  // "mean", "chance of 1" or "median time"
  std::vector<Expected> reference_rows;

  // Of the random rows.
  Quantiles outcomes;
  double share_below = 0, share_above = 0;  // of simulated outcomes, the outcome's bounds
  // Logistic: ones. Survival: events until the upper bound of the time.
  std::optional<double> event_share;
  // Logistic: chances of 1 below 1 % or above 99 %, which say that a prior is nearly certain.
  std::optional<double> extreme_share;
};

// Quantities beyond all doubles are infinite. Throws kBadInput, saying what to write, for a study
// of another method, Cox's model (which draws no times) and a flat prior; kUsage for fewer than 100
// draws.
PriorPredictive SimulatePriors(const study::StudyFile& file, const PriorPredictiveOptions& options);

}  // namespace partita::methods::mcmc
