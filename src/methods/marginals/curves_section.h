// [[analysis]] of method `survival` with [analysis.privacy].
//
//   formula        Surv(time, event) ~ group, or ~ 1, as of exact curves
//   report         times at which curves are shown
//   cell           width of the intervals of time that are counted; without it those between report times
//   confidence     of the intervals; default 0.95
//   expected_rows  with "add-remove": for how many rows the noise is forecast
//   [analysis.privacy] as of method `marginals`
#pragma once

#include <memory>

#include "study/file/section_reader.h"
#include "study/file/study_file.h"

namespace partita::methods::marginals {

// Throws kBadInput with place and hint for what exact curves alone have: subsets, a receiver, models;
// times outside the bounds, or that are no ends of cells; too many levels.
std::shared_ptr<const study::Section> ReadCurves(const study::TableReader& reader,
                                                 const study::StudyFile& study,
                                                 study::AnalysisSpec& analysis);

}  // namespace partita::methods::marginals
