// Cox's proportional hazards in the clear, as R's coxph fits them: ties by Breslow or Efron, strata.
//
// Source  D. R. Cox, "Regression models and life-tables", JRSS B 1972; ties: N. Breslow, Biometrics
//         1974, B. Efron, JASA 1977.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <vector>

namespace partita::stats::survival {

struct CoxRows {
  Eigen::MatrixXd x;
  std::vector<double> time;
  std::vector<double> entry;  // at risk after it, and it is before time; empty: from the start
  std::vector<uint8_t> event;
  std::vector<int> stratum;  // empty: one
  std::vector<int> cluster;  // of robust errors: 0, 1, ..; empty: every row by itself
};

enum class Ties { kBreslow, kEfron };

// Partial likelihood at a point: its logarithm, and score and information, its derivatives.
struct CoxSums {
  double log_likelihood = 0;
  Eigen::VectorXd score;
  Eigen::MatrixXd information;
};
CoxSums CoxSumsAt(const CoxRows& rows, const Eigen::VectorXd& point, Ties ties);

// Score tests of coefficients b + c g that change with time, at b: of each column (1 degree of freedom)
// and of all (p); R's cox.zph with terms = FALSE. P. Grambsch, T. Therneau, Biometrika 1994.
struct ProportionalTest {
  Eigen::VectorXd columns;
  double all = 0;
};
ProportionalTest TestProportional(const CoxRows& rows, const Eigen::VectorXd& point, Ties ties,
                                  const std::function<double(double)>& g);

struct CoxFit {
  Eigen::VectorXd point, standard_errors;
  Eigen::MatrixXd covariance;
  double null_log_likelihood = 0, log_likelihood = 0;  // at 0 and at the point
  double score_test = 0, wald_test = 0;                // at 0 and at the point
  int iterations = 0;
  bool converged = false;

  double likelihood_ratio() const { return 2 * (log_likelihood - null_log_likelihood); }
};
// Newton's steps from 0, halved where they lower the likelihood. Converged where the next step is
// shorter than 1e-9 in the norm of the information, within 50 steps.
CoxFit FitCox(const CoxRows& rows, Ties ties);

}  // namespace partita::stats::survival
