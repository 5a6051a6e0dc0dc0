#include "methods/mle/fit/families.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "methods/mle/fit/analysis.h"

namespace partita::methods::mle {
namespace {

using stats::Parameter;
using stats::ParameterEstimate;
using stats::ParameterTable;

constexpr Eigen::Index kMaxComponentColumns = 8;  // directions of more are not shown

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Left and right sides of ~, without repetition.
struct Regressions {
  std::set<std::string> outcomes, predictors;
  // Whether something that is explained explains something else.
  bool Chained() const {
    return std::any_of(outcomes.begin(), outcomes.end(),
                       [&](const std::string& name) { return predictors.contains(name); });
  }
};

Regressions RegressionsOf(const ParameterTable& table) {
  Regressions regressions;
  for (const Parameter& row : table.rows) {
    if (row.op != "~") continue;
    regressions.outcomes.insert(row.lhs);
    regressions.predictors.insert(row.rhs);
  }
  return regressions;
}

bool HasDefinitions(const ParameterTable& table) {
  return std::any_of(table.rows.begin(), table.rows.end(),
                     [](const Parameter& row) { return row.op == ":="; });
}

bool IsSaturated(const ParameterTable& table) {
  const size_t p = table.observed.size();
  size_t free = 0;
  std::set<std::string> labels;
  for (const Parameter& row : table.rows) {
    if (row.op == "==") return false;
    if (row.op != "~~" || row.free == 0) continue;
    if (!row.label.empty() && !labels.insert(row.label).second) return false;
    ++free;
  }
  return free == table.groups.size() * p * (p + 1) / 2;
}

std::string SingleGroupFamily(const ParameterTable& table, const std::string& function) {
  const Regressions regressions = RegressionsOf(table);
  if (!table.latent.empty()) {
    if (function == "growth") return "latent growth model";
    return regressions.outcomes.empty() ? "confirmatory factor analysis"
                                        : "structural equation model";
  }
  if (regressions.outcomes.empty())
    return IsSaturated(table) ? "saturated model" : "covariance structure";
  if (regressions.Chained()) return HasDefinitions(table) ? "mediation analysis" : "path analysis";
  return regressions.outcomes.size() == 1 ? "linear regression" : "multivariate regression";
}

// The rows of one group with their estimates.
class GroupRows {
 public:
  GroupRows(const MleResult& result, size_t group)
      : result_(result), group_(static_cast<int>(group) + 1) {}

  template <typename Use>
  void ForEach(const std::string& op, Use use) const {
    for (size_t i = 0; i < result_.table.rows.size(); ++i) {
      const Parameter& row = result_.table.rows[i];
      if (row.group == group_ && row.op == op) use(row, result_.fit.estimates[i]);
    }
  }

  // NaN where there is no such row.
  ParameterEstimate Find(const std::string& op, const std::string& lhs,
                         const std::string& rhs) const {
    ParameterEstimate found{kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN};
    ForEach(op, [&](const Parameter& row, const ParameterEstimate& estimate) {
      if ((row.lhs == lhs && row.rhs == rhs) || (op == "~~" && row.lhs == rhs && row.rhs == lhs))
        found = estimate;
    });
    return found;
  }

  // The standardised residual variance is the share that is not explained.
  double RSquared(const std::string& name) const { return 1 - Find("~~", name, name).std_all; }

 private:
  const MleResult& result_;
  int group_;
};

// A table whose title names the group where there are several.
CellTable NewTable(const MleResult& result, size_t group, const std::string& title,
                   std::vector<std::string> columns) {
  const bool several = result.group_n.size() > 1;
  return {
      title + (several ? ", group " + result.group_labels.at(group) : ""), std::move(columns), {}};
}

void AddUnlessEmpty(CellTable table, std::vector<CellTable>& tables) {
  if (!table.rows.empty()) tables.push_back(std::move(table));
}

// ------------------------------------------------------------------------------- regression

CellTable RegressionTable(const MleResult& result, size_t group) {
  CellTable table = NewTable(
      result, group, "Regressions",
      {"outcome", "predictors", "R2", "adjusted R2", "residual SD", "residual SD (n - k - 1)"});
  const GroupRows rows(result, group);
  const double n = result.group_n.at(group);
  std::map<std::string, double> predictors;
  rows.ForEach("~", [&](const Parameter& row, const ParameterEstimate&) { ++predictors[row.lhs]; });
  for (const auto& [outcome, k] : predictors) {
    const double r2 = rows.RSquared(outcome);
    const double variance = rows.Find("~~", outcome, outcome).estimate;
    const double left = n - k - 1;
    table.rows.push_back({outcome, k, r2, left > 0 ? 1 - (1 - r2) * (n - 1) / left : kNaN,
                          std::sqrt(variance), left > 0 ? std::sqrt(variance * n / left) : kNaN});
  }
  return table;
}

CellTable ExplainedTable(const MleResult& result, size_t group) {
  CellTable table = NewTable(result, group, "Explained variance", {"variable", "R2"});
  const GroupRows rows(result, group);
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (!Contains(names, name)) names.push_back(name);
  };
  rows.ForEach("=~", [&](const Parameter& row, const ParameterEstimate&) { add(row.rhs); });
  rows.ForEach("~", [&](const Parameter& row, const ParameterEstimate&) { add(row.lhs); });
  for (const std::string& name : names) {
    const double r2 = rows.RSquared(name);
    if (std::isfinite(r2)) table.rows.push_back({name, r2});
  }
  return table;
}

// Direct, indirect and total effects along ~; none where the regressions have a circle.
CellTable EffectsTable(const MleResult& result, size_t group) {
  CellTable table =
      NewTable(result, group, "Effects", {"outcome", "predictor", "direct", "indirect", "total"});
  std::vector<std::string> names = result.table.observed;
  names.insert(names.end(), result.table.latent.begin(), result.table.latent.end());
  const auto size = static_cast<Eigen::Index>(names.size());
  Eigen::MatrixXd direct = Eigen::MatrixXd::Zero(size, size);
  const auto index = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) - names.begin();
  };
  GroupRows(result, group)
      .ForEach("~", [&](const Parameter& row, const ParameterEstimate& estimate) {
        direct(index(row.lhs), index(row.rhs)) = estimate.estimate;
      });
  // Sum of B^k; B is nilpotent unless there is a circle.
  Eigen::MatrixXd power = direct, total = direct;
  for (Eigen::Index step = 1; step < size; ++step) {
    power = power * direct;
    total += power;
  }
  if (!(power * direct).isZero(0)) return table;
  for (Eigen::Index y = 0; y < size; ++y) {
    for (Eigen::Index x = 0; x < size; ++x) {
      if (total(y, x) == 0 && direct(y, x) == 0) continue;
      table.rows.push_back({names[static_cast<size_t>(y)], names[static_cast<size_t>(x)],
                            direct(y, x), total(y, x) - direct(y, x), total(y, x)});
    }
  }
  return table;
}

// ---------------------------------------------------------------------------------- factors

// Omega of a factor with these indicators.
double Omega(const GroupRows& rows, const std::vector<std::string>& indicators, double sum,
             double variance) {
  const double common = sum * sum * variance;
  double residual = 0;
  rows.ForEach("~~", [&](const Parameter& row, const ParameterEstimate& estimate) {
    if (!Contains(indicators, row.lhs) || !Contains(indicators, row.rhs)) return;
    residual += (row.lhs == row.rhs ? 1 : 2) * estimate.estimate;
  });
  return common / (common + residual);
}

CellTable FactorTable(const MleResult& result, size_t group) {
  CellTable table =
      NewTable(result, group, "Factors",
               {"factor", "indicators", "reliability (omega)", "average variance extracted"});
  const GroupRows rows(result, group);
  std::map<std::string, int> times;
  rows.ForEach("=~", [&](const Parameter& row, const ParameterEstimate&) { ++times[row.rhs]; });
  for (const std::string& factor : result.table.latent) {
    std::vector<std::string> indicators;
    double sum = 0, squares = 0;
    bool alone = true;
    rows.ForEach("=~", [&](const Parameter& row, const ParameterEstimate& estimate) {
      if (row.lhs != factor) return;
      indicators.push_back(row.rhs);
      sum += estimate.estimate;
      squares += estimate.std_all * estimate.std_all;
      alone = alone && times[row.rhs] == 1 && Contains(result.table.observed, row.rhs);
    });
    if (indicators.empty()) continue;
    const ParameterEstimate variance = rows.Find("~~", factor, factor);
    // Of a factor that is explained, the residual's share is known: total = residual / share.
    const double total = variance.estimate / variance.std_all;
    const auto count = static_cast<double>(indicators.size());
    table.rows.push_back({factor, count, alone ? Omega(rows, indicators, sum, total) : kNaN,
                          alone ? squares / count : kNaN});
  }
  return table;
}

// ----------------------------------------------------------------------------------- growth

CellTable TrajectoryTable(const MleResult& result, size_t group) {
  CellTable table =
      NewTable(result, group, "Implied trajectory", {"occasion", "mean", "standard deviation"});
  if (group >= result.fit.implied_covariance.size() || !result.table.meanstructure) return table;
  const Eigen::MatrixXd& covariance = result.fit.implied_covariance[group];
  const Eigen::VectorXd& mean = result.fit.implied_mean[group];
  const GroupRows rows(result, group);
  std::set<std::string> occasions;
  bool known = true;  // not where the moments of fixed covariates stayed sealed
  rows.ForEach("=~", [&](const Parameter& row, const ParameterEstimate&) {
    occasions.insert(row.rhs);
    known = known && std::isfinite(rows.RSquared(row.rhs));
  });
  if (!known) return table;
  for (size_t v = 0; v < result.table.observed.size(); ++v) {
    if (!occasions.contains(result.table.observed[v])) continue;
    const auto i = static_cast<Eigen::Index>(v);
    table.rows.push_back({result.table.observed[v], mean[i], std::sqrt(covariance(i, i))});
  }
  return table;
}

CellTable GrowthFactorTable(const MleResult& result, size_t group) {
  const bool predicted = !RegressionsOf(result.table).outcomes.empty();
  CellTable table = NewTable(
      result, group, predicted ? "Growth factors given their predictors" : "Growth factors",
      {"factor", "mean", "standard error", "variance", "standard error of it"});
  const GroupRows rows(result, group);
  for (const std::string& factor : result.table.latent) {
    const ParameterEstimate mean = rows.Find("~1", factor, "");
    const ParameterEstimate variance = rows.Find("~~", factor, factor);
    table.rows.push_back(
        {factor, mean.estimate, mean.standard_error, variance.estimate, variance.standard_error});
  }
  return table;
}

// ------------------------------------------------------------------------ principal components

// Values in descending order.
struct Components {
  Eigen::VectorXd values;
  Eigen::MatrixXd directions;  // in columns, the entry of largest magnitude positive
};

Components ComponentsOf(const Eigen::MatrixXd& covariance) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(covariance);
  Components components{solver.eigenvalues().reverse(), solver.eigenvectors().rowwise().reverse()};
  for (Eigen::Index c = 0; c < components.directions.cols(); ++c) {
    Eigen::Index largest = 0;
    components.directions.col(c).cwiseAbs().maxCoeff(&largest);
    if (components.directions(largest, c) < 0) components.directions.col(c) *= -1;
  }
  return components;
}

void AddComponents(const MleResult& result, size_t group, std::vector<CellTable>& tables) {
  if (group >= result.fit.implied_covariance.size()) return;
  const Eigen::MatrixXd& covariance = result.fit.implied_covariance[group];
  const Eigen::VectorXd scale = covariance.diagonal().cwiseSqrt().cwiseInverse();
  const Components raw = ComponentsOf(covariance);
  const Components standard = ComponentsOf(scale.asDiagonal() * covariance * scale.asDiagonal());
  CellTable values = NewTable(result, group, "Principal components",
                              {"component", "eigenvalue (covariances)", "share of covariances",
                               "eigenvalue (correlations)", "share of correlations"});
  for (Eigen::Index c = 0; c < raw.values.size(); ++c) {
    values.rows.push_back({std::to_string(c + 1), raw.values[c], raw.values[c] / raw.values.sum(),
                           standard.values[c], standard.values[c] / standard.values.sum()});
  }
  tables.push_back(std::move(values));
  CellTable directions =
      NewTable(result, group, "Directions of the components of correlations", {"variable"});
  const Eigen::Index shown = std::min(standard.values.size(), kMaxComponentColumns);
  for (Eigen::Index c = 0; c < shown; ++c) directions.columns.push_back(std::to_string(c + 1));
  for (Eigen::Index v = 0; v < covariance.rows(); ++v) {
    std::vector<TableCell> row = {result.table.observed[static_cast<size_t>(v)]};
    for (Eigen::Index c = 0; c < shown; ++c) row.emplace_back(standard.directions(v, c));
    directions.rows.push_back(std::move(row));
  }
  tables.push_back(std::move(directions));
}

void AddGroupTables(const MleResult& result, size_t group, std::vector<CellTable>& tables) {
  const Regressions regressions = RegressionsOf(result.table);
  const bool latent = !result.table.latent.empty();
  const bool growth = latent && result.function == "growth";
  if (growth) {
    AddUnlessEmpty(GrowthFactorTable(result, group), tables);
    AddUnlessEmpty(TrajectoryTable(result, group), tables);
  } else if (latent) {
    AddUnlessEmpty(FactorTable(result, group), tables);
  }
  if (!latent && !regressions.outcomes.empty() && !regressions.Chained()) {
    // Least squares says the same and more.
    if (result.least_squares.empty()) AddUnlessEmpty(RegressionTable(result, group), tables);
  } else {
    AddUnlessEmpty(ExplainedTable(result, group), tables);
  }
  if (regressions.Chained()) AddUnlessEmpty(EffectsTable(result, group), tables);
  if (!latent && regressions.outcomes.empty() && IsSaturated(result.table))
    AddComponents(result, group, tables);
}

}  // namespace

std::string FamilyName(const ParameterTable& table, const std::string& function) {
  const std::string family = SingleGroupFamily(table, function);
  return table.groups.size() > 1 ? "multi-group " + family : family;
}

std::vector<CellTable> FamilyTables(const MleResult& result) {
  std::vector<CellTable> tables;
  if (!result.fit.converged) return tables;
  for (size_t group = 0; group < result.group_n.size(); ++group)
    AddGroupTables(result, group, tables);
  return tables;
}

}  // namespace partita::methods::mle
