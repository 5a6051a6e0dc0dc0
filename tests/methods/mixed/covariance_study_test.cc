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

std::vector<std::string> ExampleTables() {
  std::vector<std::string> tables;
  for (const char* hospital : {"north", "south", "west"})
    tables.push_back(ReadText(fmt::format("examples/ward_recovery/{}/data.csv", hospital)));
  return tables;
}

// One severe patient is the only one of the ward.
TEST(MixedCovarianceStudy, RefusesTheOnlySeverePatientOfAWard) {
  const auto ends =
      RunStudy(WithCovariance(ReadText("examples/ward_recovery/study.toml")), ExampleTables());
  for (const auto& end : ends) EXPECT_TRUE(end.error.has_value()) << end.party;
  ASSERT_NE(run::RootCause(ends), nullptr);
  EXPECT_EQ(run::RootCause(ends)->error->code(), ErrorCode::kRefused);
  const std::string& message = run::RootCause(ends)->error->message();
  EXPECT_THAT(message, HasSubstr("each count of severity beside severity in one ward is 0"));
  EXPECT_THAT(message, Not(HasSubstr("each count of therapy beside therapy")));
  EXPECT_THAT(message, Not(HasSubstr("each count of severity beside therapy")));
}

TEST(MixedCovarianceStudy, HasTheMatrixOfR) {
  std::ifstream file(FixturePath("references/mixed/covariance.json"));
  const MatrixXd of_r = MatrixOf(json::parse(file)["wards"][0]);
  // Its counts are known here (above).
  const std::string text =
      Edited(ReadText("examples/ward_recovery/study.toml"), "min_cell = 5", "min_cell = 1");
  const auto outcomes = Outcomes(RunStudy(WithCovariance(text), ExampleTables()));
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
    const auto beside_glm = Contains(HasSubstr("linear model of method glm"));
    if (text == testing::Logistic()) {
      EXPECT_THAT(plan.assumptions, Not(beside_glm));
    } else {
      EXPECT_THAT(plan.assumptions, beside_glm);
    }
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
std::string WithSmoker(const std::string& formula, const std::string& study = kMixedStudy,
                       const std::string& group = "(1 | ward)") {
  const std::string text =
      Edited(study, "[disclosure]",
             "[[variable]]\nname = \"smoker\"\ntype = \"integer\"\nlower = 0\nupper = 1\n"
             "[release]\naccept = \"table of covariates\"\n[disclosure]");
  return Edited(text, "score ~ age + arm + " + group, formula);
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
      ASSERT_EQ(counted.size(), 32 * classes);
      const auto level = [&](size_t margin, size_t row) {
        return margin == 0 ? static_cast<size_t>(arm.codes[row])
                           : static_cast<size_t>(smoker.numbers[row]);
      };
      size_t place = 0;
      for (const size_t first : {0, 1}) {
        for (const size_t second : {0, 1}) {
          for (size_t cell = 0; cell < 8 * classes; ++cell, ++place) {
            const size_t a = cell / classes / 4, b = cell / classes / 2 % 2,
                         without = cell / classes % 2, of_class = cell % classes;
            // Rows with the first level, and of these who is beside another row with the second; of each group.
            std::vector<Int128> rows(sizes.size(), 0), has(sizes.size(), 0);
            for (size_t r = 0; r < group.size(); ++r) {
              if (level(first, r) != a || (binary && grouped.classes[r] != of_class)) continue;
              ++rows[group[r]];
              bool beside = false;
              for (size_t other = 0; other < group.size(); ++other) {
                beside =
                    beside || (other != r && group[other] == group[r] && level(second, other) == b);
              }
              has[group[r]] += beside ? 1 : 0;
            }
            Int128 wanted = 0;
            for (size_t g = 0; g < sizes.size(); ++g) {
              if (groups) {
                wanted += (without == 1 ? rows[g] > 0 && has[g] == 0 : has[g] > 0) ? 1 : 0;
              } else {
                wanted += without == 1 ? rows[g] - has[g] : has[g];
              }
            }
            EXPECT_EQ(counted[place], wanted) << place;
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
  EXPECT_THAT(run::RootCause(ends)->error->hint(),
              HasSubstr("leave covariance out, for which pairs"));
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

// Wards of 8 with one treated each: where one ward has a second, N beside N is no count of all treated rows.
TEST(MixedCovarianceStudy, ARowIsNotBesideItself) {
  const std::string text = WithCovariance(WithSmoker("score ~ arm + (1 | ward)"));
  std::vector<std::vector<Row>> hospitals = Draw();
  for (std::vector<Row>& rows : hospitals) {
    for (size_t r = 0; r < rows.size(); ++r) rows[r].treated = r % 8 == 0;
  }
  EXPECT_EQ(Outcomes(RunStudy(text, Tables(hospitals))).size(), 4u);
  hospitals[0][1].treated = true;
  ExpectRefused(text, hospitals, "each count of arm beside arm in one ward is 0",
                "each count of arm is 0");
}

// A row that has both levels is no neighbour of its own, so that others with both do not hide a pair.
TEST(MixedCovarianceStudy, RowsWithBothLevelsHideNoPair) {
  const std::string text = WithCovariance(WithSmoker("score ~ arm + smoker + (1 | ward)"));
  std::vector<std::vector<Row>> hospitals = Draw();
  // Five wards have one treated smoker, five one who is treated and does not smoke, five a smoker who is not treated.
  for (std::vector<Row>& rows : hospitals) {
    for (size_t r = 0; r < rows.size(); ++r) {
      const size_t ward = r / 8;
      rows[r].treated = r % 8 == 0 && ward < 10;
      rows[r].smoker = r % 8 == 0 && (ward < 5 || ward >= 10) ? 1 : 0;
    }
  }
  EXPECT_EQ(Outcomes(RunStudy(text, Tables(hospitals))).size(), 4u);
  // One smoker beside a treated one.
  hospitals[1][3].smoker = 1;
  ExpectRefused(text, hospitals, "each count of arm beside smoker in one ward is 0",
                "each count of arm with smoker is 0");
}

// All patients have both arms but one.
std::vector<std::vector<Row>> CrossedOver() {
  std::vector<std::vector<Row>> hospitals(3);
  std::mt19937_64 random(12);
  std::normal_distribution<double> normal;
  for (std::vector<Row>& rows : hospitals) {
    for (int person = 1; person <= 60; ++person) {
      const double effect = 6 * normal(random);
      for (const bool treated : {false, true}) {
        Row row;
        row.ward = person;
        row.treated = treated;
        row.score =
            std::clamp(std::round(10 * (50 + effect + (treated ? 4 : 0) + 6 * normal(random))) / 10,
                       0.0, 100.0);
        rows.push_back(row);
      }
    }
  }
  return hospitals;
}

TEST(MixedCovarianceStudy, WhoLacksALevelIsCounted) {
  std::string text = WithCovariance(WithSmoker("score ~ arm + (1 | ward)"));
  const std::string persons =
      Edited(text, "[disclosure]", "[population]\nmax_rows_per_person = 2\n[disclosure]\n");
  for (const std::string& study : {text, persons}) {
    std::vector<std::vector<Row>> hospitals = CrossedOver();
    EXPECT_EQ(Outcomes(RunStudy(study, Tables(hospitals))).size(), 4u);
    // The first has two rows of the new arm: all levels are frequent, and so are all two of them in one person but those.
    hospitals[0][0].treated = true;
    ExpectRefused(study, hospitals, "each count of arm beside arm in one ward",
                  study == text ? "each count of arm is 0" : "each count of arm by groups is 0");
    // Of one more row without the other arm there is no pair at all.
    hospitals[0].erase(hospitals[0].begin());
    ExpectRefused(Edited(study, "count = 120", "count = 119"), hospitals,
                  "each count of arm beside arm in one ward",
                  study == text ? "each count of arm is 0" : "each count of arm by groups is 0");
  }
}

TEST(MixedCovarianceStudy, SitesAreGroups) {
  const std::string text =
      WithCovariance(WithSmoker("score ~ arm + (1 | site)", testing::FiveSites(), "(1 | site)"));
  std::vector<std::vector<Row>> sites(5);
  std::mt19937_64 random(13);
  std::normal_distribution<double> normal;
  for (std::vector<Row>& rows : sites) {
    const double effect = 6 * normal(random);
    for (int r = 0; r < 120; ++r) {
      Row row;
      row.treated = r % 2 == 0;
      row.score = std::clamp(std::round(10 * (50 + effect + 6 * normal(random))) / 10, 0.0, 100.0);
      rows.push_back(row);
    }
  }
  const json result = ResultOf(Outcomes(RunStudy(text, Tables(sites))).front());
  ASSERT_EQ(result["converged"], true);
  EXPECT_EQ(result["vcov"]["names"].size(), 2u);
  // One treated row of a site that treats nobody else.
  for (size_t r = 2; r < sites[4].size(); r += 2) sites[4][r].treated = false;
  ExpectRefused(text, sites, "each count of arm beside arm in one site is 0",
                "each count of arm is 0");
}

// Of numbers slopes have a matrix, of levels they have none.
TEST(MixedCovarianceStudy, SlopesOfLevelsHaveNoMatrix) {
  const std::string text = WithSmoker("score ~ age + arm + smoker + (1 + {} | ward)");
  const auto of = [&](const std::string& slope) { return Edited(text, "{}", slope); };
  for (const std::string slope : {"smoker", "arm.new"}) {
    EXPECT_NO_THROW(Prepare(of(slope)));
    try {
      Prepare(WithCovariance(of(slope)));
      ADD_FAILURE() << "accepted " << slope;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      EXPECT_THAT(error.message(), HasSubstr("a random slope of " + slope));
      EXPECT_THAT(error.hint(), HasSubstr("leave covariance out, or write (1 | ward)"));
    }
  }
  EXPECT_NO_THROW(Prepare(WithCovariance(of("age"))));
}

// Of a dose whose effect differs between wards; half of each are treated.
std::vector<std::string> SlopedTables(size_t treated_of_the_last) {
  std::mt19937_64 random(14);
  std::normal_distribution<double> normal;
  std::vector<std::string> tables;
  for (size_t h = 0; h < 3; ++h) {
    std::string csv = "ward,age,dose,arm,score\n";
    for (size_t ward = 1; ward <= 15; ++ward) {
      const double level = 6 * normal(random), slope = 5 * normal(random);
      for (size_t r = 0; r < 8; ++r) {
        const double dose = std::round(100 * std::tanh(normal(random))) / 100;
        const bool treated = h < 2 || ward < 15 ? r % 2 == 0 : r < treated_of_the_last;
        const double score =
            50 + level + (3 + slope) * dose + (treated ? 4 : 0) + 4 * normal(random);
        csv += fmt::format("{},50,{},{},{}\n", ward, dose, treated ? "new" : "old",
                           std::clamp(std::round(10 * score) / 10, 0.0, 100.0));
      }
    }
    tables.push_back(csv);
  }
  return tables;
}

TEST(MixedCovarianceStudy, OfSlopesOfANumberTheMatrixOpens) {
  std::string text =
      Edited(kMixedStudy, "[disclosure]",
             "[[variable]]\nname = \"dose\"\ntype = \"numeric\"\nlower = -1\nupper = "
             "1\n[release]\naccept = \"table of covariates\"\n[disclosure]");
  text = WithCovariance(
      Edited(text, "score ~ age + arm + (1 | ward)", "score ~ dose + arm + (1 + dose | ward)"));
  const auto outcomes = Outcomes(RunStudy(text, SlopedTables(4)));
  ExpectPlannedTraffic(outcomes);
  const json result = ResultOf(outcomes.front());
  ASSERT_EQ(result["converged"], true);
  EXPECT_EQ(result["vcov"]["names"], json({"(Intercept)", "dose", "arm.new"}));
  const MatrixXd covariance = MatrixOf(result["vcov"]["values"]);
  for (Index i = 0; i < 3; ++i) {
    const double error = result["coefficients"][static_cast<size_t>(i)]["standard_error"];
    EXPECT_NEAR(error, std::sqrt(covariance(i, i)), 1e-12 * error);
  }
  // Pairs are counted as without a slope: one treated patient of the last ward.
  const auto ends = RunStudy(text, SlopedTables(1));
  ASSERT_NE(run::RootCause(ends), nullptr);
  EXPECT_EQ(run::RootCause(ends)->error->code(), ErrorCode::kRefused);
  EXPECT_THAT(run::RootCause(ends)->error->message(),
              HasSubstr("each count of arm beside arm in one ward is 0"));
}

// Four 0/1 variables with all their products are 80 levels, each two of them in both orders.
TEST(MixedCovarianceStudy, TablesAreSoManyCellsTogether) {
  std::string text = WithSmoker("arm ~ smoker * asthma * angina * gout + (1 | ward)");
  for (const char* name : {"asthma", "angina", "gout"}) {
    text = Edited(text, "[release]\n",
                  fmt::format("[[variable]]\nname = \"{}\"\ntype = \"integer\"\nlower = 0\nupper = "
                              "1\n[release]\n",
                              name));
  }
  const std::string binary =
      Edited(text, "method = \"mixed\"\n", "method = \"mixed\"\nfamily = \"binomial\"\n");
  EXPECT_NO_THROW(Prepare(binary));
  EXPECT_NO_THROW(Prepare(WithCovariance(Edited(text, "arm ~", "score ~"))));
  try {
    Prepare(WithCovariance(binary));
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_THAT(error.message(), HasSubstr("cells, more than 16384"));
    EXPECT_THAT(error.hint(), HasSubstr("leave covariance out"));
  }
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
