// [[analysis]] method = "mcmc": Bayesian regression by confidential accept-reject. Private to the
// study file.
//
//   protocol     "decisions" (only the decisions open), "noisy-sums", "noisy-products" (Versions 1
//                and 2) or "penalty"
//   rule         "barker" (default) or "metropolis"; of "decisions" only, the others are
//                Metropolis's
//   model        "linear", "logistic", "poisson", "negative-binomial", "weibull", "cox"
//   outcome      a design column, or for weibull and cox a survival variable
//   predictors, intercept, subset, release
//   chains, warmup, draws, thin, speculation, step
//   [analysis.priors], [analysis.start]   by parameter; priors.coefficients for the rest
//   [analysis.privacy]                    epsilon, delta, adjacency, clip, noise
#pragma once

#include <string>
#include <vector>

#include "study/study_file.h"
#include "study/toml_reader.h"

namespace partita::study {

const std::vector<std::string>& McmcKeys();

// Fills in `mcmc`, `protocol`, `releases` and `subset`. Throws kBadInput with place and hint.
void ReadMcmc(const TableReader& reader, const StudyFile& study, AnalysisSpec& analysis);

}  // namespace partita::study
