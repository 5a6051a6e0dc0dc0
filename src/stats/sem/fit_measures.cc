#include "stats/sem/fit_measures.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/non_central_chi_squared.hpp>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <unordered_set>

namespace partita::stats {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<Index> ExogenousPositions(const ParameterTable& table) {
  std::vector<Index> positions;
  for (const std::string& name : ExogenousObserved(table)) {
    const auto found = std::find(table.observed.begin(), table.observed.end(), name);
    if (found != table.observed.end()) positions.push_back(found - table.observed.begin());
  }
  return positions;
}

double LogDet(const MatrixXd& matrix) {
  if (matrix.rows() == 0) return 0;
  return 2 * matrix.llt().matrixLLT().diagonal().array().log().sum();
}

// Normal log-likelihood of n rows at their own moments.
double SaturatedLogLikelihood(double n, const MatrixXd& covariance) {
  const double p = static_cast<double>(covariance.rows());
  return -0.5 * n * (p * std::log(2 * std::numbers::pi) + LogDet(covariance) + p);
}

double NoncentralCdf(double statistic, double df, double noncentrality) {
  if (noncentrality <= 0) return boost::math::cdf(boost::math::chi_squared(df), statistic);
  return boost::math::cdf(boost::math::non_central_chi_squared(df, noncentrality), statistic);
}

// The noncentrality at which the statistic is the given quantile, between 0 and `upper`; 0 if none.
double NoncentralityAt(double statistic, double df, double probability, double upper) {
  const auto excess = [&](double noncentrality) {
    return NoncentralCdf(statistic, df, noncentrality) - probability;
  };
  if (excess(0) <= 0 || excess(upper) >= 0) return 0;
  std::uintmax_t iterations = 200;
  const auto bracket = boost::math::tools::toms748_solve(
      excess, 0.0, upper, boost::math::tools::eps_tolerance<double>(48), iterations);
  return 0.5 * (bracket.first + bracket.second);
}

void AddRmsea(const RmseaInput& input, std::map<std::string, double>& m) {
  const Rmsea rmsea = ComputeRmsea(input);
  m["rmsea"] = rmsea.estimate;
  m["rmsea.ci.lower"] = rmsea.ci_lower;
  m["rmsea.ci.upper"] = rmsea.ci_upper;
  m["rmsea.pvalue"] = rmsea.p_value;
}

void AddIncremental(double chisq, double df, double baseline_chisq, double baseline_df,
                    std::map<std::string, double>& m) {
  const double misfit = std::max(chisq - df, 0.0);
  const double worst = std::max({misfit, baseline_chisq - baseline_df, 0.0});
  m["cfi"] = worst > 0 ? 1 - misfit / worst : 1;
  const double down = (baseline_chisq - baseline_df) * df;
  m["tli"] = df > 0 && down != 0 ? 1 - (chisq - df) * baseline_df / down : 1;
}

// Root mean square of the residuals divided by the sample standard deviations (Bentler 1995).
double GroupSrmr(const GroupMoments& sample, const MatrixXd& covariance,
                 const Eigen::VectorXd& mean, bool with_means) {
  const Index p = sample.mean.size();
  const Eigen::VectorXd sd = sample.covariance.diagonal().cwiseSqrt();
  double sum = 0;
  for (Index i = 0; i < p; ++i) {
    for (Index j = 0; j <= i; ++j) {
      const double residual = (sample.covariance(i, j) - covariance(i, j)) / (sd[i] * sd[j]);
      sum += residual * residual;
    }
  }
  double terms = static_cast<double>(p * (p + 1)) / 2;
  if (with_means) {
    sum += (sample.mean - mean).cwiseQuotient(sd).squaredNorm();
    terms += static_cast<double>(p);
  }
  return std::sqrt(sum / terms);
}

// npar, ntotal and the information criteria.
void AddLikelihood(double logl, double npar, double n, std::map<std::string, double>& m) {
  m["npar"] = npar;
  m["ntotal"] = n;
  m["logl"] = logl;
  m["aic"] = -2 * logl + 2 * npar;
  m["bic"] = -2 * logl + npar * std::log(n);
  m["bic2"] = -2 * logl + npar * std::log((n + 2) / 24);
}

}  // namespace

double ChiSquareTail(double statistic, double df) {
  if (!(df > 0) || !std::isfinite(statistic)) return kNan;
  return boost::math::cdf(
      boost::math::complement(boost::math::chi_squared(df), std::max(statistic, 0.0)));
}

Rmsea ComputeRmsea(const RmseaInput& in) {
  Rmsea out;
  out.p_value = kNan;
  if (!(in.df > 0)) return out;
  const double n = in.num_rows;
  out.estimate = std::sqrt(std::max(in.unscaled / n / in.df - in.c_hat / n, 0.0) * in.num_groups);
  const auto as_rmsea = [&](double noncentrality) {
    return std::sqrt(in.c_hat * noncentrality / (n * in.df) * in.num_groups);
  };
  out.ci_lower = as_rmsea(NoncentralityAt(in.chisq, in.df, 0.95, in.chisq));
  out.ci_upper = as_rmsea(NoncentralityAt(in.chisq, in.df, 0.05, std::max(n, 4 * in.chisq)));
  const double close = n * in.df * 0.05 * 0.05 / in.num_groups / in.c_hat;
  out.p_value = 1 - NoncentralCdf(in.chisq, in.df, close);
  return out;
}

double CountMoments(const ParameterTable& table) {
  const double p = static_cast<double>(table.observed.size());
  const double x = static_cast<double>(ExogenousPositions(table).size());
  double moments = p * (p + 1) / 2 + (table.meanstructure ? p : 0);
  if (table.fixed_x) moments -= x * (x + 1) / 2 + (table.meanstructure ? x : 0);
  return moments * static_cast<double>(table.groups.size());
}

double CovariateLogLikelihood(const ParameterTable& table, const std::vector<double>& num_rows,
                              const std::vector<MatrixXd>& covariance) {
  if (!table.fixed_x) return 0;
  const std::vector<Index> exogenous = ExogenousPositions(table);
  double sum = 0;
  for (std::size_t g = 0; g < covariance.size(); ++g) {
    sum += SaturatedLogLikelihood(num_rows[g], covariance[g](exogenous, exogenous));
  }
  return sum;
}

std::map<std::string, double> LikelihoodMeasures(const ParameterTable& table, double num_rows,
                                                 double logl, int num_parameters) {
  std::map<std::string, double> m;
  AddLikelihood(logl, num_parameters, num_rows, m);
  m["df"] = CountMoments(table) - num_parameters;
  return m;
}

std::vector<std::string> ExogenousObserved(const ParameterTable& table) {
  if (table.fixed_x) return table.exogenous_covariates;
  std::unordered_set<std::string> predictors, excluded(table.latent.begin(), table.latent.end());
  for (const Parameter& row : table.rows) {
    if (row.op == "~") {
      predictors.insert(row.rhs);
      excluded.insert(row.lhs);
    } else if (row.op == "=~") {
      excluded.insert(row.rhs);
    } else if ((row.op == "~~" || row.op == "~1") && row.user) {
      excluded.insert(row.lhs);
      excluded.insert(row.rhs);
    }
  }
  std::vector<std::string> exogenous;
  for (const std::string& name : table.observed) {
    if (predictors.count(name) > 0 && excluded.count(name) == 0) exogenous.push_back(name);
  }
  return exogenous;
}

std::map<std::string, double> ComputeFitMeasures(const FitMeasureInput& input) {
  const ParameterTable& table = input.table;
  const std::vector<Index> exogenous = ExogenousPositions(table);
  double n = 0, saturated = 0, baseline = 0, srmr = 0;
  for (std::size_t g = 0; g < input.moments.size(); ++g) {
    const GroupMoments& sample = input.moments[g];
    const MatrixXd among_x = sample.covariance(exogenous, exogenous);
    n += sample.n;
    saturated += SaturatedLogLikelihood(sample.n, sample.covariance);
    if (table.fixed_x) saturated -= SaturatedLogLikelihood(sample.n, among_x);
    const double log_variances =
        sample.covariance.diagonal().array().log().sum() - among_x.diagonal().array().log().sum();
    baseline += sample.n * (log_variances + LogDet(among_x) - LogDet(sample.covariance));
    srmr += sample.n * GroupSrmr(sample, input.implied_covariance[g], input.implied_mean[g],
                                 table.meanstructure);
  }
  std::map<std::string, double> m = ScalarMeasures(
      table, {n, std::max(2 * n * input.discrepancy, 0.0), std::max(baseline, 0.0), saturated},
      input.num_parameters);
  m["fmin"] = std::max(input.discrepancy, 0.0);
  m["srmr"] = srmr / n;
  return m;
}

std::map<std::string, double> ScalarMeasures(const ParameterTable& table, const FitScalars& scalars,
                                             int num_parameters) {
  const double p = static_cast<double>(table.observed.size());
  const double x = static_cast<double>(ExogenousPositions(table).size());
  const double groups = static_cast<double>(table.groups.size());
  const double n = scalars.num_rows, chisq = scalars.chisq;
  std::map<std::string, double> m;
  AddLikelihood(scalars.unrestricted_logl - 0.5 * chisq, num_parameters, n, m);
  m["fmin"] = 0.5 * chisq / n;
  m["chisq"] = chisq;
  m["df"] = CountMoments(table) - num_parameters;
  m["pvalue"] = ChiSquareTail(chisq, m["df"]);
  m["baseline.chisq"] = scalars.baseline_chisq;
  m["baseline.df"] = groups * (p * (p - 1) - x * (x - 1)) / 2;
  m["baseline.pvalue"] = ChiSquareTail(scalars.baseline_chisq, m["baseline.df"]);
  AddIncremental(chisq, m["df"], m["baseline.chisq"], m["baseline.df"], m);
  m["unrestricted.logl"] = scalars.unrestricted_logl;
  AddRmsea({chisq, chisq, m["df"], n, groups}, m);
  return m;
}

}  // namespace partita::stats
