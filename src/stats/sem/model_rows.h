// From statements to the user's part of the parameter table, and the roles of the variables.
// Internal to BuildParameterTable.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "stats/sem/syntax.h"

namespace partita::stats {

// One parameter that the user wrote, the same in every group but for its modifiers.
struct ModelRow {
  std::string lhs, op, rhs;  // =~ ~ ~~ ~1; covariances ordered as lavaan orders them
  std::vector<Modifier> modifiers;
  TextPosition position;
};

// Unlike the rows of a set, these keep the order in which lavaan lists the variables.
struct VariableRoles {
  std::vector<std::string> latent;             // left of =~
  std::vector<std::string> observed;           // indicators, dependent, independent, the others
  std::vector<std::string> exogenous;          // observed, only ever right of ~ , no moment written
  std::vector<std::string> latent_exogenous;   // neither an indicator nor left of ~
  std::vector<std::string> latent_outcomes;    // left of ~ , nowhere an indicator or right of ~
  std::vector<std::string> observed_outcomes;  // the same among observed variables
};

// lhs x terms of all statements but := and ==, in order. Refuses duplicates, a variable on itself,
// a path written both as =~ and as ~, and factors that measure each other in a circle.
std::vector<ModelRow> FlattenStatements(std::string_view text,
                                        const std::vector<ModelStatement>& statements);

VariableRoles FindRoles(const std::vector<ModelRow>& rows);

// Swaps covariances whose right side comes first among latent, then observed variables.
void OrderCovariances(const VariableRoles& roles, std::vector<ModelRow>& rows);

}  // namespace partita::stats
