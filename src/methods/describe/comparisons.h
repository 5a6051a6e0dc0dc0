// What the table says of differences between its groups: computed from what opened, as R has it
// (stats/tables), so that it tells nothing more.
#pragma once

#include <optional>
#include <vector>

#include "methods/describe/result.h"
#include "stats/tables/two_by_two.h"

namespace partita::methods::describe {

// Empty fields: the test does not have them, or it could not be computed.
struct ComparisonTest {
  const char* name = "";  // "welch-t", "welch-anova", "anova", "wilcoxon", "kruskal-wallis",
                          // "chi-square", "fisher"
  std::optional<double> statistic, df, df_within, p_value;
  // Of welch-t: the mean of the first group with rows less that of the second.
  std::optional<stats::tables::Ratio> difference;
  bool small_expected = false;  // of chi-square: an expected count is below 5
};

struct GroupComparison {
  std::optional<double> standardized;  // the largest of two groups
  std::vector<ComparisonTest> tests;
  std::optional<stats::tables::Ratios> ratios;  // the second group against the first
  std::optional<stats::tables::MantelHaenszel> within_holders;  // the same, holders as strata
};

// By variable; a variable whose groups are withheld has an empty one.
std::vector<GroupComparison> ComparisonsOf(const Spec& spec, const DescribedTable& table);

}  // namespace partita::methods::describe
