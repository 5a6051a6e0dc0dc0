// Mixed models with covariance = true as studies: R's matrices, what opens and is counted, pairs of levels of rows and of rows
// of one group that are checked, and the attack that they are checked for.
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
#include "methods/mixed/group_pairs.h"
#include "methods/mixed/study.h"
#include "methods/prepare_study.h"
#include "run/party/build_plan.h"
#include "tests/methods/mixed/mixed_text.h"
#include "tests/paths.h"
#include "tests/run/reference_study.h"
#include "tests/run/study_in_process.h"
#include "tests/study/edited.h"

namespace partita::methods::mixed::covariance_study_test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using nlohmann::json;
using partita::testing::ExpectPlannedTraffic;
using partita::testing::Outcomes;
using partita::testing::Prepare;
using partita::testing::ResultOf;
using partita::testing::RunStudy;
using study::Edited;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::kMixedStudy;
using ::testing::Not;

std::string WithCovariance(const std::string& text) {
  return Edited(text, "method = \"mixed\"\n", "method = \"mixed\"\ncovariance = true\n");
}

MatrixXd MatrixOf(const json& rows) {
  MatrixXd matrix(rows.size(), rows[0].size());
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = 0; j < rows[i].size(); ++j)
      matrix(static_cast<Index>(i), static_cast<Index>(j)) = rows[i][j];
  }
  return matrix;
}

std::string ReadText(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(partita::SourcePath(path)).rdbuf();
  return text.str();
}

// ---- the example's wards, as lme4 has them

TEST(MixedCovarianceStudy, HasTheMatrixOfR) {
  std::ifstream file(FixturePath("references/mixed/covariance.json"));
  const MatrixXd of_r = MatrixOf(json::parse(file)["wards"][0]);
  std::vector<std::string> tables;
  for (const char* hospital : {"north", "south", "west"})
    tables.push_back(ReadText(fmt::format("examples/ward_recovery/{}/data.csv", hospital)));
  const auto outcomes =
      Outcomes(RunStudy(WithCovariance(ReadText("examples/ward_recovery/study.toml")), tables));
  ASSERT_EQ(outcomes.size(), 3u);
  ExpectPlannedTraffic(outcomes);
  const json result = ResultOf(outcomes.front());
  ASSERT_EQ(result["converged"], true);
  const json& vcov = result["vcov"];
  EXPECT_EQ(vcov["names"],
            json({"(Intercept)", "age", "therapy.new", "severity.moderate", "severity.severe"}));
  const MatrixXd covariance = MatrixOf(vcov["values"]);
  for (Index i = 0; i < 5; ++i) {
    const auto a = static_cast<size_t>(i);
    EXPECT_NEAR(result["coefficients"][a]["standard_error"], std::sqrt(covariance(i, i)),
                1e-12 * std::sqrt(covariance(i, i)));
    EXPECT_NEAR(vcov["steps"][a], result["coefficients"][a]["step"].get<double>(), 1e-15);
    for (Index j = 0; j < 5; ++j) {
      const double step =
          vcov["steps"][a].get<double>() * vcov["steps"][static_cast<size_t>(j)].get<double>();
      // What errors are off by before they are rounded counts twice.
      EXPECT_NEAR(covariance(i, j), of_r(i, j),
                  0.51 * step + 2e-4 * std::sqrt(of_r(i, i) * of_r(j, j)))
          << i << " " << j;
    }
  }
  for (size_t p = 1; p < outcomes.size(); ++p) EXPECT_EQ(outcomes[p].result, nullptr);
  const study::Document& document = partita::testing::DocumentOf(outcomes.front());
  EXPECT_THAT(document.sections[0].paragraphs, Contains(HasSubstr("vcov")));
}

// ---- what opens

TEST(MixedCovarianceStudy, ThePlanCountsEveryNumber) {
  for (const std::string& text : {kMixedStudy, testing::Logistic(), testing::Sloped()}) {
    const auto plain = Prepare(text), asked = Prepare(WithCovariance(text));
    const study::Plan before = run::BuildPlan(*plain), plan = run::BuildPlan(*asked);
    SCOPED_TRACE(plan.analyses.front().model);
    // In the place of three standard errors of 6 bits six covariances of 15.
    const study::PlanExposure &all = plan.exposures.back(), &all_before = before.exposures.back();
    EXPECT_EQ(all.opened, all_before.opened - 3 + 6);
    EXPECT_EQ(all.bits->opened, all_before.bits->opened - 3 * 6 + 6 * 15);
    EXPECT_EQ(all.bits->table, all_before.bits->table);
    EXPECT_THAT(plan.parties[0].learns,
                Contains(HasSubstr("the covariance matrix of 3 coefficients (6 numbers")));
    EXPECT_THAT(plan.parties[1].learns, Not(Contains(HasSubstr("covariance"))));
    EXPECT_THAT(plan.assumptions, Contains(HasSubstr("how many pairs of rows of one group")));
    EXPECT_THAT(before.assumptions, Not(Contains(HasSubstr("covariance"))));
    EXPECT_EQ(plain->LeastRowsApart(), 30u);
    EXPECT_EQ(asked->LeastRowsApart(), 60u);
  }
  // Of the arm beside the other in one ward.
  const study::Plan plan = run::BuildPlan(*Prepare(WithCovariance(kMixedStudy)));
  ASSERT_EQ(plan.checks.size(), run::BuildPlan(*Prepare(kMixedStudy)).checks.size() + 1);
  EXPECT_THAT(plan.checks[2].rule, HasSubstr("each count of arm beside arm in one ward is 0"));
}

TEST(MixedCovarianceStudy, IsAReleaseOfItsOwnInEnvelopes) {
  const auto uses = [](const std::string& text) {
    std::vector<std::string> names;
    for (const study::ReleaseSpec& release :
         methods::ParseStudyFile(text, "m.toml").analyses.front().section->Uses().releases)
      names.push_back(release.what + " to " + (release.to.empty() ? "the receiver" : release.to));
    return names;
  };
  EXPECT_THAT(uses(WithCovariance(kMixedStudy)), Contains("covariance to the receiver"));
  EXPECT_THAT(uses(kMixedStudy), Not(Contains(HasSubstr("covariance"))));
  EXPECT_THAT(uses(Edited(WithCovariance(kMixedStudy), "[\"estimates\"]",
                          "[{what = \"estimates\", to = \"all\"}]")),
              Contains("covariance to all"));
}

// ---- counts of two levels

// With a 0/1 variable beside the arm.
std::string WithSmoker(const std::string& formula) {
  const std::string text =
      Edited(kMixedStudy, "[disclosure]",
             "[[variable]]\nname = \"smoker\"\ntype = \"integer\"\nlower = 0\nupper = 1\n"
             "[release]\naccept = \"table of covariates\"\n[disclosure]");
  return Edited(text, "score ~ age + arm + (1 | ward)", formula);
}

// Against every pair of rows.
TEST(MixedCovarianceStudy, PairsOfAGroupAreCounted) {
  const auto study = Prepare(WithCovariance(WithSmoker("score ~ arm + smoker + (1 | ward)")));
  const auto& mixed = dynamic_cast<const MixedStudy&>(*study);
  Spec spec = mixed.task.spec;
  const std::vector<size_t> sizes = {1, 4, 7, 2, 6};
  std::mt19937_64 random(3);
  data::Table table;
  data::Column arm, smoker;
  arm.schema.name = "arm";
  smoker.schema.name = "smoker";
  std::vector<size_t> group;
  for (size_t g = 0; g < sizes.size(); ++g) {
    for (size_t r = 0; r < sizes[g]; ++r) {
      arm.codes.push_back(static_cast<int32_t>(random() % 2));
      smoker.numbers.push_back(static_cast<double>(random() % 4 == 0));
      group.push_back(g);
    }
  }
  table.num_rows = group.size();
  table.columns = {arm, smoker};
  for (const bool binary : {false, true}) {
    if (binary) spec.law = stats::glm::LawOf(stats::glm::Family::kBinomial);
    const size_t classes = ClassesOf(spec);
    const data::ModelCounts counts = CountsOf(spec, mixed.factors);
    ASSERT_EQ(counts.names.size(), 3 + 4u);
    EXPECT_EQ(counts.names[4], "arm beside smoker in one ward");
    GroupedNumbers grouped{{}, sizes, {}};
    for (size_t r = 0; r < group.size(); ++r) {
      grouped.rows.push_back(r);
      if (binary) grouped.classes.push_back(static_cast<uint8_t>(r % 3 == 0));
    }
    for (const bool groups : {false, true}) {
      const std::vector<Int128> counted = CountGroupPairs(spec, counts, table, grouped, groups);
      ASSERT_EQ(counted.size(), 16 * classes);
      const auto level = [&](size_t margin, size_t row) {
        return margin == 0 ? static_cast<size_t>(arm.codes[row])
                           : static_cast<size_t>(smoker.numbers[row]);
      };
      size_t place = 0;
      for (const size_t first : {0, 1}) {
        for (const size_t second : {0, 1}) {
          for (size_t cell = 0; cell < 4 * classes; ++cell, ++place) {
            const size_t a = cell / classes / 2, b = cell / classes % 2, of_class = cell % classes;
            std::vector<bool> seen(sizes.size(), false);
            Int128 rows = 0;
            for (size_t r = 0; r < group.size(); ++r) {
              if (level(first, r) != a || (binary && grouped.classes[r] != of_class)) continue;
              bool beside = false;
              for (size_t other = 0; other < group.size(); ++other)
                beside = beside || (group[other] == group[r] && level(second, other) == b);
              if (!beside || (groups && seen[group[r]])) continue;
              seen[group[r]] = true;
              ++rows;
            }
            EXPECT_EQ(counted[place], rows) << place;
          }
        }
      }
    }
  }
}

struct Row {
  int ward = 1, smoker = 0;
  bool treated = false;
  double score = 50;
};

// 15 wards of 8 in each hospital; every other ward is treated as a whole.
std::vector<std::vector<Row>> Draw() {
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  std::vector<std::vector<Row>> hospitals;
  for (size_t h = 0; h < 3; ++h) {
    std::vector<Row>& rows = hospitals.emplace_back();
    for (int ward = 1; ward <= 15; ++ward) {
      const double effect = 6 * normal(random);
      for (int r = 0; r < 8; ++r) {
        Row row;
        row.ward = ward;
        row.treated = ward % 2 == 0;
        row.smoker = r < 3 ? 1 : 0;
        row.score = std::clamp(
            std::round(10 * (50 + effect + (row.treated ? 4 : 0) + 6 * normal(random))) / 10, 0.0,
            100.0);
        rows.push_back(row);
      }
    }
  }
  return hospitals;
}

std::vector<std::string> Tables(const std::vector<std::vector<Row>>& hospitals) {
  std::vector<std::string> tables;
  for (const std::vector<Row>& rows : hospitals) {
    std::string csv = "ward,age,arm,smoker,score\n";
    for (const Row& row : rows) {
      csv += fmt::format("{},50,{},{},{}\n", row.ward, row.treated ? "new" : "old", row.smoker,
                         row.score);
    }
    tables.push_back(csv);
  }
  return tables;
}

void ExpectRefused(const std::string& text, const std::vector<std::vector<Row>>& hospitals,
                   const std::string& what, const std::string& what_not) {
  const auto ends = RunStudy(text, Tables(hospitals));
  for (const auto& end : ends) EXPECT_TRUE(end.error.has_value()) << end.party;
  ASSERT_NE(run::RootCause(ends), nullptr);
  EXPECT_EQ(run::RootCause(ends)->error->code(), ErrorCode::kRefused);
  EXPECT_THAT(run::RootCause(ends)->error->message(), HasSubstr(what));
  EXPECT_THAT(run::RootCause(ends)->error->message(), Not(HasSubstr(what_not)));
  EXPECT_THAT(run::RootCause(ends)->error->hint(), HasSubstr("or covariance, for which pairs"));
}

// A single treated smoker: neither level is rare.
TEST(MixedCovarianceStudy, PairsOfLevelsAreChecked) {
  const std::string text = WithSmoker("score ~ arm + smoker + (1 | ward)");
  std::vector<std::vector<Row>> hospitals = Draw();
  for (std::vector<Row>& rows : hospitals) {
    for (Row& row : rows) {
      if (row.treated) row.smoker = 0;
    }
  }
  EXPECT_EQ(Outcomes(RunStudy(WithCovariance(text), Tables(hospitals))).size(), 4u);
  hospitals[0][8].smoker = 1;
  ASSERT_TRUE(hospitals[0][8].treated);
  EXPECT_EQ(Outcomes(RunStudy(text, Tables(hospitals))).size(), 4u);
  ExpectRefused(WithCovariance(text), hospitals, "each count of arm with smoker is 0",
                "each count of smoker is 0");
}

// One ward in which one is treated and others are not.
TEST(MixedCovarianceStudy, PairsOfLevelsInOneGroupAreChecked) {
  const std::string text = WithSmoker("score ~ arm + (1 | ward)");
  std::vector<std::vector<Row>> hospitals = Draw();
  EXPECT_EQ(Outcomes(RunStudy(WithCovariance(text), Tables(hospitals))).size(), 4u);
  hospitals[0][0].treated = true;
  EXPECT_EQ(Outcomes(RunStudy(text, Tables(hospitals))).size(), 4u);
  ExpectRefused(WithCovariance(text), hospitals, "each count of arm beside arm in one ward is 0",
                "each count of arm is 0");
  // Of persons with several rows groups are counted.
  const std::string persons = Edited(WithCovariance(text), "[disclosure]",
                                     "[population]\nmax_rows_per_person = 8\n[disclosure]\n");
  ExpectRefused(persons, hospitals, "each count of arm beside arm in one ward by groups is 0",
                "each count of arm by groups is 0");
}

// What the plan says of a matrix. sigma^2 times its inverse is X'V^-1 X; of the column of the intercept less the
// treated ones, and these, it is - kappa times the product of a ward's two counts, summed over wards in which some are treated and some
// are not, kappa = lambda / (1 + n lambda). Without the check (min_cell = 1) it is the only such ward's.
TEST(MixedCovarianceStudy, TheMatrixTellsTheCountsOfTheOnlyMixedGroup) {
  std::string text = WithCovariance(WithSmoker("score ~ arm + (1 | ward)"));
  text = Edited(text, "min_rows = 300", "min_rows = 300\nmin_cell = 1");
  for (const int treated : {0, 1, 2, 3}) {
    std::vector<std::vector<Row>> hospitals = Draw();
    for (int r = 0; r < treated; ++r) hospitals[0][static_cast<size_t>(r)].treated = true;
    const json result = ResultOf(Outcomes(RunStudy(text, Tables(hospitals))).front());
    ASSERT_EQ(result["converged"], true);
    const double within = result["within"]["value"],
                 lambda = result["between"]["value"].get<double>() / within,
                 kappa = lambda / (1 + 8 * lambda);
    const MatrixXd information = within * MatrixOf(result["vcov"]["values"]).inverse();
    const double product = (information(1, 1) - information(0, 1)) / kappa;
    // 0, 7, 12, 15: told apart.
    EXPECT_NEAR(product, treated * (8 - treated), 1) << treated;
  }
}

}  // namespace
}  // namespace partita::methods::mixed::covariance_study_test
