// The reticular action model: a parameter table as matrices over observed and latent variables.
//
//   v = (I - A)^-1 (M + e),  cov(e) = S,  v = (observed, latent),  y = F v
//   Sigma(theta) = F (I-A)^-1 S (I-A)^-T F',  mu(theta) = F (I-A)^-1 M
//   McArdle & McDonald (1984), "Some algebraic properties of the reticular action model".
//
// Everything here is in INTERNAL UNITS: variable i is divided by variable_unit[i] (an observed one
// by its standard deviation pooled over groups, a latent one by the unit that its fixed loading or
// fixed variance implies), and the optimiser's parameter x[k] is the natural value divided by
// parameter_unit[k]. A fit therefore does not depend on the units of the data.
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "stats/sem/moments.h"
#include "stats/sem/parameter_table.h"

namespace partita::stats {

enum class RamMatrix { kRegression, kCovariance, kMean };  // A, S, M

// One cell that moves with a parameter: cell = factor * x[parameter]. A covariance cell with
// row != column stands for both of its mirror images; a mean cell has column 0.
struct RamCell {
  RamMatrix matrix = RamMatrix::kRegression;
  int row = 0, column = 0;
  int parameter = 0;
  double factor = 1;
  int table_row = 0;
};

struct RamGroup {
  Eigen::MatrixXd regression;  // A: fixed values, 0 in the free cells
  Eigen::MatrixXd covariance;  // S, likewise, symmetric
  Eigen::VectorXd mean;        // M, likewise
  std::vector<RamCell> cells;
};

// The observed indicator that a factor is measured by first of all: one whose loading is fixed and not
// 0, else the first with a free one; -1: there is none.
int ReferenceIndicator(const RamGroup& group, int num_observed, int factor);

struct RamModel {
  int num_observed = 0, num_variables = 0, num_parameters = 0;
  bool meanstructure = false;
  std::vector<std::string> variables;  // observed, then latent
  Eigen::VectorXd variable_unit;
  Eigen::VectorXd parameter_unit;
  std::vector<RamGroup> groups;
  // Per row of the table: index of its parameter, or -1 and its fixed value in natural units. Rows
  // with equal labels share a parameter; a fixed row fixes every row with its label.
  std::vector<int> row_parameter;
  std::vector<double> row_value;

  // Natural value of a table row that is not := or ==.
  double RowValue(int row, const Eigen::VectorXd& x) const {
    const int k = row_parameter[static_cast<std::size_t>(row)];
    return k < 0 ? row_value[static_cast<std::size_t>(row)] : parameter_unit[k] * x[k];
  }
};

// Throws kBadInput for a row that names a variable the table does not list.
RamModel BuildRamModel(const ParameterTable& table, const std::vector<GroupMoments>& moments);

// A, S and M of a group at x.
struct RamMatrices {
  Eigen::MatrixXd regression, covariance;
  Eigen::VectorXd mean;
};
RamMatrices FillMatrices(const RamGroup& group, const Eigen::VectorXd& x);

// What a parameter is called in messages: "x1 ~~ x1", "y ~1 (group Pasteur)".
std::string RowName(const ParameterTable& table, int row);

}  // namespace partita::stats
