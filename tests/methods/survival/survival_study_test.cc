// Studies of method `survival` through the whole path: curves of a real data set on every engine
// against R, traffic as planned, who learns them, what is refused.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"
#include "methods/survival/study.h"
#include "run/party/build_plan.h"
#include "tests/methods/survival/survival_text.h"
#include "tests/methods/survival/tables.h"
#include "tests/run/study_in_process.h"
#include "tests/stats/survival/tables.h"
#include "tests/study/edited.h"

namespace partita::methods::survival::survival_study_test {
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
using ::testing::Not;

// ---- lung and veteran, as R analyses them

json Reference(const std::string& name) {
  std::ifstream file(FixturePath("references/survival/survival.json"));
  return json::parse(file)[name];
}

std::string Quoted(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "\"" : ", \"") + word + "\"";
  return list;
}

std::string RealText(const json& wanted, const std::string& engine, size_t holders, int upper) {
  std::string text = "partita = 1\nname = \"real\"\n";
  for (size_t h = 0; h < holders; ++h) {
    text += fmt::format("[[party]]\nname = \"p{0}\"\nroles = [\"holder\"{1}]\nrows = [\"r{0}\"]\n",
                        h, h == 0 ? ", \"receiver\"" : "");
  }
  if (engine == "dealer") text += "[[party]]\nname = \"helper\"\nroles = [\"dealer\"]\n";
  for (size_t h = 0; h < holders; ++h) text += fmt::format("[[rows]]\nname = \"r{}\"\n", h);
  text += fmt::format(
      "[[variable]]\nname = \"death\"\ntype = \"survival\"\ntime = \"time\"\nevent = "
      "\"status\"\nlower = 0\nupper = {}\n",
      upper);
  text += fmt::format("[[variable]]\nname = \"group\"\ntype = \"factor\"\nlevels = [{}]\n",
                      Quoted(wanted["groups"]));
  text +=
      "[disclosure]\nmin_rows = 130\nmin_cell = 1\n[release]\naccept = \"table of "
      "covariates\"\n[design]\nsite = \"ignore\"\nmissing = "
      "\"refuse\"\n";
  text += fmt::format("[engine]\nname = \"{}\"\n", engine);
  return text + fmt::format(
                    "[[analysis]]\nmethod = \"survival\"\nformula = \"Surv(time, status) ~ "
                    "group\"\nreport = {}\nrelease = [\"curves\"]\n",
                    wanted["curves"][0]["report"].dump());
}

// Row by row to one holder after the other.
std::vector<std::string> RealParts(const json& wanted, size_t holders) {
  const auto columns = stats::survival::testing::ReadTable(wanted["data"]);
  std::vector<std::string> parts(holders, "time,status,group\n");
  for (size_t r = 0; r < columns.at("time").size(); ++r) {
    parts[r % holders] += fmt::format("{},{},{}\n", columns.at("time")[r], columns.at("status")[r],
                                      columns.at("group")[r]);
  }
  return parts;
}

void ExpectCurve(const json& curve, const json& wanted) {
  ASSERT_EQ(curve["withheld"], false);
  for (size_t k = 0; k < wanted["report"].size(); ++k) {
    SCOPED_TRACE(k);
    const json& point = curve["points"][k];
    EXPECT_EQ(point["time"], wanted["report"][k].get<double>());
    if (point["remaining"] == 0) {
      EXPECT_TRUE(point["survival"].is_null());
      continue;
    }
    // Half a step of log S, and half a step of its error in the bounds.
    const double survival = wanted["survival_at"][k];
    const double step = point["step_of_log"];
    EXPECT_NEAR(point["survival"], survival, 0.52 * step);
    EXPECT_NEAR(point["lower"], wanted["lower_at"][k].get<double>(), 0.52 * step * (1 + 1.96));
    EXPECT_NEAR(point["upper"], wanted["upper_at"][k].get<double>(), 0.52 * step * (1 + 1.96) * 2);
    EXPECT_LE(step, 0x1p-6 * 1.01 * point["standard_error_of_log"].get<double>());
  }
}

// With min_cell = 1 everything opens; medians that other holders have no event near as parts.
void ExpectReal(const json& result, const json& wanted, size_t& medians, size_t& in_parts) {
  ASSERT_EQ(result["curves"].size(), wanted["curves"].size());
  for (size_t g = 0; g < wanted["curves"].size(); ++g) {
    SCOPED_TRACE(g);
    ExpectCurve(result["curves"][g], wanted["curves"][g]);
    const json& median = result["curves"][g]["median"];
    for (const auto& [ours, of_r] : std::vector<std::pair<std::string, std::string>>{
             {"estimate", "median"}, {"lower", "median_lower"}, {"upper", "median_upper"}}) {
      const json& part = median["within"][ours];
      const json& by_r = wanted["curves"][g][of_r];
      if (!median[ours].is_null()) {
        EXPECT_EQ(median[ours], by_r) << ours;
        ++medians;
      } else if (!part.is_null()) {
        ASSERT_TRUE(by_r.is_number()) << ours;
        EXPECT_LE(part[0].get<double>(), by_r.get<double>()) << ours;
        EXPECT_GE(part[1].get<double>(), by_r.get<double>()) << ours;
        ++in_parts;
      }
    }
  }
  const json& test = result["log_rank"];
  ASSERT_EQ(test["withheld"], false);
  EXPECT_EQ(test["df"].get<size_t>() + 1, wanted["curves"].size());
  EXPECT_NEAR(test["chi_square"], wanted["chi_square"].get<double>(), 0.52 * 0x1p-6);
  const size_t k = wanted["curves"].size();
  for (size_t g = 0; g < k; ++g) {
    SCOPED_TRACE(g);
    const json& row = test["groups"][g];
    EXPECT_EQ(row["observed"], wanted["observed"][g]);
    const double step = row["step"];
    EXPECT_NEAR(row["expected"], wanted["expected"][g].get<double>(), 0.52 * step);
    EXPECT_NEAR(row["standard_error"], std::sqrt(wanted["variance"][g * k + g].get<double>()),
                0.52 * step);
  }
}

TEST(SurvivalStudyTest, RealCurvesOnEveryEngine) {
  struct Case {
    std::string reference, engine;
    size_t holders;
    int upper;
  };
  size_t medians = 0, in_parts = 0;
  for (const Case& of : std::vector<Case>{{"lung", "dealer", 2, 1095},
                                          {"veteran", "replicated", 3, 1000},
                                          {"lung_months", "shamir", 3, 36},
                                          {"lung_months", "ot", 2, 36}}) {
    SCOPED_TRACE(of.reference + " " + of.engine);
    const json wanted = Reference(of.reference);
    const auto outcomes = Outcomes(
        RunStudy(RealText(wanted, of.engine, of.holders, of.upper), RealParts(wanted, of.holders)));
    ASSERT_EQ(outcomes.size(), of.holders + (of.engine == "dealer" ? 1 : 0));
    ExpectPlannedTraffic(outcomes);
    ExpectReal(ResultOf(outcomes.front()), wanted, medians, in_parts);
    for (size_t p = 1; p < outcomes.size(); ++p) EXPECT_EQ(outcomes[p].result, nullptr);
  }
  EXPECT_GT(medians, 15u);  // of 30
  EXPECT_EQ(in_parts, 2u);
}

// ---- several factors

std::string FactorText(const std::string& name, const std::vector<std::string>& levels) {
  return fmt::format("[[variable]]\nname = \"{}\"\ntype = \"factor\"\nlevels = [{}]\n", name,
                     Quoted(levels));
}

// veteran with treatment, earlier therapy and kind of cell.
json VeteranResult(const json& wanted, const std::string& formula, const std::string& engine,
                   size_t holders) {
  std::string text = RealText(wanted, engine, holders, 1000);
  text = Edited(text, FactorText("group", wanted["groups"]),
                FactorText("trt", {"1", "2"}) + FactorText("prior", {"0", "10"}) +
                    FactorText("celltype", {"squamous", "smallcell", "adeno", "large"}));
  text = Edited(text, "~ group", "~ " + formula);
  const auto columns = stats::survival::testing::ReadTable("lgpl/veteran.csv");
  std::vector<std::string> parts(holders, "time,status,trt,prior,celltype\n");
  for (size_t r = 0; r < columns.at("time").size(); ++r) {
    std::string line;
    for (const char* name : {"time", "status", "trt", "prior", "celltype"})
      line += (line.empty() ? "" : ",") + columns.at(name)[r];
    parts[r % holders] += line + "\n";
  }
  const auto outcomes = Outcomes(RunStudy(text, parts));
  ExpectPlannedTraffic(outcomes);
  return ResultOf(outcomes.front());
}

TEST(SurvivalStudyTest, CurvesOfSeveralFactorsAreThoseOfR) {
  const json wanted = Reference("veteran_factors");
  size_t medians = 0, in_parts = 0;
  const json result = VeteranResult(wanted, "trt + prior", "replicated", 3);
  EXPECT_EQ(result["group"], "trt, prior");
  EXPECT_EQ(result["curves"][1]["group"], "1, 10");
  EXPECT_FALSE(result.contains("strata"));
  ExpectReal(result, wanted, medians, in_parts);
  EXPECT_GT(medians, 5u);  // of 12
}

// ---- made-up follow-up in three clinics

std::string CsvOf(const std::vector<testing::Patient>& patients) {
  std::string csv = "days,died,age,arm\n";
  for (size_t r = 0; r < patients.size(); ++r) {
    csv += fmt::format("{:.0f},{},{},{}\n", patients[r].days, patients[r].died ? 1 : 0, 20 + r % 70,
                       patients[r].arm == 0 ? "control" : "treated");
  }
  return csv;
}

std::vector<std::string> ClinicTables() {
  std::mt19937_64 random(3);
  std::vector<std::string> tables;
  for (const size_t rows : {200, 150, 120})
    tables.push_back(CsvOf(testing::DrawPatients(random, rows, 2, 100)));
  return tables;
}

// Boxes of more than two curves would hide one another.
TEST(SurvivalStudyTest, ManyCurvesAreLinesWithIntervalsSideBySide) {
  const std::string text =
      Edited(Edited(Edited(kSurvivalStudy, "~ arm", "~ decade"), "min_rows = 470",
                    "min_rows = 470\nmin_cell = 1"),
             "[engine]", "[release]\naccept = \"table of covariates\"\n[engine]");
  const auto outcomes = Outcomes(RunStudy(text, ClinicTables()));
  const study::Document& document = partita::testing::DocumentOf(outcomes.front());
  ASSERT_EQ(document.sections[0].plots.size(), 1u);
  const study::DocumentPlot& plot = document.sections[0].plots.front();
  EXPECT_THAT(plot.note, HasSubstr("side by side"));
  const std::vector<study::DocumentCell>& first = document.sections[0].tables.front().rows.front();
  EXPECT_EQ(std::get<std::string>(first[0]), "young");
  // Of each group a line from 1 at the beginning, then an interval at each report time.
  ASSERT_EQ(plot.series.size(), 12u);
  std::vector<double> at_20;
  for (size_t g = 0; g < 12; g += 4) {
    const study::DocumentSeries& line = plot.series[g];
    EXPECT_TRUE(line.upper.empty());
    ASSERT_EQ(line.x.size(), 4u);
    EXPECT_EQ(line.x.front(), 0);
    EXPECT_EQ(line.y.front(), 1);
    for (size_t k = 0; k < 3; ++k) {
      const study::DocumentSeries& interval = plot.series[g + 1 + k];
      EXPECT_EQ(interval.x, std::vector<double>(2, line.x[k + 1]));
      EXPECT_LE(interval.y[0], line.y[k + 1]);
      EXPECT_GE(interval.y[1], line.y[k + 1]);
      EXPECT_NEAR(line.x[k + 1], 20.0 * static_cast<double>(k + 1), 1);
    }
    at_20.push_back(line.x[1]);
  }
  EXPECT_LT(at_20[0], at_20[1]);
  EXPECT_EQ(at_20[1], 20);
  EXPECT_LT(at_20[1], at_20[2]);
}

TEST(SurvivalStudyTest, CurvesArePrintedAndWritten) {
  const auto outcomes = Outcomes(RunStudy(kSurvivalStudy, ClinicTables()));
  ASSERT_EQ(outcomes.size(), 4u);
  ExpectPlannedTraffic(outcomes);
  const study::Document& document = partita::testing::DocumentOf(outcomes.front());
  ASSERT_EQ(document.sections.size(), 4u);
  EXPECT_EQ(document.sections[0].heading, "Curves");
  EXPECT_EQ(document.sections[0].tables.front().rows.size(), 6u);
  ASSERT_EQ(document.sections[0].plots.size(), 1u);
  // Of each arm boxes between the report times, and an interval at each of the three.
  ASSERT_EQ(document.sections[0].plots.front().series.size(), 8u);
  const study::DocumentSeries& boxes = document.sections[0].plots.front().series.front();
  EXPECT_THAT(boxes.x, ElementsAre(0, 20, 20, 40, 40, 60));
  EXPECT_EQ(boxes.upper[0], 1);
  for (size_t k = 0; k < 4; ++k) EXPECT_EQ(boxes.upper[k + 2], boxes.y[k]);
  for (size_t k = 0; k < 6; k += 2) EXPECT_EQ(boxes.y[k], boxes.y[k + 1]);
  EXPECT_EQ(document.sections[1].heading, "Followed further");
  EXPECT_EQ(document.sections[2].heading, "Medians");
  EXPECT_EQ(document.sections[3].heading, "Log-rank test");
  ASSERT_EQ(document.files.size(), 1u);
  EXPECT_EQ(document.files.front().name, "curves.csv");
  EXPECT_EQ(Prepare(kSurvivalStudy)->FileNames(), std::vector<std::string>{"curves.csv"});
  const std::string& csv = document.files.front().contents;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 7);
  EXPECT_LE(csv.size(), Prepare(kSurvivalStudy)->FileBytes());
  EXPECT_THAT(outcomes.front().result->Html(outcomes.front().plan, report::RunFacts{}),
              HasSubstr("Survival by arm"));
  const json result = ResultOf(outcomes.front());
  uint64_t rows = 0;
  for (const json& curve : result["curves"]) rows += curve["rows"].get<uint64_t>();
  EXPECT_EQ(rows, 470u);
}

TEST(SurvivalStudyTest, AllAreToldWhereTheStudySaysSo) {
  const std::string text =
      Edited(kSurvivalStudy, "[\"curves\"]", "[{what = \"curves\", to = \"all\"}]");
  const auto outcomes = Outcomes(RunStudy(text, ClinicTables()));
  ASSERT_EQ(outcomes.size(), 4u);
  ExpectPlannedTraffic(outcomes);
  for (size_t p = 1; p < 3; ++p) EXPECT_EQ(ResultOf(outcomes[p]), ResultOf(outcomes[0]));
  EXPECT_EQ(outcomes[3].result, nullptr);
}

TEST(SurvivalStudyTest, OnlyTheReceiverLearnsTheCurves) {
  const study::Plan plan = run::BuildPlan(*Prepare(kSurvivalStudy));
  EXPECT_EQ(plan.method, "survival");
  EXPECT_THAT(plan.parties[0].learns, Contains(HasSubstr("log survival")));
  EXPECT_THAT(plan.parties[0].learns, Contains(HasSubstr("which curves and medians")));
  EXPECT_THAT(plan.parties[1].learns, Not(Contains(HasSubstr("survival"))));
  ASSERT_EQ(plan.releases.size(), 2u);
  EXPECT_EQ(plan.releases[0].to, "all");
  EXPECT_EQ(plan.releases[1].to, "north");
  ASSERT_EQ(plan.exposures.size(), 1u);
  // Of two groups at three times: 2 + 5 x 3 + 3 numbers each, and 3 + 4 x 2 of the test.
  EXPECT_EQ(plan.exposures.front().opened, 51u);
  ASSERT_TRUE(plan.exposures.front().bits.has_value());
  // 16 counts of up to 3 x 2^20 rows at 21.6 / 2 + 2 bits, 17 numbers of 6, and 6 of 161
  // places (101 cells, 15 parts of each of 4 intervals) or none of 7.34 bits.
  EXPECT_EQ(plan.exposures.front().bits->opened, 351u);
  EXPECT_TRUE(plan.exposures.front().bits->passes);
  EXPECT_THAT(plan.assumptions, Contains(HasSubstr("no differential privacy")));
  EXPECT_THAT(plan.assumptions, Contains(HasSubstr("open to nobody")));
}

TEST(SurvivalStudyTest, TooFewRowsOpenNothing) {
  const std::string few = Edited(kSurvivalStudy, "min_rows = 470", "min_rows = 471");
  const auto refused = RunStudy(few, ClinicTables());
  for (const auto& end : refused) EXPECT_TRUE(end.error.has_value()) << end.party;
  ASSERT_NE(run::RootCause(refused), nullptr);
  EXPECT_EQ(run::RootCause(refused)->error->code(), ErrorCode::kRefused);
  EXPECT_THAT(run::RootCause(refused)->error->message(), HasSubstr("min_rows = 471"));
  Outcomes(RunStudy(Edited(few, "471", "470"), ClinicTables()));
}

TEST(SurvivalStudyTest, SmallCellsAreWithheld) {
  const std::string text =
      Edited(kSurvivalStudy, "min_rows = 470", "min_rows = 470\nmin_cell = 140");
  const auto outcomes = Outcomes(RunStudy(text, ClinicTables()));
  ASSERT_EQ(outcomes.size(), 4u);
  const json result = ResultOf(outcomes.front());
  for (const json& curve : result["curves"]) {
    EXPECT_EQ(curve["withheld"], true);
    EXPECT_EQ(curve.size(), 2u);
  }
  EXPECT_EQ(result["log_rank"], json({{"withheld", true}}));
  EXPECT_THAT(partita::testing::DocumentOf(outcomes.front()).sections.front().paragraphs,
              Contains(HasSubstr("fewer than 140 rows")));
}

// Rows without a group, a time or an event, outside the population or the subset are left out.
TEST(SurvivalStudyTest, TakesTheRowsOfThePopulation) {
  std::string csv = "days,died,age,arm\n";
  uint64_t wanted = 0;
  for (int i = 0; i < 180; ++i) {
    const int age = 20 + i % 60;
    csv += fmt::format("{},{},{},{}\n", i % 9 == 0 ? "" : std::to_string(1 + i % 80),
                       i % 11 == 0 ? "" : std::to_string(i % 2), age,
                       i % 10 == 0       ? ""
                       : i / 12 % 2 == 0 ? "control"
                                         : "treated");
    wanted += i % 9 != 0 && i % 11 != 0 && i % 10 != 0 && age >= 30 && age <= 75 ? 3 : 0;
  }
  std::string text = Edited(kSurvivalStudy, "[engine]",
                            "[population]\nsubset = [{variable = \"age\", at_least = 30}]\n"
                            "[engine]");
  text = Edited(text, "min_rows = 470", "min_rows = 200");
  text = Edited(text, "[20, 40, 60]", "[50]");
  text = Edited(text, "release =", "subset = [{variable = \"age\", at_most = 75}]\nrelease =");
  const auto outcomes = Outcomes(RunStudy(text, {csv, csv, csv}));
  ASSERT_EQ(outcomes.size(), 4u);
  const json result = ResultOf(outcomes.front());
  uint64_t rows = 0;
  for (const json& curve : result["curves"]) rows += curve["rows"].get<uint64_t>();
  EXPECT_EQ(rows, wanted);
  EXPECT_EQ(Prepare(text)->LeastRowsApart(), 310u);
}

struct Refusal {
  std::string from, to, what, hint;
};

TEST(SurvivalStudyTest, RefusesWhatItDoesNotDo) {
  const std::string cells = "[engine]";
  for (const Refusal& refusal : std::vector<Refusal>{
           {"site = \"ignore\"", "site = \"fixed\"", "effects of sites", "site = \"ignore\""},
           {"missing = \"complete\"", "missing = \"complete\"\ncluster = \"arm\"", "clusters",
            "leave them out"},
           {cells, "[population]\nunit = \"visit\"\nmax_rows_per_person = 4\n[engine]",
            "a person has several", "one row per person"},
           {cells, "[release]\ngrid = \"full\"\n[engine]", "on a grid", "leave `grid` out"},
           {"min_rows = 470", "min_rows = 200", "more than half", "fewer report times"}}) {
    SCOPED_TRACE(refusal.to);
    try {
      Prepare(Edited(kSurvivalStudy, refusal.from, refusal.to));
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      EXPECT_THAT(error.message(), HasSubstr(refusal.what));
      EXPECT_THAT(error.hint(), HasSubstr(refusal.hint));
    }
  }
}

}  // namespace
}  // namespace partita::methods::survival::survival_study_test
