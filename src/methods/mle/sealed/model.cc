#include "methods/mle/sealed/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "stats/sem/fit_measures.h"

namespace partita::methods::mle {
namespace {

using Eigen::Index;
using Eigen::MatrixXi;
using Eigen::VectorXd;
using stats::Parameter;
using stats::ParameterTable;
using stats::RamCell;
using stats::RamGroup;
using stats::RamMatrix;

void RefuseConstraints(const ParameterTable& table) {
  for (const Parameter& row : table.rows) {
    if (row.op != "==") continue;
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("the protocol 'sealed' has no constraints ({} == {})", row.lhs, row.rhs),
        "use equal labels, or protocol = \"pooled-moments\"");
  }
}

// Covariates' moments as parameters like others.
ParameterTable WithFreeCovariates(ParameterTable table, std::vector<bool>& is_covariate) {
  is_covariate.assign(table.rows.size(), false);
  for (size_t r = 0; r < table.rows.size(); ++r) {
    Parameter& row = table.rows[r];
    if (!row.exogenous || row.free != 0) continue;
    is_covariate[r] = true;
    row.exogenous = false;
    row.free = ++table.num_free;
  }
  return table;
}

MatrixXi Edges(const RamGroup& group) {
  MatrixXi edges = (group.regression.array() != 0).cast<int>();
  for (const RamCell& cell : group.cells) {
    if (cell.matrix == RamMatrix::kRegression) edges(cell.row, cell.column) = 1;
  }
  return edges;
}

size_t PathLength(const RamGroup& group) {
  const MatrixXi edges = Edges(group);
  MatrixXi paths = edges;
  size_t length = 0;
  while ((paths.array() != 0).any()) {
    if (++length >= static_cast<size_t>(edges.rows())) {
      throw Error(ErrorCode::kBadInput,
                  "the model's regressions form a circle, which the protocol 'sealed' cannot fit",
                  "use protocol = \"pooled-moments\"");
    }
    paths = ((paths * edges).array() != 0).cast<int>();
  }
  return length;
}

// The observed variable that a latent one is measured by at a fixed loading; -1: its scale is its
// own. Factors of factors follow their marker.
std::vector<int> UnitSources(const stats::RamModel& ram) {
  std::vector<int> source(static_cast<size_t>(ram.num_variables), -1);
  for (int j = 0; j < ram.num_observed; ++j) source[static_cast<size_t>(j)] = j;
  const Eigen::MatrixXd& loadings = ram.groups.front().regression;
  for (int pass = ram.num_observed; pass < ram.num_variables; ++pass) {
    for (int f = ram.num_observed; f < ram.num_variables; ++f) {
      if (source[static_cast<size_t>(f)] >= 0) continue;
      for (int j = 0; j < ram.num_variables; ++j) {
        if (loadings(j, f) == 0 || source[static_cast<size_t>(j)] < 0) continue;
        source[static_cast<size_t>(f)] = source[static_cast<size_t>(j)];
        break;
      }
    }
  }
  return source;
}

// In units of standard deviations: loadings 0.8, half of every variance unexplained, the rest 0.
double StartOf(const RamCell& cell, const stats::RamModel& ram, bool has_predictors) {
  switch (cell.matrix) {
    case RamMatrix::kRegression:
      return cell.column >= ram.num_observed && cell.row < ram.num_observed ? 0.8 : 0;
    case RamMatrix::kCovariance:
      if (cell.row != cell.column) return 0;
      if (cell.row >= ram.num_observed) return 0.4;
      return has_predictors ? 0.5 : 1;
    case RamMatrix::kMean:
      return cell.row < ram.num_observed ? 1 : 0;
  }
  return 0;
}

}  // namespace

SealedModel PrepareSealed(const ParameterTable& table, const VectorXd& centre,
                          const VectorXd& half_width) {
  RefuseConstraints(table);
  std::vector<bool> is_covariate;
  SealedModel model;
  model.table = WithFreeCovariates(table, is_covariate);
  // Moments that stand for the public units alone.
  const stats::GroupMoments units{1, VectorXd::Zero(half_width.size()),
                                  half_width.cwiseAbs2().asDiagonal().toDenseMatrix()};
  model.ram = stats::BuildRamModel(model.table, std::vector(table.groups.size(), units));
  model.shift = centre.cwiseQuotient(half_width);
  model.unit_of = UnitSources(model.ram);
  model.start = VectorXd::Zero(model.ram.num_parameters);
  for (const RamGroup& group : model.ram.groups) {
    model.path_length = std::max(model.path_length, PathLength(group));
    const MatrixXi edges = Edges(group);
    for (const RamCell& cell : group.cells) {
      if (std::abs(cell.factor - 1) > 1e-12) {
        throw Error(ErrorCode::kBadInput,
                    "parameters that are equal belong to variables of different ranges: " +
                        stats::RowName(model.table, cell.table_row),
                    "give these variables the same bounds (0/1 variables and others have none in "
                    "common), or use protocol = \"pooled-moments\"");
      }
      model.start(cell.parameter) =
          StartOf(cell, model.ram, (edges.row(cell.row).array() != 0).any());
    }
  }
  std::vector<bool> opened(static_cast<size_t>(model.ram.num_parameters), true);
  for (size_t r = 0; r < is_covariate.size(); ++r) {
    if (is_covariate[r]) opened[static_cast<size_t>(model.ram.row_parameter[r])] = false;
  }
  for (int k = 0; k < model.ram.num_parameters; ++k) {
    if (opened[static_cast<size_t>(k)]) model.opened.push_back(k);
  }
  for (const std::string& name : stats::ExogenousObserved(table)) {
    const auto found = std::find(table.observed.begin(), table.observed.end(), name);
    if (found != table.observed.end()) {
      model.covariates.push_back(static_cast<size_t>(found - table.observed.begin()));
    }
  }
  return model;
}

}  // namespace partita::methods::mle
