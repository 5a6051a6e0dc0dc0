// [[analysis]] with method = "mixed": its keys.
//
//   formula     as lme4 writes it, with one random intercept: "score ~ age + arm + (1 | ward)";
//               and with a slope: "score ~ age + arm + (1 + age | ward)", which is correlated with it;
//               (1 | site): every holder is a group
//   family      "gaussian" (default), "binomial" or "poisson"
//   criterion   of a linear model "REML" (default) or "ML"
//   protocol    "sealed" of a linear model without a slope, "iterates" of others
//   steps       of others, default 6
//   covariance  true: the covariance matrix of the coefficients opens in the place of their standard errors, and
//               pairs of levels are counted; default false
//   confidence, subset, release
#pragma once

#include "methods/mixed/spec.h"
#include "study/file/section_reader.h"
#include "study/file/study_file.h"

namespace partita::methods::mixed {

struct MixedSection : study::Section {
  study::SectionUses Uses() const override;
  Spec spec;
};

// Of an analysis of this method.
const Spec& SpecOf(const study::AnalysisSpec& analysis);

// Throws kBadInput with place and hint: what model.h refuses; [analysis.privacy].
study::SectionReader MixedReader();

}  // namespace partita::methods::mixed
