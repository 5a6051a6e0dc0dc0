// Odds ratios, risk ratios and risk differences of two groups, of one table or over strata.
//
// Sources   B. Woolf, "On estimating the relation between blood group and disease", Annals of Human
//           Genetics 1955 (odds ratio); D. Katz et al., "Obtaining confidence intervals for the risk
//           ratio in cohort studies", Biometrics 1978; N. Mantel, W. Haenszel, Journal of the
//           National Cancer Institute 1959; J. Robins, N. Breslow, S. Greenland, "Estimators of the
//           Mantel-Haenszel variance consistent in both sparse data and large-strata limiting
//           models", Biometrics 1986; R's prop.test without correction, mantelhaen.test.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "stats/tables/groups.h"

namespace partita::stats::tables {

// Rows with the event and all, in the reference and in the group that is compared with it.
struct TwoByTwo {
  uint64_t reference_events = 0, reference = 0, events = 0, rows = 0;
};

// With its interval at 0.95, empty where a zero leaves none; the estimate is empty where it is
// infinite or zero by zero.
struct Ratio {
  std::optional<double> estimate, lower, upper;
};

struct Ratios {
  Ratio odds_ratio, risk_ratio, risk_difference;
};
Ratios RatiosOf(const TwoByTwo& table);

// exp of a logarithm with its standard error.
Ratio FromLogarithm(double logarithm, double standard_error);

// What a stratum adds to the estimate and its test: with a, b rows with and without the event in the
// group, c, d in the reference, R = a d / n, S = b c / n, P = (a + d) / n, Q = (b + c) / n the sums of R,
// S, P R, P S + Q R and Q S; a less what is expected, and its variance. Fewer than two rows add nothing.
struct StratumTerms {
  double r = 0, s = 0, pr = 0, mixed = 0, qs = 0, excess = 0, variance = 0;
};
StratumTerms TermsOf(const TwoByTwo& stratum);

// Over strata.
struct MantelHaenszel {
  Ratio odds_ratio;
  std::optional<Test> test;  // corrected for continuity as in R
};
MantelHaenszel MantelHaenszelOf(const std::vector<TwoByTwo>& strata);

}  // namespace partita::stats::tables
