// Multiply imputed rows: a fit of every completed table, and Rubin's rules.
#pragma once

#include <string>
#include <vector>

#include "methods/mle/fit/analysis.h"

namespace partita::methods::mle {

// ", 20 imputed tables": what follows the name of the optimiser.
std::string ImputedTablesText(size_t tables);

// moments: by imputation, of every group, on the analysis's variables in original units. counts: by
// group and pattern of the study, for the tables of the result. Estimates, standard errors and
// standardised values are combined; z is the ratio to the standard error, and p-values and
// intervals are Student's with the degrees of freedom of Barnard and Rubin (1999) for
// rows - parameters with complete data. Chi-square is combined as D2 of Li, Meng, Raghunathan and
// Rubin (1991), a table of the result; there are no other fit measures. Throws kBadInput as
// stats::FitSem.
MleResult FitImputed(const MleAnalysis& analysis,
                     const std::vector<std::vector<stats::GroupMoments>>& moments,
                     const std::vector<std::vector<double>>& counts, Progress& progress);

}  // namespace partita::methods::mle
