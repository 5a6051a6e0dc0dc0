// [[analysis]] with method = "survival" and model = "cox": its keys.
//
//   formula      Surv(time, event) ~ terms + strata(a): columns of a survival variable, the terms of a
//                regression; strata(site): every holder a stratum. Surv(entry, time, event): a numeric
//                variable beside them
//   ties         "breslow", the default, or "efron"
//   most_ties    by Efron: events that a cell of time may have, 2 to 64; default 8
//   cell         width of the cells of time, in the unit of the variable; default 1
//   steps        default 5
//   ph_test      "identity": tests of proportional hazards over time itself; "none", the default
//   concordance  true: how well the predictors order the events; default false
//   report       times at which the cumulative hazard opens; without it, none
//   errors       "model", the default, "robust", or "cluster" (of [design]): standard errors, and Wald's
//                test by them
//   covariance   true: the covariance matrix of the estimates opens in the place of standard errors, and
//                pairs of levels are counted; default false
//   confidence   of the intervals; default 0.95
//   subset, release
#pragma once

#include "methods/survival/cox/spec.h"
#include "study/file/section_reader.h"
#include "study/file/study_file.h"

namespace partita::methods::survival {

// Numbers that a holder shares at a point, at most.
inline constexpr size_t kMostRiskSums = size_t{1} << 22;

// Throws kBadInput with place and hint: what data/model_columns.h refuses; several strata, strata that
// are no factor, or a covariate; offsets; a formula without the baseline; too many cells.
CoxSpec ReadCox(const study::TableReader& reader, const study::StudyFile& study,
                study::AnalysisSpec& analysis);

}  // namespace partita::methods::survival
