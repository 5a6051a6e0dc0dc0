// Maxima of the targets against R's fits (tests/references/glm/fits.json): coefficients within a
// thousandth of their standard errors, these within a thousandth. And maxima that do not exist.
#include "stats/mcmc/maximum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/paths.h"
#include "tests/stats/mcmc/registries.h"

namespace partita::stats::mcmc::maximum_test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using testing::Columns;
using testing::Indicator;
using testing::Numbers;
using testing::ReadColumns;

struct Named {
  std::string name;
  VectorXd values;
};

double Sd(const VectorXd& values) {
  return std::sqrt((values.array() - values.mean()).square().mean());
}

nlohmann::json FitOf(const std::string& name) {
  std::ifstream file(FixturePath("references/glm/fits.json"));
  return nlohmann::json::parse(file)[name];
}

std::vector<VectorXd> ValuesOf(const std::vector<Named>& predictors) {
  std::vector<VectorXd> values;
  for (const Named& predictor : predictors) values.push_back(predictor.values);
  return values;
}

// predictor k of the fit is parameter first + k of the target, per standard deviation.
void ExpectFit(const nlohmann::json& fit, const Maximum& maximum,
               const std::vector<Named>& predictors, Index first, bool standard_errors = true) {
  for (size_t k = 0; k < predictors.size(); ++k) {
    const Index j = first + static_cast<Index>(k);
    const std::string& name = predictors[k].name;
    const double scale = Sd(predictors[k].values);
    const double error = fit["se"][name];
    EXPECT_NEAR(maximum.at(j) / scale, fit["coef"][name], 1e-3 * error) << name;
    if (!standard_errors) continue;
    EXPECT_NEAR(std::sqrt(maximum.covariance(j, j)) / scale, error, 1e-3 * error) << name;
  }
}

TEST(Maximum, OfLogisticRegression) {
  Columns c = ReadColumns("gpl/birthwt.csv");
  const std::vector<Named> predictors = {{"age", Numbers(c["age"])},
                                         {"lwt", Numbers(c["lwt"])},
                                         {"factor(race)2", Indicator(c["race"], "2")},
                                         {"factor(race)3", Indicator(c["race"], "3")},
                                         {"smoke", Numbers(c["smoke"])},
                                         {"ht", Numbers(c["ht"])},
                                         {"ui", Numbers(c["ui"])}};
  const TargetPtr target =
      LogisticTarget(testing::Standardised(ValuesOf(predictors)), Numbers(c["low"]));
  const auto maximum = MaximumLikelihood(*target, VectorXd::Zero(8), 10);
  ASSERT_TRUE(maximum);
  ExpectFit(FitOf("birthwt_logit"), *maximum, predictors, 1);
}

TEST(Maximum, OfRegressionsOfCounts) {
  Columns c = ReadColumns("gpl/quine.csv");
  const std::vector<Named> predictors = {
      {"SexM", Indicator(c["Sex"], "M")},   {"AgeF1", Indicator(c["Age"], "F1")},
      {"AgeF2", Indicator(c["Age"], "F2")}, {"AgeF3", Indicator(c["Age"], "F3")},
      {"EthN", Indicator(c["Eth"], "N")},   {"LrnSL", Indicator(c["Lrn"], "SL")}};
  const MatrixXd x = testing::Standardised(ValuesOf(predictors));
  VectorXd start = VectorXd::Zero(7);
  start(0) = 3;
  const auto poisson = MaximumLikelihood(*PoissonTarget(x, Numbers(c["Days"])), start, 5);
  ASSERT_TRUE(poisson);
  ExpectFit(FitOf("quine_poisson"), *poisson, predictors, 1);
  start.conservativeResize(8);
  start(7) = 0;
  const auto negative_binomial =
      MaximumLikelihood(*NegativeBinomialTarget(x, Numbers(c["Days"])), start, 5);
  ASSERT_TRUE(negative_binomial);
  // R's standard errors are those at a known size.
  const auto fit = FitOf("quine_negbin");
  ExpectFit(fit, *negative_binomial, predictors, 1, false);
  EXPECT_NEAR(std::exp(negative_binomial->at(7)), fit["theta"], 1e-4);
}

// Rows of lung without a missing cell in the columns asked for, status 0 or 1.
std::vector<VectorXd> Lung(const std::vector<std::string>& names) {
  Columns c = ReadColumns("lgpl/lung.csv");
  std::vector<VectorXd> all;
  for (const std::string& name : names) all.push_back(Numbers(c[name]));
  std::vector<Index> complete;
  for (Index i = 0; i < all.front().size(); ++i) {
    bool whole = true;
    for (const VectorXd& column : all) whole = whole && std::isfinite(column(i));
    if (whole) complete.push_back(i);
  }
  for (VectorXd& column : all) column = column(complete).eval();
  return all;
}

TEST(Maximum, OfWeibullSurvival) {
  const auto lung = Lung({"time", "status", "age", "sex", "ph.ecog", "wt.loss"});
  const std::vector<Named> predictors = {{"age", lung[2]}, {"sex", lung[3]}, {"ph.ecog", lung[4]}};
  const auto fit = FitOf("lung_weibull_aft");
  VectorXd start = VectorXd::Zero(5);
  start(0) = 6;
  const auto maximum = MaximumLikelihood(
      *WeibullTarget({testing::Standardised(ValuesOf(predictors)), lung[0], lung[1]}), start, 5);
  ASSERT_TRUE(maximum);
  ExpectFit(fit, *maximum, predictors, 1);
  EXPECT_NEAR(std::exp(maximum->at(4)), fit["scale"], 1e-4);
}

// Two parties, one per sex: the strata of R's fit.
TEST(Maximum, OfCoxsModelStratifiedByParty) {
  const auto lung = Lung({"time", "status", "age", "sex", "ph.ecog", "wt.loss"});
  const std::vector<Named> predictors = {
      {"age", lung[2]}, {"ph.ecog", lung[4]}, {"wt.loss", lung[5]}};
  const MatrixXd x = testing::Standardised(ValuesOf(predictors)).rightCols(3);
  std::vector<TargetPtr> parties;
  for (const double sex : {lung[3].minCoeff(), lung[3].maxCoeff()}) {
    std::vector<Index> rows;
    for (Index i = 0; i < x.rows(); ++i) {
      if (lung[3](i) == sex) rows.push_back(i);
    }
    const VectorXd time = lung[0](rows), event = lung[1](rows);
    parties.push_back(CoxTarget({x(rows, Eigen::all), time, event}));
  }
  const TargetPtr sum = OwnTarget(3, [&](const VectorXd& theta) {
    return parties[0]->LogLikelihood(theta)(0) + parties[1]->LogLikelihood(theta)(0);
  });
  const auto fit = FitOf("lung_cox_strat_sex");
  const auto maximum = MaximumLikelihood(*sum, VectorXd::Zero(3), 5);
  ASSERT_TRUE(maximum);
  ExpectFit(fit, *maximum, predictors, 0);
  EXPECT_NEAR(sum->LogLikelihood(maximum->at)(0), fit["loglik"], 1e-6);
}

TEST(Maximum, ThatDoesNotExistIsNone) {
  // Separated: the coefficient grows without bound.
  const MatrixXd x = VectorXd::LinSpaced(6, -1, 1);
  VectorXd y(6);
  y << 0, 0, 0, 1, 1, 1;
  EXPECT_FALSE(MaximumLikelihood(*LogisticTarget(x, y), VectorXd::Zero(1), 6));
  y << 0, 1, 0, 1, 0, 1;
  EXPECT_TRUE(MaximumLikelihood(*LogisticTarget(x, y), VectorXd::Zero(1), 6));
  // No events: flat.
  EXPECT_FALSE(MaximumLikelihood(*CoxTarget({x, VectorXd::LinSpaced(6, 1, 6), VectorXd::Zero(6)}),
                                 VectorXd::Zero(1), 6));
}

}  // namespace
}  // namespace partita::stats::mcmc::maximum_test
