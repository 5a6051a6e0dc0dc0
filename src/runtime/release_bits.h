// The release rule (privacy/release_rule.h) for the exact releases of a study: which table of
// covariates they are about, how many bits of it open, and what the plan says of that.
//
// Rows      An adversary is a holder that subtracts its own rows and columns; the one that lacks
//           least counts. Where rows are left out, or a block declares no count, the rows are
//           those that min_rows promises, spread as the declared counts are (evenly without).
// Patterns  From the dictionary alone: levels of factors, values of integers and days within their
//           bounds, 2^10 of anything else by convention. Several columns of one variable are one.
//           Where rows are whole, of a model with outcomes those of its other variables; where
//           columns are split, of all variables that the holder lacks.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "data/design.h"
#include "privacy/release_rule.h"
#include "runtime/mle_study.h"
#include "study/plan.h"

namespace partita::runtime {

inline constexpr char kTableOfCovariates[] = "table of covariates";
inline constexpr char kTableOfOutcomes[] = "table of covariates and outcomes";

// log2 of the number of values that a variable of the dictionary can have.
double ValueBits(const data::ColumnSchema& variable);

// Variables of the dictionary with the log2 of how many values the columns of a model tell apart,
// each once. factors: the dictionary with derived factors.
using PatternColumns = std::vector<std::pair<std::string, double>>;
PatternColumns PatternColumnsOf(const Study& study, const data::Schema& factors,
                                const std::vector<data::DesignColumn>& columns);

// The columns whose patterns the rule is about: where a model has outcomes (left of ~) or
// indicators, its other variables; else all. Where columns are split all, since an outcome may be
// the column that a holder lacks.
std::vector<data::DesignColumn> CovariatesOf(const Study& study,
                                             const methods::mle::MleAnalysis& analysis);

// Of every variable of the dictionary among these columns: the factors that are made of it, or
// itself (under its own name).
std::map<std::string, std::set<std::string>> ViewsOf(
    const std::vector<data::DesignColumn>& columns);

// What the holder that lacks least lacks of a table over these columns.
std::vector<privacy::UnknownRows> LeastUnknown(const Study& study, const PatternColumns& columns,
                                               bool rows_left_out);

// Against one table. outcomes: robust standard errors tell every pattern apart by the outcome.
struct CovariateTable {
  std::vector<privacy::UnknownRows> unknown;
  bool outcomes = false;
};
study::PlanBits BitsAgainst(double opened, const std::vector<CovariateTable>& tables,
                            int grid_bits);

// One for each analysis over the rows.
std::vector<CovariateTable> CovariateTables(const MleStudy& study, const RowSet& rows);

// Numbers of a release, over all its openings; 0 where there is none.
uint64_t NumReleased(const MleStudy& study, const std::string& id);

// B of everything that the analyses over these rows open to the receiver.
double OpenedBits(const MleStudy& study, const Computation& computation, const RowSet& rows);

}  // namespace partita::runtime
