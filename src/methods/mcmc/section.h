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
//   most_decisions                        of a chain that goes on until it has converged; without
//                                         it and `draws` and `privacy` a default, otherwise one
//                                         stage
//   [analysis.priors], [analysis.start]   by parameter; priors.coefficients for the rest
//   [analysis.privacy]                    epsilon, delta, adjacency, clip, noise
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "methods/mcmc/spec.h"
#include "study/file/section_reader.h"
#include "study/file/study_file.h"

namespace partita::methods::mcmc {

struct McmcSection : study::Section {
  explicit McmcSection(ChainSpec spec_in) : spec(std::move(spec_in)) {}
  study::SectionUses Uses() const override;
  const ChainSpec spec;
};

// Of an analysis of method `mcmc`.
const ChainSpec& ChainOf(const study::AnalysisSpec& analysis);

// Fills in `protocol`, `releases` and `subset` too.
study::SectionReader McmcReader();

}  // namespace partita::methods::mcmc
