// [[analysis]] with method = "glm": its keys.
//
//   family      stats/glm/family.h
//   link        of family binomial: "logit" (default), "probit", "cloglog", "log"
//   formula     data/formula.h
//   errors      read_errors.h
//   nested      [analysis.nested] drop = ["x"]: also the model without these terms (nested.h)
//   risk_groups [analysis.risk_groups] cuts = [0.1, 0.3]: of predicted probabilities (risk.h)
//   penalty     {firth = true} (stats/glm/firth.h); {lasso = [L, ..]} (stats/glm/lasso.h); or
//               {ridge = L}: the log-likelihood less L n / 2 times the sum of squared coefficients of
//               columns divided by the largest magnitude within their bounds; not of the intercept
//   protocol    "iterates" (default), "aggregates" (aggregates.h) or "sealed" (sealed/fitter.h)
//   steps       2 to 25, default 3, with aggregates 8 (gamma: 3, 12; negative-binomial, ordinal, multinomial: 4, 12),
//               with sealed 10, or 14 of family poisson; not of
//               a gaussian model there
//   confidence  of intervals, default 0.95
//   subset, release
#pragma once

#include "methods/glm/spec.h"
#include "study/file/section_reader.h"
#include "study/file/study_file.h"

namespace partita::methods::glm {

struct GlmSection : study::Section {
  study::SectionUses Uses() const override;
  Spec spec;
};

// Of an analysis of this method.
const Spec& SpecOf(const study::AnalysisSpec& analysis);

// Throws kBadInput with place and hint: what model.h refuses; steps, confidence and penalty out of range; a
// release that is not "estimates", or to one party; [analysis.privacy].
study::SectionReader GlmReader();

}  // namespace partita::methods::glm
