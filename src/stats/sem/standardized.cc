#include "stats/sem/standardized.h"

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace partita::stats {
namespace {

using Roots = std::unordered_map<std::string, double>;  // of variances, by variable

// Per group: standard deviations of all variables, and roots of the variances in the table.
struct GroupScale {
  Roots total;
  Roots residual;
};

double At(const Roots& roots, const std::string& name) {
  const auto found = roots.find(name);
  return found == roots.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
}

GroupScale BuildScale(const ParameterTable& table, const std::vector<double>& estimates, int group,
                      const Eigen::MatrixXd& covariance) {
  GroupScale scale;
  Eigen::Index at = 0;
  for (const auto* names : {&table.observed, &table.latent}) {
    for (const std::string& name : *names) {
      scale.total[name] = std::sqrt(covariance(at, at));  // NaN for a negative variance
      ++at;
    }
  }
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const Parameter& row = table.rows[r];
    if (row.op == "~~" && row.lhs == row.rhs && row.group == group) {
      scale.residual[row.lhs] = std::sqrt(std::abs(estimates[r]));
    }
  }
  return scale;
}

// What a row is multiplied with if the variables in `which` are scaled to variance 1.
double Factor(const Parameter& row, const GroupScale& scale,
              const std::unordered_set<std::string>& which) {
  const auto counts = [&which](const std::string& name) { return which.count(name) > 0; };
  double factor = 1;
  if (row.op == "=~") {
    if (counts(row.lhs)) factor *= At(scale.total, row.lhs);
    if (counts(row.rhs)) factor /= At(scale.total, row.rhs);
  } else if (row.op == "~") {
    if (counts(row.lhs)) factor /= At(scale.total, row.lhs);
    if (counts(row.rhs)) factor *= At(scale.total, row.rhs);
  } else if (row.op == "~1") {
    if (counts(row.lhs)) factor /= At(scale.total, row.lhs);
  } else if (row.op == "~~") {
    const Roots& roots = row.lhs == row.rhs ? scale.total : scale.residual;
    if (counts(row.lhs)) factor /= At(roots, row.lhs);
    if (counts(row.rhs)) factor /= At(roots, row.rhs);
  }
  return factor;
}

}  // namespace

StandardizedSolution Standardize(const ParameterTable& table, const ModelExpressions& expressions,
                                 const std::vector<double>& estimates,
                                 const std::vector<Eigen::MatrixXd>& covariance) {
  std::vector<GroupScale> scales;
  for (std::size_t g = 0; g < covariance.size(); ++g) {
    scales.push_back(BuildScale(table, estimates, static_cast<int>(g) + 1, covariance[g]));
  }
  std::unordered_set<std::string> which(table.latent.begin(), table.latent.end());
  StandardizedSolution out;
  for (std::vector<double>* solution : {&out.latent, &out.all}) {
    *solution = estimates;
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
      const Parameter& row = table.rows[r];
      if (row.group < 1 || row.op == ":=" || row.op == "==") continue;
      (*solution)[r] *= Factor(row, scales[static_cast<std::size_t>(row.group - 1)], which);
    }
    expressions.Substitute(*solution);
    which.insert(table.observed.begin(), table.observed.end());
  }
  return out;
}

}  // namespace partita::stats
