#include "stats/sem/diagnostics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

namespace partita::stats {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

std::string GroupSuffix(const ParameterTable& table, std::size_t g) {
  return table.groups.size() > 1 ? fmt::format(" in group {}", table.groups[g]) : "";
}

// Covariances beyond what two variances allow, by name; empty if there are none.
std::vector<std::string> ImpossibleCorrelations(const MatrixXd& covariance,
                                                const std::vector<std::string>& names) {
  std::vector<std::string> found;
  for (Index i = 0; i < covariance.rows(); ++i) {
    for (Index j = 0; j < i; ++j) {
      const double product = covariance(i, i) * covariance(j, j);
      if (product <= 0) continue;
      const double correlation = covariance(i, j) / std::sqrt(product);
      if (std::abs(correlation) <= 1 + 1e-10) continue;
      found.push_back(fmt::format("{} and {} ({:.3f})", names[static_cast<std::size_t>(j)],
                                  names[static_cast<std::size_t>(i)], correlation));
    }
  }
  return found;
}

// One warning if the matrix has an eigenvalue below zero. Variables of variance 0 (phantom
// variables) are fine.
void WarnIndefinite(const std::string& what, const MatrixXd& covariance,
                    const std::vector<std::string>& names, std::vector<std::string>& warnings) {
  if (covariance.rows() == 0) return;
  const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(covariance, Eigen::EigenvaluesOnly);
  const double smallest = eigen.eigenvalues()[0];
  if (smallest >= -1e-9 * std::max(1.0, covariance.cwiseAbs().maxCoeff())) return;
  std::string message =
      fmt::format("{} is not positive definite (smallest eigenvalue {:.3g} in standardised units)",
                  what, smallest);
  const std::vector<std::string> pairs = ImpossibleCorrelations(covariance, names);
  if (!pairs.empty()) {
    message += fmt::format("; correlations beyond 1: {}", fmt::join(pairs, ", "));
  }
  warnings.push_back(message);
}

}  // namespace

std::vector<std::string> VarianceWarnings(const ParameterTable& table, const RamModel& model,
                                          const VectorXd& x) {
  std::vector<std::string> warnings;
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const Parameter& row = table.rows[r];
    if (row.op != "~~" || row.lhs != row.rhs) continue;
    const double value = model.RowValue(static_cast<int>(r), x);
    if (value >= 0) continue;
    warnings.push_back(fmt::format(
        "Heywood case: the variance {} is estimated as {:.4g}, below zero; the model may be "
        "misspecified, the sample too small, or a factor may have too few indicators",
        RowName(table, static_cast<int>(r)), value));
  }
  return warnings;
}

std::vector<std::string> SolutionWarnings(const ParameterTable& table, const RamModel& model,
                                          const VectorXd& x) {
  std::vector<std::string> warnings = VarianceWarnings(table, model, x);
  const Index p = model.num_observed, latent = model.num_variables - p;
  const std::vector<ImpliedMoments> implied = Imply(model, x);
  for (std::size_t g = 0; g < model.groups.size(); ++g) {
    const RamMatrices filled = FillMatrices(model.groups[g], x);
    WarnIndefinite("the covariance matrix of the latent variables" + GroupSuffix(table, g),
                   implied[g].covariance.bottomRightCorner(latent, latent), table.latent, warnings);
    WarnIndefinite("the covariance matrix of the residuals" + GroupSuffix(table, g),
                   filled.covariance.topLeftCorner(p, p), table.observed, warnings);
  }
  return warnings;
}

std::vector<std::string> DriftWarnings(const ParameterTable& table, const RamModel& model,
                                       const VectorXd& x) {
  // In internal units loadings, regressions and variances of sensible solutions are near 1.
  constexpr double kFar = 30;
  int worst = -1;
  for (std::size_t r = 0; r < model.row_parameter.size(); ++r) {
    const int k = model.row_parameter[r];
    if (k < 0 || table.rows[r].op == "~1" || std::abs(x[k]) < kFar) continue;
    if (worst < 0 ||
        std::abs(x[k]) > std::abs(x[model.row_parameter[static_cast<std::size_t>(worst)]])) {
      worst = static_cast<int>(r);
    }
  }
  if (worst < 0) return {};
  return {
      fmt::format("{} ran away to {:.4g}; the likelihood may have no maximum at a finite value: "
                  "check the scale of its latent variable (another marker indicator may help)",
                  RowName(table, worst), model.RowValue(worst, x))};
}

std::vector<std::string> IdentificationWarnings(const ParameterTable& table, const RamModel& model,
                                                const ParameterCovariance& covariance) {
  std::vector<std::string> warnings;
  for (const VectorXd& direction : covariance.flat_directions) {
    std::vector<std::pair<double, int>> involved;  // weight, first row of the parameter
    for (Index k = 0; k < direction.size(); ++k) {
      if (std::abs(direction[k]) < 0.01) continue;
      const auto row = std::find(model.row_parameter.begin(), model.row_parameter.end(), k);
      involved.emplace_back(-std::abs(direction[k]),
                            static_cast<int>(row - model.row_parameter.begin()));
    }
    std::sort(involved.begin(), involved.end());
    std::vector<std::string> names;
    for (const auto& [weight, row] : involved) {
      if (names.size() < 8) names.push_back(RowName(table, row));
    }
    if (names.size() == 1) {
      warnings.push_back(fmt::format(
          "the model is not identified: the data hold no information about {}; fix it or remove it",
          names.front()));
      continue;
    }
    warnings.push_back(fmt::format(
        "the model is not identified: {}{} can change together without changing the fit; fix one "
        "of them (a loading or variance at 1, say) or remove a parameter",
        fmt::join(names, ", "), involved.size() > names.size() ? " and others" : ""));
  }
  return warnings;
}

}  // namespace partita::stats
