#include "stats/sem/moments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "base/error.h"

namespace partita::stats {
namespace {

// Correlation matrices with a smaller eigenvalue are singular for double precision: the columns
// repeat one another to seven digits.
constexpr double kSingularEigenvalue = 1e-13;
// A variance below this fraction of the squared mean is what rounding makes of a constant column.
constexpr double kConstantVariance = 1e-26;

std::string Where(const ParameterTable& table, std::size_t group) {
  return table.groups.size() > 1 ? fmt::format(" in group {}", table.groups[group]) : "";
}

void CheckShape(const ParameterTable& table, std::size_t g, const GroupMoments& moments) {
  const Eigen::Index p = static_cast<Eigen::Index>(table.observed.size());
  if (moments.mean.size() != p || moments.covariance.rows() != p ||
      moments.covariance.cols() != p) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("the model has {} observed variables, but the moments{} are those of "
                            "{} means and a {} x {} covariance matrix",
                            p, Where(table, g), moments.mean.size(), moments.covariance.rows(),
                            moments.covariance.cols()),
                "give the moments of exactly the observed variables, in the model's order");
  }
  if (!(moments.n > 0) || !std::isfinite(moments.n)) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("the number of rows{} is {}", Where(table, g), moments.n));
  }
  if (!moments.mean.allFinite() || !moments.covariance.allFinite()) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("the sample moments{} hold values that are not finite numbers",
                            Where(table, g)),
                "remove or impute missing values first");
  }
  const double asymmetry =
      (moments.covariance - moments.covariance.transpose()).cwiseAbs().maxCoeff();
  if (asymmetry > 1e-8 * moments.covariance.cwiseAbs().maxCoeff()) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("the sample covariance matrix{} is not symmetric", Where(table, g)));
  }
}

void CheckNotConstant(const ParameterTable& table, std::size_t g, const GroupMoments& moments) {
  for (Eigen::Index i = 0; i < moments.mean.size(); ++i) {
    const double variance = moments.covariance(i, i);
    if (variance > kConstantVariance * moments.mean[i] * moments.mean[i] && variance > 0) continue;
    throw Error(ErrorCode::kBadInput,
                fmt::format("the column '{}' is constant{}, so nothing can be estimated from it",
                            table.observed[static_cast<std::size_t>(i)], Where(table, g)),
                "leave the variable out of the model, or check how the column was read");
  }
}

void CheckRows(const ParameterTable& table, std::size_t g, const GroupMoments& moments) {
  if (moments.n > static_cast<double>(table.observed.size())) return;
  throw Error(ErrorCode::kBadInput,
              fmt::format("{} rows{} are too few for {} observed variables: the sample covariance "
                          "matrix is singular",
                          moments.n, Where(table, g), table.observed.size()),
              "use a model with fewer variables, or more rows");
}

void CheckIndependent(const ParameterTable& table, std::size_t g, const GroupMoments& moments) {
  const Eigen::VectorXd inverse_sd = moments.covariance.diagonal().cwiseSqrt().cwiseInverse();
  const Eigen::MatrixXd correlation =
      inverse_sd.asDiagonal() * moments.covariance * inverse_sd.asDiagonal();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(correlation);
  if (eigen.eigenvalues()[0] > kSingularEigenvalue) return;
  std::vector<std::string> involved;
  for (Eigen::Index i = 0; i < correlation.rows(); ++i) {
    if (std::abs(eigen.eigenvectors()(i, 0)) > 1e-3) {
      involved.push_back(table.observed[static_cast<std::size_t>(i)]);
    }
  }
  const bool negative = eigen.eigenvalues()[0] < -1e-8;
  throw Error(
      ErrorCode::kBadInput,
      negative
          ? fmt::format("the sample covariance matrix{} has a negative eigenvalue; it is not "
                        "the covariance matrix of any data (variables involved: {})",
                        Where(table, g), fmt::join(involved, ", "))
          : fmt::format("the sample covariance matrix{} is singular: {} are linearly dependent",
                        Where(table, g), fmt::join(involved, ", ")),
      "leave one of these variables out of the model");
}

double CountParameters(const ParameterTable& table) {
  std::set<std::string> labels;
  std::set<int> unlabelled;
  int constraints = 0;
  for (const Parameter& row : table.rows) {
    if (row.op == "==") ++constraints;
    if (row.free == 0) continue;
    if (row.label.empty()) {
      unlabelled.insert(row.free);
    } else {
      labels.insert(row.label);
    }
  }
  return static_cast<double>(labels.size() + unlabelled.size()) - constraints;
}

}  // namespace

void CheckMoments(const ParameterTable& table, const std::vector<GroupMoments>& moments) {
  if (table.observed.empty()) {
    throw Error(ErrorCode::kBadInput, "the model has no observed variables");
  }
  if (moments.size() != table.groups.size()) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("the model has {} groups, but there are moments of {}",
                            table.groups.size(), moments.size()),
                "list the groups in the study file exactly as they appear in the data");
  }
  double rows = 0;
  for (std::size_t g = 0; g < moments.size(); ++g) {
    CheckShape(table, g, moments[g]);
    CheckNotConstant(table, g, moments[g]);
    CheckRows(table, g, moments[g]);
    CheckIndependent(table, g, moments[g]);
    rows += moments[g].n;
  }
  const double parameters = CountParameters(table);
  if (rows < parameters) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("the model has {} free parameters but there are only {} rows",
                            parameters, rows),
                "use a simpler model, or more rows");
  }
}

std::vector<GroupSample> ScaleMoments(const std::vector<GroupMoments>& moments,
                                      const Eigen::VectorXd& unit) {
  double total = 0;
  for (const GroupMoments& group : moments) total += group.n;
  const Eigen::VectorXd inverse = unit.cwiseInverse();
  std::vector<GroupSample> samples;
  for (const GroupMoments& group : moments) {
    GroupSample sample;
    sample.group = samples.size();
    sample.n = group.n;
    sample.weight = group.n / total;
    sample.mean = inverse.cwiseProduct(group.mean);
    sample.covariance = inverse.asDiagonal() * group.covariance * inverse.asDiagonal();
    const Eigen::LLT<Eigen::MatrixXd> llt(sample.covariance);
    sample.log_det = 2 * llt.matrixLLT().diagonal().array().log().sum();
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace partita::stats
