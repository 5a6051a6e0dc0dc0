#include "methods/mle/sealed/common_bounds.h"

#include <algorithm>
#include <map>

namespace partita::methods::mle {
namespace {

bool IsZeroOne(const data::ColumnSchema& column) { return column.lower == 0 && column.upper == 1; }

// Sets of names that belong together.
class Sets {
 public:
  void Join(const std::string& a, const std::string& b) {
    const std::string from = RootOf(a), to = RootOf(b);
    if (from != to) parent_[from] = to;
  }
  std::string RootOf(std::string name) {
    while (parent_.try_emplace(name, name).first->second != name) name = parent_.at(name);
    return name;
  }

 private:
  std::map<std::string, std::string> parent_;
};

// Variables in the same place of parameters with equal labels.
void JoinEqual(const stats::ParameterTable& table, Sets& sets) {
  const auto is_observed = [&](const std::string& name) {
    return std::find(table.observed.begin(), table.observed.end(), name) != table.observed.end();
  };
  std::map<std::string, const stats::Parameter*> first;
  for (const stats::Parameter& row : table.rows) {
    if (row.label.empty() || row.op == ":=" || row.op == "==") continue;
    const stats::Parameter& other = *first.try_emplace(row.label, &row).first->second;
    if (is_observed(row.lhs) && is_observed(other.lhs)) sets.Join(row.lhs, other.lhs);
    if (is_observed(row.rhs) && is_observed(other.rhs)) sets.Join(row.rhs, other.rhs);
  }
}

}  // namespace

std::vector<CommonBounds> ShareBounds(const std::vector<MleAnalysis*>& analyses) {
  Sets sets;
  std::map<std::string, data::ColumnSchema*> columns;  // of any analysis that has the variable
  for (MleAnalysis* analysis : analyses) {
    JoinEqual(analysis->table, sets);
    for (data::DesignColumn& variable : analysis->variables)
      columns.emplace(variable.schema.name, &variable.schema);
  }
  std::map<std::string, CommonBounds> by_root;
  std::map<std::string, bool> unequal, binary;
  for (const auto& [name, column] : columns) {
    const std::string root = sets.RootOf(name);
    const auto [place, added] =
        by_root.try_emplace(root, CommonBounds{{}, column->lower, column->upper});
    CommonBounds& bounds = place->second;
    unequal[root] |= column->lower != bounds.lower || column->upper != bounds.upper;
    binary[root] |= IsZeroOne(*column);
    bounds.variables.push_back(name);
    bounds.lower = std::min(bounds.lower, column->lower);
    bounds.upper = std::max(bounds.upper, column->upper);
  }
  std::vector<CommonBounds> common;
  for (auto& [root, bounds] : by_root) {
    if (unequal[root] && !binary[root]) common.push_back(std::move(bounds));
  }
  for (MleAnalysis* analysis : analyses) {
    for (data::DesignColumn& variable : analysis->variables) {
      for (const CommonBounds& bounds : common) {
        const auto& names = bounds.variables;
        if (std::find(names.begin(), names.end(), variable.schema.name) == names.end()) continue;
        variable.schema.lower = bounds.lower;
        variable.schema.upper = bounds.upper;
      }
    }
  }
  return common;
}

}  // namespace partita::methods::mle
