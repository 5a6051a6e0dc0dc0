// What a study may ask for beside a fit: the test against a wider model, and which fixed parameters
// the data speak against.
#pragma once

#include <string>
#include <vector>

#include "base/cell_table.h"
#include "methods/mle/fit/result.h"
#include "stats/sem/modification.h"
#include "stats/sem/nested.h"

namespace partita::methods::mle {

// Throws kBadInput where the result has no chi-square (stats/sem/nested.h).
stats::ComparedModel ComparedModelOf(const MleResult& result);

// Models by degrees of freedom with their chi-squares, differences, and information criteria.
CellTable ComparisonTable(const stats::ModelComparison& comparison);

// The chi-square difference test of `narrow`, which is nested in `wide`. Throws kBadInput as
// CompareNested, and unless `narrow` has more degrees of freedom.
CellTable NestedTable(const MleResult& wide, const MleResult& narrow);

// groups: labels, one without groups.
inline constexpr char kModificationTitle[] = "Modification indices";
CellTable ModificationTable(const std::vector<stats::ModificationIndex>& indices,
                            const std::vector<std::string>& groups);

}  // namespace partita::methods::mle
