// What the method `mle` hands to the report.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/cell_table.h"
#include "stats/sem/fit.h"
#include "stats/sem/moments.h"
#include "stats/sem/noise.h"
#include "stats/sem/oracle_fit.h"
#include "stats/sem/parameter_table.h"
#include "stats/sem/robust.h"

namespace partita::methods::mle {

// Notes for the report.
inline constexpr char kNormalityNotChecked[] =
    "Standard errors and tests assume that the variables are normally distributed; this was not "
    "checked. Robust (Huber-White) standard errors do not need it.";
inline constexpr char kResidualsNotChecked[] =
    "Tests and intervals assume that residuals are independent, normally distributed and equally "
    "spread; this was not checked. Robust (Huber-White) standard errors do not need the last two.";
inline constexpr char kNoFitMeasures[] =
    "The protocol 'likelihood' opens no moments, so that there is no saturated model to compare "
    "with: chi-square, CFI, TLI, RMSEA and SRMR are not available.";

inline constexpr char kMissingAtRandom[] =
    "Full information maximum likelihood takes values as missing at random: whether one is missing "
    "may depend on what the row has, and on nothing else. This was not, and cannot be, checked. "
    "Chi-square compares with the saturated model of the incomplete rows.";
inline constexpr char kImputed[] =
    "Multiple imputation takes values as missing at random: whether one is missing may depend on "
    "what the row has, and on nothing else. This was not, and cannot be, checked. Estimates are "
    "combined by Rubin's rules: z is the estimate over its standard error, and p-values and "
    "intervals are Student's with the degrees of freedom of Barnard and Rubin (1999).";
inline constexpr char kSealedWithoutFit[] =
    "The protocol 'sealed' opens chi-square and the log-likelihood only where the study lists the "
    "release \"fit\".";
inline constexpr char kSealedWithoutResiduals[] =
    "The protocol 'sealed' opens no residuals: SRMR is not available.";
inline constexpr char kSealedWithoutErrors[] =
    "With fixed.x covariates, whose moments stay sealed, standard errors are opened only where the "
    "study lists the release \"standard-errors\".";
inline constexpr char kSealedMissingAtRandom[] =
    "Full information maximum likelihood takes values as missing at random: whether one is missing "
    "may depend on what the row has, and on nothing else. This was not, and cannot be, checked.";
inline constexpr char kSealedIncompleteErrors[] =
    "Standard errors are those of the observed information, computed on shares; of functions of "
    "several parameters, and of standardised values, there are none.";
inline constexpr char kSealedIncompleteWithoutErrors[] =
    "Standard errors of incomplete rows depend on the patterns of missing values, and are opened "
    "only where the study lists the release \"standard-errors\".";
inline constexpr char kSealedIncompleteWithoutFit[] =
    "The protocol 'sealed' has no saturated model of incomplete rows to compare with: chi-square, "
    "the log-likelihood and fit measures are not available.";
inline constexpr char kSealedWithoutCovariates[] =
    "The moments of the covariates stay sealed: standardised values, and standard errors of "
    "functions of several parameters, are not available.";
inline constexpr char kTold[] =
    "These numbers were told by the receiver of the releases, who fitted the model; warnings are "
    "made of them. The values of fixed covariates, their standardised values, covariances of "
    "estimates and the optimiser's gradient stay with the receiver.";

// What the protocol `likelihood` opened. leakage level: "likelihood-oracle", or
// "sufficient-statistics" once rank == num_statistics (methods.md 1.3, R-k).
struct LikelihoodFacts {
  stats::OracleUsage usage;
  std::string leakage_level;
};

// A coefficient of a regression by least squares; numbers that are not known are NaN.
struct LeastSquaresTerm {
  std::string name;  // "(Intercept)" or the predictor
  size_t row = 0;    // of the parameter table
  double estimate = 0, standard_error = 0, t = 0, p_value = 0, ci_lower = 0, ci_upper = 0;
};

// What R's lm says of one outcome in one group (least_squares.h).
struct LeastSquares {
  std::string outcome;
  size_t group = 0;  // from 0
  double n = 0, df = 0, sigma = 0, r2 = 0, adjusted_r2 = 0;
  double f = 0, f_df = 0, f_p_value = 0;  // of all slopes, against f_df and df degrees of freedom
  std::vector<LeastSquaresTerm> terms;
};

// Moments that were released with noise.
struct ReleasedNoise {
  stats::MomentNoise noise;  // its scale is of the variables of the moments
  std::string mechanism;     // in words
  double norm = 0;           // rows were shortened to it
};

// What a fit was made from, where whoever has the result has that too: means and covariances of
// the table's observed variables, in original units, by group.
struct ReleasedMoments {
  std::vector<stats::GroupMoments> groups;
  std::optional<ReleasedNoise> noise;
};

struct MleResult {
  std::string name;  // of its analysis; "main" or empty where a study has one without a name
  stats::ParameterTable table;
  stats::SemFit fit;
  stats::Information information = stats::Information::kExpected;
  std::vector<std::string> group_labels;      // one, maybe empty, without groups
  std::vector<double> group_n;                // rows per group, same order
  std::string function;                       // "cfa", "sem", "growth", ... (analysis.h)
  std::optional<stats::RobustFit> robust;     // where robust standard errors were asked for
  std::optional<LikelihoodFacts> likelihood;  // of the protocol `likelihood`
  bool fit_measures_available = true;  // chi-square and the indices made of it; else only logl, ...
  std::vector<std::string> notes;      // sentences for the reader, e.g. kNormalityNotChecked
  std::string family;                  // "path analysis", ... (families.h); empty: not known
  // What belongs to models of this family, and what the study asked for beside: the comparison
  // with another analysis, modification indices, bootstrap intervals.
  std::vector<CellTable> tables;
  // Of function "regression": what reports show instead of the fit by maximum likelihood.
  std::vector<LeastSquares> least_squares;
  std::optional<ReleasedMoments> moments;
};

}  // namespace partita::methods::mle
