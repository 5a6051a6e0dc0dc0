// Comparisons of groups that follow from a table: which there are, of which groups, and what is left
// out at the edges. Their numbers are tested in tests/stats/tables.
#include "methods/describe/comparisons.h"

#include <gtest/gtest.h>

#include "methods/describe/comparison_tables.h"
#include "stats/tables/counts.h"
#include "tests/methods/describe/tables.h"

namespace partita::methods::describe::comparisons_test {
namespace {

// age, score, smoker and stage by three arms.
Spec AllCompared() {
  Spec spec = testing::ClinicSpec(true, true);
  spec.group->schema.levels = {"control", "low", "high"};
  spec.compared = {true, true, true, true, true, true, true};
  return spec;
}

Summary Number(uint64_t n, double mean, double sd) {
  Summary summary;
  summary.n = n;
  summary.mean = mean;
  summary.sd = sd;
  return summary;
}
Summary Count(std::vector<uint64_t> counts) {
  Summary summary;
  for (const uint64_t count : counts) summary.n += count;
  summary.counts = std::move(counts);
  return summary;
}

// Three arms and, unread, all rows.
DescribedTable Table() {
  DescribedTable table;
  table.variables = {{Number(20, 50, 9), Number(30, 53, 8), Number(25, 49, 10), {}},
                     {Number(20, 12, 4), Number(30, 13, 5), Number(25, 12, 6), {}},
                     {Count({15, 5}), Count({18, 12}), Count({20, 5}), {}},
                     {Count({5, 9, 6}), Count({10, 7, 13}), Count({8, 8, 9}), {}}};
  table.rank_roots = {1.5, 0.25, std::nullopt, std::nullopt};
  return table;
}

std::vector<std::string> NamesOf(const GroupComparison& comparison) {
  std::vector<std::string> names;
  for (const ComparisonTest& test : comparison.tests) names.emplace_back(test.name);
  return names;
}

TEST(DescribeComparisons, FollowWhatIsAsked) {
  Spec spec = AllCompared();
  std::vector<GroupComparison> compared = ComparisonsOf(spec, Table());
  ASSERT_EQ(compared.size(), 4u);
  EXPECT_EQ(NamesOf(compared[0]),
            (std::vector<std::string>{"welch-anova", "anova", "kruskal-wallis"}));
  EXPECT_EQ(NamesOf(compared[2]), (std::vector<std::string>{"chi-square", "fisher"}));
  // 53 and 49 are farthest apart.
  EXPECT_NEAR(compared[0].standardized.value(), 4 / std::sqrt((64 + 100) / 2.0), 1e-12);
  EXPECT_EQ(compared[0].tests[2].statistic, 2.25);
  EXPECT_EQ(compared[0].tests[2].df, 2);
  for (const auto asked : {&Compared::differences, &Compared::welch, &Compared::anova,
                           &Compared::ranks, &Compared::chi_square, &Compared::fisher}) {
    spec.compared = {};
    spec.compared.*asked = true;
    compared = ComparisonsOf(spec, Table());
    size_t found = 0;
    for (const GroupComparison& comparison : compared)
      found += comparison.tests.size() + (comparison.standardized ? 1 : 0);
    EXPECT_EQ(found, asked == &Compared::differences ? 4u : 2u);
  }
}

// A group without rows is none: two are left.
TEST(DescribeComparisons, LeaveOutGroupsWithoutRows) {
  DescribedTable table = Table();
  for (std::vector<Summary>& columns : table.variables)
    columns[1] = columns[1].counts.empty() ? Summary{}
                                           : Count(std::vector<uint64_t>(columns[1].counts.size()));
  const std::vector<GroupComparison> compared = ComparisonsOf(AllCompared(), table);
  EXPECT_EQ(NamesOf(compared[0]), (std::vector<std::string>{"welch-t", "anova", "wilcoxon"}));
  EXPECT_EQ(compared[0].tests[0].difference->estimate, 1);
  EXPECT_EQ(compared[0].tests[2].statistic, 1.5);  // |z|
  EXPECT_FALSE(compared[0].tests[2].df.has_value());
  const auto two = stats::tables::ChiSquare({{15, 5}, {20, 5}});
  EXPECT_EQ(compared[2].tests[0].statistic, two->test.statistic);
  EXPECT_TRUE(compared[2].standardized.has_value());
  for (std::vector<Summary>& columns : table.variables) columns[0] = columns[1];
  for (const GroupComparison& comparison : ComparisonsOf(AllCompared(), table)) {
    EXPECT_TRUE(comparison.tests.empty());
    EXPECT_FALSE(comparison.standardized || comparison.ratios);
  }
}

// No mean opens where the values of a group do not vary; ranks do not need it.
TEST(DescribeComparisons, HaveNoTestOfMeansWhereAGroupDoesNotVary) {
  DescribedTable table = Table();
  table.variables[0][2].mean.reset();
  table.variables[0][2].sd.reset();
  const GroupComparison compared = ComparisonsOf(AllCompared(), table)[0];
  EXPECT_FALSE(compared.standardized.has_value());
  EXPECT_FALSE(compared.tests[0].p_value || compared.tests[1].p_value);
  EXPECT_TRUE(compared.tests[2].p_value.has_value());
}

TEST(DescribeComparisons, HaveNoneWhereTheGroupsAreWithheld) {
  DescribedTable table = Table();
  for (size_t g = 0; g < 3; ++g) {
    table.variables[3][g] = {};
    table.variables[3][g].withheld = true;
  }
  const std::vector<GroupComparison> compared = ComparisonsOf(AllCompared(), table);
  EXPECT_TRUE(compared[3].tests.empty());
  EXPECT_FALSE(compared[2].tests.empty());
  EXPECT_EQ(PText(std::nullopt), "-");
  EXPECT_EQ(PText(0.00099), "< 0.001");
  EXPECT_EQ(PText(0.0014), "0.001");
}

// A level that nobody has counts for nothing; a zero leaves a ratio without interval.
TEST(DescribeComparisons, HoldWhereCountsAreZero) {
  Spec spec = AllCompared();
  spec.group->schema.levels.pop_back();
  DescribedTable table = Table();
  for (std::vector<Summary>& columns : table.variables) columns.erase(columns.begin() + 2);
  table.variables[2][1] = Count({30, 0});
  table.variables[3] = {Count({5, 0, 6}), Count({10, 0, 13}), {}};
  const std::vector<GroupComparison> compared = ComparisonsOf(spec, table);
  ASSERT_TRUE(compared[2].ratios.has_value());
  EXPECT_EQ(compared[2].ratios->odds_ratio.estimate, 0);
  EXPECT_FALSE(compared[2].ratios->odds_ratio.lower.has_value());
  EXPECT_EQ(compared[2].ratios->risk_difference.estimate, -0.25);
  EXPECT_TRUE(compared[2].tests[1].p_value.has_value());
  EXPECT_EQ(compared[3].tests[0].df, 1);
  EXPECT_FALSE(compared[3].ratios.has_value());
  const auto section = ComparisonSection(spec, compared);
  ASSERT_TRUE(section.has_value());
  EXPECT_EQ(section->tables.size(), 2u);
}

}  // namespace
}  // namespace partita::methods::describe::comparisons_test
