// The regression that every site fits to its own rows, of which one coefficient is pooled. All of it is
// public and follows from formula and dictionary, so that all sites have the same.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/model_columns.h"
#include "stats/glm/family.h"

namespace partita::methods::meta {

struct OwnModel : data::ModelColumns {
  stats::glm::Law law;
  std::string formula;
  std::string outcome;          // a design column, or a factor with two levels
  bool outcome_levels = false;  // 1 where the code is 1
  double outcome_lower = 0, outcome_upper = 1;
  size_t term = 0;                     // of the columns: the one whose coefficient is pooled
  std::vector<std::string> variables;  // of the dictionary, the outcome's included
};

// Of families of R's glm: "binomial", "poisson", "gaussian".
const std::vector<std::string>& FamilyNames();

// term: a column's name. Throws kBadInput with a hint: what data/model_columns.h refuses; an outcome
// that the family does not have; a term that is no column.
OwnModel OwnModelOf(const std::string& family, const std::string& formula, const std::string& term,
                    const data::Schema& dictionary, std::span<const data::DerivedVariable> derived);

}  // namespace partita::methods::meta
