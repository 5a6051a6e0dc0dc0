// Studies of incomplete rows by protocol `sealed` against the full-information fit of the pooled
// rows in plain code.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "stats/sem/fiml.h"
#include "tests/methods/mle/design_study.h"

namespace partita::methods::mle::testing::sealed_fiml {

using Keep = std::function<bool(const Row&)>;

inline bool All(const Row&) { return true; }

inline Eigen::MatrixXd ValuesOf(const std::vector<Row>& rows, const std::vector<std::string>& names,
                                const Keep& keep) {
  std::vector<const Row*> kept;
  for (const Row& row : rows) {
    if (keep(row)) kept.push_back(&row);
  }
  Eigen::MatrixXd values(kept.size(), names.size());
  for (size_t r = 0; r < kept.size(); ++r) {
    for (size_t v = 0; v < names.size(); ++v) {
      const Row& row = *kept[r];
      values(static_cast<Eigen::Index>(r), static_cast<Eigen::Index>(v)) = names[v] == "y" ? row.y
                                                                           : names[v] == "x1"
                                                                               ? row.x1
                                                                               : row.x2;
    }
  }
  return values;
}

// Estimates within 1e-4 standard errors, standard errors within 1e-4 of themselves.
inline void ExpectFit(const MleResult& result, const std::vector<Row>& rows,
                      const std::vector<Keep>& groups) {
  std::vector<stats::PatternMoments> patterns;
  for (size_t g = 0; g < groups.size(); ++g) {
    double n = 0;
    for (auto& pattern : stats::PatternsOf(ValuesOf(rows, result.table.observed, groups[g]), g)) {
      n += pattern.moments.n;
      patterns.push_back(std::move(pattern));
    }
    EXPECT_EQ(result.group_n.at(g), n);
  }
  stats::SemFitOptions options;
  options.information = stats::Information::kObserved;
  SilentProgress progress;
  const stats::SemFit fit = stats::FitFiml(result.table, patterns, options, progress);
  ASSERT_TRUE(fit.converged);
  EXPECT_TRUE(result.fit.converged);
  ASSERT_EQ(fit.estimates.size(), result.fit.estimates.size());
  size_t compared = 0;
  for (size_t i = 0; i < fit.estimates.size(); ++i) {
    const double se = fit.estimates[i].standard_error;
    if (!(se > 0)) continue;
    ++compared;
    EXPECT_NEAR(result.fit.estimates[i].estimate, fit.estimates[i].estimate, 1e-4 * se)
        << result.table.rows[i].lhs << result.table.rows[i].op << result.table.rows[i].rhs;
    EXPECT_NEAR(result.fit.estimates[i].standard_error, se, 1e-4 * se);
  }
  EXPECT_GT(compared, 0u);
  EXPECT_FALSE(result.fit_measures_available);
}

inline const std::string kChain = "model = \"y ~ x1\\nx1 ~ x2\"\n";
inline const std::string kPatterns = "[[], [\"y\"], [\"x1\"], [\"y\", \"x1\"]]";

inline Design Sealed(const std::string& patterns, std::vector<std::string> analyses) {
  Design design;
  design.design = "site = \"ignore\"\nmissing = \"fiml\"\npatterns = " + patterns + "\n";
  design.protocol = "sealed";
  design.release = "[\"estimates\", \"standard-errors\"]";
  design.analyses = std::move(analyses);
  return design;
}

// Rows where only y or x1 is missing.
inline std::vector<Row> IncompleteRows(size_t n, uint64_t seed) {
  std::vector<Row> rows = MakeRows(n, seed, true);
  for (Row& row : rows) {
    if (std::isnan(row.age)) row.age = 50;
  }
  return rows;
}

// Both y and x1 are missing in three of them, fewer than min_cell: no moments of theirs open.
inline std::vector<Row> RowsWithARarePattern() {
  std::vector<Row> rows = IncompleteRows(300, 31);
  size_t both = 0;
  for (Row& row : rows) {
    if (!std::isnan(row.y) || !std::isnan(row.x1)) continue;
    if (++both > 3) row.y = 0;
  }
  EXPECT_GE(both, 3u);
  return rows;
}

// One split on one engine.
inline void ExpectPooledFit(const Split& split, const std::string& engine,
                            const std::vector<Row>& rows) {
  SCOPED_TRACE(split.name + " " + engine);
  const auto results = RunSplit(split, Sealed(kPatterns, {kChain}), engine, rows);
  ASSERT_EQ(results.size(), 1u);
  ExpectFit(results[0], rows, {All});
}

}  // namespace partita::methods::mle::testing::sealed_fiml
