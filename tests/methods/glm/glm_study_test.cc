// Studies of method `glm` through the whole path: R's fits of real tables on every engine, traffic
// as planned, who learns what, what is refused and what does not converge.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"
#include "methods/glm/study.h"
#include "methods/prepare_study.h"
#include "run/party/build_plan.h"
#include "run/party/predict.h"
#include "run/simulate/simulate.h"
#include "tests/methods/glm/glm_text.h"
#include "tests/methods/glm/reference_text.h"
#include "tests/methods/glm/tables.h"
#include "tests/paths.h"
#include "tests/run/reference_study.h"
#include "tests/run/study_in_process.h"
#include "tests/study/edited.h"

namespace partita::methods::glm::glm_study_test {
namespace {

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
using testing::ReferenceText;

// ---- R's fits (tests/references/glm/families.json)

void ExpectR(const nlohmann::json& result, const nlohmann::json& wanted) {
  EXPECT_EQ(result["converged"], true);
  ASSERT_EQ(result["coefficients"].size(), wanted["terms"].size());
  for (size_t c = 0; c < wanted["terms"].size(); ++c) {
    const nlohmann::json& row = result["coefficients"][c];
    SCOPED_TRACE(row["term"].get<std::string>());
    const double error = wanted["standard_error"][c], step = row["step"];
    EXPECT_LE(step, 0x1p-6 * 1.01 * error);
    // Half a step; a thousandth is what scoring leaves.
    EXPECT_NEAR(row["estimate"], wanted["estimate"][c].get<double>(), 0.51 * step + 1e-3 * error);
    EXPECT_NEAR(row["standard_error"], error, 0x1p-6 * error);
    // The p-value at 1/64 standard errors from R's statistic, and at one of 1/64 more.
    EXPECT_NEAR(row["p_value"], wanted["p_value"][c].get<double>(), 0.03);
    EXPECT_NEAR(row["lower"], wanted["lower"][c].get<double>(), 0.06 * error);
    EXPECT_NEAR(row["upper"], wanted["upper"][c].get<double>(), 0.06 * error);
  }
  testing::ExpectTests(result["tests"], wanted["tests"], 0x1p-6, 0);
  const nlohmann::json& fit = result["fit"];
  EXPECT_EQ(fit["df_residual"], wanted["df_residual"]);
  EXPECT_EQ(fit["df_null"], wanted["df_null"]);
  // Of a gaussian outcome relative to its variance (fit_numbers.h).
  const bool gaussian = wanted["family"] == "gaussian";
  const double unit = gaussian ? wanted["dispersion"].get<double>() : 1;
  EXPECT_NEAR(fit["deviance"], wanted["deviance"].get<double>(), 0.02 * unit);
  // The derivative of the gamma likelihood by the deviance D is -n / (2 D).
  const double slope = wanted["family"] == "gamma"
                           ? result["rows"].get<double>() / wanted["deviance"].get<double>()
                           : 1;
  EXPECT_NEAR(fit["aic"], wanted["aic"].get<double>(), 0.02 * (2 + slope));
  if (!fit["null_deviance"].is_null()) {
    const double null = wanted["null_deviance"];
    EXPECT_NEAR(fit["null_deviance"], null, gaussian ? 1e-4 * null : 0.02);
  }
  EXPECT_NEAR(fit["dispersion"], wanted["dispersion"].get<double>(),
              1e-3 * wanted["dispersion"].get<double>());
}

nlohmann::json FitOfR(const std::string& name) {
  std::ifstream file(FixturePath("references/glm/families.json"));
  return nlohmann::json::parse(file)[name];
}

void ExpectFitOfR(const std::string& name, const std::string& engine, size_t holders) {
  SCOPED_TRACE(name + " " + engine);
  const nlohmann::json wanted = FitOfR(name);
  const std::vector<data::Table> parts = testing::ReadParts(wanted["data"], holders);
  std::vector<std::string> tables;
  for (const data::Table& part : parts) tables.push_back(CsvOf(part));
  const auto outcomes = Outcomes(RunStudy(ReferenceText(wanted, engine, parts), tables));
  ASSERT_EQ(outcomes.size(), holders + (engine == "dealer" ? 1 : 0));
  ExpectPlannedTraffic(outcomes);
  ExpectR(ResultOf(outcomes.front()), wanted);
  for (size_t p = 1; p < outcomes.size(); ++p) EXPECT_EQ(outcomes[p].result, nullptr);
}

TEST(GlmStudyTest, FitsRealTablesAsR) {
  for (const char* name : {"birthwt_interaction", "birthwt_offset", "quine", "abalone_rates",
                           "abalone", "abalone_plain", "abalone_gamma"})
    ExpectFitOfR(name, "dealer", 2);
  ExpectFitOfR("birthwt_plain", "replicated", 3);
  ExpectFitOfR("abalone_gamma_offset", "replicated", 3);
  ExpectFitOfR("cancer", "replicated", 3);
  ExpectFitOfR("abalone_offset", "shamir", 4);
}

// ---- a made-up table in three clinics

struct ClinicRow {
  double age = 50;
  int smoker = 0, stage = 0, event = 0;
  bool lacks_age = false;
};

std::vector<ClinicRow> DrawRows(std::mt19937_64& random, size_t rows) {
  std::uniform_real_distribution<double> uniform;
  std::vector<ClinicRow> drawn;
  for (size_t r = 0; r < rows; ++r) {
    ClinicRow row;
    row.age = std::round(10 * (20 + 70 * uniform(random))) / 10;
    row.smoker = uniform(random) < 0.4 ? 1 : 0;
    row.stage = static_cast<int>(random() % 3);
    const double eta = -2 + 0.03 * row.age + 0.6 * row.smoker - 0.4 * row.stage;
    row.event = uniform(random) < 1 / (1 + std::exp(-eta)) ? 1 : 0;
    row.lacks_age = uniform(random) < 0.05;
    drawn.push_back(row);
  }
  return drawn;
}

std::string CsvOf(const std::vector<ClinicRow>& rows) {
  const char* stages[] = {"one", "two", "three"};
  std::string csv = "age,smoker,stage,event\n";
  for (const ClinicRow& row : rows) {
    csv += fmt::format("{},{},{},{}\n", row.lacks_age ? "" : fmt::format("{}", row.age), row.smoker,
                       stages[row.stage], row.event);
  }
  return csv;
}

std::vector<std::vector<ClinicRow>> ClinicRows() {
  std::mt19937_64 random(3);
  std::vector<std::vector<ClinicRow>> clinics;
  for (const size_t rows : {400, 300, 250}) clinics.push_back(DrawRows(random, rows));
  return clinics;
}

std::vector<std::string> ClinicTables() {
  std::vector<std::string> tables;
  for (const std::vector<ClinicRow>& rows : ClinicRows()) tables.push_back(CsvOf(rows));
  return tables;
}

TEST(GlmStudyTest, TheRegressionIsPrintedAndWritten) {
  const auto outcomes = Outcomes(RunStudy(kGlmStudy, ClinicTables()));
  ASSERT_EQ(outcomes.size(), 4u);
  ExpectPlannedTraffic(outcomes);
  const study::Document& document = partita::testing::DocumentOf(outcomes.front());
  ASSERT_EQ(document.sections.size(), 3u);
  EXPECT_EQ(document.ending, study::Ending::kConverged);
  EXPECT_EQ(document.sections.front().paragraphs[1], "Reference level: stage = one.");
  const std::vector<study::DocumentTable>& tables = document.sections.front().tables;
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].rows.size(), 5u);
  EXPECT_EQ(tables[1].columns[1], "odds ratio");
  EXPECT_EQ(tables[1].rows.size(), 4u);
  ASSERT_EQ(document.sections.front().intervals.size(), 1u);
  const study::DocumentIntervals& forest = document.sections.front().intervals.front();
  EXPECT_TRUE(forest.ratios);
  ASSERT_EQ(forest.rows.size(), 4u);
  EXPECT_EQ(study::DocumentCell(forest.rows[0].middle), tables[1].rows[0][1]);
  ASSERT_EQ(document.files.size(), 2u);
  EXPECT_EQ(document.files.front().name, "coefficients.csv");
  EXPECT_EQ(document.files.back().name, "terms.csv");
  const std::string& tests = document.files.back().contents;
  EXPECT_EQ(tests.rfind("term,df,df.residual,statistic,p.value\nstage,2,,", 0), 0u);
  EXPECT_EQ(document.sections[1].heading, "Tests of terms");
  EXPECT_EQ(document.sections[1].tables.front().columns[2], "chi-square");
  ASSERT_EQ(document.sections[1].tables.front().rows.size(), 1u);
  const std::string& csv = document.files.front().contents;
  EXPECT_EQ(csv.rfind("term,estimate,std.error,", 0), 0u);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 6);
  EXPECT_LE(csv.size() + tests.size(), Prepare(kGlmStudy)->FileBytes());
  const nlohmann::json result = ResultOf(outcomes.front());
  uint64_t complete = 0, events = 0;
  for (const std::vector<ClinicRow>& rows : ClinicRows()) {
    for (const ClinicRow& row : rows) {
      complete += row.lacks_age ? 0 : 1;
      events += row.lacks_age || row.event == 0 ? 0 : 1;
    }
  }
  EXPECT_EQ(result["rows"], complete);
  EXPECT_EQ(result["events"], events);
  EXPECT_EQ(result["coefficients"][2]["term"], "smoker");
  EXPECT_NEAR(result["coefficients"][2]["ratio"]["estimate"],
              std::exp(result["coefficients"][2]["estimate"].get<double>()), 1e-12);
  const std::string text = outcomes.front().result->Text(outcomes.front().plan, report::RunFacts{});
  EXPECT_THAT(text, HasSubstr("stage.three"));
  EXPECT_THAT(text, HasSubstr("odds ratio"));
  EXPECT_THAT(outcomes.front().result->Html(outcomes.front().plan, report::RunFacts{}),
              HasSubstr("stage.three"));
}

TEST(GlmStudyTest, AllAreToldWhereTheStudySaysSo) {
  const std::string text =
      Edited(kGlmStudy, "[\"estimates\"]", "[{what = \"estimates\", to = \"all\"}]");
  const auto outcomes = Outcomes(RunStudy(text, ClinicTables()));
  ASSERT_EQ(outcomes.size(), 4u);
  ExpectPlannedTraffic(outcomes);
  for (size_t p = 1; p < 3; ++p) EXPECT_EQ(ResultOf(outcomes[p]), ResultOf(outcomes[0]));
  EXPECT_EQ(outcomes[3].result, nullptr);
}

TEST(GlmStudyTest, ThePlanSaysWhatOpensToWhom) {
  const study::Plan plan = run::BuildPlan(*Prepare(kGlmStudy));
  EXPECT_EQ(plan.method, "glm");
  EXPECT_EQ(plan.leakage_level, "iterates");
  ASSERT_EQ(plan.releases.size(), 5u);
  for (size_t r = 0; r < 4; ++r) EXPECT_EQ(plan.releases[r].to, "all");
  EXPECT_EQ(plan.releases[2].max_count, 3u);
  EXPECT_EQ(plan.releases[4].to, "north");
  EXPECT_THAT(plan.parties[0].learns, Contains(HasSubstr("standard errors on a grid")));
  EXPECT_THAT(plan.parties[1].learns, Contains(HasSubstr("coefficients on the way")));
  EXPECT_THAT(plan.parties[1].learns, Not(Contains(HasSubstr("number of rows"))));
  EXPECT_THAT(plan.assumptions, Contains(HasSubstr("Sums of rows, of one holder or of all, open to "
                                                   "nobody")));
  // Rows, the 0/1 variable, the factor and the outcome.
  ASSERT_EQ(plan.checks.size(), 4u);
  EXPECT_EQ(plan.checks[0].minimum, 300u);
  ASSERT_EQ(plan.exposures.size(), 2u);
  const study::PlanExposure& path = plan.exposures[0];
  const study::PlanExposure& all = plan.exposures[1];
  // Four points of five coefficients with their exponents; five pairs, the test of stage, the
  // deviance, three more.
  EXPECT_EQ(path.opened, 40u);
  EXPECT_EQ(all.opened, 55u);
  // U, I and the deviance at four points.
  EXPECT_EQ(path.statistics, 84u);
  // 5 (2 + 4 + 4 + 6); 6 more of 6 bits, a statistic of 15, and a count of up to 3 x 2^20 rows at 21.6 / 2 + 2.
  EXPECT_EQ(path.bits->opened, 80u);
  EXPECT_EQ(all.bits->opened, 144u);
  EXPECT_TRUE(all.bits->passes);
  EXPECT_THAT(all.exposes, Contains(HasSubstr("event is 1")));
}

// Computing on shares has a price by its bytes, whatever the network; field elements cost more each.
TEST(GlmStudyTest, ThePredictionCountsWhatSharesCost) {
  const nlohmann::json fit = FitOfR("quine");
  const auto seconds_of_byte = [&](const std::string& engine) {
    const auto study = Prepare(ReferenceText(fit, engine, testing::ReadParts(fit["data"], 3)));
    const study::Plan plan = run::BuildPlan(*study);
    study::Plan without = plan;
    for (study::PlanPhase& phase : without.phases) {
      for (study::PlanLink& link : phase.links) link.bytes = 0;
    }
    const run::MachineModel machine = {"a network without delay", 0, 1e18, 0};
    const double each =
        static_cast<double>(study::Totals(plan).bytes) / static_cast<double>(plan.parties.size());
    return (run::PredictSeconds(*study, plan, machine) -
            run::PredictSeconds(*study, without, machine)) /
           each;
  };
  const double replicated = seconds_of_byte("replicated");
  // The busiest party has more than the mean, in no phase twice as much.
  EXPECT_GT(replicated, 3.9e-9);
  EXPECT_LT(replicated, 8e-9);
  EXPECT_GT(seconds_of_byte("shamir"), 2 * replicated);
}

// Nobody of stage three has an event, which is no small count.
TEST(GlmStudyTest, SeparationIsNoTable) {
  std::vector<std::string> tables;
  for (std::vector<ClinicRow> rows : ClinicRows()) {
    for (ClinicRow& row : rows) row.event = row.stage == 2 ? 0 : row.event;
    tables.push_back(CsvOf(rows));
  }
  const auto outcomes = Outcomes(RunStudy(kGlmStudy, tables));
  ASSERT_EQ(outcomes.size(), 4u);
  ExpectPlannedTraffic(outcomes);
  const study::Document& document = partita::testing::DocumentOf(outcomes.front());
  EXPECT_EQ(document.ending, study::Ending::kNotConverged);
  ASSERT_EQ(document.sections.size(), 1u);
  EXPECT_EQ(document.sections.front().heading, "Not converged");
  EXPECT_TRUE(document.files.empty());
  const nlohmann::json result = ResultOf(outcomes.front());
  EXPECT_EQ(result["converged"], false);
  EXPECT_TRUE(result["coefficients"].empty());
  EXPECT_TRUE(result["fit"].is_null());
  EXPECT_EQ(result["path"].size(), 5u);
}

void ExpectRefused(const std::string& text, const std::vector<std::string>& tables,
                   const std::string& what) {
  const auto refused = RunStudy(text, tables);
  for (const auto& end : refused) EXPECT_TRUE(end.error.has_value()) << end.party;
  ASSERT_NE(run::RootCause(refused), nullptr);
  EXPECT_EQ(run::RootCause(refused)->error->code(), ErrorCode::kRefused);
  EXPECT_THAT(run::RootCause(refused)->error->message(), HasSubstr(what));
}

TEST(GlmStudyTest, SmallCountsOpenNothing) {
  ExpectRefused(Edited(kGlmStudy, "min_rows = 300", "min_rows = 951"), ClinicTables(),
                "at least 951 rows");
  // Three smokers with an event are left without the first clinic's rows.
  auto clinics = ClinicRows();
  int left = 3;
  for (size_t h = 1; h < clinics.size(); ++h) {
    for (ClinicRow& row : clinics[h]) {
      row.lacks_age = false;
      if (row.smoker == 1 && row.event == 1 && left-- <= 0) row.smoker = 0;
    }
  }
  std::vector<std::string> tables;
  for (const auto& rows : clinics) tables.push_back(CsvOf(rows));
  ExpectRefused(kGlmStudy, tables, "each count of smoker with one outcome");
}

TEST(GlmStudyTest, CollinearColumnsOpenNothingElse) {
  std::vector<std::string> tables;
  for (std::vector<ClinicRow> rows : ClinicRows()) {
    for (ClinicRow& row : rows) row.smoker = row.stage == 1 ? 1 : 0;
    tables.push_back(CsvOf(rows));
  }
  ExpectRefused(kGlmStudy, tables, "stage.two");
}

TEST(GlmStudyTest, RefusesMoreRowsThanAreAssumed) {
  const auto study = Prepare(kGlmStudy);
  data::Holding holding;
  holding.blocks = {{0, 0, run::kMaxUndeclaredRows + 1, false}};
  run::OwnRows counts;
  try {
    study->PrepareRows(0, holding, counts);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadData);
    EXPECT_THAT(error.message(), HasSubstr("block 'n' has 1048577 rows"));
  }
}

struct Refusal {
  std::string from, to, what, hint;
};

TEST(GlmStudyTest, RefusesWhatItDoesNotDo) {
  for (const Refusal& refusal : std::vector<Refusal>{
           {"site = \"ignore\"", "site = \"random\"", "effects of sites", "site = \"ignore\""},
           {"missing = \"complete\"", "missing = \"complete\"\ncluster = \"smoker\"",
            "the standard errors ignore it", "errors = \"cluster\""},
           {"[engine]", "[population]\nunit = \"visit\"\nmax_rows_per_person = 4\n[engine]",
            "a person has several", "one row per person"},
           {"[engine]", "[release]\ngrid = \"full\"\n[engine]", "on a grid", "leave `grid` out"},
           {"min_rows = 300", "min_rows = 20", "more than half", "table of covariates"}}) {
    SCOPED_TRACE(refusal.to);
    try {
      Prepare(Edited(kGlmStudy, refusal.from, refusal.to));
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      EXPECT_THAT(error.message(), HasSubstr(refusal.what));
      EXPECT_THAT(error.hint(), HasSubstr(refusal.hint));
    }
  }
}

// Where few rows are promised the grid is coarser, and with the consent of all everything opens.
TEST(GlmStudyTest, FollowsTheReleaseRule) {
  const auto with_rows = [](int rows) {
    return Edited(kGlmStudy, "min_rows = 300", fmt::format("min_rows = {}", rows));
  };
  const auto grid_of = [](const run::Study& study) {
    return dynamic_cast<const GlmStudy&>(study).task.grid_bits;
  };
  int finest = 6;
  std::vector<int> grids;
  for (int rows = 300; rows > 10 && finest > 4; --rows) {
    const auto study = Prepare(with_rows(rows));
    EXPECT_LE(grid_of(*study), finest);
    finest = grid_of(*study);
    grids.push_back(finest);
  }
  EXPECT_EQ(grids.front(), 6);
  EXPECT_EQ(grids.back(), 4);
  const std::string accepted =
      Edited(with_rows(20), "[engine]", "[release]\naccept = \"table of covariates\"\n[engine]");
  const auto study = Prepare(accepted);
  EXPECT_EQ(grid_of(*study), 6);
  const study::Plan plan = run::BuildPlan(*study);
  EXPECT_FALSE(plan.exposures.back().bits->passes);
  EXPECT_THAT(plan.exposures.back().bits->meaning, HasSubstr("table of covariates"));
}

}  // namespace
}  // namespace partita::methods::glm::glm_study_test
