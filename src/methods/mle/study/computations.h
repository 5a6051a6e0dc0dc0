// From the analyses of a study to the moments that have to be computed. Private to PrepareMleStudy.
#pragma once

#include "methods/mle/study/study.h"

namespace partita::methods::mle {

// Fills in `used`, `computations`, and of every analysis where its moments are. Needs file,
// parties, partition, columns, factors and the analyses' models.
void PlanComputations(MleStudy& study);

// The checks of [disclosure] for all analyses, with the thresholds that the approvals may have
// raised. Their number and their counts do not depend on the thresholds. Needs the computations.
std::vector<DisclosureCheck> PlanDisclosureChecks(const MleStudy& study,
                                                  const study::DisclosureSpec& thresholds);

// Whether the bounds are those of a 0/1 column.
bool IsBinary(const data::ColumnSchema& column);

// The indicator columns that only the disclosure checks need: one for every level but the first of
// the factors that models use through contrasts whose sums do not count levels.
std::vector<data::DesignColumn> IndicatorColumns(const MleStudy& study);

}  // namespace partita::methods::mle
