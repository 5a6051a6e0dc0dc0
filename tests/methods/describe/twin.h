// What a table must be that opened, beside its twin in plain code: counts, means and deviations on
// their grid, cells of quantiles, rank statistics, and what is withheld.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "methods/describe/plain_table.h"
#include "methods/describe/result.h"
#include "mpc/functions/release_grid.h"

namespace partita::methods::describe::testing {

inline constexpr int kGridBits = 6;
// Half a step, the guard bits, and what arithmetic errs before it is rounded.
inline constexpr double kRounding = 0.5 + 0x1p-9 + 0x1p-8;

// Of a rank statistic's root: half a step, the guard bits, and what ranks.h errs before.
inline const double kRankError = std::ldexp(0.5 + 0x1p-9, -kGridBits) + 0x1p-11;

// The step of the rule's grid, within the precision that release_grid.h states.
inline void ExpectStep(const data::ColumnSchema& schema, const PlainColumn& plain, double step) {
  const double half = (schema.upper - schema.lower) / 2;
  const double error = plain.sd / half / std::sqrt(static_cast<double>(plain.n));
  const double exponent = std::log2(step / half), wanted = kGridBits * -1.0 + std::log2(error);
  EXPECT_EQ(exponent, std::round(exponent));
  EXPECT_LE(exponent, wanted + 0x1p-9);
  EXPECT_GT(exponent, wanted - 1 - 0x1p-9);
}

inline void ExpectMoments(const Spec& spec, const std::vector<Summary>& columns,
                          const PlainTable& twin, size_t v, size_t arm, bool from_groups) {
  const data::ColumnSchema& schema = spec.variables[v].schema;
  const PlainColumn plain = twin.Column(v, arm);
  const Summary& summary = columns[arm];
  const double half = (schema.upper - schema.lower) / 2;
  // Below the least variance that there is a grid for nothing opens.
  const bool varies = plain.n >= 2 && plain.sd > 0x1p-14 * half;
  if (!from_groups) {
    ASSERT_EQ(summary.mean.has_value(), varies);
  }
  if (!summary.mean) return;
  // Over groups a mean errs as the worst of them, and a deviation, as the length of a vector of
  // theirs and of twice the means' errors, sqrt(5 n / (n - 1)) times.
  const double error = kRounding * summary.step;
  EXPECT_NEAR(*summary.mean, plain.mean, error);
  const double more =
      from_groups ? std::sqrt(5 * static_cast<double>(plain.n) / static_cast<double>(plain.n - 1))
                  : 1;
  EXPECT_NEAR(*summary.sd, plain.sd, error * more);
  if (!from_groups) ExpectStep(schema, plain, summary.step);
}

inline void ExpectColumn(const Spec& spec, const std::vector<Summary>& columns,
                         const PlainTable& twin, size_t v, size_t arm, bool from_groups) {
  const data::ColumnSchema& schema = spec.variables[v].schema;
  const PlainColumn plain = twin.Column(v, arm);
  const Summary& summary = columns[arm];
  EXPECT_FALSE(summary.withheld);
  EXPECT_EQ(summary.n, plain.n);
  EXPECT_EQ(summary.missing, plain.missing);
  EXPECT_EQ(summary.counts, plain.counts);
  if (!CountedValues(schema).empty()) return;
  ExpectMoments(spec, columns, twin, v, arm, from_groups);
  ASSERT_EQ(summary.quantiles.size(), spec.quantiles.size());
  const Cells cells = CellsOf(schema, spec.most_cells);
  for (size_t q = 0; q < spec.quantiles.size(); ++q) {
    const bool opens = plain.n > 0 && twin.QuantileOpens(v, arm, plain.quantiles[q]);
    ASSERT_EQ(summary.quantiles[q].has_value(), opens) << q;
    if (!opens) continue;
    EXPECT_EQ(*summary.quantiles[q], cells.Middle(cells.Of(plain.quantiles[q]))) << q;
    EXPECT_LE(std::abs(*summary.quantiles[q] - plain.quantiles[q]), cells.width / 2 * (1 + 1e-9));
  }
}

struct Seen {
  size_t by_group = 0, only_all = 0, nothing = 0, quantiles = 0, quantiles_withheld = 0;
  size_t ranks = 0, ranks_withheld = 0;
};

inline void ExpectRanks(const DescribedTable& table, const PlainTable& twin, size_t v,
                        bool by_group, Seen& seen) {
  const std::optional<double> plain = by_group ? twin.RankRoot(v) : std::nullopt;
  ASSERT_EQ(table.rank_roots[v].has_value(), plain.has_value());
  ++(plain ? seen.ranks : seen.ranks_withheld);
  if (!plain) return;
  EXPECT_NEAR(*table.rank_roots[v], *plain, kRankError);
  const double steps = std::ldexp(*table.rank_roots[v], kGridBits);
  EXPECT_EQ(steps, std::round(steps));
}

inline Seen ExpectTable(const Spec& spec, const OpenedTable& opened, const PlainTable& twin) {
  const DescribedTable table = Summarise(spec, opened);
  const Layout layout(spec);
  Seen seen;
  for (size_t v = 0; v < spec.variables.size(); ++v) {
    SCOPED_TRACE(spec.variables[v].schema.name);
    const std::vector<Summary>& columns = table.variables[v];
    EXPECT_EQ(columns.size(), layout.arms);
    const bool by_group = layout.grouped && twin.Passes(v, true), all = twin.Passes(v, false);
    ++(by_group ? seen.by_group : all ? seen.only_all : seen.nothing);
    if (spec.compared.ranks && CountedValues(spec.variables[v].schema).empty())
      ExpectRanks(table, twin, v, by_group, seen);
    for (size_t arm = 0; arm < layout.arms; ++arm) {
      SCOPED_TRACE(arm);
      const bool last = arm + 1 == layout.arms;
      if (last ? all : by_group) {
        ExpectColumn(spec, columns, twin, v, arm, last && by_group);
        for (const auto& quantile : columns[arm].quantiles)
          ++(quantile ? seen.quantiles : seen.quantiles_withheld);
        continue;
      }
      EXPECT_TRUE(columns[arm].withheld);
      EXPECT_EQ(columns[arm].n + columns[arm].missing, 0u);
      EXPECT_FALSE(columns[arm].mean.has_value());
      for (const auto& quantile : columns[arm].quantiles) EXPECT_FALSE(quantile.has_value());
    }
  }
  return seen;
}

}  // namespace partita::methods::describe::testing
