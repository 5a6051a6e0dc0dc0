// The table of covariates that the release rule (privacy/release_rule.h) protects: how many rows
// have each combination of values of the variables, and how many bits a holder lacks of it.
//
// Rows      An adversary is a holder that subtracts its own rows and columns; the one that lacks
//           least counts. Where rows are left out, or a block declares no count, the rows are
//           those that min_rows promises, spread as the declared counts are (evenly without): the plan
//           says that this is assumed.
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
#include "run/method/study.h"
#include "study/plan/plan.h"

namespace partita::run {

inline constexpr char kTableOfCovariates[] = "table of covariates";
inline constexpr char kTableOfOutcomes[] = "table of covariates and outcomes";

// log2 of the number of values that a variable of the dictionary can have.
double ValueBits(const data::ColumnSchema& variable);

// Variables of the dictionary with the log2 of how many values the columns of a model tell apart,
// each once. factors: the dictionary with derived factors.
using PatternColumns = std::vector<std::pair<std::string, double>>;
PatternColumns PatternColumnsOf(const Study& study, const data::Schema& factors,
                                const std::vector<data::DesignColumn>& columns);

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

}  // namespace partita::run
