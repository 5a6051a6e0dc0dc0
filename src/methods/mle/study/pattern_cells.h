// Way (a) of the release rule in studies (methods/mle/moments/pattern_cells.h): which pattern cells
// a study has checked that says accept = "checked cells", and which patterns a holder's rows have.
//
// Table     One for the study: the combinations of values of all covariates of all analyses (an
//           outcome that explains another one is a covariate) and of their groups, with those of
//           the outcomes of analyses that have robust standard errors. Where columns are split of
//           all variables of all analyses: a holder knows the outcomes that it has row by row.
//           A variable that models see only as factors made of it has the values of these.
// Rows      Those that take part: of the population, of the subset that all analyses have in
//           common, complete where incomplete ones are left out. Where columns are split all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/holding.h"
#include "methods/mle/moments/pattern_cells.h"
#include "methods/mle/study/study.h"
#include "mpc/release_gate.h"
#include "study/plan/plan.h"

namespace partita::methods::mle {

inline constexpr char kPatternCellsPhase[] = "pattern cells";

// The least min_cell with checked cells: two persons of a cell of two know each other.
inline constexpr uint64_t kLeastCheckedCell = 3;

// Empty unless the study asks for checked cells. Throws kBadInput naming what it is that has no
// cells: noise, a published protocol, weights, site effects, patterns of missing values, several
// subsets, rows left out where columns are split, a variable that is not discrete; more than
// kMaxPatternCells, or a min_cell below kLeastCheckedCell. Needs the computations.
std::optional<PatternTable> PlanPatternTable(const MleStudy& study);

// "sex, region": the columns of the cells.
std::string PatternNames(const PatternTable& patterns);

PatternTask PatternTaskOf(const MleStudy& study);

// Of a holder. weights: by row of its table; a row with weight 0 takes no part.
OwnPatterns OwnPatternsOf(const MleStudy& study, const data::Holding& holding,
                          const std::vector<int32_t>& weights);

// "also without each holder's own rows", and what holders know who have some of the columns.
std::string BesideOwnText(const MleStudy& study);

// The one bit, and the check as plan and report list it.
mpc::Release PatternCellsRelease(const MleStudy& study);
study::PlanCheck PatternCellsCheck(const MleStudy& study, uint64_t min_cell);

}  // namespace partita::methods::mle
