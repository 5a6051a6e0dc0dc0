// Comparisons of means of groups, from their sizes, means and standard deviations.
//
// Sources   B. L. Welch, "On the comparison of several mean values: an alternative approach",
//           Biometrika 1951; R's t.test, oneway.test.
#pragma once

#include <optional>
#include <vector>

namespace partita::stats::tables {

struct GroupMoments {
  double n = 0, mean = 0, sd = 0;
};

// df: of a t or chi-square statistic; of an F statistic the first, and df_within the second.
struct Test {
  double statistic = 0, df = 0;
  std::optional<double> df_within = {};
  double p_value = 1;
};

// The mean of the first less that of the second, with its interval at 0.95.
struct MeanDifference {
  double estimate = 0, lower = 0, upper = 0;
  Test test;  // t, of Welch
};

// Empty where a group has fewer than two values or none of them varies.
std::optional<MeanDifference> WelchDifference(const GroupMoments& first,
                                              const GroupMoments& second);
// F of two groups or more. Empty where a group has fewer than two values, or does not vary.
std::optional<Test> WelchAnova(const std::vector<GroupMoments>& groups);
// F with one variance for all groups. Empty where there are no more values than groups, or none
// varies within its group.
std::optional<Test> ClassicAnova(const std::vector<GroupMoments>& groups);

// The upper tail of chi-square.
double ChiSquareTail(double statistic, double df);

}  // namespace partita::stats::tables
