// Logistic regressions with Firth's penalty against R (tests/references/glm/firth.json), in the clear and as whole
// studies; outcomes that separate; and the step on shares against its twin.
#include "stats/glm/firth.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <nlohmann/json.hpp>
#include <random>

#include "methods/glm/study.h"
#include "stats/glm/wald.h"
#include "tests/methods/glm/glm_text.h"
#include "tests/methods/glm/reference_text.h"
#include "tests/run/study_in_process.h"
#include "tests/study/edited.h"

namespace partita::methods::glm::firth_test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using nlohmann::json;
using study::Edited;

json References() {
  std::ifstream file(FixturePath("references/glm/firth.json"));
  return json::parse(file);
}

const stats::glm::Law kLogistic = stats::glm::LawOf(stats::glm::Family::kBinomial);

stats::glm::Rows SeparatedRows(const json& table) {
  const auto n = static_cast<Index>(table["y"].size());
  stats::glm::Rows rows{MatrixXd::Ones(n, 3), VectorXd(n), VectorXd::Zero(n)};
  for (Index i = 0; i < n; ++i) {
    const auto r = static_cast<size_t>(i);
    rows.x(i, 1) = table["x"][r].get<double>() / 3;
    rows.x(i, 2) = table["group"][r];
    rows.y[i] = table["y"][r];
  }
  return rows;
}

// scales: of the columns.
void ExpectMaximum(const stats::glm::Rows& rows, const std::vector<double>& scales,
                   const json& wanted) {
  const stats::glm::Limits limits = LimitsOf(kLogistic, 0, 1);
  const stats::glm::Maximum maximum = MaximiseFirth(kLogistic, rows, limits);
  EXPECT_TRUE(maximum.converged);
  const stats::glm::PointSums sums = SumsAt(kLogistic, rows, maximum.point, limits);
  const Index p = rows.x.cols();
  const MatrixXd covariance = sums.information.ldlt().solve(MatrixXd::Identity(p, p));
  EXPECT_NEAR(sums.deviance, wanted["deviance"], 1e-7 * sums.deviance);
  for (Index i = 0; i < p; ++i) {
    const auto c = static_cast<size_t>(i);
    const double error = wanted["standard_error"][c];
    EXPECT_NEAR(maximum.point[i] / scales[c], wanted["estimate"][c].get<double>(), 1e-6 * error);
    EXPECT_NEAR(std::sqrt(covariance(i, i)) / scales[c], error, 1e-6 * error);
  }
}

// To R's rounding.
TEST(GlmFirth, TheTwinIsAsR) {
  const json references = References();
  EXPECT_EQ(references.size(), 5u);
  for (const auto& [name, wanted] : references.items()) {
    SCOPED_TRACE(name);
    if (name == "separated") {
      ExpectMaximum(SeparatedRows(wanted), {1, 3, 1}, wanted);
      continue;
    }
    const data::Schema dictionary = testing::DictionaryOf(wanted["data"]);
    const testing::PlainModel model =
        testing::PlainModelOf("binomial", wanted["formula"], dictionary);
    std::vector<double> scales;
    for (const Parameter& parameter : model.spec.parameters) scales.push_back(parameter.scale);
    ExpectMaximum(
        testing::DataOf(model, testing::ReadParts(wanted["data"], 1).front(), dictionary).rows,
        scales, wanted);
  }
}

// Half of tr(I^-1 dI/db) is the derivative of half of log|I|.
TEST(GlmFirth, TheScoreIsADerivative) {
  const stats::glm::Rows rows = SeparatedRows(References()["separated"]);
  const stats::glm::Limits limits = LimitsOf(kLogistic, 0, 1);
  const VectorXd point = (VectorXd(3) << -0.4, 0.7, 1.1).finished();
  const auto half_log = [&](const VectorXd& at) {
    return std::log(SumsAt(kLogistic, rows, at, limits).information.determinant()) / 2;
  };
  const VectorXd score = stats::glm::FirthScore(SumsAt(kLogistic, rows, point, limits).information,
                                                ThirdMomentsAt(rows, point, limits));
  for (Index j = 0; j < 3; ++j) {
    constexpr double kStep = 1e-5;
    VectorXd up = point, down = point;
    up[j] += kStep;
    down[j] -= kStep;
    EXPECT_NEAR((half_log(up) - half_log(down)) / (2 * kStep), score[j], 1e-8);
  }
}

void ExpectStudyAsR(const json& wanted, const std::string& engine, size_t holders) {
  const std::vector<data::Table> parts = testing::ReadParts(wanted["data"], holders);
  std::vector<std::string> tables;
  for (const data::Table& part : parts) tables.push_back(testing::CsvOf(part));
  const std::string text = Edited(testing::ReferenceText(wanted, engine, parts), "steps = 4",
                                  "steps = 5\npenalty = {firth = true}");
  const auto study = partita::testing::Prepare(text);
  const double grid = std::ldexp(1.01, -dynamic_cast<const GlmStudy&>(*study).task.grid_bits);
  const auto outcomes = partita::testing::Outcomes(partita::testing::RunStudy(text, tables));
  ASSERT_FALSE(outcomes.empty());
  partita::testing::ExpectPlannedTraffic(outcomes);
  const json result = partita::testing::ResultOf(outcomes.front());
  ASSERT_EQ(result["converged"], true);
  EXPECT_EQ(result["firth"], true);
  ASSERT_EQ(result["coefficients"].size(), wanted["estimate"].size());
  for (size_t c = 0; c < wanted["estimate"].size(); ++c) {
    const json& row = result["coefficients"][c];
    SCOPED_TRACE(row["term"].get<std::string>());
    const double error = wanted["standard_error"][c], step = row["step"];
    // Half a step, and what five steps of scoring leave of grids of 1/16.
    EXPECT_NEAR(row["estimate"], wanted["estimate"][c].get<double>(), 0.51 * step + 4e-3 * error);
    EXPECT_NEAR(row["standard_error"], error, 1.5 * grid * error);
    EXPECT_NEAR(row["p_value"], wanted["p_value"][c].get<double>(), 2 * grid);
  }
  testing::ExpectTests(result["tests"], wanted["tests"], 1.5 * grid, 0);
  EXPECT_TRUE(result["fit"]["aic"].is_null());
  EXPECT_NEAR(result["fit"]["deviance"], wanted["deviance"].get<double>(), grid + 0.02);
}

TEST(GlmFirth, StudiesAreAsR) {
  const json references = References();
  for (const char* name : {"birthwt", "birthwt_small", "birthwt_plain", "birthwt_offset"}) {
    SCOPED_TRACE(name);
    ExpectStudyAsR(references[name], "dealer", 2);
  }
  ExpectStudyAsR(references["birthwt_small"], "replicated", 3);
  ExpectStudyAsR(references["birthwt_small"], "shamir", 4);
}

// All smokers have an event: the oracle is the twin.
TEST(GlmFirth, SeparatedOutcomesHaveEstimates) {
  std::vector<std::string> tables;
  stats::glm::Rows rows{MatrixXd::Zero(600, 5), VectorXd(600), VectorXd::Zero(600)};
  Index next = 0;
  for (int holder = 0; holder < 3; ++holder) {
    std::string csv = "age,smoker,stage,event\n";
    for (int r = 0; r < 200; ++r, ++next) {
      const int age = 20 + (7 * r + holder) % 71, smoker = r % 5 == 0 ? 1 : 0;
      const int event = smoker == 1 || (37 * r + 11 * holder) % 100 < age ? 1 : 0;
      const char* stage = r % 3 == 0 ? "one" : r % 3 == 1 ? "two" : "three";
      csv += fmt::format("{},{},{},{}\n", age, smoker, stage, event);
      rows.x.row(next) << 1, age / 90.0, smoker, r % 3 == 1 ? 1 : 0, r % 3 == 2 ? 1 : 0;
      rows.y[next] = event;
    }
    tables.push_back(csv);
  }
  const auto plain =
      partita::testing::Outcomes(partita::testing::RunStudy(testing::kGlmStudy, tables));
  ASSERT_FALSE(plain.empty());
  EXPECT_EQ(partita::testing::ResultOf(plain.front())["converged"], false);
  const std::string text =
      Edited(testing::kGlmStudy, "release =", "steps = 8\npenalty = {firth = true}\nrelease =");
  const auto outcomes = partita::testing::Outcomes(partita::testing::RunStudy(text, tables));
  ASSERT_FALSE(outcomes.empty());
  const json result = partita::testing::ResultOf(outcomes.front());
  ASSERT_EQ(result["converged"], true);
  const stats::glm::Maximum twin = MaximiseFirth(kLogistic, rows, LimitsOf(kLogistic, 0, 1));
  ASSERT_TRUE(twin.converged);
  const double scales[] = {1, 90, 1, 1, 1};
  for (size_t c = 0; c < 5; ++c) {
    const json& row = result["coefficients"][c];
    EXPECT_NEAR(row["estimate"], twin.point[static_cast<Index>(c)] / scales[c],
                row["step"].get<double>() + 0.05 * row["standard_error"].get<double>());
  }
}

}  // namespace
}  // namespace partita::methods::glm::firth_test
