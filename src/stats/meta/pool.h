// Meta-analysis in the clear: estimates b_k with standard errors s_k of one number at m sites.
//
// Weights   w = 1 / (s^2 + tau^2); the pooled estimate is sum w b / sum w, with standard error
//           (sum w)^(-1/2), or of Hartung and Knapp the root of sum w (b - pooled)^2 / ((m - 1) sum w).
// tau^2     fixed effect: 0. DerSimonian and Laird: (Q - (m - 1)) / (sum w - sum w^2 / sum w) of weights
//           without tau^2, at least 0. REML: the smallest root of RemlScore where it falls, else 0.
// Q, I^2    Cochran's Q of weights without tau^2; I^2 = (Q - (m - 1)) / Q, at least 0.
// Interval  Student's with m - 1 degrees of freedom after Hartung and Knapp, else normal; the one for a
//           new site takes tau^2 to the squared standard error. As R's metafor does; Higgins, Thompson
//           and Spiegelhalter take m - 2 for a new site.
//
// Sources   R. DerSimonian, N. Laird, Controlled Clinical Trials 7 (1986); J. Hartung, G. Knapp,
//           Statistics in Medicine 20 (2001); J. Higgins, S. Thompson, Statistics in Medicine 21 (2002);
//           W. Viechtbauer, J. Educational and Behavioral Statistics 30 (2005), equation 10 (REML).
#pragma once

#include <optional>
#include <vector>

namespace partita::stats::meta {

enum class Estimator { kFixed, kDerSimonianLaird, kReml };

struct Sites {
  std::vector<double> estimates, standard_errors;  // equally many; errors positive

  double freedom() const { return static_cast<double>(estimates.size()) - 1; }
};

// Sums of the weights w at tau^2, of w^2, and of these times b and b^2. Divide none of it by a number
// of sites that is 0.
struct WeightSums {
  double w = 0, wb = 0, wbb = 0, ww = 0, wwb = 0, wwbb = 0;
};
WeightSums SumsAt(const Sites& sites, double tau_squared);

// Twice the derivative of the restricted log-likelihood by tau^2: sum w^2 (b - pooled)^2 - sum w + sum
// w^2 / sum w.
double RemlScore(const WeightSums& sums);
// Q - (m - 1) - tau^2 (sum w - sum w^2 / sum w), of sums at 0: falls with tau^2 and is 0 at the
// estimate of DerSimonian and Laird.
double DerSimonianLairdScore(const WeightSums& at_zero, double freedom, double tau_squared);

// At least two sites. REML to 1e-10 of itself, searched below the squared range of the estimates.
double TauSquared(const Sites& sites, Estimator estimator);

double CochranQ(const WeightSums& at_zero);
// In [0, 1).
double ISquared(double q, double freedom);

// Of weights at tau^2.
double PooledEstimate(const WeightSums& sums);
double PooledError(const WeightSums& sums, double freedom, bool hartung_knapp);

// What is said of a pooled estimate.
struct Pooled {
  double sites = 0, estimate = 0, standard_error = 0, tau_squared = 0, q = 0;
};
struct Summary {
  double statistic = 0, p_value = 0, lower = 0, upper = 0;
  std::optional<double> df;  // of Student's law; none: the normal law
  double q_df = 0, q_p_value = 0, i_squared = 0;
  double new_lower = 0, new_upper = 0;  // of a new site
};
Summary Summarise(const Pooled& pooled, bool hartung_knapp, double confidence);

// All of it.
Pooled Pool(const Sites& sites, Estimator estimator, bool hartung_knapp);

}  // namespace partita::stats::meta
