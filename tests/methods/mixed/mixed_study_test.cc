// Studies of method `mixed` through the whole path: fits on every engine against the twin, traffic as
// planned, who learns what, sites as groups, persons with several rows, what is refused.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"
#include "methods/mixed/study.h"
#include "run/party/build_plan.h"
#include "tests/methods/mixed/mixed_text.h"
#include "tests/paths.h"
#include "tests/run/reference_study.h"
#include "tests/run/study_in_process.h"
#include "tests/study/edited.h"

namespace partita::methods::mixed::mixed_study_test {
namespace {

using nlohmann::json;
using partita::testing::ExpectPlannedTraffic;
using partita::testing::Outcomes;
using partita::testing::Prepare;
using partita::testing::ResultOf;
using partita::testing::RunStudy;
using stats::mixed::Criterion;
using study::Edited;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::kMixedStudy;
using ::testing::Not;

// Made-up rows of three hospitals in the units of the study, and the same in the clear.
struct Hospitals {
  std::vector<std::string> tables;
  std::vector<stats::mixed::RowSums> sums;
};
struct Drawn {
  uint64_t seed = 1;
  size_t wards = 15, rows = 120;
  double between = 6;
  bool by_site = false;
  size_t holders = 3;
};
Hospitals Draw(const Drawn& drawn) {
  std::mt19937_64 random(drawn.seed);
  std::normal_distribution<double> normal;
  Hospitals hospitals;
  for (size_t h = 0; h < drawn.holders; ++h) {
    std::vector<double> effects(drawn.wards);
    for (double& effect : effects) effect = drawn.between * normal(random);
    const double of_site = drawn.by_site ? drawn.between * normal(random) : 0;
    std::string csv = "ward,age,arm,score\n";
    Eigen::MatrixXd x(drawn.rows, 3);
    Eigen::VectorXd y(drawn.rows);
    std::vector<uint32_t> wards;
    for (size_t r = 0; r < drawn.rows; ++r) {
      const auto i = static_cast<Eigen::Index>(r);
      const size_t ward = random() % drawn.wards;
      const auto age = static_cast<double>(20 + random() % 71);
      const bool arm = random() % 2 == 0;
      const double score = 60 - 0.2 * age + (arm ? 4 : 0) +
                           (drawn.by_site ? of_site : effects[ward]) + 5 * normal(random);
      y[i] = std::clamp(std::round(10 * score) / 10, 0.0, 100.0);
      x.row(i) << 1, age, arm ? 1 : 0;
      wards.push_back(drawn.by_site ? 0 : static_cast<uint32_t>(ward));
      csv += fmt::format("{},{},{},{}\n", ward + 1, age, arm ? "new" : "old", y[i]);
    }
    hospitals.tables.push_back(csv);
    hospitals.sums.push_back(stats::mixed::SumRows(x, y, wards));
  }
  return hospitals;
}

void ExpectTwin(const json& result, const Hospitals& hospitals, Criterion criterion) {
  const stats::mixed::Profile twin = Fit(hospitals.sums, criterion);
  EXPECT_EQ(result["converged"], true);
  EXPECT_EQ(result["singular"], twin.tau_squared == 0);
  for (size_t c = 0; c < 3; ++c) {
    const auto i = static_cast<Eigen::Index>(c);
    const json& row = result["coefficients"][c];
    const double error = twin.standard_errors[i], step = row["step"];
    EXPECT_LE(step, 0x1p-6 * 1.001 * error);
    EXPECT_NEAR(row["estimate"], twin.estimates[i], 0.51 * step + 1e-4 * error);
    EXPECT_NEAR(row["standard_error"], error, 0.51 * step + 1e-4 * error);
  }
  double rows = 0;
  for (const stats::mixed::RowSums& own : hospitals.sums) rows += own.rows;
  // Half of 2^-6 of the standard error of its logarithm; of tau^2 also that of log lambda, below 1.
  EXPECT_NEAR(std::log(result["within"]["value"].get<double>()), std::log(twin.sigma_squared),
              std::sqrt(2 / (rows - 3)) / 127);
  EXPECT_NEAR(result["minus_2_log_likelihood"], twin.criterion, 0x1p-6);
  EXPECT_NEAR(result["aic"], Aic(twin), 0x1p-6);
  if (twin.tau_squared == 0) {
    EXPECT_EQ(result["between"]["value"], 0);
    EXPECT_TRUE(result["between"]["lower"].is_null());
    return;
  }
  EXPECT_NEAR(std::log(result["between"]["value"].get<double>()), std::log(twin.tau_squared),
              1.1 / 127);
  EXPECT_LT(result["between"]["lower"], twin.tau_squared);
  EXPECT_GT(result["between"]["upper"], twin.tau_squared);
}

TEST(MixedStudyTest, FitsAcrossHospitals) {
  const Hospitals hospitals = Draw({});
  const auto outcomes = Outcomes(RunStudy(kMixedStudy, hospitals.tables));
  ASSERT_EQ(outcomes.size(), 4u);
  ExpectPlannedTraffic(outcomes);
  const json result = ResultOf(outcomes.front());
  ExpectTwin(result, hospitals, Criterion::kReml);
  EXPECT_EQ(result["rows"], 360);
  EXPECT_EQ(result["groups"], 45);
  EXPECT_TRUE(result["warnings"].empty());
  for (size_t p = 1; p < outcomes.size(); ++p) EXPECT_EQ(outcomes[p].result, nullptr);
  const study::Document& document = partita::testing::DocumentOf(outcomes.front());
  ASSERT_EQ(document.sections.size(), 3u);
  EXPECT_EQ(document.sections[0].intervals.front().rows.size(), 2u);
  EXPECT_THAT(outcomes.front().result->Html(outcomes.front().plan, report::RunFacts{}),
              HasSubstr("Intervals of coefficients"));
}

TEST(MixedStudyTest, FitsOnOtherEnginesForAll) {
  const Hospitals hospitals = Draw({.seed = 2});
  for (const char* engine : {"replicated", "shamir"}) {
    SCOPED_TRACE(engine);
    std::string text =
        Edited(kMixedStudy, "name = \"dealer\"", fmt::format("name = \"{}\"", engine));
    text = Edited(text, "[[party]]\nname = \"helper\"\nroles = [\"dealer\"]\n", "");
    text = Edited(text, "[\"estimates\"]",
                  "[{what = \"estimates\", to = \"all\"}]\ncriterion = \"ML\"");
    const auto outcomes = Outcomes(RunStudy(text, hospitals.tables));
    ASSERT_EQ(outcomes.size(), 3u);
    ExpectPlannedTraffic(outcomes);
    const json result = ResultOf(outcomes.front());
    ExpectTwin(result, hospitals, Criterion::kMl);
    for (size_t p = 1; p < 3; ++p) EXPECT_EQ(ResultOf(outcomes[p]), result);
  }
}

TEST(MixedStudyTest, SitesAreGroups) {
  const Hospitals hospitals = Draw({.seed = 3, .by_site = true, .holders = 5});
  const std::string text = testing::FiveSites();
  const auto outcomes = Outcomes(RunStudy(text, hospitals.tables));
  ExpectPlannedTraffic(outcomes);
  const json result = ResultOf(outcomes.front());
  ExpectTwin(result, hospitals, Criterion::kReml);
  EXPECT_EQ(result["groups"], 5);
  EXPECT_THAT(result["warnings"].dump(), HasSubstr("There are 5 groups, fewer than 10"));
  const study::Plan plan = run::BuildPlan(*Prepare(text));
  EXPECT_THAT(plan.analyses.front().model, HasSubstr("groups are the holders"));
  EXPECT_THAT(plan.assumptions, Contains(HasSubstr("all holders but two that pool their own")));
}

// What one of three sites makes of a fit that it learns: with w = n / (1 + n lambda) and d a site's mean
// less the intercept, the sum of w d is 0 and that of w^2 d^2 what the slope at its maximum says. So the
// mean of a site of one row is a root of a quadratic equation.
TEST(MixedStudyTest, OfThreeSitesOneSolvesForTheOthers) {
  std::mt19937_64 random(17);
  std::normal_distribution<double> normal;
  const std::vector<double> rows = {400, 400, 1}, effects = {-3, 1, 4};
  std::vector<stats::mixed::RowSums> sites;
  for (size_t s = 0; s < 3; ++s) {
    const auto n = static_cast<Eigen::Index>(rows[s]);
    Eigen::VectorXd y(n);
    for (double& value : y) value = 50 + effects[s] + normal(random);
    const std::vector<uint32_t> one(static_cast<size_t>(n), 0);
    sites.push_back(stats::mixed::SumRows(Eigen::MatrixXd::Ones(n, 1), y, one));
  }
  const stats::mixed::Profile fit = Fit(sites, Criterion::kReml);
  ASSERT_GT(fit.tau_squared, 0);
  double sum = 0, squares = 0;
  std::vector<double> w, d;
  for (size_t s = 0; s < 3; ++s) {
    w.push_back(rows[s] / (1 + rows[s] * fit.tau_squared / fit.sigma_squared));
    d.push_back(sites[s].xy[0] / rows[s] - fit.estimates[0]);
    sum += w[s];
    squares += w[s] * w[s];
  }
  const double own = w[0] * d[0], rest = (sum - squares / sum) * fit.sigma_squared - own * own,
               root = std::sqrt(std::max(0.0, 2 * rest - own * own));
  const double apart = std::min(std::abs((-own - root) / 2 / w[2] - d[2]),
                                std::abs((-own + root) / 2 / w[2] - d[2]));
  EXPECT_LT(apart, 1e-4);

  try {
    Prepare(Edited(kMixedStudy, "(1 | ward)", "(1 | site)"));
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_THAT(error.message(), HasSubstr("there are 3 holders"));
    EXPECT_THAT(error.message(), HasSubstr("5 are needed"));
  }
}

// No ward differs: as lme4, the fit is there, and says that it is singular.
TEST(MixedStudyTest, SingularFitsAreNamed) {
  size_t singular = 0;
  for (uint64_t seed = 4; seed < 8; ++seed) {
    const Hospitals hospitals = Draw({.seed = seed, .between = 0});
    const json result = ResultOf(Outcomes(RunStudy(kMixedStudy, hospitals.tables)).front());
    ExpectTwin(result, hospitals, Criterion::kReml);
    if (result["singular"] == false) continue;
    ++singular;
    EXPECT_THAT(result["warnings"].dump(), HasSubstr("The fit is singular"));
    EXPECT_EQ(result["intraclass_correlation"]["value"], 0);
  }
  EXPECT_GE(singular, 1u);
}

// Nothing is left within wards: no fit, and nothing but counts.
TEST(MixedStudyTest, NoFitSaysWhy) {
  Hospitals hospitals = Draw({.seed = 9});
  for (std::string& table : hospitals.tables) {
    std::string csv = "ward,age,arm,score\n";
    for (int row = 0; row < 120; ++row)
      csv += fmt::format("{},{},{},{}\n", row % 15 + 1, 20 + row % 70, row % 2 == 0 ? "new" : "old",
                         30 + row % 15);
    table = csv;
  }
  const auto outcomes = Outcomes(RunStudy(kMixedStudy, hospitals.tables));
  const json result = ResultOf(outcomes.front());
  EXPECT_EQ(result["converged"], false);
  EXPECT_TRUE(result["coefficients"].empty());
  EXPECT_TRUE(result["between"].is_null());
  EXPECT_EQ(partita::testing::DocumentOf(outcomes.front()).ending, study::Ending::kNotConverged);
}

// The hint is of what failed, and of nothing else.
void ExpectRefused(const std::string& text, const std::vector<std::string>& tables,
                   const std::string& what, const std::string& hint = "") {
  SCOPED_TRACE(what);
  const auto ends = RunStudy(text, tables);
  for (const auto& end : ends) EXPECT_TRUE(end.error.has_value()) << end.party;
  ASSERT_NE(run::RootCause(ends), nullptr);
  EXPECT_EQ(run::RootCause(ends)->error->code(), ErrorCode::kRefused);
  EXPECT_THAT(run::RootCause(ends)->error->message(), HasSubstr(what));
  if (!hint.empty()) {
    EXPECT_EQ(run::RootCause(ends)->error->hint(), hint);
  }
}

TEST(MixedStudyTest, FewGroupsAndRareLevelsOpenNothing) {
  ExpectRefused(kMixedStudy, Draw({.wards = 2}).tables, "at least 5 groups of ward",
                "take a variable of more groups, or find more rows");
  ExpectRefused(
      Edited(kMixedStudy, "upper = 60", "upper = 400"),
      [] {
        Hospitals hospitals = Draw({});
        for (std::string& table : hospitals.tables) {
          std::string csv = "ward,age,arm,score\n";
          for (int row = 0; row < 120; ++row)
            csv += fmt::format("{},{},{},{}\n", row + 1, 20 + row % 70,
                               row % 2 == 0 ? "new" : "old", 30 + row % 17);
          table = csv;
        }
        return hospitals.tables;
      }(),
      "at least 10 rows more than groups",
      "take larger groups; of single rows take method \"glm\"");
  Hospitals rare = Draw({});
  for (size_t h = 0; h < 3; ++h) {
    std::string& table = rare.tables[h];
    for (size_t at = table.find("new"); at != std::string::npos; at = table.find("new"))
      table.replace(at, 3, "old");
    if (h == 0) table.replace(table.find("old"), 3, "new");
  }
  ExpectRefused(kMixedStudy, rare.tables, "each count of arm is 0 or at least min_cell = 5");
  // The same of a variable that another says: age and age again.
  ExpectRefused(
      Edited(kMixedStudy, "score ~ age", "score ~ I(age * age) + age"),
      [] {
        Hospitals hospitals = Draw({});
        for (std::string& table : hospitals.tables) {
          std::string csv = "ward,age,arm,score\n";
          for (int row = 0; row < 120; ++row)
            csv += fmt::format("{},{},{},{}\n", row % 15 + 1, row % 4 < 2 ? 30 : 60,
                               row % 2 == 0 ? "new" : "old", 30 + row % 17);
          table = csv;
        }
        return hospitals.tables;
      }(),
      "these columns follow from those before them");
}

// A site of one row is a person.
TEST(MixedStudyTest, SmallSitesOpenNothing) {
  std::vector<std::string> tables = Draw({.seed = 3, .by_site = true, .holders = 5}).tables;
  std::string& last = tables.back();
  last = last.substr(0, last.find('\n', last.find('\n') + 1) + 1);
  ExpectRefused(Edited(testing::FiveSites(), "name = \"c\"\ncount = 120\n", "name = \"c\"\n"),
                tables, "no holder has rows, but fewer than 5", "leave out holders of so few rows");
}

// With several rows of a person a level needs as many groups as min_cell says.
TEST(MixedStudyTest, PersonsWithSeveralRowsAreCountedAsGroups) {
  const std::string text =
      Edited(kMixedStudy, "[disclosure]", "[population]\nmax_rows_per_person = 3\n[disclosure]");
  const auto study = Prepare(text);
  EXPECT_EQ(study->LeastRowsApart(), 3 * 30u);
  EXPECT_THAT(run::BuildPlan(*study).assumptions, Contains(HasSubstr("up to 3 rows")));
  // Of so many persons' covariates the rule is.
  const auto rows_of = [](const run::Study& of) {
    return run::BuildPlan(of).exposures.front().bits->rows;
  };
  EXPECT_EQ(rows_of(*study), rows_of(*Prepare(kMixedStudy)) / 3);
  EXPECT_THROW(Prepare(Edited(text, "max_rows_per_person = 3", "max_rows_per_person = 90")), Error);
  const Hospitals hospitals = Draw({});
  ExpectTwin(ResultOf(Outcomes(RunStudy(text, hospitals.tables)).front()), hospitals,
             Criterion::kReml);
  // All that are treated are rows of one ward.
  std::vector<std::string> tables;
  for (size_t h = 0; h < 3; ++h) {
    std::string csv = "ward,age,arm,score\n";
    for (int row = 0; row < 120; ++row)
      csv += fmt::format("{},{},{},{}\n", row % 15 + 1, 20 + row % 70,
                         row % 15 == 3 ? "new" : "old", 30 + row % 17);
    tables.push_back(csv);
  }
  ExpectRefused(text, tables, "each count of arm by groups is 0 or at least min_cell = 5");
  EXPECT_THROW(Prepare(Edited(text, "(1 | ward)", "(1 | site)")), Error);
}

TEST(MixedStudyTest, ThePlanSaysWhatOpens) {
  const auto study = Prepare(kMixedStudy);
  const study::Plan plan = run::BuildPlan(*study);
  EXPECT_EQ(plan.method, "mixed");
  EXPECT_EQ(plan.protocol, "sealed");
  ASSERT_EQ(plan.releases.size(), 3u);
  EXPECT_EQ(plan.releases[0].to, "all");
  EXPECT_EQ(plan.releases[1].to, "all");
  EXPECT_EQ(plan.releases[2].to, "north");
  ASSERT_EQ(plan.exposures.size(), 1u);
  // Eleven numbers at 6 bits, one of singular, log2(360) / 2 + 2 = 6.2 of the groups.
  EXPECT_EQ(plan.exposures.front().bits->opened, 74u);
  EXPECT_TRUE(plan.exposures.front().bits->passes);
  EXPECT_THAT(plan.assumptions, Contains(HasSubstr("two groups")));
  EXPECT_THAT(plan.parties[1].learns, Not(Contains(HasSubstr("coefficients"))));
}

// How many of the rows are of the new arm differs between wards.
std::vector<std::string> ArmsOfWards(double between,
                                     std::vector<stats::mixed::GroupedRows>& sites) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  std::vector<std::string> tables;
  for (size_t h = 0; h < 3; ++h) {
    std::string csv = "ward,age,arm,score\n";
    stats::mixed::GroupedRows& site = sites.emplace_back();
    site.x.setOnes(120, 3);
    site.y.resize(120);
    double effect = 0;
    for (Eigen::Index i = 0; i < 120; ++i) {
      if (i % 8 == 0) {
        effect = between * normal(random);
        site.sizes.push_back(8);
      }
      const auto age = static_cast<int>(20 + random() % 71),
                 score = static_cast<int>(random() % 101);
      const double eta = effect + 0.02 * (age - 55) - 0.01 * (score - 50);
      const bool fresh = std::bernoulli_distribution(1 / (1 + std::exp(-eta)))(random);
      csv += fmt::format("{},{},{},{}\n", i / 8 + 1, age, fresh ? "new" : "old", score);
      site.x(i, 1) = age / 90.0;
      site.x(i, 2) = score / 100.0;
      site.y[i] = fresh ? 1 : 0;
    }
    tables.push_back(csv);
  }
  return tables;
}

TEST(MixedStudyTest, LogisticModelsOpenTheirPointsToAll) {
  std::vector<stats::mixed::GroupedRows> sites;
  const std::vector<std::string> tables = ArmsOfWards(0.9, sites);
  const auto outcomes = Outcomes(RunStudy(testing::Logistic(), tables));
  ASSERT_EQ(outcomes.size(), 4u);
  ExpectPlannedTraffic(outcomes);
  for (size_t p = 1; p < outcomes.size(); ++p) EXPECT_EQ(outcomes[p].result, nullptr);
  const json result = ResultOf(outcomes.front());
  const stats::mixed::LaplaceFit twin =
      FitLaplace(stats::glm::LawOf(stats::glm::Family::kBinomial), sites, {-15, 15});
  ASSERT_TRUE(twin.converged && !twin.singular);
  ASSERT_EQ(result["converged"], true);
  const std::vector<double> scales = {1, 90, 100};
  for (size_t i = 0; i < 3; ++i) {
    const auto k = static_cast<Eigen::Index>(i);
    const json& row = result["coefficients"][i];
    const double most = 1.51 * row["step"].get<double>();
    EXPECT_NEAR(row["estimate"], twin.point[k] / scales[i], most);
    EXPECT_NEAR(row["standard_error"], twin.standard_errors[k] / scales[i], most);
  }
  // Of tau one step and a half, of at most 2^-6 of its standard error.
  EXPECT_NEAR(std::sqrt(result["between"]["value"].get<double>()), twin.point[3],
              1.6 * std::ldexp(twin.standard_errors[3], -6));
  EXPECT_EQ(result["level"], "iterates");
  EXPECT_EQ(result["criterion"], "Laplace");
  EXPECT_EQ(result["within"], nullptr);
  EXPECT_EQ(result["groups"], 45);
  ASSERT_EQ(result["path"].size(), 4u);
  EXPECT_EQ(result["path"][3]["at"].size(), 6u);
  const study::Document& document = partita::testing::DocumentOf(outcomes.front());
  ASSERT_EQ(document.sections.size(), 4u);
  EXPECT_EQ(document.sections[0].tables.size(), 2u);
}

TEST(MixedStudyTest, ThePlanSaysThatPointsOpen) {
  const auto study = Prepare(testing::Logistic());
  const study::Plan plan = run::BuildPlan(*study);
  EXPECT_EQ(plan.protocol, "iterates");
  ASSERT_EQ(plan.releases.size(), 5u);
  EXPECT_EQ(plan.releases[2].to, "all");
  EXPECT_EQ(plan.releases[3].to, "all");
  EXPECT_EQ(plan.releases[4].to, "north");
  // Four numbers: four points at 2 bits, two at 4, the last at 6; five at 6; log2(360) / 2 + 2 = 6.2.
  ASSERT_EQ(plan.exposures.size(), 2u);
  EXPECT_EQ(plan.exposures[0].to, "all");
  EXPECT_LT(plan.exposures[0].bits->opened, 125u);
  EXPECT_EQ(plan.exposures[1].bits->opened, 125u);
  EXPECT_THAT(plan.assumptions, Contains(HasSubstr("whether that deviation is 0 they see, too")));
  EXPECT_THAT(plan.parties[1].learns, Contains(HasSubstr("standard deviation between groups")));
}

TEST(MixedStudyTest, AlikeWardsAreSingularAndRareOutcomesOpenNothing) {
  std::vector<stats::mixed::GroupedRows> sites;
  const auto alike = Outcomes(RunStudy(testing::Logistic(), ArmsOfWards(0, sites)));
  const stats::mixed::LaplaceFit twin =
      FitLaplace(stats::glm::LawOf(stats::glm::Family::kBinomial), sites, {-15, 15});
  ASSERT_TRUE(twin.converged);
  const json result = ResultOf(alike.front());
  ASSERT_EQ(result["converged"], true);
  EXPECT_EQ(result["singular"], twin.singular);
  // Nobody of the new arm at two holders, and few at the third.
  sites.clear();
  std::vector<std::string> tables = ArmsOfWards(0, sites);
  size_t kept = 0;
  for (std::string& table : tables) {
    for (size_t at = table.find("new"); at != std::string::npos; at = table.find("new", at + 1)) {
      if (++kept > 3) table.replace(at, 3, "old");
    }
  }
  ExpectRefused(testing::Logistic(), tables, "with one outcome and as many with the other");
}

// Rows of 15 wards a hospital, whose scores fall with age at different rates.
std::vector<std::string> SlopesOfWards(std::vector<stats::mixed::SlopeSums>& sites) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  std::vector<std::string> tables;
  for (size_t h = 0; h < 3; ++h) {
    std::string csv = "ward,age,arm,score\n";
    Eigen::MatrixXd x(120, 3);
    Eigen::VectorXd y(120);
    std::vector<uint32_t> wards;
    double intercept = 0, slope = 0;
    for (Eigen::Index i = 0; i < 120; ++i) {
      if (i % 8 == 0) {
        intercept = 5 * normal(random);
        slope = 0.25 * normal(random);
      }
      const auto age = static_cast<int>(20 + random() % 71);
      const bool arm = random() % 2 == 0;
      const double score =
          60 + intercept + (slope - 0.2) * age + (arm ? 4 : 0) + 3 * normal(random);
      const double rounded = std::clamp(std::round(10 * score) / 10, 0.0, 100.0);
      csv += fmt::format("{},{},{},{}\n", i / 8 + 1, age, arm ? "new" : "old", rounded);
      x.row(i) << 1, age / 90.0, arm ? 1 : 0;
      y[i] = (rounded - 50) / 50;
      wards.push_back(static_cast<uint32_t>(i / 8));
    }
    tables.push_back(csv);
    sites.push_back(stats::mixed::SumSlopes(x, y, wards, 1));
  }
  return tables;
}

TEST(MixedStudyTest, SlopesOpenTheirPointsToAll) {
  std::vector<stats::mixed::SlopeSums> sites;
  const std::vector<std::string> tables = SlopesOfWards(sites);
  for (const Criterion criterion : {Criterion::kReml, Criterion::kMl}) {
    const bool reml = criterion == Criterion::kReml;
    SCOPED_TRACE(reml);
    std::string text = Edited(testing::Sloped(), "release =", "steps = 8\nrelease =");
    if (!reml) text = Edited(text, "release =", "criterion = \"ML\"\nrelease =");
    const auto outcomes = Outcomes(RunStudy(text, tables));
    ASSERT_EQ(outcomes.size(), 4u);
    ExpectPlannedTraffic(outcomes);
    for (size_t p = 1; p < outcomes.size(); ++p) EXPECT_EQ(outcomes[p].result, nullptr);
    const json result = ResultOf(outcomes.front());
    const stats::mixed::SlopeFit twin = FitSlopes(sites, criterion);
    ASSERT_TRUE(twin.converged);
    ASSERT_EQ(result["converged"], true);
    const std::vector<double> units = {50, 50 / 90.0, 50}, centres = {50, 0, 0};
    for (size_t i = 0; i < 3; ++i) {
      const auto k = static_cast<Eigen::Index>(i);
      const json& row = result["coefficients"][i];
      const double most = 1.51 * row["step"].get<double>();
      EXPECT_NEAR(row["estimate"], twin.point[k] * units[i] + centres[i], most);
      EXPECT_NEAR(row["standard_error"], twin.standard_errors[k] * units[i], most);
    }
    const auto log_deviation = [](const json& part) {
      return std::log(part["value"].get<double>()) / 2;
    };
    const auto near = [&](double log, double unit, Eigen::Index k) {
      EXPECT_NEAR(log, twin.point[3 + k] + std::log(unit),
                  1.6 * std::ldexp(twin.standard_errors[3 + k], -6))
          << k;
    };
    near(log_deviation(result["between"]), 50, 0);
    near(log_deviation(result["slope"]["variance"]), 50 / 90.0, 1);
    near(std::atanh(result["slope"]["correlation"]["value"].get<double>()), 1, 2);
    near(log_deviation(result["within"]), 50, 3);
    EXPECT_LT(result["slope"]["variance"]["lower"], result["slope"]["variance"]["value"]);
    EXPECT_EQ(result["slope"]["term"], "age");
    EXPECT_EQ(result["intraclass_correlation"], nullptr);
    EXPECT_EQ(result["level"], "iterates");
    EXPECT_EQ(result["criterion"], reml ? "REML" : "ML");
    EXPECT_EQ(result["singular"], false);
    // In the units of the variables: columns over 1, 90, 1, the outcome over 50.
    const double of_units =
        -2 * (360 - (reml ? 3 : 0)) * std::log(1 / 50.0) + (reml ? 2 * std::log(90) : 0);
    EXPECT_NEAR(result["minus_2_log_likelihood"], twin.criterion + of_units, 0x1p-5);
    EXPECT_NEAR(result["aic"], twin.criterion + of_units + 14, 0x1p-5);
    ASSERT_EQ(result["path"].size(), 7u);
    EXPECT_EQ(result["path"][4]["term"], "std. dev. of age");
    EXPECT_EQ(result["path"][6]["at"].size(), 8u);
    EXPECT_NEAR(result["path"][6]["at"][7], 3, 0.5);
    EXPECT_EQ(partita::testing::DocumentOf(outcomes.front()).sections.size(), 4u);
  }
}

TEST(MixedStudyTest, ThePlanSaysWhatSlopesOpen) {
  const std::string refused =
      Edited(testing::Sloped(), "[release]\naccept = \"table of covariates\"\n", "");
  EXPECT_THROW(Prepare(refused), Error);
  const study::Plan plan = run::BuildPlan(*Prepare(testing::Sloped()));
  EXPECT_EQ(plan.protocol, "iterates");
  ASSERT_EQ(plan.releases.size(), 5u);
  EXPECT_EQ(plan.releases[3].to, "all");
  EXPECT_EQ(plan.releases[4].to, "north");
  EXPECT_EQ(plan.analyses.front().free_parameters, 7u);
  // Seven numbers: four points at 2 bits, two at 4, the last at 6; eight at 6; log2(360) / 2 + 2 = 6.2.
  ASSERT_EQ(plan.exposures.size(), 2u);
  EXPECT_EQ(plan.exposures[1].bits->opened, 7u * 22 + 8 * 6 + 7);
  EXPECT_THAT(plan.assumptions,
              Contains(HasSubstr("three standard deviations and the correlation")));
  EXPECT_THAT(plan.parties[1].learns, Contains(HasSubstr("logarithms of three standard")));
  std::vector<std::string> rules;
  for (const auto& check : plan.checks) rules.push_back(check.rule);
  EXPECT_THAT(rules, Contains(HasSubstr("at least 10 rows more than twice as many as groups")));
}

// Wards that do not differ have no slopes: the fit says so, and what to take.
TEST(MixedStudyTest, SlopesThatDoNotDifferAreNoFit) {
  const Hospitals hospitals = Draw({.seed = 9, .between = 0});
  const auto outcomes = Outcomes(RunStudy(testing::Sloped(), hospitals.tables));
  const json result = ResultOf(outcomes.front());
  EXPECT_EQ(result["converged"], false);
  EXPECT_TRUE(result["coefficients"].empty());
  EXPECT_TRUE(result["slope"]["variance"].is_null());
  EXPECT_THAT(partita::testing::DocumentOf(outcomes.front()).sections.front().paragraphs,
              Contains(HasSubstr("take (1 | ward)")));
}

// Two rows a ward determine a line each, and nothing is left.
TEST(MixedStudyTest, SlopesNeedRowsWithinGroups) {
  std::vector<std::string> tables;
  for (size_t h = 0; h < 3; ++h) {
    std::string csv = "ward,age,arm,score\n";
    for (int i = 0; i < 120; ++i)
      csv += fmt::format("{},{},{},{}\n", i / 2 + 1, 20 + (7 * i) % 71, i % 3 == 0 ? "new" : "old",
                         30 + (11 * i) % 40);
    tables.push_back(csv);
  }
  ExpectRefused(testing::Sloped(), tables, "rows more than twice as many as groups");
}

struct Refusal {
  std::string from, to, what, hint;
};

TEST(MixedStudyTest, RefusesWhatItDoesNotDo) {
  for (const Refusal& refusal : std::vector<Refusal>{
           {"site = \"ignore\"", "site = \"fixed\"", "effects of sites", "site = \"ignore\""},
           {"missing = \"complete\"", "missing = \"complete\"\ncluster = \"ward\"", "clusters",
            "(1 | ward)"},
           {"missing = \"complete\"",
            "missing = \"complete\"\nweights = \"age\"\nweights_type = "
            "\"frequency\"",
            "weights", "leave them out"},
           {"[engine]", "[release]\ngrid = \"full\"\n[engine]", "on a grid", "leave `grid` out"}}) {
    SCOPED_TRACE(refusal.to);
    try {
      Prepare(Edited(kMixedStudy, refusal.from, refusal.to));
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      EXPECT_THAT(error.message(), HasSubstr(refusal.what));
      EXPECT_THAT(error.hint(), HasSubstr(refusal.hint));
    }
  }
  // Of two holders as groups.
  std::string two = Edited(kMixedStudy, "(1 | ward)", "(1 | site)");
  two = Edited(two, "[[party]]\nname = \"west\"\nroles = [\"holder\"]\nrows = [\"w\"]\n", "");
  two = Edited(two, "[[rows]]\nname = \"w\"\ncount = 120\n", "");
  two = Edited(two, "min_rows = 300", "min_rows = 200");
  EXPECT_THROW(Prepare(two), Error);
}

}  // namespace
}  // namespace partita::methods::mixed::mixed_study_test
