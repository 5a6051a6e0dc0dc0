#include "stats/sem/ram.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "base/error.h"

namespace partita::stats {
namespace {

using VariableIndex = std::unordered_map<std::string, int>;

VariableIndex IndexOf(const std::vector<std::string>& names) {
  VariableIndex index;
  for (const std::string& name : names) index.emplace(name, static_cast<int>(index.size()));
  return index;
}

bool IsParameterRow(const Parameter& row) { return row.op != ":=" && row.op != "=="; }

int Find(const VariableIndex& index, const Parameter& row, const std::string& name) {
  const auto found = index.find(name);
  if (found != index.end()) return found->second;
  throw Error(ErrorCode::kBadInput,
              fmt::format("the parameter '{} {} {}' uses the variable '{}', which is neither "
                          "observed nor latent in this model",
                          row.lhs, row.op, row.rhs, name),
              "check the spelling of the variable");
}

// The cell of a row, before units: matrix, row and column.
RamCell CellOf(const VariableIndex& index, const Parameter& row) {
  RamCell cell;
  if (row.op == "~1") {
    cell.matrix = RamMatrix::kMean;
    cell.row = Find(index, row, row.lhs);
    return cell;
  }
  const int left = Find(index, row, row.lhs);
  const int right = Find(index, row, row.rhs);
  if (row.op == "=~") {
    cell = {RamMatrix::kRegression, right, left};
  } else if (row.op == "~") {
    cell = {RamMatrix::kRegression, left, right};
  } else if (row.op == "~~") {
    cell = {RamMatrix::kCovariance, left, right};
  } else {
    throw Error(ErrorCode::kInternal, "unknown operator in a parameter table: " + row.op);
  }
  return cell;
}

// Value in the table's units that one internal unit of the cell is worth.
double CellUnit(const RamCell& cell, const Eigen::VectorXd& unit) {
  switch (cell.matrix) {
    case RamMatrix::kRegression:
      return unit[cell.row] / unit[cell.column];
    case RamMatrix::kCovariance:
      return unit[cell.row] * unit[cell.column];
    case RamMatrix::kMean:
      return unit[cell.row];
  }
  throw Error(ErrorCode::kInternal, "unknown RAM matrix");
}

Eigen::VectorXd PooledStandardDeviations(const std::vector<GroupMoments>& moments) {
  Eigen::VectorXd variance = Eigen::VectorXd::Zero(moments.front().mean.size());
  double total = 0;
  for (const GroupMoments& group : moments) {
    variance += group.n * group.covariance.diagonal();
    total += group.n;
  }
  return (variance / total).cwiseSqrt();
}

// Unit of one latent variable, or 0 if its indicators have none yet: the root of a fixed variance;
// else the smallest (unit of indicator / |fixed loading|); else the unit of the first indicator.
double LatentUnit(const ParameterTable& table, const VariableIndex& index,
                  const std::string& latent, const std::vector<double>& unit) {
  double from_loading = 0, from_first = 0;
  for (const Parameter& row : table.rows) {
    if (row.lhs != latent) continue;
    if (row.op == "~~" && row.rhs == latent && row.free == 0 && row.value > 0) {
      return std::sqrt(row.value);
    }
    if (row.op != "=~") continue;
    const double indicator = unit[static_cast<std::size_t>(Find(index, row, row.rhs))];
    if (indicator == 0) continue;
    if (from_first == 0) from_first = indicator;
    if (row.free == 0 && row.value != 0) {
      const double candidate = indicator / std::abs(row.value);
      from_loading = from_loading == 0 ? candidate : std::min(from_loading, candidate);
    }
  }
  return from_loading > 0 ? from_loading : from_first;
}

Eigen::VectorXd VariableUnits(const ParameterTable& table, const VariableIndex& index,
                              const std::vector<GroupMoments>& moments) {
  std::vector<double> unit(index.size(), 0);
  const Eigen::VectorXd deviations = PooledStandardDeviations(moments);
  std::copy(deviations.begin(), deviations.end(), unit.begin());
  // Factors of factors get their unit once their indicators have theirs.
  for (std::size_t pass = 0; pass < table.latent.size(); ++pass) {
    for (const std::string& latent : table.latent) {
      double& mine = unit[static_cast<std::size_t>(index.at(latent))];
      if (mine == 0) mine = LatentUnit(table, index, latent, unit);
    }
  }
  for (double& u : unit) {
    if (u == 0) u = 1;  // a latent variable without indicators
  }
  return Eigen::Map<const Eigen::VectorXd>(unit.data(), static_cast<Eigen::Index>(unit.size()));
}

double SampleMoment(const RamCell& cell, const GroupMoments& moments) {
  return cell.matrix == RamMatrix::kMean ? moments.mean[cell.row]
                                         : moments.covariance(cell.row, cell.column);
}

// Labels that a fixed row carries, with its value.
std::map<std::string, double> FixedLabels(const ParameterTable& table) {
  std::map<std::string, double> fixed;
  for (const Parameter& row : table.rows) {
    if (IsParameterRow(row) && row.free == 0 && !row.label.empty() && !row.exogenous) {
      fixed.emplace(row.label, row.value);
    }
  }
  return fixed;
}

void AddCell(RamGroup& group, const RamCell& cell, double fixed) {
  if (cell.parameter >= 0) {
    group.cells.push_back(cell);
    return;
  }
  if (cell.matrix == RamMatrix::kMean) group.mean[cell.row] = fixed;
  if (cell.matrix == RamMatrix::kRegression) group.regression(cell.row, cell.column) = fixed;
  if (cell.matrix == RamMatrix::kCovariance) {
    group.covariance(cell.row, cell.column) = fixed;
    group.covariance(cell.column, cell.row) = fixed;
  }
}

// Hands out parameter indices: one per label, one per unlabelled free row.
class ParameterNumbers {
 public:
  int Number(const Parameter& row) {
    const std::string key =
        row.label.empty() ? fmt::format("\n{}", row.free) : row.label;  // no label has a newline
    return numbers_.emplace(key, static_cast<int>(numbers_.size())).first->second;
  }
  int size() const { return static_cast<int>(numbers_.size()); }

 private:
  std::unordered_map<std::string, int> numbers_;
};

}  // namespace

RamModel BuildRamModel(const ParameterTable& table, const std::vector<GroupMoments>& moments) {
  RamModel model;
  model.num_observed = static_cast<int>(table.observed.size());
  model.variables = table.observed;
  model.variables.insert(model.variables.end(), table.latent.begin(), table.latent.end());
  model.num_variables = static_cast<int>(model.variables.size());
  model.meanstructure = table.meanstructure;
  const VariableIndex index = IndexOf(model.variables);
  model.variable_unit = VariableUnits(table, index, moments);

  const int v = model.num_variables;
  model.groups.assign(
      moments.size(),
      {Eigen::MatrixXd::Zero(v, v), Eigen::MatrixXd::Zero(v, v), Eigen::VectorXd::Zero(v), {}});
  const std::map<std::string, double> fixed_labels = FixedLabels(table);
  ParameterNumbers numbers;
  std::vector<double> units;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const Parameter& row = table.rows[r];
    model.row_parameter.push_back(-1);
    model.row_value.push_back(row.value);
    if (!IsParameterRow(row)) continue;
    const std::size_t g = static_cast<std::size_t>(row.group - 1);
    RamCell cell = CellOf(index, row);
    cell.table_row = static_cast<int>(r);
    const double cell_unit = CellUnit(cell, model.variable_unit);
    const auto fixed = fixed_labels.find(row.label);
    if (row.exogenous && row.free == 0) {
      model.row_value[r] = SampleMoment(cell, moments[g]);
    } else if (fixed != fixed_labels.end()) {
      model.row_value[r] = fixed->second;
    } else if (row.free > 0) {
      model.row_parameter[r] = numbers.Number(row);
      if (numbers.size() > static_cast<int>(units.size())) units.push_back(cell_unit);
    }
    cell.parameter = model.row_parameter[r];
    if (cell.parameter >= 0) {
      cell.factor = units[static_cast<std::size_t>(cell.parameter)] / cell_unit;
    }
    AddCell(model.groups[g], cell, model.row_value[r] / cell_unit);
  }
  model.num_parameters = numbers.size();
  model.parameter_unit =
      Eigen::Map<const Eigen::VectorXd>(units.data(), static_cast<Eigen::Index>(units.size()));
  return model;
}

int ReferenceIndicator(const RamGroup& group, int num_observed, int factor) {
  for (int i = 0; i < num_observed; ++i) {
    if (group.regression(i, factor) != 0) return i;
  }
  for (const RamCell& cell : group.cells) {
    if (cell.matrix == RamMatrix::kRegression && cell.column == factor && cell.row < num_observed)
      return cell.row;
  }
  return -1;
}

RamMatrices FillMatrices(const RamGroup& group, const Eigen::VectorXd& x) {
  RamMatrices filled{group.regression, group.covariance, group.mean};
  for (const RamCell& cell : group.cells) {
    const double value = cell.factor * x[cell.parameter];
    switch (cell.matrix) {
      case RamMatrix::kRegression:
        filled.regression(cell.row, cell.column) = value;
        break;
      case RamMatrix::kCovariance:
        filled.covariance(cell.row, cell.column) = value;
        filled.covariance(cell.column, cell.row) = value;
        break;
      case RamMatrix::kMean:
        filled.mean[cell.row] = value;
        break;
    }
  }
  return filled;
}

std::string RowName(const ParameterTable& table, int row) {
  const Parameter& p = table.rows[static_cast<std::size_t>(row)];
  std::string name = fmt::format("{} {}", p.lhs, p.op);
  if (!p.rhs.empty()) name += " " + p.rhs;
  if (!p.label.empty() && p.label.front() != '.' && p.op != ":=") {
    name += fmt::format(" (label {})", p.label);
  }
  if (table.groups.size() > 1 && p.group > 0) {
    name += fmt::format(" in group {}", table.groups[static_cast<std::size_t>(p.group - 1)]);
  }
  return name;
}

}  // namespace partita::stats
