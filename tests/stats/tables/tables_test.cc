// Comparisons of groups against R (tests/references/tables), and at the edges.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "stats/tables/counts.h"
#include "stats/tables/groups.h"
#include "stats/tables/ranks.h"
#include "stats/tables/standardized.h"
#include "stats/tables/two_by_two.h"
#include "tests/paths.h"

namespace partita::stats::tables::tables_test {
namespace {

using nlohmann::json;

json References() {
  std::ifstream file(FixturePath("references/tables/tables.json"));
  return json::parse(file);
}

// What R prints has 15 digits, and its own arithmetic errs in the last ones.
void ExpectNear(double value, const json& wanted) {
  EXPECT_NEAR(value, wanted.get<double>(), 1e-10 * (1 + std::fabs(wanted.get<double>())));
}
// R's may be too small for a double.
void ExpectP(double p_value, const json& wanted) {
  if (wanted == 0) {
    EXPECT_LT(p_value, 1e-300);
  } else {
    EXPECT_NEAR(p_value / wanted.get<double>(), 1, 1e-8);
  }
}
void ExpectTest(const std::optional<Test>& test, const json& wanted) {
  ASSERT_TRUE(test.has_value());
  ExpectNear(test->statistic, wanted[0]);
  ExpectNear(test->df, wanted[1]);
  ASSERT_EQ(test->df_within.has_value(), wanted.size() == 4);
  if (test->df_within) ExpectNear(*test->df_within, wanted[2]);
  ExpectP(test->p_value, wanted.back());
}
void ExpectRatio(const Ratio& ratio, const json& wanted) {
  const std::optional<double> values[] = {ratio.estimate, ratio.lower, ratio.upper};
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(values[i].has_value(), !wanted[i].is_null()) << i;
    if (values[i]) ExpectNear(*values[i], wanted[i]);
  }
}

TEST(TablesTest, MeansAreComparedAsInR) {
  const json references = References();
  for (const json& wanted : references.at("means")) {
    std::vector<GroupMoments> groups;
    for (const json& group : wanted["groups"]) groups.push_back({group[0], group[1], group[2]});
    SCOPED_TRACE(groups.front().mean);
    ExpectTest(WelchAnova(groups), wanted["welch"]);
    ExpectTest(ClassicAnova(groups), wanted["classic"]);
    size_t pair = 0;
    for (size_t g = 0; g < groups.size(); ++g) {
      for (size_t h = g + 1; h < groups.size(); ++h)
        ExpectNear(StandardizedDifference(groups[g], groups[h]).value(),
                   wanted["differences"][pair++]);
    }
    if (groups.size() > 2) continue;
    const MeanDifference difference = WelchDifference(groups[0], groups[1]).value();
    ExpectTest(difference.test, wanted["t"]);
    ExpectNear(difference.estimate, wanted["difference"][0]);
    ExpectNear(difference.lower, wanted["difference"][1]);
    ExpectNear(difference.upper, wanted["difference"][2]);
  }
}

TEST(TablesTest, MeansThatDoNotVaryHaveNoTest) {
  const GroupMoments varies{20, 3, 1}, constant{20, 3, 0}, one{1, 2, 0};
  EXPECT_FALSE(WelchDifference(constant, constant).has_value());
  EXPECT_FALSE(WelchDifference(varies, one).has_value());
  EXPECT_TRUE(WelchDifference(varies, constant).has_value());
  EXPECT_FALSE(WelchAnova({varies, constant}).has_value());
  EXPECT_FALSE(WelchAnova({varies}).has_value());
  EXPECT_TRUE(ClassicAnova({varies, constant}).has_value());
  EXPECT_FALSE(ClassicAnova({constant, constant}).has_value());
  EXPECT_FALSE(ClassicAnova({one, one}).has_value());
  EXPECT_FALSE(StandardizedDifference(constant, constant).has_value());
}

TEST(TablesTest, RanksAreComparedAsInR) {
  const json references = References();
  for (const json& wanted : references.at("ranks")) {
    const std::vector<std::vector<uint64_t>> counts = wanted["counts"];
    const double statistic = KruskalWallis(counts).value();
    ExpectNear(statistic, wanted["statistic"]);
    const double p = ChiSquareTail(statistic, static_cast<double>(counts.front().size() - 1));
    ExpectP(p, wanted["p_value"]);
    if (wanted.contains("wilcoxon_p_value")) ExpectP(p, wanted["wilcoxon_p_value"]);
  }
  EXPECT_FALSE(KruskalWallis({}).has_value());
  EXPECT_FALSE(KruskalWallis({{0, 0}, {0, 0}}).has_value());
  EXPECT_FALSE(KruskalWallis({{0, 0}, {4, 7}}).has_value());
  // A group without values changes nothing.
  EXPECT_EQ(KruskalWallis({{1, 0, 3}, {2, 0, 2}, {4, 0, 1}}),
            KruskalWallis({{1, 3}, {2, 2}, {4, 1}}));
}

TEST(TablesTest, CountsAreComparedAsInR) {
  const json references = References();
  for (const json& wanted : references.at("counts")) {
    const Counts counts = wanted["counts"];
    SCOPED_TRACE(wanted["counts"].dump());
    const CountTest chi_square = ChiSquare(counts).value();
    ExpectTest(chi_square.test, wanted["chi_square"]);
    EXPECT_EQ(chi_square.small_expected, wanted["small"].get<bool>());
    // R adds up its tables in another order, to about 1e-9.
    EXPECT_NEAR(FisherP(counts).value() / wanted["fisher"].get<double>(), 1, 1e-7);
    size_t pair = 0;
    for (size_t g = 0; g < counts.size(); ++g) {
      for (size_t h = g + 1; h < counts.size(); ++h) {
        const std::optional<double> difference = StandardizedDifference(counts[g], counts[h]);
        const json& of_pair = wanted["differences"][pair++];
        ASSERT_EQ(difference.has_value(), !of_pair.is_null());
        if (difference) ExpectNear(*difference, of_pair);
      }
    }
  }
}

std::optional<double> DifferenceOf(const std::vector<uint64_t>& first,
                                   const std::vector<uint64_t>& second) {
  return StandardizedDifference(first, second);
}

TEST(TablesTest, TablesWithoutAComparisonHaveNoTest) {
  for (const Counts& counts : std::vector<Counts>{{{}, {}}, {{3, 4}, {0, 0}}, {{3, 0}, {9, 0}}}) {
    EXPECT_FALSE(ChiSquare(counts).has_value());
    EXPECT_FALSE(FisherP(counts).has_value());
  }
  EXPECT_EQ(WithoutEmpty({{3, 0, 4}, {0, 0, 0}, {1, 0, 2}}), (Counts{{3, 4}, {1, 2}}));
  EXPECT_FALSE(DifferenceOf({3, 0, 0}, {0, 4, 0}).has_value());  // infinite
  EXPECT_FALSE(DifferenceOf({3, 1}, {0, 0}).has_value());
  EXPECT_EQ(DifferenceOf({3, 0}, {5, 0}), 0);
}

TEST(TablesTest, FisherGivesUpWhereThereAreTooManyTables) {
  EXPECT_TRUE(FisherP({{1000, 1200, 900}, {1100, 1000, 950}}).has_value());
  EXPECT_FALSE(FisherP({{300, 300, 300, 300, 300}, {310, 290, 300, 280, 320}}).has_value());
  EXPECT_FALSE(FisherP({{4'000'000, 4'000'000}, {4'000'000, 4'000'001}}).has_value());
  // The most probable table of its margins.
  EXPECT_NEAR(FisherP({{10, 10}, {10, 10}}).value(), 1, 1e-12);
}

TEST(TablesTest, RatiosAreAsInR) {
  const json references = References();
  for (const json& wanted : references.at("ratios")) {
    const std::vector<uint64_t> table = wanted["table"];
    SCOPED_TRACE(wanted["table"].dump());
    const Ratios ratios = RatiosOf({table[0], table[1], table[2], table[3]});
    ExpectRatio(ratios.odds_ratio, wanted["odds_ratio"]);
    ExpectRatio(ratios.risk_ratio, wanted["risk_ratio"]);
    ExpectRatio(ratios.risk_difference, wanted["risk_difference"]);
  }
  const Ratios none = RatiosOf({0, 12, 5, 13});
  EXPECT_FALSE(none.odds_ratio.estimate.has_value());
  EXPECT_FALSE(none.risk_ratio.estimate.has_value());
  EXPECT_NEAR(none.risk_difference.estimate.value(), 5.0 / 13, 1e-15);
  EXPECT_FALSE(RatiosOf({0, 0, 5, 13}).risk_difference.estimate.has_value());
}

TEST(TablesTest, StrataAreCombinedAsInR) {
  const json references = References();
  for (const json& wanted : references.at("strata")) {
    std::vector<TwoByTwo> strata;
    for (const json& table : wanted["strata"])
      strata.push_back({table[0], table[1], table[2], table[3]});
    SCOPED_TRACE(wanted["strata"].dump());
    const MantelHaenszel result = MantelHaenszelOf(strata);
    ExpectRatio(result.odds_ratio, wanted["odds_ratio"]);
    ExpectTest(result.test, wanted["test"]);
  }
  EXPECT_FALSE(MantelHaenszelOf({}).odds_ratio.estimate.has_value());
  EXPECT_FALSE(MantelHaenszelOf({{0, 5, 0, 7}}).test.has_value());
}

}  // namespace
}  // namespace partita::stats::tables::tables_test
