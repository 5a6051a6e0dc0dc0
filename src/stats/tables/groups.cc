#include "stats/tables/groups.h"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/fisher_f.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace partita::stats::tables {
namespace {

constexpr double kUpperQuantile = 0.975;

double FTail(double statistic, double df, double df_within) {
  return boost::math::cdf(
      boost::math::complement(boost::math::fisher_f(df, df_within), std::max(statistic, 0.0)));
}

double SquaredError(const GroupMoments& group) { return group.sd * group.sd / group.n; }

}  // namespace

std::optional<MeanDifference> WelchDifference(const GroupMoments& first,
                                              const GroupMoments& second) {
  if (first.n < 2 || second.n < 2) return std::nullopt;
  const double a = SquaredError(first), b = SquaredError(second);
  if (a + b <= 0) return std::nullopt;
  const double error = std::sqrt(a + b);
  MeanDifference difference;
  difference.estimate = first.mean - second.mean;
  Test& test = difference.test;
  test.df = (a + b) * (a + b) / (a * a / (first.n - 1) + b * b / (second.n - 1));
  test.statistic = difference.estimate / error;
  const boost::math::students_t law(test.df);
  test.p_value = 2 * boost::math::cdf(boost::math::complement(law, std::fabs(test.statistic)));
  const double half = boost::math::quantile(law, kUpperQuantile) * error;
  difference.lower = difference.estimate - half;
  difference.upper = difference.estimate + half;
  return difference;
}

std::optional<Test> WelchAnova(const std::vector<GroupMoments>& groups) {
  const auto k = static_cast<double>(groups.size());
  if (groups.size() < 2) return std::nullopt;
  double weights = 0, weighted = 0;
  for (const GroupMoments& group : groups) {
    if (group.n < 2 || group.sd <= 0) return std::nullopt;
    weights += 1 / SquaredError(group);
    weighted += group.mean / SquaredError(group);
  }
  const double mean = weighted / weights;
  double between = 0, lambda = 0;
  for (const GroupMoments& group : groups) {
    const double weight = 1 / SquaredError(group);
    between += weight * std::pow(group.mean - mean, 2);
    lambda += std::pow(1 - weight / weights, 2) / (group.n - 1);
  }
  lambda /= k * k - 1;
  Test test;
  test.df = k - 1;
  test.df_within = 1 / (3 * lambda);
  test.statistic = between / ((k - 1) * (1 + 2 * (k - 2) * lambda));
  test.p_value = FTail(test.statistic, test.df, *test.df_within);
  return test;
}

std::optional<Test> ClassicAnova(const std::vector<GroupMoments>& groups) {
  if (groups.size() < 2) return std::nullopt;
  double n = 0, sum = 0, within = 0;
  for (const GroupMoments& group : groups) {
    if (group.n < 1) return std::nullopt;
    n += group.n;
    sum += group.n * group.mean;
    within += (group.n - 1) * group.sd * group.sd;
  }
  const auto k = static_cast<double>(groups.size());
  if (n <= k || within <= 0) return std::nullopt;
  double between = 0;
  for (const GroupMoments& group : groups) between += group.n * std::pow(group.mean - sum / n, 2);
  Test test;
  test.df = k - 1;
  test.df_within = n - k;
  test.statistic = (between / (k - 1)) / (within / (n - k));
  test.p_value = FTail(test.statistic, test.df, *test.df_within);
  return test;
}

double ChiSquareTail(double statistic, double df) {
  return boost::math::cdf(
      boost::math::complement(boost::math::chi_squared(df), std::max(statistic, 0.0)));
}

}  // namespace partita::stats::tables
