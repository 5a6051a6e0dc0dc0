#include "stats/sem/modification.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "stats/sem/constraints.h"
#include "stats/sem/information.h"
#include "stats/sem/objective.h"
#include "stats/sem/ram.h"

namespace partita::stats {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// An index below this part of the parameter's own information is rounding: not identified.
constexpr double kSmallestInformation = 1e-9;

using Key = std::tuple<std::string, std::string, std::string, int>;

Key KeyOf(std::string lhs, const std::string& op, std::string rhs, int group) {
  if (op == "~~" && rhs < lhs) std::swap(lhs, rhs);
  return {std::move(lhs), op, std::move(rhs), group};
}

// The table with every candidate as a further free parameter.
ParameterTable WithCandidates(const ParameterTable& table, std::vector<size_t>& candidates) {
  ParameterTable all = table;
  std::set<Key> known;
  std::set<std::string> indicators;
  for (const Parameter& row : table.rows) {
    known.insert(KeyOf(row.lhs, row.op, row.rhs, row.group));
    if (row.op == "=~") indicators.insert(row.rhs);
  }
  const auto add = [&](const std::string& lhs, const std::string& op, const std::string& rhs,
                       int group) {
    // A regression between the two says the same as their covariance.
    if (!known.insert(KeyOf(lhs, op, rhs, group)).second) return;
    for (const auto& [a, b] : {std::pair{lhs, rhs}, std::pair{rhs, lhs}}) {
      if (known.count(KeyOf(a, "~", b, group)) > 0) return;
      if (op == "~~" && known.count(KeyOf(a, "=~", b, group)) > 0) return;
    }
    Parameter row;
    row.lhs = lhs;
    row.op = op;
    row.rhs = rhs;
    row.group = group;
    row.free = ++all.num_free;
    candidates.push_back(all.rows.size());
    all.rows.push_back(row);
  };
  for (int group = 1; group <= static_cast<int>(table.groups.size()); ++group) {
    for (const std::string& factor : table.latent) {
      for (const std::string& item : table.observed) {
        if (indicators.count(item) > 0) add(factor, "=~", item, group);
      }
    }
    for (const auto* names : {&table.observed, &table.latent}) {
      for (size_t i = 0; i < names->size(); ++i) {
        for (size_t j = i + 1; j < names->size(); ++j) {
          const bool observed = names == &table.observed;
          if (observed &&
              (indicators.count((*names)[i]) == 0 || indicators.count((*names)[j]) == 0))
            continue;
          add((*names)[i], "~~", (*names)[j], group);
        }
      }
    }
  }
  return all;
}

// The fit's point in the units of the larger model; candidates are 0.
VectorXd PointOf(const ParameterTable& table, const SemFit& fit, const RamModel& model) {
  VectorXd x = VectorXd::Zero(model.num_parameters);
  for (size_t r = 0; r < table.rows.size(); ++r) {
    const int k = model.row_parameter[r];
    if (k >= 0) x[k] = fit.estimates[r].estimate / model.parameter_unit[k];
  }
  return x;
}

// Standard deviations of all variables of a group at x, in natural units.
VectorXd Deviations(const RamModel& model, const VectorXd& x, int group) {
  const ImpliedMoments implied = Imply(model, x)[static_cast<size_t>(group - 1)];
  return model.variable_unit.cwiseProduct(implied.covariance.diagonal().cwiseSqrt());
}

// What a change is divided (+1: multiplied) by for the standardised solutions.
void Standardize(const RamModel& model, const RamCell& cell, const VectorXd& sd,
                 const MatrixXd& residual, ModificationIndex& index) {
  const auto latent = [&](int variable) { return variable >= model.num_observed; };
  index.change_lv = index.change_all = index.change;
  if (index.op == "=~") {
    index.change_lv *= sd[cell.column];
    index.change_all = index.change_lv / sd[cell.row];
    return;
  }
  // Covariances of residuals are standardised by the residuals' deviations.
  const double scale = std::sqrt(residual(cell.row, cell.row) * residual(cell.column, cell.column));
  index.change_all /= scale;
  if (latent(cell.row)) index.change_lv /= scale;
}

}  // namespace

std::vector<ModificationIndex> ModificationIndices(const ParameterTable& table,
                                                   const std::vector<GroupMoments>& moments,
                                                   const SemFit& fit) {
  std::vector<size_t> candidates;
  const ParameterTable all = WithCandidates(table, candidates);
  const RamModel model = BuildRamModel(all, moments);
  const std::vector<GroupSample> samples =
      ScaleMoments(moments, model.variable_unit.head(model.num_observed));
  const SemObjective objective{model, samples};
  const VectorXd x = PointOf(table, fit, model);
  VectorXd gradient;
  DiscrepancyWithGradient(objective, x, gradient);
  const MatrixXd information = ExpectedInformation(objective, x);

  // Parameters of the fitted model, on the tangent space of its constraints.
  const ModelExpressions expressions(all, model);
  std::vector<int> free, added(all.rows.size(), -1);
  std::vector<bool> is_candidate(static_cast<size_t>(model.num_parameters), false);
  for (const size_t row : candidates) {
    added[row] = model.row_parameter[row];
    is_candidate[static_cast<size_t>(added[row])] = true;
  }
  for (int k = 0; k < model.num_parameters; ++k) {
    if (!is_candidate[static_cast<size_t>(k)]) free.push_back(k);
  }
  const MatrixXd jacobian = expressions.Constraints(x).jacobian;
  const Tangent tangent =
      TangentSpace(jacobian.rows() > 0 ? MatrixXd(jacobian(Eigen::all, free))
                                       : MatrixXd(0, static_cast<Index>(free.size())),
                   static_cast<Index>(free.size()));
  const MatrixXd own = tangent.basis.transpose() * information(free, free) * tangent.basis;
  const Eigen::LDLT<MatrixXd> solver(own);
  double n = 0;
  for (const GroupMoments& group : moments) n += group.n;

  std::vector<ModificationIndex> indices;
  for (const RamGroup& group : model.groups) {
    const auto g = static_cast<int>(&group - model.groups.data()) + 1;
    const VectorXd sd = Deviations(model, x, g);
    const RamMatrices at = FillMatrices(group, x);
    const VectorXd unit = model.variable_unit;
    const MatrixXd residual = unit.asDiagonal() * at.covariance * unit.asDiagonal();
    for (const RamCell& cell : group.cells) {
      const int k = cell.parameter;
      if (!is_candidate[static_cast<size_t>(k)]) continue;
      const VectorXd cross = tangent.basis.transpose() * information(free, k);
      const double left = information(k, k) - cross.dot(solver.solve(cross));
      if (!(left > kSmallestInformation * information(k, k))) continue;
      const Parameter& row = all.rows[static_cast<size_t>(cell.table_row)];
      ModificationIndex index{row.lhs, row.op, row.rhs, g, 0, 0, 0, 0};
      index.index = n * gradient[k] * gradient[k] / left;
      index.change = -gradient[k] / left * model.parameter_unit[k];
      Standardize(model, cell, sd, residual, index);
      indices.push_back(std::move(index));
    }
  }
  std::stable_sort(indices.begin(), indices.end(),
                   [](const auto& a, const auto& b) { return a.index > b.index; });
  return indices;
}

}  // namespace partita::stats
