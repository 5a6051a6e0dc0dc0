// Formula, columns and fit in the clear against R's glm (tests/references/glm/families.json): every
// number that a report has.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <nlohmann/json.hpp>

#include "stats/glm/wald.h"
#include "tests/methods/glm/reference_text.h"

namespace partita::methods::glm::reference_test {
namespace {

using testing::DictionaryOf;
using testing::PlainModel;

double AtLeastOne(double value) { return std::max(1.0, std::abs(value)); }

void ExpectR(const nlohmann::json& wanted) {
  const std::string name = wanted["data"];
  const data::Schema dictionary = DictionaryOf(name);
  const PlainModel model = testing::PlainModelOf(wanted["family"], wanted["formula"], dictionary);
  const Spec& spec = model.spec;
  const OwnData data = testing::DataOf(model, testing::ReadParts(name, 1).front(), dictionary);
  const stats::glm::Fit fit =
      stats::glm::FitRows(spec.law, data.rows, testing::LimitsOfModel(spec), spec.intercept);
  EXPECT_TRUE(fit.maximum.converged);
  const auto n = static_cast<double>(data.rows.y.size());
  const double df = wanted["df_residual"];
  ASSERT_EQ(spec.columns.size(), wanted["terms"].size());
  EXPECT_EQ(n - static_cast<double>(spec.columns.size()), df);
  for (size_t c = 0; c < spec.columns.size(); ++c) {
    SCOPED_TRACE(spec.columns[c].name);
    const auto i = static_cast<Eigen::Index>(c);
    const double unit = spec.outcome.scale / spec.columns[c].scale;
    const double centre = spec.intercept && c == 0 ? spec.outcome.centre : 0;
    const double estimate = fit.maximum.point[i] * unit + centre;
    const double error = fit.standard_errors[i] * unit;
    const double r_error = wanted["standard_error"][c];
    EXPECT_NEAR(estimate, wanted["estimate"][c].get<double>(), 1e-6 * r_error);
    EXPECT_NEAR(error, r_error, 1e-6 * r_error);
    const auto inference =
        stats::glm::Infer(wanted["estimate"][c], r_error,
                          HasDispersion(spec.law) ? std::optional(df) : std::nullopt, 0.95);
    EXPECT_NEAR(inference.statistic, wanted["statistic"][c].get<double>(),
                1e-9 * AtLeastOne(wanted["statistic"][c]));
    EXPECT_NEAR(inference.p_value, wanted["p_value"][c].get<double>(), 1e-9);
    EXPECT_NEAR(inference.lower, wanted["lower"][c].get<double>(), 1e-8 * r_error);
    EXPECT_NEAR(inference.upper, wanted["upper"][c].get<double>(), 1e-8 * r_error);
  }
  const stats::glm::PointSums sums =
      SumsAt(spec.law, data.rows, fit.maximum.point, testing::LimitsOfModel(spec));
  const Eigen::MatrixXd covariance =
      fit.dispersion * sums.information.ldlt().solve(
                           Eigen::MatrixXd::Identity(data.rows.x.cols(), data.rows.x.cols()));
  ASSERT_EQ(spec.terms.size(), wanted["tests"].size());
  for (size_t t = 0; t < spec.terms.size(); ++t) {
    testing::ExpectTest(
        spec.terms[t], wanted["tests"][t],
        stats::glm::WaldStatistic(fit.maximum.point, covariance, spec.terms[t].columns).value(),
        HasDispersion(spec.law) ? std::optional(df) : std::nullopt);
  }
  // Squares of the unit of a gaussian outcome; its likelihood is of the outcome itself.
  const bool gaussian = spec.law.family == stats::glm::Family::kGaussian;
  const double unit = gaussian ? spec.outcome.scale * spec.outcome.scale : 1;
  const double aic = fit.aic + (gaussian ? n * std::log(unit) : 0);
  const auto expect = [&](const char* what, double value) {
    const double r = wanted[what];
    EXPECT_NEAR(value, r, 1e-8 * AtLeastOne(r)) << what;
  };
  expect("dispersion", fit.dispersion * unit);
  expect("deviance", fit.deviance * unit);
  expect("null_deviance", fit.null_deviance * unit);
  expect("aic", aic);
}

TEST(GlmReference, EveryNumberIsThatOfR) {
  std::ifstream file(FixturePath("references/glm/families.json"));
  const auto fits = nlohmann::json::parse(file);
  EXPECT_EQ(fits.size(), 15u);
  for (const auto& [name, wanted] : fits.items()) {
    SCOPED_TRACE(name);
    ExpectR(wanted);
  }
}

}  // namespace
}  // namespace partita::methods::glm::reference_test
