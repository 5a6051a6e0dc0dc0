// Tests of tables of counts.
//
// Sources   R's chisq.test and fisher.test.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "stats/tables/groups.h"

namespace partita::stats::tables {

// A row for each group, in it a count for each value; rows are equally long.
using Counts = std::vector<std::vector<uint64_t>>;

// Without groups that have no rows, and values that no group has.
Counts WithoutEmpty(const Counts& counts);

struct CountTest {
  Test test;
  bool small_expected = false;  // an expected count is below 5: the law holds roughly
};

// Pearson's, with Yates' correction where what is not empty is 2 x 2. Empty where that is a single
// group or value.
std::optional<CountTest> ChiSquare(const Counts& counts);

// Tables of the same margins that FisherP looks at, at most: with fewer partly filled ones it takes
// a second at most.
inline constexpr uint64_t kMostFisherSteps = 30'000'000;

// Fisher's exact test, two-sided: the probability of all tables of the same margins that are not
// more probable. Empty where there are more than kMostFisherSteps partly filled ones, or a single
// group or value.
std::optional<double> FisherP(const Counts& counts);

}  // namespace partita::stats::tables
