#include "methods/describe/comparisons.h"

#include <algorithm>

#include "stats/tables/counts.h"
#include "stats/tables/groups.h"
#include "stats/tables/standardized.h"

namespace partita::methods::describe {
namespace {

namespace tables = stats::tables;

ComparisonTest Named(const char* name, const std::optional<tables::Test>& test) {
  ComparisonTest named;
  named.name = name;
  if (!test) return named;
  named.statistic = test->statistic;
  named.df = test->df;
  named.df_within = test->df_within;
  named.p_value = test->p_value;
  return named;
}

// Of groups that have values.
struct Groups {
  std::vector<tables::GroupMoments> moments;  // of numbers; empty where one has no mean
  tables::Counts counts;                      // of the others
  size_t count = 0;
};

Groups GroupsOf(const std::vector<Summary>& columns) {
  Groups groups;
  bool means = true;
  for (size_t g = 0; g + 1 < columns.size(); ++g) {
    const Summary& summary = columns[g];
    if (summary.n == 0) continue;
    ++groups.count;
    groups.counts.push_back(summary.counts);
    means = means && summary.mean.has_value();
    groups.moments.push_back(
        {static_cast<double>(summary.n), summary.mean.value_or(0), summary.sd.value_or(0)});
  }
  if (!means) groups.moments.clear();
  return groups;
}

template <typename Group>
std::optional<double> LargestDifference(const std::vector<Group>& groups) {
  std::optional<double> largest;
  for (size_t g = 0; g < groups.size(); ++g) {
    for (size_t h = g + 1; h < groups.size(); ++h) {
      const std::optional<double> difference = tables::StandardizedDifference(groups[g], groups[h]);
      if (!difference) return std::nullopt;  // one is infinite
      largest = std::max(largest.value_or(0), *difference);
    }
  }
  return largest;
}

ComparisonTest Welch(const Groups& groups) {
  if (groups.count != 2) return Named("welch-anova", tables::WelchAnova(groups.moments));
  if (groups.moments.empty()) return Named("welch-t", std::nullopt);
  const auto difference = tables::WelchDifference(groups.moments[0], groups.moments[1]);
  if (!difference) return Named("welch-t", std::nullopt);
  ComparisonTest test = Named("welch-t", difference->test);
  test.difference = {difference->estimate, difference->lower, difference->upper};
  return test;
}

ComparisonTest Ranks(const Groups& groups, const std::optional<double>& root) {
  const char* name = groups.count == 2 ? "wilcoxon" : "kruskal-wallis";
  if (!root) return Named(name, std::nullopt);
  const double statistic = *root * *root, df = static_cast<double>(groups.count - 1);
  ComparisonTest test =
      Named(name, tables::Test{statistic, df, {}, tables::ChiSquareTail(statistic, df)});
  if (groups.count == 2) {
    test.statistic = *root;
    test.df.reset();
  }
  return test;
}

GroupComparison OfNumbers(const Compared& compared, const Groups& groups,
                          const std::optional<double>& rank_root) {
  GroupComparison comparison;
  if (compared.differences) comparison.standardized = LargestDifference(groups.moments);
  if (compared.welch) comparison.tests.push_back(Welch(groups));
  if (compared.anova)
    comparison.tests.push_back(Named("anova", tables::ClassicAnova(groups.moments)));
  if (compared.ranks) comparison.tests.push_back(Ranks(groups, rank_root));
  return comparison;
}

GroupComparison OfCounts(const Compared& compared, const Groups& groups,
                         const std::vector<Summary>& columns) {
  GroupComparison comparison;
  if (compared.differences) comparison.standardized = LargestDifference(groups.counts);
  if (compared.chi_square) {
    const std::optional<tables::CountTest> test = tables::ChiSquare(groups.counts);
    comparison.tests.push_back(
        Named("chi-square", test ? std::optional(test->test) : std::nullopt));
    comparison.tests.back().small_expected = test && test->small_expected;
  }
  if (compared.fisher) {
    comparison.tests.push_back(Named("fisher", std::nullopt));
    comparison.tests.back().p_value = tables::FisherP(groups.counts);
  }
  if (compared.ratios && columns.front().counts.size() == 2) {
    comparison.ratios =
        tables::RatiosOf({columns[0].counts[1], columns[0].n, columns[1].counts[1], columns[1].n});
  }
  return comparison;
}

}  // namespace

std::vector<GroupComparison> ComparisonsOf(const Spec& spec, const DescribedTable& table) {
  std::vector<GroupComparison> comparisons(spec.variables.size());
  for (size_t v = 0; v < comparisons.size(); ++v) {
    const std::vector<Summary>& columns = table.variables[v];
    if (!spec.group || columns.front().withheld) continue;
    const Groups groups = GroupsOf(columns);
    if (groups.count < 2) continue;
    comparisons[v] = CountedValues(spec.variables[v].schema).empty()
                         ? OfNumbers(spec.compared, groups, table.rank_roots[v])
                         : OfCounts(spec.compared, groups, columns);
    if (!table.strata.empty() && table.strata[v])
      comparisons[v].within_holders = OverStrata(*table.strata[v]);
  }
  return comparisons;
}

}  // namespace partita::methods::describe
