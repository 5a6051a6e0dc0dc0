#include "stats/sem/constraints.h"

#include <Eigen/QR>
#include <cmath>

namespace partita::stats {

ModelExpressions::ModelExpressions(const ParameterTable& table, const RamModel& model)
    : model_(model), expressions_(table) {
  for (const Parameter& row : table.rows) has_constraints_ |= row.op == "==";
}

ExpressionValues ModelExpressions::Select(const Eigen::VectorXd& x, bool definitions) const {
  std::vector<double> label_values;
  for (const std::vector<int>& rows : expressions_.label_rows()) {
    label_values.push_back(model_.RowValue(rows.front(), x));
  }
  ExpressionValues out;
  std::vector<double> values;
  std::vector<Eigen::VectorXd> gradients;
  for (const TableExpression& expression : expressions_.Evaluate(label_values)) {
    if (expression.definition != definitions) continue;
    out.rows.push_back(expression.row);
    values.push_back(expression.value);
    Eigen::VectorXd gradient = Eigen::VectorXd::Zero(model_.num_parameters);
    for (std::size_t i = 0; i < label_values.size(); ++i) {
      const int row = expressions_.label_rows()[i].front();
      const int k = model_.row_parameter[static_cast<std::size_t>(row)];
      if (k >= 0) gradient[k] += expression.gradient[i] * model_.parameter_unit[k];
    }
    gradients.push_back(std::move(gradient));
  }
  out.values =
      Eigen::Map<const Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
  out.jacobian.resize(out.values.size(), model_.num_parameters);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    out.jacobian.row(static_cast<Eigen::Index>(i)) = gradients[i].transpose();
  }
  return out;
}

ExpressionValues ModelExpressions::Constraints(const Eigen::VectorXd& x) const {
  return Select(x, false);
}

ExpressionValues ModelExpressions::Definitions(const Eigen::VectorXd& x) const {
  return Select(x, true);
}

void ModelExpressions::Substitute(std::vector<double>& row_values) const {
  std::vector<double> label_values;
  for (const std::vector<int>& rows : expressions_.label_rows()) {
    label_values.push_back(row_values[static_cast<std::size_t>(rows.front())]);
  }
  for (const TableExpression& expression : expressions_.Evaluate(label_values)) {
    row_values[static_cast<std::size_t>(expression.row)] = expression.value;
  }
}

Tangent TangentSpace(const Eigen::MatrixXd& jacobian, Eigen::Index num_parameters) {
  if (jacobian.rows() == 0) {
    return {Eigen::MatrixXd::Identity(num_parameters, num_parameters), 0};
  }
  Eigen::MatrixXd columns = jacobian.transpose();
  for (auto column : columns.colwise()) {
    const double norm = column.norm();
    if (norm > 0) column /= norm;
  }
  Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(columns);
  qr.setThreshold(1e-10);
  const Eigen::MatrixXd q =
      qr.householderQ() * Eigen::MatrixXd::Identity(num_parameters, num_parameters);
  const int rank = static_cast<int>(qr.rank());
  // A parameter that the constraints determine gets exactly no freedom, hence standard error 0.
  const Eigen::MatrixXd basis = q.rightCols(num_parameters - rank);
  return {basis.unaryExpr([](double z) { return std::abs(z) < 1e-14 ? 0.0 : z; }), rank};
}

double Infeasibility(const ExpressionValues& constraints) {
  double largest = 0;
  for (Index i = 0; i < constraints.values.size(); ++i) {
    const double norm = constraints.jacobian.row(i).norm();
    const double distance = std::abs(constraints.values[i]) / (norm > 0 ? norm : 1);
    largest = std::isfinite(distance) ? std::max(largest, distance)
                                      : std::numeric_limits<double>::infinity();
  }
  return largest;
}

}  // namespace partita::stats
