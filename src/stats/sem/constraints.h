// The == and := rows of a model as functions of the optimiser's parameters.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "stats/sem/parameter_table.h"
#include "stats/sem/ram.h"
#include "stats/sem/table_expressions.h"

namespace partita::stats {

// values[i] belongs to table row rows[i]; jacobian(i, k) = d values[i] / d x[k].
struct ExpressionValues {
  std::vector<int> rows;
  Eigen::VectorXd values;
  Eigen::MatrixXd jacobian;
};

class ModelExpressions {
 public:
  // The model is borrowed. Throws kBadInput for an unknown label.
  ModelExpressions(const ParameterTable& table, const RamModel& model);

  // Left side minus right side of the == rows, natural units.
  ExpressionValues Constraints(const Eigen::VectorXd& x) const;
  // The := rows, natural units.
  ExpressionValues Definitions(const Eigen::VectorXd& x) const;
  bool has_constraints() const { return has_constraints_; }

  // := and == rows evaluated with other values of the labelled rows, one entry per table row (a
  // label takes the value of its first row); writes only the := and == entries.
  void Substitute(std::vector<double>& row_values) const;

 private:
  ExpressionValues Select(const Eigen::VectorXd& x, bool definitions) const;

  const RamModel& model_;
  TableExpressions expressions_;
  bool has_constraints_ = false;
};

// Directions in which the constraints stay satisfied to first order: an orthonormal basis of the
// null space of the Jacobian (its rows scaled to unit length first). No rows: the identity.
struct Tangent {
  Eigen::MatrixXd basis;  // parameters x (parameters - rank)
  int rank = 0;           // of the Jacobian: redundant constraints count once
};
Tangent TangentSpace(const Eigen::MatrixXd& jacobian, Eigen::Index num_parameters);

// The largest distance of a point to a constraint's surface to first order, |value| / |gradient|;
// infinity if one has no finite value.
double Infeasibility(const ExpressionValues& constraints);

}  // namespace partita::stats
