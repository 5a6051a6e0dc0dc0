// [[analysis]] with method = "glm": its keys.
//
//   family      stats/glm/family.h
//   link        of family binomial: "logit" (default), "probit", "cloglog", "log"
//   formula     data/formula.h
//   errors      read_errors.h
//   protocol    "iterates" (default) or "aggregates" (aggregates.h)
//   steps       2 to 25, default 3, with aggregates 8
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

// Throws kBadInput with place and hint: what model.h refuses; steps and confidence out of range; a
// release that is not "estimates", or to one party; [analysis.privacy].
study::SectionReader GlmReader();

}  // namespace partita::methods::glm
