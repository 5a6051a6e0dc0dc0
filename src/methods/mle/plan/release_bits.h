// The release rule (privacy/release_rule.h) for the exact releases of a study of method `mle`:
// which tables of covariates (covariate_table.h) they are about, and how many bits of them open.
#pragma once

#include <string>
#include <vector>

#include "data/design.h"
#include "methods/mle/study/study.h"
#include "run/method/covariate_table.h"

namespace partita::methods::mle {

// The columns whose patterns the rule is about: where a model has outcomes (left of ~) or
// indicators, its other variables; else all. Where columns are split all, since an outcome may be
// the column that a holder lacks.
std::vector<data::DesignColumn> CovariatesOf(const run::Study& study, const MleAnalysis& analysis);

// One for each analysis over the rows.
std::vector<run::CovariateTable> CovariateTables(const MleStudy& study, const RowSet& rows);

// Numbers of a release, over all its openings; 0 where there is none.
uint64_t NumReleased(const MleStudy& study, const std::string& id);

// B of everything that the analyses over these rows open to the receiver.
double OpenedBits(const MleStudy& study, const Computation& computation, const RowSet& rows);

}  // namespace partita::methods::mle
