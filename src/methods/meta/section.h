// [[analysis]] with method = "meta": its keys.
//
//   estimate        a numeric variable: the site's own estimate
//   standard_error  another one, above 0
// or
//   formula, family, term   a regression of the site's rows, and the column whose coefficient it brings
//   largest         of estimates and errors; 1/1024 of it is the smallest error; default 8, of family
//                   gaussian none
// and
//   protocol        "pooled" (default) or "site-estimates"
//   estimator       of tau^2: "reml" (default), "dersimonian-laird"; "fixed"
//   interval        "hartung-knapp" (default) or "normal", which is that of "fixed"
//   min_sites       of which estimates are there; default all
//   ratios          whether estimates are logarithms of ratios; of a formula as its family says
//   confidence, subset, release
#pragma once

#include "methods/meta/spec.h"
#include "study/file/section_reader.h"
#include "study/file/study_file.h"

namespace partita::methods::meta {

struct MetaSection : study::Section {
  study::SectionUses Uses() const override;
  Spec spec;
};

// Of an analysis of this method.
const Spec& SpecOf(const study::AnalysisSpec& analysis);

// Throws kBadInput with place and hint: variables that are no numbers, bounds of errors that are not
// positive or below 1/1024 of the largest number; what own_model.h refuses; fewer than three sites; [analysis.privacy].
study::SectionReader MetaReader();

}  // namespace partita::methods::meta
