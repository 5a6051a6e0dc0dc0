#include "stats/sem/imputation.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <boost/math/distributions/fisher_f.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace partita::stats {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

[[noreturn]] void RefuseSingular() {
  throw Error(ErrorCode::kBadInput, "the covariances of the completed rows are singular",
              "leave out variables that determine each other, or that are rarely observed");
}

// Symmetric roots, of which a shared one can be computed without pivots.
struct SymmetricRoot {
  MatrixXd root, inverse;
};

SymmetricRoot SymmetricRootOf(const MatrixXd& matrix) {
  const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(matrix);
  if (!(eigen.eigenvalues().minCoeff() > 1e-14 * eigen.eigenvalues().maxCoeff())) RefuseSingular();
  return {eigen.operatorSqrt(), eigen.operatorInverseSqrt()};
}

// R with R'R = matrix, the augmented sum, and as many rows as it has rank: the mean above the
// symmetric root around it, or from eigenvalues where a pattern has fewer rows than observed
// variables.
MatrixXd Root(const MatrixXd& matrix, double rows) {
  const Eigen::LLT<MatrixXd> llt(matrix);
  if (static_cast<double>(matrix.rows()) <= rows && llt.info() == Eigen::Success) {
    const Index k = matrix.rows() - 1;
    MatrixXd root = MatrixXd::Zero(k + 1, k + 1);
    root.row(0) = matrix.row(0) / std::sqrt(matrix(0, 0));
    const auto mean = root.row(0).tail(k);
    root.bottomRightCorner(k, k) =
        SymmetricRootOf(matrix.bottomRightCorner(k, k) - mean.transpose() * mean).root;
    return root;
  }
  const VectorXd scale = matrix.diagonal().cwiseSqrt().cwiseMax(1e-300);
  const MatrixXd scaled =
      scale.cwiseInverse().asDiagonal() * matrix * scale.cwiseInverse().asDiagonal();
  const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(scaled);
  const auto rank =
      std::min<Index>((eigen.eigenvalues().array() > 1e-10).count(), static_cast<Index>(rows));
  return eigen.eigenvalues().tail(rank).cwiseSqrt().asDiagonal() *
         eigen.eigenvectors().rightCols(rank).transpose() * scale.asDiagonal();
}

// Sum of (1, x)(1, x)' over a pattern's observed values.
MatrixXd AugmentedSum(const GroupMoments& moments) {
  const Index k = moments.mean.size() + 1;
  MatrixXd sum(k, k);
  sum(0, 0) = 1;
  sum.block(1, 0, k - 1, 1) = moments.mean;
  sum.block(0, 1, 1, k - 1) = moments.mean.transpose();
  sum.bottomRightCorner(k - 1, k - 1) =
      moments.covariance + moments.mean * moments.mean.transpose();
  return moments.n * sum;
}

// What does not change from one iteration to the next. Places are those of (1, x).
struct Pattern {
  std::vector<int> observed, missing;         // without the 1
  std::vector<int> known_places, new_places;  // known_places: with it
  MatrixXd sum, root;
  double free_rows = 0;  // n less the rank of the root
};

Pattern Prepare(const PatternMoments& moments, Index num_variables) {
  Pattern pattern;
  pattern.observed = moments.observed;
  pattern.known_places = {0};
  for (int v = 0; v < num_variables; ++v) {
    const bool known = std::binary_search(pattern.observed.begin(), pattern.observed.end(), v);
    if (!known) pattern.missing.push_back(v);
    (known ? pattern.known_places : pattern.new_places).push_back(v + 1);
  }
  pattern.sum = AugmentedSum(moments.moments);
  if (pattern.missing.empty()) return pattern;
  pattern.root = Root(pattern.sum, moments.moments.n);
  pattern.free_rows = moments.moments.n - static_cast<double>(pattern.root.rows());
  return pattern;
}

// Means, and H of the covariance (H'H)^-1.
struct Parameters {
  VectorXd mean;
  MatrixXd precision_root;
};

// Adds one draw of the pattern's completed cross-products to `total`.
void Complete(const Pattern& pattern, const Parameters& at, ImputationTape& tape, MatrixXd& total) {
  const auto &known = pattern.known_places, &added = pattern.new_places;
  total(known, known) += pattern.sum;
  if (added.empty()) return;
  // K = H'H: the regression is -K_om K_mm^-1, the residual covariance K_mm^-1 = Q'Q.
  const MatrixXd own = at.precision_root(Eigen::all, pattern.missing);
  const Eigen::LLT<MatrixXd> llt(own.transpose() * own);
  if (llt.info() != Eigen::Success) RefuseSingular();
  const MatrixXd residual = llt.solve(own.transpose()).transpose();  // Q
  const MatrixXd slopes = -at.precision_root(Eigen::all, pattern.observed).transpose() * residual;
  const auto k = static_cast<Index>(known.size()), m = static_cast<Index>(added.size());
  MatrixXd regression(k, m);  // D
  regression.row(0) =
      at.mean(pattern.missing).transpose() - at.mean(pattern.observed).transpose() * slopes;
  regression.bottomRows(k - 1) = slopes;
  const Index p = residual.rows();
  const MatrixXd u = pattern.root * regression + tape.Normals(pattern.root.rows(), p) * residual;
  const MatrixXd cross = pattern.root.transpose() * u;
  total(known, added) += cross;
  total(added, known) += cross.transpose();
  total(added, added) +=
      u.transpose() * u + residual.transpose() * tape.Wishart(pattern.free_rows, p) * residual;
}

GroupMoments MomentsOf(const MatrixXd& sum) {
  const Index p = sum.rows() - 1;
  GroupMoments moments;
  moments.n = sum(0, 0);
  moments.mean = sum.block(1, 0, p, 1) / moments.n;
  moments.covariance =
      sum.bottomRightCorner(p, p) / moments.n - moments.mean * moments.mean.transpose();
  return moments;
}

// In units of its standard deviations around its means, so that sums lose no digits.
struct Unit {
  VectorXd mean, deviation;

  GroupMoments Into(const GroupMoments& moments, const std::vector<int>& variables) const {
    const VectorXd inverse = deviation(variables).cwiseInverse();
    return {moments.n, inverse.cwiseProduct(moments.mean - mean(variables)),
            inverse.asDiagonal() * moments.covariance * inverse.asDiagonal()};
  }
  GroupMoments Back(const GroupMoments& moments) const {
    return {moments.n, mean + deviation.cwiseProduct(moments.mean),
            deviation.asDiagonal() * moments.covariance * deviation.asDiagonal()};
  }
};

// Parameters given completed rows.
Parameters DrawParameters(const GroupMoments& completed, double degrees, ImputationTape& tape) {
  const Index p = completed.mean.size();
  const SymmetricRoot scatter = SymmetricRootOf(completed.n * completed.covariance);
  const SymmetricRoot wishart = SymmetricRootOf(tape.Wishart(degrees, p));
  return {completed.mean +
              scatter.root * (wishart.inverse * tape.Normals(p, 1)) / std::sqrt(completed.n),
          wishart.root * scatter.inverse};
}

}  // namespace

std::vector<GroupMoments> ImputeMoments(const ParameterTable& table,
                                        const std::vector<PatternMoments>& patterns,
                                        const ImputationOptions& options, ImputationTape& tape,
                                        Progress& progress) {
  if (patterns.empty() || options.imputations == 0 || options.iterations == 0) {
    throw Error(ErrorCode::kUsage,
                "an imputation needs rows, and at least one table and iteration");
  }
  const auto p = static_cast<Index>(table.observed.size());
  const GroupMoments start = AvailableMoments(table, patterns, patterns.front().group);
  if (start.n <= static_cast<double>(p)) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{} rows are not enough to impute {} variables", start.n, p),
                "leave variables out");
  }
  const Unit unit{start.mean, start.covariance.diagonal().cwiseSqrt()};
  std::vector<Pattern> prepared;
  prepared.reserve(patterns.size());
  for (const PatternMoments& moments : patterns) {
    prepared.push_back(Prepare(
        {moments.group, moments.observed, unit.Into(moments.moments, moments.observed)}, p));
  }
  double rows = 0, values = 0;
  for (const PatternMoments& moments : patterns) {
    const auto missing = static_cast<double>(p) - static_cast<double>(moments.observed.size());
    if (missing == 0) continue;
    rows += moments.moments.n;
    values += missing * moments.moments.n;
  }
  const double degrees = PosteriorDegrees(start.n, rows, values);
  progress.Phase("imputation");
  std::vector<GroupMoments> imputed;
  for (std::size_t i = 0; i < options.imputations; ++i) {
    progress.Step(i, options.imputations);
    Parameters at{VectorXd::Zero(p), MatrixXd::Identity(p, p)};
    for (std::size_t t = 0;; ++t) {
      progress.CheckCancelled();
      MatrixXd total = MatrixXd::Zero(p + 1, p + 1);
      for (const Pattern& pattern : prepared) Complete(pattern, at, tape, total);
      const GroupMoments completed = MomentsOf(total);
      if (t == options.iterations) {
        imputed.push_back(unit.Back(completed));
        break;
      }
      at = DrawParameters(completed, degrees, tape);
    }
  }
  return imputed;
}

MatrixXd VariateTape::Normals(Index rows, Index columns) {
  MatrixXd normals(rows, columns);
  for (double& value : normals.reshaped()) value = variates_.Normal();
  return normals;
}

MatrixXd VariateTape::Wishart(double degrees, Index size) {
  const auto whole = static_cast<Index>(degrees);
  if (whole < size) {  // singular: Bartlett's decomposition needs as many degrees as columns
    const MatrixXd normals = Normals(whole, size);
    return normals.transpose() * normals;
  }
  MatrixXd factor = MatrixXd::Zero(size, size);
  for (Index i = 0; i < size; ++i) {
    factor(i, i) = std::sqrt(2 * variates_.Gamma((degrees - static_cast<double>(i)) / 2));
    for (Index j = 0; j < i; ++j) factor(i, j) = variates_.Normal();
  }
  return factor * factor.transpose();
}

CombinedEstimate CombineImputations(const std::vector<double>& estimates,
                                    const std::vector<double>& standard_errors,
                                    double complete_degrees, double confidence_level) {
  const auto m = static_cast<double>(estimates.size());
  if (estimates.size() < 2 || estimates.size() != standard_errors.size() ||
      !(complete_degrees > 0)) {
    throw Error(ErrorCode::kUsage, "rules for several imputations need two of them");
  }
  double within = 0, between = 0;
  CombinedEstimate combined;
  for (const double estimate : estimates) combined.estimate += estimate / m;
  for (const double error : standard_errors) within += error * error / m;
  for (const double estimate : estimates)
    between += std::pow(estimate - combined.estimate, 2) / (m - 1);
  const double added = (1 + 1 / m) * between, total = within + added;
  combined.standard_error = std::sqrt(total);
  // Barnard and Rubin (1999), equation 3.
  const double observed = total > 0 ? (complete_degrees + 1) / (complete_degrees + 3) *
                                          complete_degrees * within / total
                                    : complete_degrees;
  const double of_sampling = (m - 1) * std::pow(total / added, 2);
  combined.degrees = added > 0 ? 1 / (1 / of_sampling + 1 / observed) : observed;
  if (added > 0) {
    const double r = added / within, v = combined.degrees;
    combined.missing_information = (r + 2 / (v + 3)) / (r + 1);
  }
  if (!(combined.standard_error > 0)) {
    combined.lower = combined.upper = combined.estimate;
    combined.p_value = std::numeric_limits<double>::quiet_NaN();
    return combined;
  }
  const boost::math::students_t law(combined.degrees);
  const double reach =
      boost::math::quantile(law, (1 + confidence_level) / 2) * combined.standard_error;
  combined.lower = combined.estimate - reach;
  combined.upper = combined.estimate + reach;
  combined.p_value =
      2 * boost::math::cdf(law, -std::abs(combined.estimate) / combined.standard_error);
  return combined;
}

ChiSquareTest CombineChiSquares(const std::vector<double>& statistics, double degrees) {
  const auto m = static_cast<double>(statistics.size());
  if (statistics.size() < 2 || !(degrees > 0))
    throw Error(ErrorCode::kUsage, "a test over imputations needs two statistics");
  double mean = 0, root_mean = 0, root_variance = 0;
  for (const double d : statistics) {
    mean += d / m;
    root_mean += std::sqrt(std::max(0.0, d)) / m;
  }
  for (const double d : statistics)
    root_variance += std::pow(std::sqrt(std::max(0.0, d)) - root_mean, 2) / (m - 1);
  const double r = (1 + 1 / m) * root_variance;
  ChiSquareTest test;
  test.numerator_degrees = degrees;
  test.f = (mean / degrees - (m + 1) / (m - 1) * r) / (1 + r);
  // Without variance between the imputations the statistic is a chi-square.
  test.denominator_degrees = r > 0 ? std::pow(degrees, -3 / m) * (m - 1) * std::pow(1 + 1 / r, 2)
                                   : std::numeric_limits<double>::infinity();
  const double large = 1e9;
  const boost::math::fisher_f law(degrees, std::min(test.denominator_degrees, large));
  test.p_value = test.f > 0 ? boost::math::cdf(boost::math::complement(law, test.f)) : 1;
  return test;
}

}  // namespace partita::stats
