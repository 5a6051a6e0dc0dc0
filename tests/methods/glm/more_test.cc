// Negative binomial, proportional odds and multinomial regressions against R (tests/references/glm/more.json),
// in the clear and as whole studies at both levels; and outcomes that have no such model.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"
#include "methods/glm/read_errors.h"
#include "methods/glm/result.h"
#include "methods/glm/study.h"
#include "stats/glm/likelihood.h"
#include "stats/glm/negative_binomial.h"
#include "stats/glm/ordinal.h"
#include "stats/glm/robust.h"
#include "stats/glm/row_scores.h"
#include "stats/glm/wald.h"
#include "tests/methods/glm/glm_text.h"
#include "tests/methods/glm/reference_text.h"
#include "tests/run/study_in_process.h"
#include "tests/study/edited.h"
#include "tests/thorough.h"

namespace partita::methods::glm::more_test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using nlohmann::json;
using stats::glm::Family;
using study::Edited;
using ::testing::HasSubstr;

json References() {
  std::ifstream file(FixturePath("references/glm/more.json"));
  return json::parse(file);
}

double AtLeastOne(double value) { return std::max(1.0, std::abs(value)); }

// To R's rounding.
TEST(GlmMore, TheTwinIsAsR) {
  const json references = References();
  EXPECT_EQ(references.size(), 11u);
  for (const auto& [name, wanted] : references.items()) {
    SCOPED_TRACE(name);
    const data::Schema dictionary = testing::DictionaryOf(wanted["data"]);
    const testing::PlainModel model =
        testing::PlainModelOf(wanted["family"], wanted["formula"], dictionary);
    const Spec& spec = model.spec;
    const stats::glm::Rows rows =
        testing::DataOf(model, testing::ReadParts(wanted["data"], 1).front(), dictionary).rows;
    const stats::glm::Limits limits = testing::LimitsOfModel(spec);
    const stats::glm::Fit fit = FitRows(spec.law, rows, limits, spec.intercept);
    EXPECT_TRUE(fit.maximum.converged);
    const size_t estimates = wanted["estimate"].size();
    const bool has_theta = spec.law.family == Family::kNegativeBinomial;
    ASSERT_EQ(spec.parameters.size(), estimates + (has_theta ? 1 : 0));
    for (size_t c = 0; c < estimates; ++c) {
      SCOPED_TRACE(spec.parameters[c].name);
      const auto i = static_cast<Index>(c);
      const double error = wanted["standard_error"][c], scale = spec.parameters[c].scale;
      EXPECT_NEAR(fit.maximum.point[i] / scale, wanted["estimate"][c].get<double>(), 1e-6 * error);
      EXPECT_NEAR(fit.standard_errors[i] / scale, error, 1e-6 * error);
    }
    if (has_theta) {
      const double theta = wanted["theta"], error = wanted["theta_error"];
      const auto last = static_cast<Index>(estimates);
      EXPECT_NEAR(std::exp(fit.maximum.point[last]), theta, 1e-6 * error);
      EXPECT_NEAR(std::exp(fit.maximum.point[last]) * fit.standard_errors[last], error,
                  1e-6 * error);
    }
    EXPECT_NEAR(fit.deviance, wanted["deviance"].get<double>(), 1e-8 * fit.deviance);
    EXPECT_NEAR(fit.aic, wanted["aic"].get<double>(), 1e-8 * AtLeastOne(fit.aic));
    const stats::glm::PointSums sums = SumsAt(spec.law, rows, fit.maximum.point, limits);
    const auto p = static_cast<Index>(spec.parameters.size());
    const MatrixXd covariance = sums.information.ldlt().solve(MatrixXd::Identity(p, p));
    ASSERT_EQ(spec.terms.size(), wanted["tests"].size());
    for (size_t t = 0; t < spec.terms.size(); ++t) {
      testing::ExpectTest(
          spec.terms[t], wanted["tests"][t],
          stats::glm::WaldStatistic(fit.maximum.point, covariance, spec.terms[t].columns).value(),
          std::nullopt);
    }
  }
}

// Robust errors of rows, and of clusters within two holders.
TEST(GlmMore, RobustErrorsOfTheTwinAreAsR) {
  const json references = References();
  for (const auto& [name, wanted] : references.items()) {
    const data::Schema dictionary = testing::DictionaryOf(wanted["data"]);
    testing::PlainModel model =
        testing::PlainModelOf(wanted["family"], wanted["formula"], dictionary);
    Spec& spec = model.spec;
    spec.cluster = wanted["cluster"];
    for (const Errors errors : {Errors::kRobust, Errors::kCluster}) {
      SCOPED_TRACE(name + " " + std::string(ErrorsName(errors)));
      spec.errors = errors;
      std::vector<stats::glm::Rows> parts;
      for (const data::Table& part : testing::ReadParts(wanted["data"], 2))
        parts.push_back(testing::DataOf(model, part, dictionary).rows);
      const stats::glm::Rows rows = stats::glm::Pooled(parts);
      const stats::glm::Limits limits = testing::LimitsOfModel(spec);
      const VectorXd point = FitRows(spec.law, rows, limits, spec.intercept).maximum.point;
      const stats::glm::PointSums sums = SumsAt(spec.law, rows, point, limits);
      const stats::glm::Meat meat = MeatAt(spec.law, rows, point, limits);
      EXPECT_EQ(meat.outside, 0u);
      FittedModel told;
      told.rows = static_cast<uint64_t>(rows.count());
      told.clusters = NumClusters(rows);
      if (spec.clustered()) {
        EXPECT_EQ(told.clusters, wanted["clusters"]);
      }
      const VectorXd found =
          SmallSampleFactor(spec, told) * stats::glm::SandwichErrors(sums.information, meat.meat);
      const json& of_r = wanted[spec.clustered() ? "cluster_error" : "robust_error"];
      for (size_t c = 0; c < of_r.size(); ++c) {
        const double error = of_r[c];
        EXPECT_NEAR(found[static_cast<Index>(c)] / spec.parameters[c].scale, error, 1e-6 * error);
      }
      // Of theta the model's.
      if (spec.law.family != Family::kNegativeBinomial) continue;
      const double theta = wanted["theta"], error = wanted["theta_error"];
      const double of_log = found[found.size() - 1] / SmallSampleFactor(spec, told);
      EXPECT_NEAR(theta * of_log, error, 1e-6 * error);
    }
  }
}

// Scores of rows add up to that of all, and none is more than its P times its information.
TEST(GlmMore, ScoresOfRowsAreBoundedByTheirInformation) {
  std::mt19937_64 random(6);
  std::normal_distribution<double> normal;
  for (const char* name : {"negative-binomial", "ordinal", "multinomial", "binomial"}) {
    SCOPED_TRACE(name);
    stats::glm::Law law = stats::glm::LawByName(name);
    law.classes = law.family == Family::kBinomial ? 0 : 4;
    stats::glm::Rows rows{MatrixXd::Ones(80, 3), VectorXd(80), VectorXd::Zero(80)};
    for (Index i = 0; i < 80; ++i) {
      rows.x.row(i) << normal(random), normal(random), normal(random);
      rows.y[i] = static_cast<double>(random() % (law.classes > 0 ? 4 : 2));
    }
    const auto size = static_cast<Index>(NumParameters(law, 3));
    VectorXd point(size);
    for (Index j = 0; j < size; ++j) point[j] = 0.5 * normal(random);
    if (law.family == Family::kOrdinal) point.tail(3) << -4.5, 0.3, 5;
    const stats::glm::Limits limits = LimitsOf(law, 0, 3);
    const stats::glm::RowScore score_of = RowScoreAt(law, rows, point, limits);
    VectorXd sum = VectorXd::Zero(size), score(size);
    for (Index i = 0; i < 80; ++i) {
      const double most = score_of(i, score);
      sum += score;
      const stats::glm::Rows one{rows.x.row(i), rows.y.segment(i, 1), rows.offset.segment(i, 1)};
      MatrixXd room = most * SumsAt(law, one, point, limits).information;
      if (law.family == Family::kNegativeBinomial) room(3, 3) = 0;
      room -= score * score.transpose();
      const double least = Eigen::SelfAdjointEigenSolver<MatrixXd>(room).eigenvalues().minCoeff();
      EXPECT_GE(least, -1e-9 * (1 + most)) << i;
    }
    VectorXd all = SumsAt(law, rows, point, limits).score;
    if (law.family == Family::kNegativeBinomial) all[3] = 0;
    EXPECT_LE((sum - all).norm(), 1e-9 * all.norm());
  }
}

// Score and information are derivatives of the deviance, away from the maximum as well; of theta's row the
// information is without its covariance with coefficients, whose expectation is 0.
TEST(GlmMore, SumsAreDerivatives) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  for (const char* name : {"negative-binomial", "ordinal", "multinomial"}) {
    SCOPED_TRACE(name);
    stats::glm::Law law = stats::glm::LawByName(name);
    law.classes = 4;
    stats::glm::Rows rows{MatrixXd::Ones(60, 3), VectorXd(60), VectorXd::Zero(60)};
    for (Index i = 0; i < 60; ++i) {
      rows.x.row(i) << normal(random), normal(random), normal(random);
      rows.y[i] = static_cast<double>(random() % 4);
    }
    rows.weights = VectorXd::Constant(60, 2);
    const auto size = static_cast<Index>(NumParameters(law, 3));
    VectorXd point(size);
    for (Index j = 0; j < size; ++j) point[j] = 0.3 * normal(random);
    if (law.family == Family::kOrdinal) point.tail(3) << -4.5, 0.3, 5;
    const stats::glm::Limits limits = LimitsOf(law, 0, 3);
    const stats::glm::PointSums sums = SumsAt(law, rows, point, limits);
    constexpr double kStep = 1e-5;
    for (Index j = 0; j < size; ++j) {
      VectorXd up = point, down = point;
      up[j] += kStep;
      down[j] -= kStep;
      const stats::glm::PointSums above = SumsAt(law, rows, up, limits),
                                  below = SumsAt(law, rows, down, limits);
      EXPECT_NEAR(-(above.deviance - below.deviance) / (4 * kStep), sums.score[j], 1e-5) << j;
      const VectorXd curved = (below.score - above.score) / (2 * kStep);
      if (law.family == Family::kNegativeBinomial) {
        if (j == size - 1) {
          EXPECT_NEAR(curved[j], sums.information(j, j), 1e-5);
        }
        continue;
      }
      for (Index k = 0; k < size; ++k)
        EXPECT_NEAR(curved[k], sums.information(k, j), 1e-5) << j << " " << k;
    }
  }
}

// errors: null or one of the names of study files, whose numbers are R's `robust_error` and `cluster_error`.
void ExpectStudyAsR(json wanted, const std::string& engine, size_t holders, bool aggregates,
                    const json& errors = nullptr) {
  wanted["errors"] = errors;
  // What a step of Fisher scoring leaves is measured by the model's errors, whichever are released.
  const json model_error = wanted["standard_error"];
  if (!errors.is_null()) {
    wanted["standard_error"] = wanted[errors.get<std::string>() + "_error"];
    wanted["p_value"] = json::array();
    for (size_t c = 0; c < wanted["estimate"].size(); ++c) {
      const double ratio =
          wanted["estimate"][c].get<double>() / wanted["standard_error"][c].get<double>();
      wanted["p_value"].push_back(std::erfc(std::abs(ratio) / std::sqrt(2)));
    }
  }
  if (errors != "cluster") wanted["cluster"] = nullptr;
  const std::vector<data::Table> parts = testing::ReadParts(wanted["data"], holders);
  std::vector<std::string> tables;
  for (const data::Table& part : parts) tables.push_back(testing::CsvOf(part));
  // Cells of these tables are small in the parts.
  std::string text =
      Edited(testing::ReferenceText(wanted, engine, parts), "min_cell = 2", "min_cell = 1");
  if (aggregates) text = Edited(text, "steps = 4", "protocol = \"aggregates\"");
  const auto study = partita::testing::Prepare(text);
  const double grid = std::ldexp(1.01, -dynamic_cast<const GlmStudy&>(*study).task.grid_bits);
  const auto outcomes = partita::testing::Outcomes(partita::testing::RunStudy(text, tables));
  ASSERT_FALSE(outcomes.empty());
  partita::testing::ExpectPlannedTraffic(outcomes);
  const json result = partita::testing::ResultOf(outcomes.front());
  ASSERT_EQ(result["converged"], true);
  ASSERT_EQ(result["coefficients"].size(), wanted["estimate"].size());
  const auto near = [&](double value, double wanted_value, double error, double step) {
    // Half a step, and a quarter of the grid before, which is what a step of Fisher scoring leaves at
    // most of these tables.
    EXPECT_NEAR(value, wanted_value, aggregates ? 1e-6 * error : 0.51 * step + 0.008 * error);
  };
  for (size_t c = 0; c < wanted["estimate"].size(); ++c) {
    const json& row = result["coefficients"][c];
    SCOPED_TRACE(row["term"].get<std::string>());
    const double error = wanted["standard_error"][c];
    near(row["estimate"], wanted["estimate"][c], model_error[c], row["step"]);
    EXPECT_NEAR(row["standard_error"], error, (aggregates ? 1e-6 : 1.5 * grid) * error);
    EXPECT_NEAR(row["p_value"], wanted["p_value"][c].get<double>(), aggregates ? 1e-5 : 2 * grid);
  }
  EXPECT_EQ(result["theta"].is_null(), wanted["theta"].is_null());
  if (!wanted["theta"].is_null()) {
    const double error = wanted["theta_error"];
    near(result["theta"]["estimate"], wanted["theta"], error, 1.01 * grid * error);
    EXPECT_NEAR(result["theta"]["standard_error"], error, (aggregates ? 1e-6 : 3 * grid) * error);
  }
  EXPECT_EQ(result["clusters"].is_null(), errors != "cluster");
  if (errors == "cluster") {
    EXPECT_EQ(result["clusters"], wanted["clusters"]);
  }
  // Of the model's errors.
  if (errors.is_null())
    testing::ExpectTests(result["tests"], wanted["tests"], 1.5 * grid, aggregates ? 1e-5 : 0);
  const json& fit = result["fit"];
  EXPECT_EQ(fit["df_residual"], wanted["df_residual"]);
  EXPECT_TRUE(fit["null_deviance"].is_null());
  // Beside its own grid by what the estimates' grids add: half a step of 1/64 each, squared, times its variance
  // inflation. A deviance of a negative binomial law moves with theta: by its log-likelihood less that of the saturated
  // model, of theta's grid.
  const double moves = wanted["theta"].is_null() ? 0 : 30 * grid;
  const double deviance = wanted["deviance"], likelihood = wanted["log_likelihood"];
  EXPECT_NEAR(fit["deviance"], deviance, aggregates ? 1e-7 * deviance : 3 * grid + moves);
  EXPECT_NEAR(fit["log_likelihood"], likelihood, aggregates ? 1e-6 : 2 * grid);
  EXPECT_NEAR(fit["aic"], wanted["aic"].get<double>(), aggregates ? 2e-6 : 4 * grid);
}

TEST(GlmMore, StudiesAreAsR) {
  const json references = References();
  for (const auto& [name, wanted] : references.items()) {
    for (const bool aggregates : {false, true}) {
      SCOPED_TRACE(name + (aggregates ? " aggregates" : " iterates"));
      ExpectStudyAsR(wanted, "dealer", 2, aggregates);
    }
  }
  ExpectStudyAsR(references["quine_negbin"], "replicated", 3, false);
  ExpectStudyAsR(references["quine_odds"], "shamir", 4, false);
  ExpectStudyAsR(references["birthwt_levels"], "replicated", 3, false);
}

TEST(GlmMore, StudiesWithRobustErrorsAreAsR) {
  const json references = References();
  struct Case {
    std::string name, engine, errors;
    size_t holders;
    bool aggregates;
  };
  // Clusters lie within two holders.
  for (const Case& of : Cases<Case>({{"quine_negbin", "replicated", "robust", 3, false},
                                     {"quine_odds", "dealer", "cluster", 2, false},
                                     {"birthwt_levels", "shamir", "robust", 4, false},
                                     {"birthwt_odds", "dealer", "robust", 2, true}},
                                    {{"quine_negbin", "dealer", "cluster", 2, true},
                                     {"birthwt_levels", "dealer", "cluster", 2, false},
                                     {"quine_levels", "dealer", "cluster", 2, true},
                                     {"birthwt_odds", "replicated", "robust", 3, false}})) {
    SCOPED_TRACE(of.name + " " + of.errors);
    ExpectStudyAsR(references[of.name], of.engine, of.holders, of.aggregates, of.errors);
  }
}

// ---- made-up clinics, with a count and a level of three as outcomes

// second: rows of the second clinic; 0: no clinic declares how many it has.
std::string Text(const std::string& family, const std::string& formula, int second = 250) {
  std::string text = Edited(testing::kGlmStudy, "\"binomial\"", '"' + family + '"');
  text = Edited(text, "event ~ age + smoker + stage", formula);
  if (second > 0)
    text = Edited(text, "name = \"n\"\n[[rows]]\nname = \"s\"\n[[rows]]\nname = \"w\"\n",
                  fmt::format("name = \"n\"\ncount = 250\n[[rows]]\nname = \"s\"\ncount = {}\n"
                              "[[rows]]\nname = \"w\"\ncount = 250\n",
                              second));
  return Edited(text, "name = \"event\"\ntype = \"integer\"\nlower = 0\nupper = 1",
                "name = \"event\"\ntype = \"integer\"\nlower = 0\nupper = 40");
}

std::vector<std::string> Tables(bool overdispersed, bool last_lacks_a_stage, double theta = 1.5,
                                double mean = 4) {
  std::mt19937_64 random(8);
  std::uniform_real_distribution<double> uniform;
  std::vector<std::string> tables;
  for (size_t clinic = 0; clinic < 3; ++clinic) {
    std::string csv = "age,smoker,stage,event\n";
    for (int r = 0; r < 250; ++r) {
      const double age = 20 + std::floor(70 * uniform(random));
      const int smoker = uniform(random) < 0.4 ? 1 : 0;
      const double latent = 0.04 * (age - 55) + 0.8 * smoker + std::log(1 / uniform(random) - 1);
      const bool merged = last_lacks_a_stage && clinic == 2;
      const char* stage = latent < -0.8 ? "one" : latent < 1 && !merged ? "two" : "three";
      const double gamma = std::gamma_distribution<double>(theta, 1 / theta)(random);
      const int noisy = std::poisson_distribution<int>(mean * gamma)(random);
      const int steady = 4 + static_cast<int>(random() % 2);
      csv += fmt::format("{},{},{},{}\n", age, smoker, stage,
                         overdispersed ? std::min(noisy, 40) : steady);
    }
    tables.push_back(csv);
  }
  return tables;
}

TEST(GlmMore, AClinicMayLackALevelOfTheOutcome) {
  for (const char* family : {"ordinal", "multinomial"}) {
    SCOPED_TRACE(family);
    const auto outcomes = partita::testing::Outcomes(
        partita::testing::RunStudy(Text(family, "stage ~ age + smoker"), Tables(true, true)));
    ASSERT_FALSE(outcomes.empty());
    EXPECT_EQ(partita::testing::ResultOf(outcomes.front())["converged"], true);
  }
}

// The likelihood rises in log(theta) for ever, by less and less.
TEST(GlmMore, CountsWithoutMoreThanPoissonVarianceDoNotConverge) {
  const auto outcomes = partita::testing::Outcomes(partita::testing::RunStudy(
      Text("negative-binomial", "event ~ age + smoker"), Tables(false, false)));
  ASSERT_FALSE(outcomes.empty());
  const json result = partita::testing::ResultOf(outcomes.front());
  EXPECT_EQ(result["converged"], false);
  EXPECT_TRUE(result["theta"].is_null());
  const json& path = result["path"].back();
  EXPECT_EQ(path["term"], "log(theta)");
  for (size_t t = 1; t < path["at"].size(); ++t)
    EXPECT_GT(path["at"][t].get<double>(), path["at"][t - 1].get<double>() + 0.5);
}

// Here it has a maximum, far off and flat: log(theta) is no column that could be left out.
TEST(GlmMore, CountsOfNearlyPoissonVarianceAreSentToPoisson) {
  const auto ends = partita::testing::RunStudy(Text("negative-binomial", "event ~ age + smoker", 0),
                                               Tables(true, false, 60, 0.8));
  ASSERT_NE(run::RootCause(ends), nullptr);
  EXPECT_THAT(run::RootCause(ends)->error->message(),
              HasSubstr("hardly more than a Poisson law says: log(theta)"));
  EXPECT_THAT(run::RootCause(ends)->error->hint(), HasSubstr("\"poisson\""));
}

// Every level of the outcome is counted, in all rows and by level of factors.
TEST(GlmMore, RareLevelsOfTheOutcomeOpenNothing) {
  std::vector<std::string> tables = Tables(true, false);
  for (std::string& table : tables) {
    for (size_t at = table.find("three"); at != std::string::npos; at = table.find("three"))
      table.replace(at, 5, "two");
  }
  tables[1] += "50,1,three,2\n51,1,three,2\n";
  for (const char* family : {"ordinal", "multinomial"}) {
    const auto ends = partita::testing::RunStudy(Text(family, "stage ~ age + smoker", 252), tables);
    ASSERT_NE(run::RootCause(ends), nullptr);
    EXPECT_THAT(run::RootCause(ends)->error->message(), HasSubstr("rows with each outcome"));
  }
}

}  // namespace
}  // namespace partita::methods::glm::more_test
