// Studies of incomplete rows by multiple imputation, and Rubin's rules over imputations of the same
// pooled rows in the clear.
#pragma once

#include <gtest/gtest.h>

#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "stats/sem/imputation.h"
#include "tests/methods/mle/design_study.h"
#include "tests/stats/blr/random.h"

namespace partita::methods::mle::testing::imputed {

// The fewest that are allowed: what is compared has the same law after any number of iterations
// that both sides make.
inline constexpr size_t kImputations = 20, kIterations = 5;
// Of one number; a test compares fewer than 100.
inline constexpr double kFalseAlarm = 1e-8;

inline const std::string kModel =
    "model = \"y ~ x1 + x2\"\nmeanstructure = true\nfixed_x = false\n";

inline Design Imputed(std::vector<std::string> analyses) {
  Design design;
  design.design =
      "site = \"ignore\"\nmissing = \"mi\"\nimputation_iterations = 5\n"
      "patterns = [[], [\"y\"], [\"x1\"], [\"y\", \"x1\"]]\n";
  design.disclosure = "min_cell = 1\n";
  design.analyses = std::move(analyses);
  return design;
}

// A third of the values is missing, so that what is imputed matters.
inline std::vector<Row> IncompleteRows(size_t n, uint64_t seed) {
  std::vector<Row> rows = MakeRows(n, seed, false);
  std::mt19937_64 random(seed + 1);
  std::uniform_real_distribution<double> uniform;
  for (Row& row : rows) {
    const double chance = row.x2 > 0 ? 0.4 : 0.2;
    if (uniform(random) < chance) row.y = kMissing;
    if (uniform(random) < chance) row.x1 = kMissing;
  }
  return rows;
}

// Fits of imputations of the pooled rows in the clear.
struct PlainFits {
  std::vector<double> estimates, variances;  // of one parameter, by imputation
};

inline std::vector<PlainFits> Plain(const stats::ParameterTable& table,
                                    const std::vector<Row>& rows,
                                    const std::vector<std::function<bool(const Row&)>>& groups,
                                    size_t imputations) {
  stats::blr::TestRandom random(77);
  stats::VariateTape tape(random);
  SilentProgress progress;
  std::vector<std::vector<stats::GroupMoments>> by_imputation(imputations);
  for (size_t g = 0; g < groups.size(); ++g) {
    std::vector<const Row*> own;
    for (const Row& row : rows) {
      if (groups[g](row)) own.push_back(&row);
    }
    Eigen::MatrixXd values(own.size(), table.observed.size());
    for (size_t r = 0; r < own.size(); ++r) {
      for (size_t v = 0; v < table.observed.size(); ++v) {
        const std::string& name = table.observed[v];
        values(static_cast<Eigen::Index>(r), static_cast<Eigen::Index>(v)) = name == "y" ? own[r]->y
                                                                             : name == "x1"
                                                                                 ? own[r]->x1
                                                                                 : own[r]->x2;
      }
    }
    const auto moments = stats::ImputeMoments(table, stats::PatternsOf(values, 0),
                                              {imputations, kIterations}, tape, progress);
    for (size_t i = 0; i < imputations; ++i) by_imputation[i].push_back(moments[i]);
  }
  std::vector<PlainFits> fits(table.rows.size());
  for (const std::vector<stats::GroupMoments>& moments : by_imputation) {
    const stats::SemFit fit = stats::FitSem(table, moments, {}, progress);
    for (size_t r = 0; r < fits.size(); ++r) {
      fits[r].estimates.push_back(fit.estimates[r].estimate);
      fits[r].variances.push_back(std::pow(fit.estimates[r].standard_error, 2));
    }
  }
  return fits;
}

inline double MeanOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}
inline double VarianceOf(const std::vector<double>& values) {
  const double mean = MeanOf(values);
  double sum = 0;
  for (const double value : values) sum += std::pow(value - mean, 2);
  return sum / static_cast<double>(values.size() - 1);
}

// The mean estimate of m imputations is normal around that of all imputations, and (m - 1) times
// the variance between them a chi-square; both against 1000 in the clear. The variance between is
// what the standard error has beside the mean variance within, which varies by its own spread.
// Power: a mean that is off by 1.3 standard deviations of the imputations. Returns whether, for
// some parameter, the lower limit of the variance is above 0: then imputations without noise are
// seen.
inline bool ExpectRubin(const MleResult& result, const std::vector<PlainFits>& plain,
                        size_t imputations = kImputations) {
  const auto m = static_cast<double>(imputations);
  const double z =
      boost::math::quantile(boost::math::complement(boost::math::normal(), kFalseAlarm / 2));
  const boost::math::chi_squared law(m - 1);
  EXPECT_TRUE(result.fit.converged);
  EXPECT_EQ(result.fit.estimates.size(), plain.size());
  bool sees_noise = false;
  // The covariance matrix is Rubin's, too.
  for (size_t r = 0; r < plain.size(); ++r) {
    const int free = result.table.rows[r].free;
    if (free < 1) continue;
    EXPECT_NEAR(std::sqrt(result.fit.vcov(free - 1, free - 1)),
                result.fit.estimates[r].standard_error,
                1e-9 * result.fit.estimates[r].standard_error);
  }
  for (size_t r = 0; r < plain.size(); ++r) {
    const stats::ParameterEstimate& ours = result.fit.estimates[r];
    const double between = VarianceOf(plain[r].estimates), within = MeanOf(plain[r].variances);
    if (between <= 1e-9 * within) continue;  // no pattern lacks what it depends on
    SCOPED_TRACE(result.table.rows[r].lhs + result.table.rows[r].op + result.table.rows[r].rhs);
    const double runs = static_cast<double>(plain[r].estimates.size());
    EXPECT_NEAR(ours.estimate, MeanOf(plain[r].estimates),
                z * std::sqrt(between * (1 / m + 1 / runs)) + 1e-7);
    const double own_between =
        (std::pow(ours.standard_error, 2) - within) / (1 + 1 / m) * (m - 1) / between;
    const double slack =
        z * std::sqrt(VarianceOf(plain[r].variances) / m) / (1 + 1 / m) * (m - 1) / between;
    const double lower = boost::math::quantile(law, kFalseAlarm / 2) - slack;
    EXPECT_GT(own_between, lower);
    EXPECT_LT(own_between,
              boost::math::quantile(boost::math::complement(law, kFalseAlarm / 2)) + slack);
    sees_noise |= lower > 0;
  }
  return sees_noise;
}

// One split on one engine against `plain`, which is made where it is empty.
inline void ExpectRubinOf(const Split& split, const std::string& engine,
                          const std::vector<Row>& rows, std::vector<PlainFits>& plain) {
  SCOPED_TRACE(split.name + " " + engine);
  const auto results = RunSplit(split, Imputed({kModel}), engine, rows);
  ASSERT_EQ(results.size(), 1u);
  if (plain.empty()) plain = Plain(results[0].table, rows, {[](const Row&) { return true; }}, 1000);
  EXPECT_EQ(results[0].group_n.at(0), rows.size());
  ExpectRubin(results[0], plain);
}

}  // namespace partita::methods::mle::testing::imputed
