// Studies with function = "regression", from the study file to the result: against least squares
// of the pooled rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>

#include "methods/mle/fit/result.h"
#include "run/party/build_plan.h"
#include "tests/methods/mle/design_study.h"

namespace partita::methods::mle::regression_study_test {
namespace {

using ::testing::Contains;
using testing::Design;
using ::testing::HasSubstr;
using testing::Row;
using ::testing::StartsWith;

// Cells are rounded to 2^-40 of their range at least, and rows have a few hundred of them: nine
// digits are left.
constexpr double kDigits = 1e-9;

struct Fitted {
  Eigen::VectorXd coefficients, errors;
  double sigma = 0, df = 0;
};

Fitted LeastSquaresOf(const Eigen::MatrixXd& x, const Eigen::VectorXd& y) {
  Fitted fitted;
  const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(x);
  fitted.coefficients = qr.solve(y);
  fitted.df = static_cast<double>(x.rows() - x.cols());
  const double squares = (y - x * fitted.coefficients).squaredNorm();
  fitted.sigma = std::sqrt(squares / fitted.df);
  fitted.errors = fitted.sigma * (x.transpose() * x).inverse().diagonal().cwiseSqrt();
  return fitted;
}

// y on x1 and x2 behind these columns.
Fitted Pooled(const std::vector<Row>& rows, bool by_block) {
  const auto n = static_cast<Eigen::Index>(rows.size());
  const Eigen::Index intercepts = by_block ? 2 : 1;
  Eigen::MatrixXd x = Eigen::MatrixXd::Zero(n, intercepts + 2);
  Eigen::VectorXd y(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const Row& row = rows[static_cast<size_t>(i)];
    x(i, by_block ? row.block : 0) = 1;
    x(i, intercepts) = row.x1;
    x(i, intercepts + 1) = row.x2;
    y[i] = row.y;
  }
  return LeastSquaresOf(x, y);
}

Design Regression(const std::string& model) {
  Design design;
  design.function = "regression";
  design.release = "[\"moments\", {what = \"estimates\", to = \"all\"}]";
  design.analyses = {"model = \"" + model + "\"\n"};
  return design;
}

void ExpectTerms(const LeastSquares& found, const Fitted& expected, size_t left_out) {
  EXPECT_EQ(found.df, expected.df);
  EXPECT_NEAR(found.sigma, expected.sigma, kDigits);
  ASSERT_EQ(found.terms.size() + left_out, static_cast<size_t>(expected.coefficients.size()));
  for (size_t i = 0; i < found.terms.size(); ++i) {
    const auto k = static_cast<Eigen::Index>(i + left_out);
    EXPECT_NEAR(found.terms[i].estimate, expected.coefficients[k], kDigits);
    EXPECT_NEAR(found.terms[i].standard_error, expected.errors[k], kDigits);
    EXPECT_NEAR(found.terms[i].t, expected.coefficients[k] / expected.errors[k],
                kDigits * std::abs(found.terms[i].t) / expected.errors[k]);
  }
}

TEST(RegressionStudyTest, EveryReceiverHasWhatLmSaysOfThePooledRows) {
  const std::vector<Row> rows = testing::MakeRows(300, 5, false);
  const Fitted expected = Pooled(rows, false);
  for (const testing::Split& split : testing::Splits()) {
    SCOPED_TRACE(split.name);
    size_t receivers = 0;
    for (const run::PartyEnd& end :
         testing::RunEnds(split, Regression("y ~ x1 + x2"), "dealer", rows)) {
      ASSERT_FALSE(end.error) << end.party << ": " << end.error->message();
      if (end.party == "dealer") continue;
      const std::vector<MleResult>& results = partita::testing::MleResultsOf(*end.outcome);
      ASSERT_EQ(results.size(), 1U) << end.party;
      ASSERT_EQ(results[0].least_squares.size(), 1U) << end.party;
      EXPECT_EQ(results[0].least_squares[0].terms.front().name, "(Intercept)");
      ExpectTerms(results[0].least_squares[0], expected, 0);
      ++receivers;
    }
    EXPECT_EQ(receivers, split.columns.size());
  }
}

TEST(RegressionStudyTest, InterceptsOfBlocksCount) {
  const std::vector<Row> rows = testing::MakeRows(300, 6, false);
  Design design = Regression("y ~ x1 + x2");
  design.design = "site = \"fixed\"\nmissing = \"refuse\"\n";
  for (const testing::Split& split : testing::Splits()) {
    SCOPED_TRACE(split.name);
    const std::vector<MleResult> results = testing::RunSplit(split, design, "dealer", rows);
    ASSERT_EQ(results.size(), 1U);
    ASSERT_EQ(results[0].least_squares.size(), 1U);
    ExpectTerms(results[0].least_squares[0], Pooled(rows, true), 2);
  }
}

TEST(RegressionStudyTest, AnOutcomeOfTwoValuesIsWarnedOfEverywhere) {
  const std::vector<Row> rows = testing::MakeRows(300, 7, false);
  const testing::Split split = testing::Splits()[0];
  const Design design = Regression("sex.m ~ x1 + age");
  const auto study =
      PrepareStudy(ParseStudyFile(testing::StudyText(split, design, "dealer", rows), "study.toml"));
  EXPECT_THAT(study->Warnings(), Contains(HasSubstr("analysis 'main': the outcome 'sex.m' is a "
                                                    "level of the factor 'sex'")));
  EXPECT_THAT(run::BuildPlan(*study).notes,
              Contains(StartsWith("WARNING: analysis 'main': the outcome 'sex.m'")));
  for (const run::PartyEnd& end : testing::RunEnds(split, design, "dealer", rows)) {
    ASSERT_FALSE(end.error) << end.party << ": " << end.error->message();
    if (end.party == "dealer") continue;
    EXPECT_THAT(partita::testing::MleResultsOf(*end.outcome).at(0).notes,
                Contains(StartsWith("Warning: the outcome 'sex.m'")))
        << end.party;
  }
}

}  // namespace
}  // namespace partita::methods::mle::regression_study_test
