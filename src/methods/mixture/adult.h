// The experiment's table: UCI Adult (census income, Becker & Kohavi 1996), without rows with
// missing values, 30162 training and 15060 test rows, demographic columns at one party and
// financial ones at the other (Tajeddine et al., Section 6.1). Bounds and levels are public
// constants of the experiment, not the minimum and maximum of the rows; `education` is left out,
// for education_num says the same.
#pragma once

#include <filesystem>
#include <vector>

#include "data/table.h"
#include "methods/mixture/columns.h"

namespace partita::methods::mixture {

inline constexpr size_t kDemographicParty = 0, kFinancialParty = 1;

// 14 columns: 12 categorical with 148 levels, 2 Beta.
std::vector<ModelColumn> AdultColumns();

// Reads adult_train or adult_test (".csv" or ".csv.gz") with these columns and checks that the
// cells fit. Throws kBadInput and kBadData as data::ReadCsv and data::RequireClean do.
data::Table ReadAdult(const std::filesystem::path& file);

}  // namespace partita::methods::mixture
