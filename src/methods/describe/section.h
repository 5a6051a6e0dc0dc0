// [[analysis]] with method = "describe": its keys.
//
//   variables   default: all numbers and factors of the dictionary but what the group is made of
//   group       a factor: a column of the table for each of its levels
//   quantiles   default: [0.25, 0.5, 0.75]; []: none
//   compare     what is compared between the groups: "differences", "welch", "anova", "ranks",
//               "chi-square", "fisher", "ratios"
//   subset, release
#pragma once

#include "methods/describe/spec.h"
#include "study/file/section_reader.h"
#include "study/file/study_file.h"

namespace partita::methods::describe {

struct DescribeSection : study::Section {
  study::SectionUses Uses() const override;
  Spec spec;
};

// Of an analysis of this method.
const Spec& SpecOf(const study::AnalysisSpec& analysis);

// Throws kBadInput with place and hint: variables that are not there, twice, made of one variable of
// the dictionary, or neither numbers nor factors; quantiles out of range or finer than thousandths; comparisons without
// groups, or of ratios between more than two; a release that is not "table", or to
// one party. With [analysis.privacy] an analysis is read by methods/all.cc, as counts with noise.
study::SectionReader DescribeReader();

}  // namespace partita::methods::describe
