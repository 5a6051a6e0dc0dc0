// Regressions with a ridge against R (tests/references/glm/ridge.json), in the clear and as whole studies at
// both levels; and outcomes that separate, which have a maximum with it.
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <nlohmann/json.hpp>

#include "methods/glm/inputs.h"
#include "methods/glm/study.h"
#include "stats/glm/robust.h"
#include "stats/glm/wald.h"
#include "tests/methods/glm/glm_text.h"
#include "tests/methods/glm/reference_text.h"
#include "tests/run/study_in_process.h"
#include "tests/study/edited.h"

namespace partita::methods::glm::ridge_test {
namespace {

using nlohmann::json;
using study::Edited;

json References() {
  std::ifstream file(FixturePath("references/glm/ridge.json"));
  return json::parse(file);
}

// To R's rounding.
TEST(GlmRidge, TheTwinIsAsR) {
  const json references = References();
  EXPECT_EQ(references.size(), 7u);
  for (const auto& [name, wanted] : references.items()) {
    SCOPED_TRACE(name);
    const data::Schema dictionary = testing::DictionaryOf(wanted["data"]);
    testing::PlainModel model =
        testing::PlainModelOf(wanted["family"], wanted["formula"], dictionary);
    model.spec.ridge = wanted["ridge"];
    const Spec& spec = model.spec;
    const stats::glm::Rows rows =
        testing::DataOf(model, testing::ReadParts(wanted["data"], 1).front(), dictionary).rows;
    const stats::glm::Limits limits = testing::LimitsOfModel(spec);
    const Eigen::VectorXd ridge = RidgeOf(spec, rows.count());
    const stats::glm::Maximum maximum = Maximise(spec.law, rows, limits, ridge);
    EXPECT_TRUE(maximum.converged);
    stats::glm::PointSums sums = SumsAt(spec.law, rows, maximum.point, limits);
    EXPECT_NEAR(sums.deviance * spec.outcome.scale * spec.outcome.scale, wanted["deviance"],
                1e-8 * wanted["deviance"].get<double>());
    AddRidge(sums, maximum.point, ridge);
    const Eigen::Index p = rows.x.cols();
    const double dispersion =
        HasDispersion(spec.law) ? sums.pearson / (rows.count() - static_cast<double>(p)) : 1;
    Eigen::MatrixXd covariance =
        dispersion * sums.information.ldlt().solve(Eigen::MatrixXd::Identity(p, p));
    if (wanted["errors"] == "robust") {
      covariance = stats::glm::SandwichCovariance(
          sums.information, MeatAt(spec.law, rows, maximum.point, limits).meat);
    }
    for (Eigen::Index i = 0; i < p; ++i) {
      const auto c = static_cast<size_t>(i);
      SCOPED_TRACE(spec.columns[c].name);
      const double unit = spec.outcome.scale / spec.columns[c].scale;
      const double centre = spec.intercept && c == 0 ? spec.outcome.centre : 0;
      const double error = wanted["standard_error"][c];
      EXPECT_NEAR(maximum.point[i] * unit + centre, wanted["estimate"][c].get<double>(),
                  1e-6 * error);
      EXPECT_NEAR(std::sqrt(covariance(i, i)) * unit, error, 1e-6 * error);
    }
    for (size_t t = 0; t < spec.terms.size(); ++t) {
      testing::ExpectTest(
          spec.terms[t], wanted["tests"][t],
          stats::glm::WaldStatistic(maximum.point, covariance, spec.terms[t].columns).value(),
          wanted["df"].is_null() ? std::nullopt : std::optional<double>(wanted["df"]));
    }
  }
}

void ExpectStudyAsR(const json& wanted, const std::string& engine, size_t holders,
                    bool aggregates) {
  const std::vector<data::Table> parts = testing::ReadParts(wanted["data"], holders);
  std::vector<std::string> tables;
  for (const data::Table& part : parts) tables.push_back(testing::CsvOf(part));
  std::string text = testing::ReferenceText(wanted, engine, parts);
  if (aggregates) text = Edited(text, "steps = 4", "protocol = \"aggregates\"");
  const auto study = partita::testing::Prepare(text);
  const double grid = std::ldexp(1.01, -dynamic_cast<const GlmStudy&>(*study).task.grid_bits);
  const auto outcomes = partita::testing::Outcomes(partita::testing::RunStudy(text, tables));
  ASSERT_FALSE(outcomes.empty());
  partita::testing::ExpectPlannedTraffic(outcomes);
  const json result = partita::testing::ResultOf(outcomes.front());
  ASSERT_EQ(result["converged"], true);
  EXPECT_EQ(result["ridge"], wanted["ridge"]);
  ASSERT_EQ(result["coefficients"].size(), wanted["estimate"].size());
  for (size_t c = 0; c < wanted["estimate"].size(); ++c) {
    const json& row = result["coefficients"][c];
    SCOPED_TRACE(row["term"].get<std::string>());
    const double error = wanted["standard_error"][c], step = row["step"];
    // Half a step, and what four steps of scoring leave.
    EXPECT_NEAR(row["estimate"], wanted["estimate"][c].get<double>(),
                aggregates ? 1e-6 * error : 0.51 * step + 2e-3 * error);
    EXPECT_NEAR(row["standard_error"], error, (aggregates ? 1e-6 : grid) * error);
    EXPECT_NEAR(row["p_value"], wanted["p_value"][c].get<double>(), aggregates ? 1e-5 : 2 * grid);
  }
  testing::ExpectTests(result["tests"], wanted["tests"], grid, aggregates ? 1e-5 : 0);
  EXPECT_TRUE(result["fit"]["aic"].is_null());
  const double deviance = wanted["deviance"];
  const double of_logs = wanted["family"] == "gaussian" ? 1e-3 * deviance : grid + 0.005;
  EXPECT_NEAR(result["fit"]["deviance"], deviance, aggregates ? 1e-8 * deviance : of_logs);
}

TEST(GlmRidge, StudiesAreAsR) {
  const json references = References();
  for (const auto& [name, wanted] : references.items()) {
    for (const bool aggregates : {false, true}) {
      SCOPED_TRACE(name + (aggregates ? " aggregates" : " iterates"));
      ExpectStudyAsR(wanted, "dealer", 2, aggregates);
    }
  }
  ExpectStudyAsR(references["logistic"], "replicated", 3, false);
  ExpectStudyAsR(references["counts"], "shamir", 4, false);
}

// Everybody above 55 years has an event, nobody below: the oracle is the twin, as there is no limit
// without a ridge.
TEST(GlmRidge, SeparatedOutcomesHaveAMaximum) {
  std::vector<std::string> tables;
  for (int holder = 0; holder < 3; ++holder) {
    std::string csv = "age,smoker,stage,event\n";
    for (int r = 0; r < 200; ++r) {
      const int age = 20 + (7 * r + holder) % 71;
      const char* stage = r % 3 == 0 ? "one" : r % 3 == 1 ? "two" : "three";
      csv += fmt::format("{},{},{},{}\n", age, r % 5 == 0 ? 1 : 0, stage, age > 55 ? 1 : 0);
    }
    tables.push_back(csv);
  }
  const auto fit = [&](const std::string& text) {
    return partita::testing::ResultOf(
        partita::testing::Outcomes(partita::testing::RunStudy(text, tables)).front());
  };
  const std::string text = testing::kGlmStudy;
  EXPECT_EQ(fit(text)["converged"], false);
  const std::string ridged =
      Edited(text, "release =", "steps = 5\npenalty = {ridge = 0.01}\nrelease =");
  const json iterates = fit(ridged);
  ASSERT_EQ(iterates["converged"], true);
  const json aggregates =
      fit(Edited(Edited(ridged, "steps = 5", "steps = 12\nprotocol = \"aggregates\""), "[engine]",
                 "[release]\naccept = \"table of covariates\"\n[engine]"));
  ASSERT_EQ(aggregates["converged"], true);
  for (size_t c = 0; c < 5; ++c) {
    const double error = aggregates["coefficients"][c]["standard_error"];
    EXPECT_NEAR(iterates["coefficients"][c]["estimate"],
                aggregates["coefficients"][c]["estimate"].get<double>(), 0.05 * error);
  }
}

}  // namespace
}  // namespace partita::methods::glm::ridge_test
