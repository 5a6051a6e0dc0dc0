// Studies with covariance = true: R's covariance matrices and what is computed from them, what opens and
// is counted, pairs of levels that are checked, and the attack that they are checked for.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "base/error.h"
#include "methods/glm/study.h"
#include "run/party/build_plan.h"
#include "tests/methods/glm/glm_text.h"
#include "tests/methods/glm/reference_text.h"
#include "tests/run/study_in_process.h"
#include "tests/study/edited.h"

namespace partita::methods::glm::covariance_study_test {
namespace {

using nlohmann::json;
using partita::testing::ExpectPlannedTraffic;
using partita::testing::Outcomes;
using partita::testing::Prepare;
using partita::testing::ResultOf;
using partita::testing::RunStudy;
using study::Edited;
using ::testing::Contains;
using testing::CsvOf;
using ::testing::HasSubstr;
using testing::kGlmStudy;
using ::testing::Not;

std::string WithCovariance(const std::string& text) {
  return Edited(text, "method = \"glm\"\n", "method = \"glm\"\ncovariance = true\n");
}

json ReadReference() {
  std::ifstream file(FixturePath("references/glm/covariance.json"));
  return json::parse(file);
}

Eigen::MatrixXd MatrixOf(const json& rows) {
  Eigen::MatrixXd matrix(rows.size(), rows[0].size());
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = 0; j < rows[i].size(); ++j)
      matrix(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = rows[i][j];
  }
  return matrix;
}
Eigen::VectorXd VectorOf(const json& values) {
  const auto numbers = values.get<std::vector<double>>();
  return Eigen::Map<const Eigen::VectorXd>(numbers.data(),
                                           static_cast<Eigen::Index>(numbers.size()));
}

// ---- R's matrices (tests/references/glm/covariance.json)

// Half a step, and the information is that of the estimates on their grid: 2^-7 standard errors from R's,
// which moves it by less than 1 % in these tables.
void ExpectCovarianceOfR(const json& result, const json& wanted) {
  ASSERT_EQ(result["converged"], true);
  EXPECT_EQ(result["rows"], wanted["rows"]);
  const json& vcov = result["vcov"];
  EXPECT_EQ(vcov["names"], wanted["terms"]);
  const Eigen::MatrixXd covariance = MatrixOf(vcov["values"]), of_r = MatrixOf(wanted["vcov"]);
  const Eigen::VectorXd steps = VectorOf(vcov["steps"]);
  ASSERT_EQ(covariance.rows(), of_r.rows());
  for (Eigen::Index i = 0; i < of_r.rows(); ++i) {
    EXPECT_NEAR(result["coefficients"][static_cast<size_t>(i)]["standard_error"],
                std::sqrt(covariance(i, i)), 1e-12 * std::sqrt(covariance(i, i)));
    for (Eigen::Index j = 0; j < of_r.cols(); ++j) {
      EXPECT_DOUBLE_EQ(covariance(i, j), covariance(j, i));
      EXPECT_NEAR(covariance(i, j), of_r(i, j),
                  0.51 * steps[i] * steps[j] + 0.01 * std::sqrt(of_r(i, i) * of_r(j, j)))
          << i << " " << j;
    }
  }
}

void ExpectFitOfR(const std::string& name, const std::string& engine, size_t holders) {
  SCOPED_TRACE(name + " " + engine);
  const json wanted = ReadReference()[name];
  const std::vector<data::Table> parts = testing::ReadParts(wanted["data"], holders);
  std::vector<std::string> tables;
  for (const data::Table& part : parts) tables.push_back(CsvOf(part));
  const auto outcomes =
      Outcomes(RunStudy(WithCovariance(testing::ReferenceText(wanted, engine, parts)), tables));
  ASSERT_EQ(outcomes.size(), holders + (engine == "dealer" ? 1 : 0));
  ExpectPlannedTraffic(outcomes);
  ExpectCovarianceOfR(ResultOf(outcomes.front()), wanted);
  for (size_t p = 1; p < outcomes.size(); ++p) EXPECT_EQ(outcomes[p].result, nullptr);
}

TEST(GlmCovarianceStudy, HasTheMatrixOfR) {
  for (const char* name :
       {"binomial", "poisson", "quasi_poisson", "interaction", "gamma", "robust", "adjusted"})
    ExpectFitOfR(name, "dealer", 2);
  ExpectFitOfR("gaussian", "replicated", 3);
  ExpectFitOfR("gaussian", "shamir", 3);
}

// ---- the example's patients, and predictions

std::string ReadText(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(partita::SourcePath(path)).rdbuf();
  return text.str();
}

TEST(GlmCovarianceStudy, PredictionsAndHypothesesAreThoseOfR) {
  const json wanted = ReadReference()["readmission"];
  std::vector<std::string> tables;
  for (const char* clinic : {"north", "south", "west"})
    tables.push_back(ReadText(fmt::format("examples/readmission/{}/data.csv", clinic)));
  const auto outcomes =
      Outcomes(RunStudy(WithCovariance(ReadText("examples/readmission/study.toml")), tables));
  ExpectPlannedTraffic(outcomes);
  const json result = ResultOf(outcomes.front());
  ExpectCovarianceOfR(result, wanted);
  const Eigen::MatrixXd covariance = MatrixOf(result["vcov"]["values"]);
  // The rows of covariance.R: a woman of 70, and a man of 40.
  const std::vector<std::vector<double>> rows = {{1, 70, 0, 1, 1, 0, std::log(5.0), 2, 0},
                                                 {1, 40, 1, 0, 0, 0, std::log(12.0), 0, 0}};
  for (size_t r = 0; r < rows.size(); ++r) {
    const Eigen::VectorXd row = VectorOf(rows[r]);
    const double error = wanted["link_se"][r];
    EXPECT_NEAR(std::sqrt(row.dot(covariance * row)), error, 0.02 * error);
  }
  const Eigen::MatrixXd differences = MatrixOf(wanted["hypothesis"]);
  Eigen::VectorXd estimates(covariance.rows());
  for (Eigen::Index i = 0; i < estimates.size(); ++i)
    estimates[i] = result["coefficients"][static_cast<size_t>(i)]["estimate"];
  const Eigen::VectorXd value = differences * estimates;
  const double statistic =
      value.dot((differences * covariance * differences.transpose()).ldlt().solve(value));
  // Estimates are within 2^-7 standard errors, and the statistic is about 34.
  EXPECT_NEAR(statistic, wanted["statistic"].get<double>(), 1);
}

// ---- what opens

TEST(GlmCovarianceStudy, ThePlanCountsEveryNumber) {
  const auto plain = Prepare(kGlmStudy), asked = Prepare(WithCovariance(kGlmStudy));
  const study::Plan before = run::BuildPlan(*plain), plan = run::BuildPlan(*asked);
  // In the place of five standard errors 15 covariances, of which each is below 2^14 in magnitude.
  const study::PlanExposure &all = plan.exposures[1], &all_before = before.exposures[1];
  EXPECT_EQ(all.opened, all_before.opened + 10);
  EXPECT_EQ(all_before.bits->opened, 144u);
  EXPECT_EQ(all.bits->opened, 144u - 5 * 6 + 15 * 15);
  EXPECT_EQ(all.bits->table, all_before.bits->table);
  EXPECT_TRUE(all.bits->passes);
  EXPECT_THAT(plan.parties[0].learns,
              Contains(HasSubstr("the covariance matrix of 5 coefficients")));
  EXPECT_THAT(plan.parties[0].learns, Not(Contains(HasSubstr("standard errors on a grid"))));
  EXPECT_THAT(plan.parties[1].learns, Not(Contains(HasSubstr("covariance"))));
  EXPECT_THAT(plan.assumptions, Contains(HasSubstr("how many rows have each two levels")));
  EXPECT_THAT(before.assumptions, Not(Contains(HasSubstr("covariance"))));
  // One more check: of the 0/1 variable with the factor.
  ASSERT_EQ(plan.checks.size(), before.checks.size() + 1);
  EXPECT_THAT(plan.checks[3].rule,
              HasSubstr("each count of stage with smoker with one outcome is 0 or at least"));
}

// Where few rows are promised the grid becomes coarser, and the matrix with it.
TEST(GlmCovarianceStudy, FewRowsMakeTheGridCoarser) {
  const auto grid_of = [](const std::string& text) {
    const auto study = Prepare(text);
    return dynamic_cast<const GlmStudy&>(*study).task.grid_bits;
  };
  const std::string few = Edited(kGlmStudy, "min_rows = 300", "min_rows = 105");
  EXPECT_EQ(grid_of(few), 6);
  EXPECT_LT(grid_of(WithCovariance(few)), 6);
}

// ---- counts of two levels

struct Row {
  double age = 50;
  int smoker = 0, stage = 0, event = 0;
};

std::vector<std::string> Tables(const std::vector<std::vector<Row>>& clinics) {
  const char* stages[] = {"one", "two", "three"};
  std::vector<std::string> tables;
  for (const std::vector<Row>& rows : clinics) {
    std::string csv = "age,smoker,stage,event\n";
    for (const Row& row : rows)
      csv += fmt::format("{},{},{},{}\n", row.age, row.smoker, stages[row.stage], row.event);
    tables.push_back(csv);
  }
  return tables;
}

std::vector<std::vector<Row>> Draw() {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform;
  std::vector<std::vector<Row>> clinics;
  for (const size_t rows : {400, 300, 250}) {
    clinics.emplace_back();
    for (size_t r = 0; r < rows; ++r) {
      Row row;
      row.age = std::round(20 + 70 * uniform(random));
      row.smoker = uniform(random) < 0.4 ? 1 : 0;
      row.stage = static_cast<int>(random() % 3);
      row.event = uniform(random) < 0.2 + 0.002 * row.age ? 1 : 0;
      clinics.back().push_back(row);
    }
  }
  return clinics;
}

// One smoker of stage three with an event: no single level is rare. Nothing opens but which count is small.
TEST(GlmCovarianceStudy, PairsOfLevelsAreChecked) {
  std::vector<std::vector<Row>> clinics = Draw();
  for (std::vector<Row>& rows : clinics) {
    for (Row& row : rows) {
      if (row.smoker == 1 && row.stage == 2) row.event = 0;
    }
  }
  EXPECT_EQ(Outcomes(RunStudy(kGlmStudy, Tables(clinics))).size(), 4u);
  EXPECT_EQ(Outcomes(RunStudy(WithCovariance(kGlmStudy), Tables(clinics))).size(), 4u);
  clinics[0][0] = {.age = 60, .smoker = 1, .stage = 2, .event = 1};
  EXPECT_EQ(Outcomes(RunStudy(kGlmStudy, Tables(clinics))).size(), 4u);
  const auto refused = RunStudy(WithCovariance(kGlmStudy), Tables(clinics));
  for (const auto& end : refused) EXPECT_TRUE(end.error.has_value()) << end.party;
  ASSERT_NE(run::RootCause(refused), nullptr);
  EXPECT_EQ(run::RootCause(refused)->error->code(), ErrorCode::kRefused);
  const std::string& message = run::RootCause(refused)->error->message();
  EXPECT_THAT(message, HasSubstr("stage with smoker"));
  EXPECT_THAT(message, Not(HasSubstr("each count of smoker ")));
}

// X'X of smoker * stage + event has the counts of smoker, stage and event together: of one row that no two of them
// single out.
TEST(GlmCovarianceStudy, WhatAProductHasTogetherIsChecked) {
  std::string text =
      WithCovariance(Edited(kGlmStudy, "family = \"binomial\"", "family = \"gaussian\""));
  text = Edited(text, "event ~ age + smoker + stage", "age ~ smoker * stage + event");
  text = Edited(text, "[engine]", "[release]\naccept = \"table of covariates\"\n[engine]");
  std::vector<std::vector<Row>> clinics = Draw();
  for (std::vector<Row>& rows : clinics) {
    for (Row& row : rows) {
      if (row.smoker == 0 && row.stage == 2) row.event = 0;
    }
  }
  EXPECT_EQ(Outcomes(RunStudy(text, Tables(clinics))).size(), 4u);
  clinics[0][0] = {.age = 60, .smoker = 0, .stage = 2, .event = 1};
  const auto refused = RunStudy(text, Tables(clinics));
  for (const auto& end : refused) EXPECT_TRUE(end.error.has_value()) << end.party;
  ASSERT_NE(run::RootCause(refused), nullptr);
  EXPECT_EQ(run::RootCause(refused)->error->code(), ErrorCode::kRefused);
  const std::string& message = run::RootCause(refused)->error->message();
  EXPECT_THAT(message, HasSubstr("stage with smoker with event"));
  EXPECT_THAT(message, Not(HasSubstr("each count of stage with event ")));
  EXPECT_THAT(message, Not(HasSubstr("each count of smoker with event ")));
}

// What the plan says of a matrix: of a linear model it is the dispersion times the inverse of X'X, and the
// rows are known. So many rows have both levels, to one.
TEST(GlmCovarianceStudy, TheMatrixTellsHowManyRowsHaveTwoLevels) {
  std::string text =
      WithCovariance(Edited(kGlmStudy, "family = \"binomial\"", "family = \"gaussian\""));
  text = Edited(text, "event ~ age + smoker + stage", "age ~ smoker + event");
  text = Edited(text, "[engine]", "[release]\naccept = \"table of covariates\"\n[engine]");
  const std::vector<std::vector<Row>> clinics = Draw();
  const json result = ResultOf(Outcomes(RunStudy(text, Tables(clinics))).front());
  const Eigen::MatrixXd information = MatrixOf(result["vcov"]["values"]).inverse();
  const double scale = result["rows"].get<double>() / information(0, 0);
  double both = 0, smokers = 0;
  for (const std::vector<Row>& rows : clinics) {
    for (const Row& row : rows) {
      both += row.smoker * row.event;
      smokers += row.smoker;
    }
  }
  EXPECT_NEAR(scale * information(0, 1), smokers, 0.5);
  EXPECT_NEAR(scale * information(1, 2), both, 1);
}

// ---- what is refused

void ExpectMistake(const std::string& text, const std::string& what, const std::string& hint) {
  try {
    Prepare(text);
    ADD_FAILURE() << what;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_THAT(error.message(), HasSubstr(what));
    EXPECT_THAT(error.hint(), HasSubstr(hint));
  }
}

TEST(GlmCovarianceStudy, OtherLevelsRefuseTheKey) {
  const auto at_level = [](const std::string& level) {
    return Edited(WithCovariance(kGlmStudy), "family =", "protocol = \"" + level + "\"\nfamily =");
  };
  ExpectMistake(at_level("aggregates"), "the covariance matrix is there anyway",
                "leave covariance out");
  ExpectMistake(at_level("sealed"), "opens standard errors and no covariance matrix", "iterates");
  ExpectMistake(Edited(WithCovariance(kGlmStudy), "covariance = true", "covariance = 1"),
                "covariance", "");
}

// Beside the matrices of the model and of rows it would tell sums over pairs of rows of one cluster.
TEST(GlmCovarianceStudy, ErrorsOfClustersHaveNoMatrix) {
  const json wanted = ReadReference()["clusters"];
  const std::vector<data::Table> parts = testing::ReadParts(wanted["data"], 2);
  const std::string text = testing::ReferenceText(wanted, "dealer", parts);
  EXPECT_NO_THROW(Prepare(text));
  ExpectMistake(WithCovariance(text), "what two rows of one cluster have",
                "leave covariance out: standard errors of clusters");
}

// Who admits estimates alone admits no covariance matrix.
TEST(GlmCovarianceStudy, IsAReleaseOfItsOwnInEnvelopes) {
  const auto uses = [](const std::string& text) {
    std::vector<std::string> names;
    for (const study::ReleaseSpec& release :
         methods::ParseStudyFile(text, "g.toml").analyses.front().section->Uses().releases)
      names.push_back(release.what + " to " + (release.to.empty() ? "the receiver" : release.to));
    return names;
  };
  EXPECT_THAT(uses(WithCovariance(kGlmStudy)), Contains("covariance to the receiver"));
  EXPECT_THAT(uses(kGlmStudy), Not(Contains(HasSubstr("covariance"))));
  const std::string to_all = Edited(WithCovariance(kGlmStudy), "[\"estimates\"]",
                                    "[{what = \"estimates\", to = \"all\"}]");
  EXPECT_THAT(uses(to_all), Contains("covariance to all"));
}

}  // namespace
}  // namespace partita::methods::glm::covariance_study_test
