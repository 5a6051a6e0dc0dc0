// Regressions that sums alone are enough for: gaussian models at level `aggregates` of a study that says the grid of
// values ([engine] input_bits). Holders of rows form the same sums as a database does of rows that stay there, so that
// the result is the same to the bit.
//
// Grid         A column over its scale, and the outcome, are rounded to 2^-input_bits, half away from zero. Of a
//              product at most one factor has other values than -1, 0 and 1, so that a database can round it first.
// Limits       Sums do not show which row is beyond the limits of linear predictors: all are where the deviance is
//              above its bound (stats/glm/gaussian_moments.h).
// Leaves       A database gives of the rows that take part their number, sums and products of columns and outcome, and
//              the counts that are checked (own_rows.h); of all rows what every query has (data/source/sum_query.h).
#pragma once

#include "methods/glm/study.h"

namespace partita::methods::glm {

// Whether sums and products of columns and outcome are all that its protocol takes of rows.
bool TakesMoments(const GlmStudy& study);

}  // namespace partita::methods::glm
