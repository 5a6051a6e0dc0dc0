// Models in which every site has an intercept of its own: at a point of the other coefficients a site
// finds its own intercept in the clear, and what it adds to score, information and meat of the other
// coefficients, the intercept profiled out, is that of rows of another design. So intercepts stay with
// their sites, and nothing else changes.
//
// With a the maximum at the point b, and m the means of the columns weighted by the working weights,
// these rows have columns x - m and offset o + a + m'b: their linear predictors are the site's, their
// score is X's since the sum of s is 0, and their information I_bb - I_ba I_aa^-1 I_ab.
#pragma once

#include <vector>

#include "stats/glm/sums.h"

namespace partita::stats::glm {

// x without the column of ones. Without rows none, and also where the outcomes of a site are all alike
// so that its intercept has no maximum (0 of a count, 0 or 1 of a binomial outcome): in the limit such
// rows add nothing.
Rows ProfiledRows(const Law& law, const Rows& rows, const Eigen::VectorXd& point,
                  const Limits& limits);

// FirstSumsOf with an intercept of the site's own.
FirstSums FirstProfiledSums(const Law& law, const Rows& rows, const Limits& limits);

// For the twin: all rows with a column for every site behind the others.
Rows WithSiteColumns(const std::vector<Rows>& by_site);

}  // namespace partita::stats::glm
