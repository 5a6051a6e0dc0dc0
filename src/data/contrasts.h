// How the levels of a factor become numeric columns, as in R's contr.treatment, contr.sum and
// contr.poly.
#pragma once

#include <string>
#include <vector>

#include "data/schema.h"

namespace partita::data {

// As R: beyond that polynomials cannot be told apart by what doubles hold.
inline constexpr size_t kMaxPolynomialLevels = 95;

struct ContrastColumn {
  std::string suffix;          // of the column's name, ".LEVEL" or ".L"; empty for scores
  std::vector<double> values;  // by level
  std::string level;           // treatment only: the level whose column this is
};

// k - 1 columns for k levels, one for scores. Polynomials are orthonormal over equidistant levels,
// each with a positive leading coefficient. Throws kBadInput for a variable without levels and for
// polynomials of more than kMaxPolynomialLevels levels.
std::vector<ContrastColumn> ContrastColumns(const ColumnSchema& factor);

}  // namespace partita::data
