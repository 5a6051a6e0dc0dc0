// Studies with model = "cox" through the whole path: keys and mistakes, hazard ratios of a real table
// against R, traffic as planned, who learns them, what is refused, rehearsals.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "base/error.h"
#include "methods/prepare_study.h"
#include "methods/survival/cox/study.h"
#include "methods/survival/section.h"
#include "run/party/build_plan.h"
#include "study/approval/envelope.h"
#include "tests/methods/rehearsals.h"
#include "tests/methods/survival/survival_text.h"
#include "tests/methods/survival/tables.h"
#include "tests/run/study_in_process.h"
#include "tests/stats/survival/tables.h"
#include "tests/study/edited.h"
#include "tests/study/mistake.h"

namespace partita::methods::survival::cox_study_test {
namespace {

using nlohmann::json;
using partita::testing::ExpectPlannedTraffic;
using partita::testing::Outcomes;
using partita::testing::Prepare;
using partita::testing::ResultOf;
using partita::testing::RunStudy;
using study::Edited;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kSurvivalStudy;
using ::testing::StartsWith;

const std::string kReport = "report = [20, 40, 60]", kFormula = "\"Surv(days, died) ~ arm\"";

// The clinics' study as a model.
std::string CoxText() {
  std::string text = Edited(kSurvivalStudy, kReport, "model = \"cox\"");
  text = Edited(text, kFormula, "\"Surv(days, died) ~ age + arm\"");
  return Edited(text, "[\"curves\"]", "[\"estimates\"]");
}

const char kWithTest[] = "model = \"cox\"\nph_test = \"identity\"";
const char kWithRobust[] = "model = \"cox\"\nerrors = \"robust\"";
const char kWithEfron[] = "model = \"cox\"\nties = \"efron\"";

study::StudyFile Parse(const std::string& text) {
  const std::vector<study::SectionReader> readers = {SurvivalReader()};
  return study::ParseStudyFile(text, "s.toml", readers);
}
CoxSpec Read(const std::string& text) { return CoxSpecOf(Parse(text).analyses.front()); }

TEST(CoxSection, ReadsEveryKey) {
  std::string text =
      Edited(CoxText(), "model = \"cox\"",
             "model = \"cox\"\nties = \"breslow\"\ncell = 5\nsteps = 7\nconfidence = "
             "0.9");
  text = Edited(text, "age + arm", "age + log(age) + strata(decade) + strata(site)");
  const study::AnalysisSpec analysis = Parse(text).analyses.front();
  EXPECT_TRUE(IsCox(analysis));
  EXPECT_EQ(analysis.protocol, "iterates");
  const CoxSpec& spec = CoxSpecOf(analysis);
  EXPECT_EQ(spec.grid.cells, 21u);
  EXPECT_EQ(spec.steps, 7);
  EXPECT_EQ(spec.confidence, 0.9);
  EXPECT_EQ(spec.stratum, "decade");
  EXPECT_EQ(spec.num_levels, 3u);
  EXPECT_TRUE(spec.by_site);
  EXPECT_THAT(spec.variables, ElementsAre("age", "death"));
  ASSERT_EQ(spec.columns.size(), 2u);
  EXPECT_EQ(spec.columns[1].name, "log(age)");
  EXPECT_EQ(MiddleOf(spec.columns[0]), 58);
  EXPECT_EQ(HalfOf(spec.columns[0]), 40);
  const study::SectionUses uses = analysis.section->Uses();
  EXPECT_EQ(uses.releases.front().what, "iterates");
}

TEST(CoxSection, HasDefaults) {
  const CoxSpec spec = Read(CoxText());
  EXPECT_EQ(spec.grid.cells, 101u);
  EXPECT_EQ(spec.steps, 5);
  EXPECT_EQ(spec.num_levels, 1u);
  EXPECT_FALSE(spec.by_site);
  EXPECT_EQ(spec.ties, stats::survival::Ties::kBreslow);
  EXPECT_EQ(spec.most_ties, 1u);
  const CoxSpec efron = Read(Edited(CoxText(), "model = \"cox\"", kWithEfron));
  EXPECT_EQ(efron.ties, stats::survival::Ties::kEfron);
  EXPECT_EQ(efron.most_ties, 8u);
  EXPECT_THAT(spec.variables, ElementsAre("age", "arm", "death"));
  ASSERT_EQ(spec.columns.size(), 2u);
  EXPECT_EQ(spec.columns[1].name, "arm.treated");
  EXPECT_FALSE(IsCox(Parse(kSurvivalStudy).analyses.front()));
}

TEST(CoxSection, EveryMistakeHasItsPlaceAndARemedy) {
  const std::string formula = "\"Surv(days, died) ~ age + arm\"", model = "model = \"cox\"";
  study::ExpectMistakes(
      [](const std::string& text) { Parse(text); }, "s.toml", CoxText(),
      {{model, "model = \"weibull\"", "57:", "weibull", "cox"},
       {model, model + "\nties = \"efron\"\nmost_ties = 1", "59:", "most_ties is 1", "2 to 64"},
       {model, model + "\nmost_ties = 4", "58:", "count at once", "efron"},
       {model, model + "\nties = \"efron\"\nmost_ties = 64\ncell = 0.05", "54:", "ties and strata",
        "fewer most_ties"},
       {model, model + "\nties = \"exact\"", "58:", "exact", "breslow"},
       {model, model + "\nsteps = 2", "58:", "there are 2 steps", "3 to 15"},
       {model, model + "\nerrors = \"HC1\"", "58:", "HC1", "robust"},
       {model, model + "\nerrors = \"cluster\"", "58:", "without clusters", "[design]"},
       {"missing = \"complete\"", "missing = \"complete\"\ncluster = \"arm\"", "55:1", "ignore it",
        "errors = \"cluster\""},
       {formula, "\"Surv(days, died) ~ age + strata(site)\"\nreport = [20]",
        "57:", "of its rows alone", "strata(site)"},
       {model, "report = [20]\nerrors = \"robust\"", "58:", "curves have no errors",
        "model = \"cox\""},
       {model, model + "\nph_test = \"km\"", "58:", "km", "identity"},
       {model, model + "\nreport = [20, 10]", "58:", "report times increase", "sort"},
       {model, "report = [20]\nconcordance = true", "58:", "curves have no concordance",
        "model = \"cox\""},
       {model, "report = [20]\nties = \"breslow\"", "58:", "curves have no ties",
        "model = \"cox\""},
       {formula, "\"Surv(days, died) ~ 1\"", "56:", "no column", "write a term"},
       {formula, "\"Surv(arm, days, died) ~ age\"", "56:", "time of entry arm is not a number",
        "numeric"},
       {formula, "\"Surv(begin, days, died) ~ age\"", "56:", "'begin'", ""},
       {formula, "\"Surv(days, died) ~ age - 1\"", "56:", "baseline hazard", "leave out"},
       {formula, "\"Surv(days, died) ~ arm + offset(age)\"", "56:", "offsets", "the term"},
       {formula, "\"Surv(days, died) ~ age + strata(agee)\"", "56:", "'agee'", "did you mean"},
       {formula, "\"Surv(days, died) ~ arm + strata(age)\"", "56:", "the stratum age has no levels",
        "cut"},
       {formula, "\"Surv(days, died) ~ age + strata(arm) + strata(decade)\"",
        "56:", "strata(decade) is not understood", "one factor"},
       {formula, "\"Surv(days, died) ~ death\"", "56:", "of type survival", "factors"},
       {formula, "\"Surv(days, dead) ~ age\"", "56:", "no survival variable", "Surv(days, died)"},
       {"[\"estimates\"]", "[\"curves\"]", "58:", "curves", "estimates"}});
}

// North's rows by cells of a width: which are served, and how many are left out. One enters on day 31 and
// leaves on day 32, one leaves when it enters.
std::pair<std::vector<uint8_t>, uint64_t> ServedRows(const std::string& cell) {
  std::string text = Edited(CoxText(), "\"Surv(days, died) ~ age + arm\"",
                            "\"Surv(enter, days, died) ~ age\"\ncell = " + cell);
  text = Edited(text, "[[derived]]",
                "[[variable]]\nname = \"enter\"\ntype = \"numeric\"\n"
                "lower = 0\nupper = 100\n[[derived]]");
  const auto study = Prepare(text);
  const CoxSpec& spec = dynamic_cast<const CoxStudy&>(*study).task.spec;
  data::Table table;
  table.num_rows = 3;
  const auto add = [&](const std::string& name, const std::vector<double>& numbers) {
    data::Column column;
    column.schema.name = name;
    column.numbers = numbers;
    table.columns.push_back(std::move(column));
  };
  add("enter", {31, 40, 0});
  add("age", {50, 60, 70});
  add(spec.outcome.name, {32, 40, 90});
  table.columns.back().codes = {1, 0, 1};
  data::Holding holding;
  holding.table = std::make_shared<const data::Table>(std::move(table));
  holding.blocks = {{0, 0, 3, false}};
  run::OwnRows counts;
  const auto rows = study->PrepareRows(0, holding, counts);
  return {study->ExactRowSets(*rows, holding).front(), counts.not_in_population};
}

// What opens is not about them: with cells of another width it is about other rows, which the record of
// served rows has to show.
TEST(CoxStudy, RowsThatAreNeverAtRiskAreNotServed) {
  EXPECT_EQ(ServedRows("1"), std::make_pair(std::vector<uint8_t>{1, 0, 1}, uint64_t{1}));
  EXPECT_EQ(ServedRows("10"), std::make_pair(std::vector<uint8_t>{0, 0, 1}, uint64_t{2}));
}

// How many rows are at risk at all nobody declares.
TEST(CoxStudy, TimesOfEntryPromiseNoRows) {
  std::string text = Edited(CoxText(), "[[derived]]",
                            "[[variable]]\nname = \"enter\"\ntype = \"numeric\"\nlower = 0\n"
                            "upper = 100\n[[derived]]");
  for (const char* block : {"n", "s", "w"}) {
    const std::string name = std::string("[[rows]]\nname = \"") + block + "\"\n";
    text = Edited(text, name, name + "count = 4000\n");
  }
  text = Edited(text, "missing = \"complete\"", "missing = \"refuse\"");
  const auto unknown = [](const std::string& of) {
    const auto study = Prepare(of);
    return CoxBits(dynamic_cast<const CoxStudy&>(*study), 0).rows;
  };
  EXPECT_GT(unknown(text), 0);
  EXPECT_LT(unknown(Edited(text, "\"Surv(days,", "\"Surv(enter, days,")), unknown(text));
}

TEST(CoxSection, EnvelopesNameThePoints) {
  study::Envelope envelope;
  envelope.methods = {"survival"};
  envelope.protocols = {"iterates"};
  envelope.engines = {"dealer"};
  envelope.receivers = {"north", "all"};
  envelope.releases = {"estimates", "iterates"};
  envelope.variables = {"age", "arm", "death", "days", "died"};
  envelope.disclosure.min_rows = 200;
  const study::StudyFile file = Parse(CoxText());
  EXPECT_NO_THROW(study::RequireInside(file, envelope));
  envelope.releases = {"estimates"};
  EXPECT_THROW(study::RequireInside(file, envelope), Error);
}

// ---- veteran, as R fits it

std::string VeteranText(const std::string& engine, size_t holders) {
  std::string text = "partita = 1\nname = \"real\"\n";
  for (size_t h = 0; h < holders; ++h) {
    text += fmt::format("[[party]]\nname = \"p{0}\"\nroles = [\"holder\"{1}]\nrows = [\"r{0}\"]\n",
                        h, h == 0 ? ", \"receiver\"" : "");
  }
  if (engine == "dealer") text += "[[party]]\nname = \"helper\"\nroles = [\"dealer\"]\n";
  for (size_t h = 0; h < holders; ++h) text += fmt::format("[[rows]]\nname = \"r{}\"\n", h);
  text += R"toml([[variable]]
name = "death"
type = "survival"
time = "time"
event = "status"
lower = 0
upper = 1000
[[variable]]
name = "trt"
type = "integer"
lower = 1
upper = 2
[[variable]]
name = "karno"
type = "numeric"
lower = 0
upper = 100
[[variable]]
name = "age"
type = "numeric"
lower = 30
upper = 90
[[variable]]
name = "celltype"
type = "factor"
levels = ["squamous", "smallcell", "adeno", "large"]
[disclosure]
min_rows = 130
min_cell = 1
[release]
accept = "table of covariates"
[design]
site = "ignore"
missing = "refuse"
[[analysis]]
method = "survival"
model = "cox"
formula = "Surv(time, status) ~ trt + karno + age + strata(celltype)"
release = ["estimates"]
)toml";
  return text + fmt::format("[engine]\nname = \"{}\"\n", engine);
}

TEST(CoxStudyTest, VeteranIsThatOfR) {
  std::ifstream file(FixturePath("references/survival/survival.json"));
  const json wanted = json::parse(file)["cox_veteran_breslow"];
  const auto columns = stats::survival::testing::ReadTable(wanted["data"]);
  for (const std::string engine : {"dealer", "replicated"}) {
    SCOPED_TRACE(engine);
    const size_t holders = engine == "dealer" ? 2 : 3;
    std::vector<std::string> parts(holders, "time,status,trt,karno,age,celltype\n");
    for (size_t r = 0; r < columns.at("time").size(); ++r) {
      std::string line;
      for (const std::string name : {"time", "status", "trt", "karno", "age", "celltype"})
        line += (line.empty() ? "" : ",") + columns.at(name)[r];
      parts[r % holders] += line + "\n";
    }
    const auto outcomes = Outcomes(RunStudy(VeteranText(engine, holders), parts));
    ASSERT_EQ(outcomes.size(), holders + (engine == "dealer" ? 1 : 0));
    ExpectPlannedTraffic(outcomes);
    const json result = ResultOf(outcomes.front());
    ASSERT_EQ(result["converged"], true);
    EXPECT_EQ(result["rows"], 137);
    EXPECT_EQ(result["events"], 128);
    for (size_t c = 0; c < 3; ++c) {
      SCOPED_TRACE(c);
      const json& row = result["coefficients"][c];
      const double step = row["step"], error = wanted["standard_error"][c];
      // One step of the grid: the last step of the fit, and half of one for rounding.
      EXPECT_NEAR(row["estimate"], wanted["estimate"][c].get<double>(), 1.01 * step);
      EXPECT_NEAR(row["standard_error"], error, 0.52 * step);
      EXPECT_LE(step, 0x1p-6 * 1.01 * error);
      EXPECT_NEAR(row["ratio"]["estimate"].get<double>(), std::exp(row["estimate"].get<double>()),
                  1e-12);
    }
    const json& fit = result["fit"];
    EXPECT_NEAR(fit["null_log_likelihood"], wanted["log_likelihood"][0].get<double>(), 0.52 / 64);
    EXPECT_NEAR(fit["log_likelihood"], wanted["log_likelihood"][1].get<double>(), 0.6 / 64);
    EXPECT_NEAR(fit["score"]["chi_square"], wanted["score"].get<double>(), 0.52 / 64);
    // Of the rounded estimates: they are within a step of R's, and R rounds to two digits.
    EXPECT_NEAR(fit["wald"]["chi_square"], wanted["wald"].get<double>(), 0.5);
    for (size_t p = 1; p < outcomes.size(); ++p) EXPECT_EQ(outcomes[p].result, nullptr);
  }
}

// ---- made-up follow-up in three clinics

std::vector<std::string> ClinicTables() {
  std::mt19937_64 random(3);
  std::vector<std::string> tables;
  for (const size_t rows : {200, 150, 120}) {
    std::string csv = "days,died,age,arm\n";
    const auto patients = testing::DrawPatients(random, rows, 2, 100);
    for (size_t r = 0; r < patients.size(); ++r) {
      csv += fmt::format("{:.0f},{},{},{}\n", patients[r].days, patients[r].died ? 1 : 0,
                         20 + random() % 70, patients[r].arm == 0 ? "control" : "treated");
    }
    tables.push_back(csv);
  }
  return tables;
}

TEST(CoxStudyTest, IsPrintedAndWritten) {
  const auto outcomes = Outcomes(RunStudy(CoxText(), ClinicTables()));
  ASSERT_EQ(outcomes.size(), 4u);
  ExpectPlannedTraffic(outcomes);
  const study::Document& document = partita::testing::DocumentOf(outcomes.front());
  ASSERT_EQ(document.sections.size(), 2u);
  EXPECT_EQ(document.sections[0].heading, "Hazard ratios");
  EXPECT_EQ(document.sections[0].tables.front().rows.size(), 2u);
  ASSERT_EQ(document.sections[0].intervals.size(), 1u);
  EXPECT_EQ(document.sections[1].tables.front().rows.size(), 3u);
  ASSERT_EQ(document.files.size(), 1u);
  const auto study = Prepare(CoxText());
  EXPECT_EQ(study->FileNames(), std::vector<std::string>{document.files.front().name});
  EXPECT_LE(document.files.front().contents.size(), study->FileBytes());
  EXPECT_THAT(outcomes.front().result->Html(outcomes.front().plan, report::RunFacts{}),
              HasSubstr("hazard ratio"));
  const json result = ResultOf(outcomes.front());
  EXPECT_EQ(result["rows"], 470);
  // Later arms have shorter lives: their hazard is 2.8 / 2 times as high.
  EXPECT_GT(result["coefficients"][1]["ratio"]["upper"], 1.4);
  EXPECT_LT(result["coefficients"][1]["ratio"]["lower"], 1.4);
}

TEST(CoxStudyTest, PlanSaysWhatOpens) {
  const study::Plan plan = run::BuildPlan(*Prepare(CoxText()));
  EXPECT_EQ(plan.method, "survival");
  ASSERT_EQ(plan.releases.size(), 5u);
  ASSERT_EQ(plan.exposures.size(), 2u);
  EXPECT_EQ(plan.exposures[0].to, "all");
  EXPECT_EQ(plan.exposures[1].to, "north");
  // Of two columns: 5 points of 2 x 2, 2 x 2 standard errors, 4 totals, 3 counts and bits.
  EXPECT_EQ(plan.exposures[0].opened, 20u);
  EXPECT_EQ(plan.exposures[1].opened, 31u);
  ASSERT_TRUE(plan.exposures[1].bits.has_value());
  EXPECT_TRUE(plan.exposures[1].bits->passes);
  EXPECT_THAT(plan.assumptions, Contains(HasSubstr("who is at risk at any time")));
  EXPECT_THAT(plan.parties[0].learns, Contains(HasSubstr("partial log-likelihoods")));
  // What opens does not depend on the cells of time.
  const study::Plan coarse =
      run::BuildPlan(*Prepare(Edited(CoxText(), "model = \"cox\"", "model = \"cox\"\ncell = 50")));
  EXPECT_EQ(coarse.exposures[1].opened, 31u);
}

TEST(CoxStudyTest, RefusesRowsThatAreTooFew) {
  const auto refused =
      RunStudy(Edited(CoxText(), "min_rows = 470", "min_rows = 471"), ClinicTables());
  for (const auto& end : refused) EXPECT_TRUE(end.error.has_value()) << end.party;
  EXPECT_EQ(run::RootCause(refused)->error->code(), ErrorCode::kRefused);
  EXPECT_THAT(run::RootCause(refused)->error->message(), HasSubstr("at least 471 rows"));
  EXPECT_EQ(run::RootCause(refused)->error->hint(), "find more rows, or leave terms out");
  const auto small = RunStudy(Edited(CoxText(), "min_rows = 470", "min_rows = 470\nmin_cell = 140"),
                              ClinicTables());
  EXPECT_THAT(run::RootCause(small)->error->message(), HasSubstr("each count of arm"));
  EXPECT_THAT(run::RootCause(small)->error->hint(), StartsWith("join rare levels"));
}

TEST(CoxStudyTest, ProportionalHazardsAreTestedIfAskedFor) {
  const std::string text = Edited(CoxText(), "model = \"cox\"", kWithTest);
  const auto outcomes = Outcomes(RunStudy(text, ClinicTables()));
  ExpectPlannedTraffic(outcomes);
  const json test = ResultOf(outcomes.front())["fit"]["proportional"];
  EXPECT_EQ(test["transform"], "identity");
  ASSERT_EQ(test["terms"].size(), 2u);
  EXPECT_EQ(test["terms"][1]["term"], "arm.treated");
  EXPECT_EQ(test["all"]["df"], 2);
  // The rows are the same in every run, and their lives exponential.
  EXPECT_LT(test["all"]["chi_square"], 10);
  EXPECT_EQ(partita::testing::DocumentOf(outcomes.front()).sections[1].tables.size(), 3u);
  const study::Plan plan = run::BuildPlan(*Prepare(text));
  EXPECT_THAT(plan.parties[0].learns, Contains(HasSubstr("tests of proportional hazards")));
  // Three tests and whether they are valid.
  EXPECT_EQ(plan.exposures[1].opened, 35u);
}

TEST(CoxStudyTest, ErrorsAreRobustIfAskedFor) {
  const std::string text = Edited(CoxText(), "model = \"cox\"", kWithRobust);
  const auto outcomes = Outcomes(RunStudy(text, ClinicTables()));
  ExpectPlannedTraffic(outcomes);
  const json result = ResultOf(outcomes.front());
  EXPECT_EQ(result["errors"], "robust");
  EXPECT_GT(result["fit"]["wald"]["chi_square"], 10);
  const study::Document& document = partita::testing::DocumentOf(outcomes.front());
  EXPECT_THAT(document.sections[0].paragraphs.front(), HasSubstr("robust standard errors"));
  const study::Plan plan = run::BuildPlan(*Prepare(text));
  EXPECT_THAT(plan.parties[0].learns, Contains(HasSubstr("2 robust standard errors")));
  // As many numbers as those of the model.
  EXPECT_EQ(plan.exposures[1].opened, 31u);
  EXPECT_EQ(plan.exposures[1].bits->table,
            run::BuildPlan(*Prepare(CoxText())).exposures[1].bits->table);
}

// Ten wards in each clinic, in two of which nobody is.
std::string WithWards(const std::string& text) {
  return Edited(Edited(text, "[[derived]]",
                       "[[variable]]\nname = \"ward\"\ntype = \"integer\"\n"
                       "lower = 0\nupper = 31\n[[derived]]"),
                "missing = \"complete\"", "missing = \"complete\"\ncluster = \"ward\"");
}
std::string WithAll() {
  return WithWards(Edited(CoxText(), "model = \"cox\"",
                          "model = \"cox\"\nerrors = \"cluster\"\nconcordance = true\n"
                          "report = [20, 50]"));
}
std::vector<std::string> WardTables() {
  std::vector<std::string> tables = ClinicTables();
  for (size_t clinic = 0; clinic < tables.size(); ++clinic) {
    std::istringstream lines(tables[clinic]);
    std::string line, table;
    for (size_t row = 0; std::getline(lines, line); ++row)
      table += line + (row == 0 ? ",ward" : fmt::format(",{}", 10 * clinic + row % 10)) + "\n";
    tables[clinic] = table;
  }
  return tables;
}

TEST(CoxStudyTest, ClustersConcordanceAndHazardsAreToldIfAskedFor) {
  const auto outcomes = Outcomes(RunStudy(WithAll(), WardTables()));
  ASSERT_FALSE(outcomes.empty());
  ExpectPlannedTraffic(outcomes);
  const json result = ResultOf(outcomes.front());
  EXPECT_EQ(result["converged"], true);
  EXPECT_EQ(result["errors"], "cluster");
  EXPECT_EQ(result["clusters"], 30);
  EXPECT_GT(result["fit"]["concordance"], 0.5);
  EXPECT_LT(result["fit"]["concordance"], 0.8);
  const json& hazard = result["fit"]["hazard"];
  EXPECT_TRUE(hazard["withheld"].empty());
  ASSERT_EQ(hazard["cumulated"].size(), 2u);
  EXPECT_EQ(hazard["cumulated"][1]["time"], 50);
  EXPECT_GT(hazard["cumulated"][1]["at_middle"], hazard["cumulated"][0]["at_middle"]);
  const study::Document& document = partita::testing::DocumentOf(outcomes.front());
  EXPECT_THAT(document.sections[0].paragraphs.front(), HasSubstr("the clusters of ward"));
  EXPECT_THAT(result["warnings"][0].get<std::string>(), HasSubstr("fewer than 40"));
  ASSERT_EQ(document.sections.size(), 3u);
  EXPECT_EQ(document.sections[2].heading, "Cumulative hazard");
  const study::Plan plan = run::BuildPlan(*Prepare(WithAll()));
  // Beside the 31 numbers of a plain model clusters, concordance, whether hazards open, 2 of each.
  EXPECT_EQ(plan.exposures[1].opened, 38u);
  // Of these 22.6 / 2 + 2 bits of a count, 10 of concordance, 6 of each hazard.
  const auto plain = run::BuildPlan(*Prepare(CoxText())).exposures[1].bits->opened;
  EXPECT_NEAR(static_cast<double>(plan.exposures[1].bits->opened - plain), 12.8 + 10 + 12, 1);
  EXPECT_THAT(plan.exposures[1].exposes, Contains(HasSubstr("clusters of ward")));
  EXPECT_THAT(plan.parties[0].learns, Contains(HasSubstr("cumulative hazard at days 20, 50")));
  EXPECT_THAT(plan.notes, Contains(HasSubstr("a cluster lies within one holder")));
}

TEST(CoxStudyTest, FewClustersAndManyUnitsAreRefused) {
  std::vector<std::string> tables = ClinicTables();
  for (std::string& table : tables) {
    std::istringstream lines(table);
    std::string line, changed;
    for (size_t row = 0; std::getline(lines, line); ++row)
      changed += line + (row == 0 ? ",ward" : ",7") + "\n";
    table = changed;
  }
  const auto refused = RunStudy(WithAll(), tables);
  ASSERT_NE(run::RootCause(refused), nullptr);
  EXPECT_THAT(run::RootCause(refused)->error->message(), HasSubstr("clusters"));
  EXPECT_EQ(run::RootCause(refused)->error->hint(),
            "take a variable of more clusters, or errors = \"robust\" without cluster in [design]");
  // Nobody says how many rows there are, each of which would be a unit.
  std::string text = Edited(CoxText(), "[[derived]]",
                            "[[variable]]\nname = \"enter\"\ntype = \"numeric\"\nlower = 0\n"
                            "upper = 100\n[[derived]]");
  text = Edited(text, "\"Surv(days,", "\"Surv(enter, days,");
  text = Edited(text, "model = \"cox\"", kWithRobust);
  try {
    Prepare(text);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("rows with times of entry over 101 cells"));
    EXPECT_THAT(error.hint(), HasSubstr("declare the numbers of rows"));
  }
  for (const char* block : {"n", "s", "w"}) {
    const std::string name = std::string("[[rows]]\nname = \"") + block + "\"\n";
    text = Edited(text, name, name + "count = 200\n");
  }
  EXPECT_NO_THROW(Prepare(text));
}

TEST(CoxStudyTest, TiesByEfronAreCheckedFirst) {
  const std::string text = Edited(CoxText(), "model = \"cox\"", kWithEfron);
  const auto outcomes =
      Outcomes(RunStudy(Edited(text, "model", "most_ties = 32\nmodel"), ClinicTables()));
  ExpectPlannedTraffic(outcomes);
  EXPECT_EQ(ResultOf(outcomes.front())["ties"], "efron");
  EXPECT_EQ(outcomes.front().plan.checks.back().rule,
            "no cell of time has more than 32 events (most_ties)");
  const auto refused = RunStudy(Edited(text, "model", "most_ties = 2\nmodel"), ClinicTables());
  for (const auto& end : refused) EXPECT_TRUE(end.error.has_value()) << end.party;
  const Error& error = *run::RootCause(refused)->error;
  EXPECT_THAT(error.message(), HasSubstr("more than 2 events"));
  EXPECT_THAT(error.hint(), HasSubstr("narrower cells"));
}

TEST(CoxStudyTest, NobodyWithTheEventIsRefused) {
  std::vector<std::string> tables = ClinicTables();
  for (std::string& table : tables) {
    for (size_t at = 0; (at = table.find(",1,", at)) != std::string::npos;) table[at + 1] = '0';
  }
  const auto refused = RunStudy(CoxText(), tables);
  EXPECT_THAT(run::RootCause(refused)->error->message(), HasSubstr("events and as many rows"));
  EXPECT_EQ(run::RootCause(refused)->error->hint(),
            "find more rows, of which some have the event and others leave without it");
}

TEST(CoxStudyTest, RehearsalsAgree) {
  SilentProgress progress;
  const auto prepared = [](const std::string& text) {
    return PrepareCoxStudy(ParseStudyFile(text, "study.toml"));
  };
  const CoxStudy study = prepared(CoxText());
  const run::Rehearsal rehearsal = run::Rehearse(study, {.rows_per_block = 400}, progress);
  rehearsals::ExpectPassed(rehearsal);
  EXPECT_GT(rehearsal.agreement.exact.size(), 12u);
  rehearsals::ExpectPassed(
      run::Rehearse(prepared(Edited(CoxText(), "age + arm", "age + strata(arm) + strata(site)")),
                    {.rows_per_block = 400}, progress));
  rehearsals::ExpectPassed(run::Rehearse(
      prepared(Edited(CoxText(), "model = \"cox\"", std::string(kWithEfron) + "\nmost_ties = 64")),
      {.rows_per_block = 400}, progress));
  for (const char* with : {kWithTest, kWithRobust}) {
    rehearsals::ExpectPassed(run::Rehearse(prepared(Edited(CoxText(), "model = \"cox\"", with)),
                                           {.rows_per_block = 400}, progress));
  }
  rehearsals::ExpectPassed(run::Rehearse(prepared(WithAll()), {.rows_per_block = 400}, progress));
  run::RehearsedRun run = run::RunOnMockRows(study, {.rows_per_block = 400}, progress);
  for (data::Column& column : run.mock.pooled.columns) {
    if (column.schema.name == "death") column.codes[3] = column.codes[3] == 0 ? 1 : 0;
  }
  run::Agreement changed;
  study.Compare(run, changed, progress);
  EXPECT_TRUE(rehearsals::ExactFails(changed));
}

}  // namespace
}  // namespace partita::methods::survival::cox_study_test
