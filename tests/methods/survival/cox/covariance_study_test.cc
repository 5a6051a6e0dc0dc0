// Cox models with covariance = true as studies: R's matrix, what opens and is counted, pairs of levels that are
// checked, and the attack that they are checked for.
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
#include "methods/prepare_study.h"
#include "methods/survival/cox/study.h"
#include "run/party/build_plan.h"
#include "tests/methods/rehearsals.h"
#include "tests/methods/survival/survival_text.h"
#include "tests/run/study_in_process.h"
#include "tests/stats/survival/tables.h"
#include "tests/study/edited.h"

namespace partita::methods::survival::cox_covariance_study_test {
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
using testing::kSurvivalStudy;
using ::testing::Not;

// Of three clinics, with a 0/1 variable beside the arm.
std::string CoxText(const std::string& terms) {
  std::string text = Edited(kSurvivalStudy, "report = [20, 40, 60]", "model = \"cox\"");
  text = Edited(text, "Surv(days, died) ~ arm", "Surv(days, died) ~ " + terms);
  text = Edited(text, "[[derived]]",
                "[[variable]]\nname = \"smoker\"\ntype = \"integer\"\nlower = 0\nupper = 1\n"
                "[[derived]]");
  return Edited(text, "[\"curves\"]", "[\"estimates\"]");
}
std::string WithCovariance(const std::string& text) {
  return Edited(text, "model = \"cox\"\n", "model = \"cox\"\ncovariance = true\n");
}
std::string Accepted(const std::string& text) {
  return Edited(text, "[engine]", "[release]\naccept = \"table of covariates\"\n[engine]");
}

MatrixXd MatrixOf(const json& rows) {
  MatrixXd matrix(rows.size(), rows[0].size());
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = 0; j < rows[i].size(); ++j)
      matrix(static_cast<Index>(i), static_cast<Index>(j)) = rows[i][j];
  }
  return matrix;
}

// ---- veteran, with a factor

std::string VeteranText(size_t holders) {
  std::string text = "partita = 1\nname = \"real\"\n";
  for (size_t h = 0; h < holders; ++h) {
    text += fmt::format("[[party]]\nname = \"p{0}\"\nroles = [\"holder\"{1}]\nrows = [\"r{0}\"]\n",
                        h, h == 0 ? ", \"receiver\"" : "");
  }
  for (size_t h = 0; h < holders; ++h) text += fmt::format("[[rows]]\nname = \"r{}\"\n", h);
  return text + R"toml([[variable]]
name = "death"
type = "survival"
time = "time"
event = "status"
lower = 0
upper = 1000
[[variable]]
name = "karno"
type = "numeric"
lower = 0
upper = 100
[[variable]]
name = "celltype"
type = "factor"
levels = ["squamous", "smallcell", "adeno", "large"]
[disclosure]
min_rows = 130
min_cell = 1
[release]
accept = "table of covariates"
[engine]
name = "replicated"
[design]
site = "ignore"
missing = "refuse"
[[analysis]]
method = "survival"
model = "cox"
covariance = true
formula = "Surv(time, status) ~ karno + celltype"
release = ["estimates"]
)toml";
}

TEST(CoxCovarianceStudy, HasTheMatrixOfR) {
  std::ifstream file(FixturePath("references/survival/covariance.json"));
  const MatrixXd of_r = MatrixOf(json::parse(file)["veteran_cells"]["model"]);
  const auto columns = stats::survival::testing::ReadTable("lgpl/veteran.csv");
  std::vector<std::string> parts(3, "time,status,karno,celltype\n");
  for (size_t r = 0; r < columns.at("time").size(); ++r) {
    std::string line;
    for (const std::string name : {"time", "status", "karno", "celltype"})
      line += (line.empty() ? "" : ",") + columns.at(name)[r];
    parts[r % 3] += line + "\n";
  }
  const auto outcomes = Outcomes(RunStudy(VeteranText(3), parts));
  ASSERT_EQ(outcomes.size(), 3u);
  ExpectPlannedTraffic(outcomes);
  const json result = ResultOf(outcomes.front());
  ASSERT_EQ(result["converged"], true);
  const json& vcov = result["vcov"];
  EXPECT_EQ(vcov["names"],
            json({"karno", "celltype.smallcell", "celltype.adeno", "celltype.large"}));
  const MatrixXd covariance = MatrixOf(vcov["values"]);
  for (Index i = 0; i < 4; ++i) {
    const auto a = static_cast<size_t>(i);
    EXPECT_NEAR(result["coefficients"][a]["standard_error"], std::sqrt(covariance(i, i)),
                1e-12 * std::sqrt(covariance(i, i)));
    for (Index j = 0; j < 4; ++j) {
      const double step =
          vcov["steps"][a].get<double>() * vcov["steps"][static_cast<size_t>(j)].get<double>();
      // Half a step; and the information is that of the estimates on their grid, a step of 2^-6 standard errors
      // from R's, which moves it by less than 1 % in this table.
      EXPECT_NEAR(covariance(i, j), of_r(i, j),
                  0.51 * step + 0.01 * std::sqrt(of_r(i, i) * of_r(j, j)))
          << i << " " << j;
    }
  }
  for (size_t p = 1; p < outcomes.size(); ++p) EXPECT_EQ(outcomes[p].result, nullptr);
  const study::Document& document = partita::testing::DocumentOf(outcomes.front());
  EXPECT_THAT(document.sections[0].paragraphs, Contains(HasSubstr("vcov")));
}

// ---- what opens

TEST(CoxCovarianceStudy, ThePlanCountsEveryNumber) {
  const std::string text = CoxText("age + arm + smoker");
  const auto plain = Prepare(text), asked = Prepare(WithCovariance(text));
  const study::Plan before = run::BuildPlan(*plain), plan = run::BuildPlan(*asked);
  // In the place of three standard errors of 6 bits six covariances of 15.
  const study::PlanExposure &all = plan.exposures[1], &all_before = before.exposures[1];
  EXPECT_EQ(all.opened, all_before.opened - 3 + 6);
  EXPECT_EQ(all.bits->opened, all_before.bits->opened - 3 * 6 + 6 * 15);
  EXPECT_EQ(all.bits->table, all_before.bits->table);
  EXPECT_EQ(plan.exposures[0].opened, before.exposures[0].opened);
  EXPECT_THAT(plan.parties[0].learns,
              Contains(HasSubstr("the covariance matrix of 3 log hazard ratios, 6 numbers")));
  EXPECT_THAT(plan.parties[0].learns, Not(Contains(HasSubstr("standard errors on a grid"))));
  EXPECT_THAT(plan.parties[1].learns, Not(Contains(HasSubstr("covariance"))));
  EXPECT_THAT(plan.assumptions, Contains(HasSubstr("how long they were followed")));
  EXPECT_THAT(before.assumptions, Not(Contains(HasSubstr("covariance"))));
  // One more check: of the 0/1 variable with the factor.
  ASSERT_EQ(plan.checks.size(), before.checks.size() + 1);
  EXPECT_THAT(plan.checks[3].rule,
              HasSubstr("each count of arm with smoker with the event and without is 0"));
  // Two studies have to differ by ten rows for each covariance.
  EXPECT_EQ(plain->LeastRowsApart(), 30u);
  EXPECT_EQ(asked->LeastRowsApart(), 60u);
  const study::Plan robust = run::BuildPlan(*Prepare(
      Edited(WithCovariance(text), "covariance = true", "covariance = true\nerrors = \"robust\"")));
  EXPECT_THAT(robust.parties[0].learns, Contains(HasSubstr("the robust covariance matrix of 3")));
}

// A stratum is counted with the levels of the columns, too.
TEST(CoxCovarianceStudy, StrataAreCountedWithLevels) {
  const study::Plan plan =
      run::BuildPlan(*Prepare(Accepted(WithCovariance(CoxText("smoker + strata(arm)")))));
  EXPECT_THAT(plan.checks[3].rule, HasSubstr("each count of arm with smoker"));
}

// Who admits estimates alone admits no covariance matrix.
TEST(CoxCovarianceStudy, IsAReleaseOfItsOwnInEnvelopes) {
  const auto uses = [](const std::string& text) {
    std::vector<std::string> names;
    for (const study::ReleaseSpec& release :
         methods::ParseStudyFile(text, "s.toml").analyses.front().section->Uses().releases)
      names.push_back(release.what + " to " + (release.to.empty() ? "the receiver" : release.to));
    return names;
  };
  const std::string text = CoxText("age + arm");
  EXPECT_THAT(uses(WithCovariance(text)), Contains("covariance to the receiver"));
  EXPECT_THAT(uses(text), Not(Contains(HasSubstr("covariance"))));
  EXPECT_THAT(uses(Edited(WithCovariance(text), "[\"estimates\"]",
                          "[{what = \"estimates\", to = \"all\"}]")),
              Contains("covariance to all"));
}

// Beside the matrices of the model and of rows it would tell sums over pairs of rows of one cluster.
TEST(CoxCovarianceStudy, ErrorsOfClustersHaveNone) {
  std::string text =
      Edited(CoxText("age + arm"), "model = \"cox\"\n", "model = \"cox\"\nerrors = \"cluster\"\n");
  text = Edited(text, "[[derived]]",
                "[[variable]]\nname = \"ward\"\ntype = \"integer\"\nlower = 1\nupper = 9\n"
                "[[derived]]");
  text = Edited(text, "[design]\n", "[design]\ncluster = \"ward\"\n");
  EXPECT_NO_THROW(Prepare(text));
  try {
    Prepare(WithCovariance(text));
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_THAT(error.message(), HasSubstr("what two rows of one cluster have"));
    EXPECT_THAT(error.hint(), HasSubstr("standard errors of clusters open without it"));
  }
}

TEST(CoxCovarianceStudy, CurvesHaveNone) {
  try {
    Prepare(Edited(kSurvivalStudy, "report = [20, 40, 60]",
                   "report = [20, 40, 60]\ncovariance = true"));
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_THAT(error.message(), HasSubstr("curves have no covariance"));
  }
}

// ---- counts of two levels, and what the matrix tells of them

struct Row {
  int days = 1, died = 0, smoker = 0;
  bool treated = false;
};

// Who is treated does not smoke. All are followed for 60 days.
std::vector<std::vector<Row>> Draw() {
  std::mt19937_64 random(7);
  std::exponential_distribution<double> life(1.0 / 60);
  std::vector<std::vector<Row>> clinics;
  for (const size_t rows : {200, 150, 120}) {
    clinics.emplace_back();
    for (size_t r = 0; r < rows; ++r) {
      Row row;
      const int dies = 1 + static_cast<int>(life(random)), until = 60;
      row.died = dies <= until ? 1 : 0;
      row.days = std::min(dies, until);
      row.treated = random() % 5 < 2;
      row.smoker = !row.treated && random() % 5 < 3 ? 1 : 0;
      clinics.back().push_back(row);
    }
  }
  return clinics;
}

std::vector<std::string> Tables(const std::vector<std::vector<Row>>& clinics) {
  std::vector<std::string> tables;
  for (const std::vector<Row>& rows : clinics) {
    std::string csv = "days,died,age,arm,smoker\n";
    for (const Row& row : rows) {
      csv += fmt::format("{},{},50,{},{}\n", row.days, row.died,
                         row.treated ? "treated" : "control", row.smoker);
    }
    tables.push_back(csv);
  }
  return tables;
}

// One treated smoker: neither level is rare. Nothing opens but which count is small.
TEST(CoxCovarianceStudy, PairsOfLevelsAreChecked) {
  const std::string text = Accepted(CoxText("arm + smoker"));
  std::vector<std::vector<Row>> clinics = Draw();
  EXPECT_EQ(Outcomes(RunStudy(WithCovariance(text), Tables(clinics))).size(), 4u);
  clinics[0][0] = {.days = 60, .died = 0, .smoker = 1, .treated = true};
  EXPECT_EQ(Outcomes(RunStudy(text, Tables(clinics))).size(), 4u);
  const auto refused = RunStudy(WithCovariance(text), Tables(clinics));
  for (const auto& end : refused) EXPECT_TRUE(end.error.has_value()) << end.party;
  ASSERT_NE(run::RootCause(refused), nullptr);
  EXPECT_EQ(run::RootCause(refused)->error->code(), ErrorCode::kRefused);
  const std::string& message = run::RootCause(refused)->error->message();
  EXPECT_THAT(message, HasSubstr("arm with smoker"));
  EXPECT_THAT(run::RootCause(refused)->error->hint(),
              HasSubstr("leave covariance out, for which pairs"));
  EXPECT_THAT(message, Not(HasSubstr("each count of smoker ")));
  EXPECT_THAT(message, Not(HasSubstr("each count of arm with the event")));
}

// Refused for a level of a table, and not for the level alone.
void ExpectRefused(const std::string& text, const std::vector<std::vector<Row>>& clinics,
                   const std::string& what, const std::string& what_not) {
  const auto ends = RunStudy(text, Tables(clinics));
  for (const auto& end : ends) EXPECT_TRUE(end.error.has_value()) << end.party;
  ASSERT_NE(run::RootCause(ends), nullptr);
  EXPECT_EQ(run::RootCause(ends)->error->code(), ErrorCode::kRefused);
  EXPECT_THAT(run::RootCause(ends)->error->message(), HasSubstr(what));
  EXPECT_THAT(run::RootCause(ends)->error->message(), Not(HasSubstr(what_not)));
}

// A stratum in which a level is rare, though it is frequent in all.
TEST(CoxCovarianceStudy, RareLevelsOfAStratumAreChecked) {
  const std::string text = Accepted(CoxText("smoker + strata(arm)"));
  std::vector<std::vector<Row>> clinics = Draw();
  EXPECT_EQ(Outcomes(RunStudy(WithCovariance(text), Tables(clinics))).size(), 4u);
  clinics[0][0] = {.days = 60, .died = 0, .smoker = 1, .treated = true};
  EXPECT_EQ(Outcomes(RunStudy(text, Tables(clinics))).size(), 4u);
  ExpectRefused(WithCovariance(text), clinics, "each count of arm with smoker",
                "each count of smoker");
}

// A site is a stratum: its only row with a level is a term of its own, however many there are elsewhere.
TEST(CoxCovarianceStudy, RareLevelsOfASiteAreChecked) {
  const std::string text = Accepted(CoxText("arm + smoker + strata(site)"));
  const study::Plan plan = run::BuildPlan(*Prepare(WithCovariance(text)));
  const std::string own = "own rows, and of these, as each holder is a stratum";
  EXPECT_THAT(plan.checks[1].rule, HasSubstr(own));
  EXPECT_THAT(run::BuildPlan(*Prepare(text)).checks[1].rule, Not(HasSubstr(own)));
  // One bit for each table, as without.
  EXPECT_EQ(plan.checks.size(), run::BuildPlan(*Prepare(text)).checks.size() + 1);
  std::vector<std::vector<Row>> clinics = Draw();
  const auto outcomes = Outcomes(RunStudy(WithCovariance(text), Tables(clinics)));
  ExpectPlannedTraffic(outcomes);
  ASSERT_EQ(ResultOf(outcomes.front())["converged"], true);
  EXPECT_EQ(ResultOf(outcomes.front())["vcov"]["names"].size(), 2u);
  // Nobody smokes at the first, which is 0.
  for (Row& row : clinics[0]) row.smoker = 0;
  EXPECT_EQ(Outcomes(RunStudy(WithCovariance(text), Tables(clinics))).size(), 4u);
  for (Row& row : clinics[0]) {
    if (row.treated || row.died != 0) continue;
    row.smoker = 1;
    break;
  }
  EXPECT_EQ(Outcomes(RunStudy(text, Tables(clinics))).size(), 4u);
  // Of all sites together it is no rare level.
  const std::string together = Accepted(CoxText("arm + smoker"));
  EXPECT_EQ(Outcomes(RunStudy(WithCovariance(together), Tables(clinics))).size(), 4u);
  ExpectRefused(WithCovariance(text), clinics, "each count of smoker with the event",
                "each count of arm with the event");
}

// Events that rows with both levels were to have, as a receiver reads them off the matrix and the number of events:
// with m the means of a column over who is at risk, the information is I_ab = E_ab - sum of m_a m_b over events, and at
// the maximum E_aa is the sum of m_a. Where these change little with time, O = sum of m_a solves I_aa = O - O^2 / D.
double ReadOffBoth(const json& result) {
  const MatrixXd information = MatrixOf(result["vcov"]["values"]).inverse();
  const auto events = result["events"].get<double>();
  const auto of_level = [&](Index i) {
    return events / 2 * (1 - std::sqrt(1 - 4 * information(i, i) / events));
  };
  return information(0, 1) + of_level(0) * of_level(1) / events;
}

// The same of one row in the clear: its hazard until it leaves, at these estimates.
double HazardOf(const std::vector<std::vector<Row>>& clinics, const Row& of, const json& result) {
  const double treated = result["coefficients"][0]["estimate"],
               smoker = result["coefficients"][1]["estimate"];
  const auto weight = [&](const Row& row) {
    return std::exp((row.treated ? treated : 0) + smoker * row.smoker);
  };
  double hazard = 0;
  for (int day = 1; day <= of.days; ++day) {
    double at_risk = 0, events = 0;
    for (const std::vector<Row>& rows : clinics) {
      for (const Row& row : rows) {
        if (row.days >= day) at_risk += weight(row);
        if (row.days == day) events += row.died;
      }
    }
    hazard += events / at_risk;
  }
  return hazard * weight(of);
}

// What the plan says of a matrix. Without the check (min_cell = 1) it tells how long the only treated smoker was followed.
// Of 200 such tables drawn in R what is read off tells 3 days from 60 in 197, and differs between them by what the hazards
// do, to 0.06.
TEST(CoxCovarianceStudy, TheMatrixTellsHowLongTheOnlyOneWithTwoLevelsWasFollowed) {
  std::string text = Accepted(WithCovariance(CoxText("arm + smoker")));
  text = Edited(text, "min_rows = 470", "min_rows = 470\nmin_cell = 1");
  std::vector<std::vector<Row>> clinics = Draw();
  double read[2], hazard[2];
  for (const int late : {0, 1}) {
    clinics[0][0] = {.days = late ? 60 : 3, .died = 0, .smoker = 1, .treated = true};
    const json result = ResultOf(Outcomes(RunStudy(text, Tables(clinics))).front());
    ASSERT_EQ(result["converged"], true);
    read[late] = ReadOffBoth(result);
    hazard[late] = HazardOf(clinics, clinics[0][0], result);
  }
  EXPECT_LT(hazard[0], 0.1);
  EXPECT_GT(hazard[1], 0.5);
  EXPECT_NEAR(read[1] - read[0], hazard[1] - hazard[0], 0.1);
  EXPECT_LT(read[0], (hazard[0] + hazard[1]) / 2);
  EXPECT_GT(read[1], (hazard[0] + hazard[1]) / 2);
}

// ---- rehearsals

TEST(CoxCovarianceStudy, RehearsalsAgree) {
  SilentProgress progress;
  for (const char* errors : {"model", "robust"}) {
    const std::string text =
        Edited(WithCovariance(CoxText("age + arm + smoker")), "covariance = true",
               fmt::format("covariance = true\nerrors = \"{}\"", errors));
    const CoxStudy study = PrepareCoxStudy(ParseStudyFile(text, "study.toml"));
    const run::Rehearsal rehearsal = run::Rehearse(study, {.rows_per_block = 400}, progress);
    rehearsals::ExpectPassed(rehearsal);
    size_t covariances = 0;
    for (const run::ExactNumber& number : rehearsal.agreement.exact)
      covariances += number.name.ends_with(", covariance") ? 1 : 0;
    EXPECT_EQ(covariances, 6u);
  }
}

}  // namespace
}  // namespace partita::methods::survival::cox_covariance_study_test
