// A simulated study of registries of a rare disease, every analysis in the clear: what the joint
// fit of a chain gains over what registries can do without it.
//
// Data       Registries of unequal size and baseline hazard, half of the patients treated. Weibull
//            survival; observation at a registry ends with its share of the events.
// Analyses   All of Cox's model stratified by registry, hence of one log hazard ratio of treatment,
//            adjusted for age:
//              one stage    chains by Barker's rule over the registries' partial likelihoods, the
//                           plaintext twin of a study of method `mcmc`; posterior mean and
//                           quantiles
//              pooled       maximum likelihood with all rows in one place
//              two stages   every registry's own maximum, combined with fixed and random effects
//                           (stats/meta/pool.h); registries whose likelihood has no maximum drop out
//              largest      the largest registry's own maximum
#pragma once

#include <string>
#include <vector>

#include "base/progress.h"
#include "crypto/random.h"

namespace partita::methods::mcmc {

struct RegistrySettings {
  std::vector<size_t> events = {5, 15, 50};  // per registry, on average; 2 at least
  size_t data_sets = 200;
  double log_hazard_ratio = -0.6, age_effect = 0.4;
  double baseline_sd = 0.3;  // of the registries' log times
};

// How one analysis did over the data sets, of the log hazard ratio of treatment. Averages are over
// the data sets that gave an estimate, errors are their standard errors; NaN without estimates.
struct RegistryRow {
  size_t events = 0;
  std::string analysis;
  size_t data_sets = 0, estimates = 0;
  double bias = 0, bias_error = 0, rmse = 0;
  double coverage = 0, coverage_error = 0;  // of 95 % intervals
  double mean_width = 0;
  double registries_used = 0;
};

struct RegistryResults {
  std::vector<RegistryRow> rows;  // by number of events, then analyses as above
  double largest_rhat = 0;        // of the treatment's chains
};

// Throws kUsage for settings out of range.
RegistryResults SimulateRegistries(const RegistrySettings& settings, crypto::RandomSource& random,
                                   Progress& progress);

}  // namespace partita::methods::mcmc
