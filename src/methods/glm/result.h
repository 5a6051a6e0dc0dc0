// What a fit says, in the units of the study's variables, from what opened.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "methods/glm/protocol.h"
#include "methods/glm/risk.h"
#include "stats/glm/inference.h"

namespace partita::methods::glm {

struct Coefficient {
  std::string term;
  double estimate = 0, standard_error = 0;
  double step = 0;     // of the grid that the estimate is on
  bool effect = true;  // of a column (Parameter)
  stats::glm::Inference inference;
};

// A coordinate of a point, in the same units.
struct PathRow {
  std::string term;
  std::vector<double> at;  // by point
};

// Wald's test that all coefficients of a term of several columns are 0.
struct TermTest {
  std::string term;
  uint64_t columns = 0;
  // Chi-square; F where there is a dispersion. None: the covariance of the term is singular.
  std::optional<double> statistic, p_value;
};

// That the coefficients of some terms are all 0 (nested.h).
struct NestedTest {
  uint64_t df = 0;
  std::optional<double> df_residual;  // F instead of chi-square
  double statistic = 0, p_value = 0;
};

struct Regression {
  bool converged = false;
  uint64_t rows = 0, events = 0, clusters = 0;
  // Degrees of freedom of Student's law; none: the normal law.
  std::optional<double> df;
  std::vector<Coefficient> coefficients;  // none where it did not converge
  // Of these, with allowance for small samples: at level aggregates, where it follows from the sums that
  // open, and where the study asks for it, rounded to multiples of covariance_steps[i] *
  // covariance_steps[j] (at level aggregates there are none). Else empty.
  Eigen::MatrixXd covariance;
  Eigen::VectorXd covariance_steps;
  // Of a negative binomial law.
  struct Theta {
    double estimate = 0, standard_error = 0;
  };
  std::optional<Theta> theta;
  std::vector<TermTest> tests;
  std::vector<PathRow> path;
  std::vector<std::string> moving;  // terms that the last step moved by more than a grid step
  std::optional<ModelFit> fit;      // none with sampling weights
  double df_residual = 0, df_null = 0;
  std::vector<std::string> warnings;  // whole sentences
  // Of a smaller model, where there is one; the test where both converged.
  std::vector<Coefficient> smaller;
  bool smaller_converged = false;
  std::optional<NestedTest> nested;
  std::optional<Risk> risk;
  // Of a lasso; coefficients have no errors then.
  std::vector<LassoCandidate> lasso;
  size_t chosen = 0;
};

// What robust standard errors are multiplied by, which allows for small samples: HC1 sqrt(n / (n - p)),
// with sampling weights sqrt(n / (n - 1)), of clusters sqrt(G / (G - 1)). Else 1.
double SmallSampleFactor(const Spec& spec, const FittedModel& model);

// Whether exp of it is shown as a ratio.
bool ShowsRatio(const Spec& spec, const Coefficient& coefficient);

// Of a party that learned the model.
Regression RegressionOf(const Task& task, const Fitted& fitted);

}  // namespace partita::methods::glm
