#include "methods/mle/report/sem_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/paths.h"
#include "tests/report/sample_run.h"

namespace partita::methods::mle::sem_summary_test {
namespace {

using report::SmallResult;
using ::testing::HasSubstr;
using ::testing::Not;

// The lines that must agree: not blank, not about the program that made them, and without lavaan's
// test statistics of single groups, which this project does not compute.
std::string ComparableLines(const std::string& text) {
  std::istringstream stream(text);
  std::string lines;
  bool in_group_tests = false;
  for (std::string line; std::getline(stream, line);) {
    if (line.find("Test statistic for each group") != std::string::npos) in_group_tests = true;
    if (line.empty()) in_group_tests = false;
    const bool is_skipped = line.empty() || in_group_tests ||
                            line.find("ended normally") != std::string::npos ||
                            line.find("Optimization method") != std::string::npos ||
                            line.find("saturated (h1)") != std::string::npos ||
                            line.find("RMSEA >= 0.080") != std::string::npos;
    if (!is_skipped) lines += line + "\n";
  }
  return lines;
}

class LavaanSummaryTest : public ::testing::TestWithParam<const char*> {};

TEST_P(LavaanSummaryTest, PrintsWhatLavaanPrints) {
  const std::string name = GetParam();
  const std::string expected = report::ReadText(SourcePath("tests/report/lavaan/") + name + ".txt");
  MleResult result = report::ReferenceResult(name);
  // lavaan shortens names; here columns grow instead.
  for (stats::Parameter& row : result.table.rows) {
    if (row.rhs == "volatile_acidity") row.rhs = "volatile_acdty";
  }
  ASSERT_GT(ComparableLines(expected).size(), 1000U);
  EXPECT_EQ(ComparableLines(SemSummary(result)), ComparableLines(expected));
}

INSTANTIATE_TEST_SUITE_P(Fits, LavaanSummaryTest,
                         ::testing::Values("hs_cfa3", "hs_cfa3_group", "path_indirect",
                                           "poldem_sem_eq", "growth_predictors",
                                           "reg_multiple_fixedx"));

TEST(SemSummaryTest, ShowsGroupsLabelsDefinedParametersAndConstraints) {
  const std::string text = SemSummary(SmallResult());
  EXPECT_EQ(text, R"(Partita ended normally after 12 iterations

  Estimator                                         ML
  Optimization method                      NLopt SLSQP
  Number of model parameters                         4
  Number of equality constraints                     1

  Number of observations per group:
    Pasteur                                        156
    Grant-White                                    145

Model Test User Model:

  Test statistic                                 1.250
  Degrees of freedom                                 1
  P-value (Chi-square)                           0.264

Root Mean Square Error of Approximation:

  P-value H_0: RMSEA <= 0.050                       NA

Parameter Estimates:

  Standard errors                             Standard
  Information                                 Observed


Group 1 [Pasteur]:

Regressions:
                   Estimate  Std.Err  z-value  P(>|z|) ci.lower ci.upper   Std.lv  Std.all
  y ~
    x          (b)    0.333    0.100    3.333    0.000    0.137    0.529    0.500    0.250

Variances:
                   Estimate  Std.Err  z-value  P(>|z|) ci.lower ci.upper   Std.lv  Std.all
   .y                 2.500    0.100   25.000    0.000    2.304    2.696    0.500    0.250


Group 2 [Grant-White]:

Regressions:
                   Estimate  Std.Err  z-value  P(>|z|) ci.lower ci.upper   Std.lv  Std.all
  y ~
    x          (b)    0.333    0.100    3.333    0.000    0.137    0.529    0.500    0.250

Variances:
                   Estimate  Std.Err  z-value  P(>|z|) ci.lower ci.upper   Std.lv  Std.all
   .y                 3.500    0.100   35.000    0.000    3.304    3.696    0.500    0.250

Defined Parameters:
                   Estimate  Std.Err  z-value  P(>|z|) ci.lower ci.upper   Std.lv  Std.all
    twice             0.667    0.100    6.667    0.000    0.471    0.863    0.500    0.250

Constraints:
    b == 1/3
)");
}

TEST(SemSummaryTest, SaysFirstThatAFitDidNotConverge) {
  MleResult result = SmallResult();
  result.fit.converged = false;
  result.fit.iterations = 1;
  result.fit.warnings = {"the variance of y is negative (a Heywood case)"};
  const std::string text = SemSummary(result);
  EXPECT_EQ(text.find("Partita did NOT converge after 1 iteration:"), 0U);
  EXPECT_THAT(text, HasSubstr("\n  Warning: the variance of y is negative (a Heywood case)\n"));
  EXPECT_THAT(text, Not(HasSubstr("ended normally")));
}

TEST(SemSummaryTest, SaturatedModelsHaveNoTest) {
  MleResult result = SmallResult();
  result.fit.fit_measures["df"] = 0;
  EXPECT_THAT(SemSummary(result), Not(HasSubstr("P-value (Chi-square)")));
}

// Its chi-square is 0 and its indices are 1 whatever the rows say; with noise the baseline's test
// would contradict the coefficients.
TEST(SemSummaryTest, OfASaturatedRegressionLikelihoodsAreShownAndNoIndices) {
  MleResult result = SmallResult();
  result.fit.fit_measures = {{"df", 0},        {"chisq", 0}, {"baseline.chisq", 166.043},
                             {"cfi", 1},       {"rmsea", 0}, {"logl", -1328.478},
                             {"aic", 2664.956}};
  EXPECT_THAT(SemSummary(result), HasSubstr("Model Test Baseline Model:"));
  result.function = "regression";
  const std::string text = SemSummary(result);
  for (const char* absent : {"Model Test", "Baseline", "CFI", "RMSEA"})
    EXPECT_THAT(text, Not(HasSubstr(absent)));
  EXPECT_THAT(text, HasSubstr("-1328.478"));
  EXPECT_THAT(text, HasSubstr("2664.956"));
}

TEST(SemSummaryTest, LongNamesAndLargeNumbersStayAligned) {
  MleResult result = SmallResult();
  result.table.rows[0].rhs = "a_variable_with_quite_a_long_name";
  result.fit.estimates[1].estimate = 1234567.8;
  std::istringstream stream(SemSummary(result));
  size_t header_width = 0, checked = 0;
  for (std::string line; std::getline(stream, line);) {
    if (line.find("Estimate  Std.Err") != std::string::npos) header_width = line.size();
    if (line.find("a_variable_with") == std::string::npos &&
        line.find("1234567.800") == std::string::npos) {
      continue;
    }
    EXPECT_EQ(line.size(), header_width) << line;
    ++checked;
  }
  EXPECT_EQ(checked, 2U);
}

TEST(SemSummaryTest, RefusesAFitOfAnotherTable) {
  MleResult result = SmallResult();
  result.fit.estimates.pop_back();
  EXPECT_THROW(SemSummary(result), Error);
}

}  // namespace
}  // namespace partita::methods::mle::sem_summary_test
