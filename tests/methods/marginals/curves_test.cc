// Method `survival` with [analysis.privacy] through the whole path: what opens and what follows from it
// against the rows in the clear, on every engine; what is refused, forecast and charged.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"
#include "methods/all.h"
#include "methods/marginals/study.h"
#include "methods/prepare_study.h"
#include "stats/marginals/noise.h"
#include "stats/survival/curve.h"
#include "tests/methods/rehearsals.h"
#include "tests/methods/survival/tables.h"
#include "tests/run/study_in_process.h"

namespace partita::methods::marginals::curves_test {
namespace {

using nlohmann::json;
using partita::testing::DocumentOf;
using partita::testing::ExpectPlannedTraffic;
using partita::testing::Outcomes;
using partita::testing::Prepare;
using partita::testing::ResultOf;
using partita::testing::RunStudy;
using stats::survival::Observation;
using survival::testing::Patient;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr size_t kRows = 400;  // of each holder
constexpr const char* kArms[] = {"control", "treated"};

struct Options {
  std::string engine = "dealer";
  std::string missing = "complete";
  bool declares_rows = true;
  size_t rows = kRows;
  std::string analysis = "formula = \"Surv(days, died) ~ arm\"\nreport = [20, 40, 60]\n";
  std::string privacy = "epsilon = 5\ndelta = 1e-6\nadjacency = \"replace\"\n";
};

size_t HoldersOf(const Options& options) {
  return options.engine == "replicated" || options.engine == "shamir" ? 3 : 2;
}

std::string TextOf(const Options& options) {
  std::string text = "partita = 1\nname = \"followed\"\n";
  const size_t holders = HoldersOf(options);
  for (size_t h = 0; h < holders; ++h) {
    text += fmt::format("[[party]]\nname = \"p{0}\"\nroles = [\"holder\"{1}]\nrows = [\"r{0}\"]\n",
                        h, h == 0 ? ", \"receiver\"" : "");
  }
  if (options.engine == "dealer") text += "[[party]]\nname = \"helper\"\nroles = [\"dealer\"]\n";
  for (size_t h = 0; h < holders; ++h) {
    text += fmt::format("[[rows]]\nname = \"r{}\"\n{}", h,
                        options.declares_rows ? fmt::format("count = {}\n", options.rows) : "");
  }
  return text + fmt::format(
                    "[[variable]]\nname = \"death\"\ntype = \"survival\"\ntime = \"days\"\nevent = "
                    "\"died\"\nlower = 0\nupper = 100\nunit = \"days\"\n"
                    "[[variable]]\nname = \"age\"\ntype = \"numeric\"\nlower = 18\nupper = 98\n"
                    "[[variable]]\nname = \"arm\"\ntype = \"factor\"\nlevels = [\"control\", "
                    "\"treated\"]\n"
                    "[[derived]]\nname = \"decade\"\nfrom = \"age\"\ntransform = \"cut\"\npoints = "
                    "[40, 60]\n"
                    "labels = [\"young\", \"middle\", \"old\"]\n"
                    "[design]\nsite = \"ignore\"\nmissing = \"{}\"\n{}[engine]\nname = \"{}\"\n"
                    "[[analysis]]\nmethod = \"survival\"\n{}[analysis.privacy]\n{}",
                    options.missing, options.missing == "refuse" ? "faulty_rows = \"fill\"\n" : "",
                    options.engine, options.analysis, options.privacy);
}

// Of one holder; ages follow from the place.
std::vector<Patient> PatientsOf(size_t holder, size_t rows = kRows) {
  std::mt19937_64 random(holder + 1);
  return survival::testing::DrawPatients(random, rows, 2, 100);
}

int AgeOf(size_t place) { return 18 + static_cast<int>((place * 37) % 80); }

// Every 50th row lacks its time, its event or its arm.
std::vector<std::string> TablesOf(const Options& options, bool incomplete) {
  std::vector<std::string> tables;
  for (size_t h = 0; h < HoldersOf(options); ++h) {
    tables.emplace_back("days,died,age,arm\n");
    const std::vector<Patient> patients = PatientsOf(h, options.rows);
    for (size_t i = 0; i < patients.size(); ++i) {
      const size_t lacks = incomplete && i % 50 == 0 ? i / 50 % 3 : 3;
      tables.back() +=
          fmt::format("{},{},{},{}\n", lacks == 0 ? "" : fmt::format("{}", patients[i].days),
                      lacks == 1         ? ""
                      : patients[i].died ? "1"
                                         : "0",
                      AgeOf(i), lacks == 2 ? "" : kArms[patients[i].arm]);
    }
  }
  return tables;
}

// The rows of a group, without the incomplete ones. in_group: of a patient and its age.
template <typename InGroup>
std::vector<Observation> RowsOf(const Options& options, bool incomplete, const InGroup& in_group) {
  std::vector<Observation> rows;
  for (size_t h = 0; h < HoldersOf(options); ++h) {
    const std::vector<Patient> patients = PatientsOf(h, options.rows);
    for (size_t i = 0; i < patients.size(); ++i) {
      if (incomplete && i % 50 == 0) continue;
      if (in_group(patients[i], AgeOf(i))) rows.push_back({patients[i].days, patients[i].died});
    }
  }
  return rows;
}

// The exact curve of these rows; an interval for the curve of the law, widened so that it fails once in
// 1e9 for the noise alone: four times as far from the estimate.
void ExpectHolds(const json& curve, const std::vector<Observation>& rows, double noise_stddev) {
  const auto exact = stats::survival::KaplanMeier(rows);
  for (const json& point : curve["points"]) {
    const double time = point["time"];
    const auto followed = static_cast<double>(
        std::ranges::count_if(rows, [&](const Observation& row) { return row.time > time; }));
    EXPECT_NEAR(point["remaining"], followed, 6.2 * point["remaining_noise"].get<double>());
    EXPECT_GE(point["remaining_noise"], noise_stddev * (1 - 1e-9));
    ASSERT_FALSE(point["survival"].is_null()) << time;
    const double survival = point["survival"], lower = point["lower"], upper = point["upper"];
    const double truth = stats::survival::SurvivalAt(exact, time, 0.95).estimate;
    EXPECT_GE(truth, survival - 4 * (survival - lower));
    EXPECT_LE(truth, survival + 4 * (upper - survival));
    EXPECT_GT(upper, lower);
  }
}

const MarginalsStudy& AsMarginals(const run::Study& study) {
  return dynamic_cast<const MarginalsStudy&>(study);
}

double RowsChangedBy(const MarginalsStudy& study) {
  return std::ldexp(study.design.sensitivity.value(), -stats::marginals::kNoiseGridBits);
}

TEST(MarginalsCurvesTest, EveryEngine) {
  for (const char* engine : {"dealer", "replicated", "shamir", "ot"}) {
    SCOPED_TRACE(engine);
    Options options;
    options.engine = engine;
    const auto outcomes = Outcomes(RunStudy(TextOf(options), TablesOf(options, true)));
    ExpectPlannedTraffic(outcomes);
    const json result = ResultOf(outcomes[0]);
    EXPECT_EQ(result["rows"], HoldersOf(options) * kRows);
    EXPECT_EQ(result["group"], "arm");
    ASSERT_EQ(result["curves"].size(), 2u);
    for (int32_t arm = 0; arm < 2; ++arm) {
      EXPECT_EQ(result["curves"][arm]["group"], kArms[arm]);
      ASSERT_EQ(result["curves"][arm]["points"].size(), 3u);
      ExpectHolds(result["curves"][arm],
                  RowsOf(options, true, [&](const Patient& p, int) { return p.arm == arm; }),
                  result["noise_stddev"]);
    }
    EXPECT_EQ(result["differences"].size(), 3u);
    for (size_t p = 1; p < HoldersOf(options); ++p) EXPECT_EQ(ResultOf(outcomes[p]), result);
    const study::Document& document = DocumentOf(outcomes[0]);
    ASSERT_EQ(document.files.size(), 3u);
    EXPECT_EQ(document.files[0].name, "curves.csv");
    EXPECT_THAT(document.files[0].contents,
                ::testing::StartsWith(
                    "strata,time,n.after,estimate,std.error,conf.low,conf.high\ncontrol,20,"));
    const auto& tables = document.sections[0].tables;
    ASSERT_EQ(tables.size(), 4u);
    EXPECT_EQ(tables[0].rows.size(), 6u);
    EXPECT_EQ(tables[1].columns,
              (std::vector<std::string>{"arm", "all", "after 20", "after 40", "after 60"}));
    EXPECT_EQ(document.sections[0].plots.size(), 1u);
  }
}

// Narrow cells, levels of two factors of which one is cut from a number, a number of rows that is not
// public, and rows without a value taken for what stands in for it.
TEST(MarginalsCurvesTest, GroupsAndCellsOfAnyKind) {
  Options options;
  options.declares_rows = false;
  options.analysis =
      "formula = \"Surv(days, died) ~ arm + decade\"\nreport = [20, 50]\ncell = 10\n"
      "expected_rows = 800\nconfidence = 0.9\n";
  options.privacy = "epsilon = 8\ndelta = 1e-6\nadjacency = \"add-remove\"\n";
  const auto study = Prepare(TextOf(options));
  const MarginalsStudy& curves = AsMarginals(*study);
  EXPECT_NEAR(RowsChangedBy(curves), 1, 1e-6);
  EXPECT_THAT(curves.used, ElementsAre("death", "age", "arm"));
  EXPECT_THAT(curves.spec.curves->ends, ElementsAre(10, 20, 30, 40, 50));
  EXPECT_THAT(curves.spec.curves->report, ElementsAre(1, 4));
  const auto outcomes = Outcomes(RunStudy(TextOf(options), TablesOf(options, false)));
  ExpectPlannedTraffic(outcomes);
  const json result = ResultOf(outcomes[0]);
  EXPECT_TRUE(result["rows"].is_null());
  EXPECT_EQ(result["group"], "arm, decade");
  EXPECT_EQ(result["report"], json({20, 50}));
  ASSERT_EQ(result["curves"].size(), 6u);
  EXPECT_EQ(result["curves"][4]["group"], "treated, middle");
  ExpectHolds(result["curves"][4],
              RowsOf(options, false,
                     [](const Patient& p, int age) { return p.arm == 1 && age >= 40 && age < 60; }),
              result["noise_stddev"]);
}

TEST(MarginalsCurvesTest, OneCurveOfFilledRows) {
  Options options;
  options.missing = "refuse";
  options.analysis = "formula = \"Surv(days, died) ~ 1\"\nreport = [49.5, 100]\n";
  const auto outcomes = Outcomes(RunStudy(TextOf(options), TablesOf(options, true)));
  ExpectPlannedTraffic(outcomes);
  const json result = ResultOf(outcomes[0]);
  EXPECT_TRUE(result["group"].is_null());
  EXPECT_TRUE(result["differences"].empty());
  ASSERT_EQ(result["curves"].size(), 1u);
  EXPECT_TRUE(result["curves"][0]["group"].is_null());
  // Nobody is followed beyond the upper bound, so that there is no estimate there.
  EXPECT_TRUE(result["curves"][0]["points"][1]["survival"].is_null());
  // A time that is not there is the middle of the bounds, an event that is not there is none.
  double followed = 0;
  for (size_t h = 0; h < 2; ++h) {
    const std::vector<Patient> patients = PatientsOf(h);
    for (size_t i = 0; i < patients.size(); ++i)
      followed += (i % 150 == 0 ? 50 : patients[i].days) > 49.5 ? 1 : 0;
  }
  const json& first = result["curves"][0]["points"][0];
  EXPECT_NEAR(first["remaining"], followed, 6.2 * first["remaining_noise"].get<double>());
}

// Whatever is asked for: a row is in one cell, and a row that is replaced in another.
TEST(MarginalsCurvesTest, IsChargedForOneTable) {
  for (const char* analysis :
       {"formula = \"Surv(days, died) ~ 1\"\nreport = [50]\n",
        "formula = \"Surv(days, died) ~ arm + decade\"\nreport = [20, 40, 60]\ncell = 2\n"}) {
    Options options;
    options.analysis = analysis;
    const auto study = Prepare(TextOf(options));
    EXPECT_EQ(study->Method().name, "survival");
    EXPECT_NEAR(RowsChangedBy(AsMarginals(*study)), std::sqrt(2.0), 1e-6);
    ASSERT_FALSE(study->Charges({}).empty());
    EXPECT_TRUE(study->IsPrivate());
  }
  study::Plan plan;
  Prepare(TextOf({}))->Describe(plan);
  std::string notes;
  for (const std::string& note : plan.notes) notes += note + "\n";
  EXPECT_THAT(notes, HasSubstr("half of the interval of survival; at 20 within 0.0"));
  EXPECT_THAT(notes, HasSubstr("There is no log-rank test"));
}

TEST(MarginalsCurvesTest, UselessCurvesSaySo) {
  Options options;
  options.rows = 40;
  options.privacy = "epsilon = 0.1\ndelta = 1e-5\nadjacency = \"replace\"\n";
  EXPECT_THAT(Prepare(TextOf(options))->Utility().useless,
              HasSubstr("no report time would have an estimate"));
  options.rows = 100'000;
  EXPECT_TRUE(Prepare(TextOf(options))->Utility().useless.empty());
}

TEST(MarginalsCurvesTest, RefusesByNameWhatNeedsExactCounts) {
  const std::string text = TextOf({});
  const auto expect = [&](const std::string& from, const std::string& to, const char* what,
                          const char* hint) {
    std::string edited = text;
    const size_t at = edited.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    edited.replace(at, from.size(), to);
    try {
      PrepareStudy(ParseStudyFile(edited, "s.toml"));
      ADD_FAILURE() << to;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      EXPECT_THAT(error.what(), HasSubstr(what));
      EXPECT_THAT(error.hint(), HasSubstr(hint));
    }
  };
  const std::string report = "report = [20, 40, 60]\n";
  expect(report, "model = \"cox\"\n", "keep no promise", "remove [analysis.privacy]");
  expect(report, "ties = \"efron\"\n" + report, "have no ties", "leave it out");
  expect(report, report + "subset = []\n", "every row is counted", "remove it");
  expect(report, report + "release = [\"curves\"]\n", "open to all", "remove it");
  expect(report, report + "expected_rows = 5\n", "declares its number", "remove it");
  expect(report, "", "'report'", "report = [365, 730]");
  expect(report, "report = []\n", "0 report times", "1 to 24");
  expect(report, "report = [0, 20]\n", "after 0 and until 100", "within the bounds");
  expect(report, "report = [20, 120]\n", "after 0 and until 100", "within the bounds");
  expect(report, "report = [20, 20]\n", "increase", "sort them");
  expect(report, "cell = 15\n" + report, "not the end of a cell", "cells end at 0, 15");
  expect(report, "cell = 20\nreport = [0, 20]\n", "the lower bound", "later times");
  expect("~ arm\"\n" + report, "~ arm + decade\"\ncell = 1\nreport = [60]\n",
         "6 groups with 60 intervals of time have 726 cells", "wider cells");
  expect("~ arm\"", "~ arm + strata(decade)\"", "no strata", "name factors");
  expect("Surv(days, died)", "Surv(age, days, died)", "no times of entry", "Surv(time, event)");
  expect("epsilon = 5\n", "", "epsilon", "epsilon = 1");
  expect("missing = \"complete\"\n", "missing = \"refuse\"\n", "counts every row", "complete");
  // Without the promise the same keys mean exact curves, and a forecast's guess has no place.
  expect("[analysis.privacy]\nepsilon = 5\ndelta = 1e-6\nadjacency = \"replace\"\n",
         "expected_rows = 5\n", "without [analysis.privacy]", "remove it");
}

TEST(MarginalsCurvesTest, RefusesColumnsOfSeveralHolders) {
  std::string text = TextOf({});
  const auto replace = [&](const std::string& from, const std::string& to) {
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  };
  replace("rows = [\"r0\"]\n", "columns = [\"death\"]\n");
  replace("rows = [\"r1\"]\n", "columns = [\"age\", \"arm\"]\n");
  replace("[[rows]]\nname = \"r1\"\ncount = 400\n", "[table]\nkey = \"id\"\n");
  try {
    PrepareStudy(ParseStudyFile(text, "s.toml"));
    FAIL() << "no refusal";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("needs whole rows at each holder"));
  }
}

TEST(MarginalsCurvesTest, RehearsesItsNoise) {
  for (const char* formula : {"Surv(days, died) ~ 1", "Surv(days, died) ~ decade"}) {
    Options options;
    options.analysis = fmt::format("formula = \"{}\"\nreport = [20, 40]\n", formula);
    SilentProgress progress;
    const run::Rehearsal rehearsal = run::Rehearse(
        PrepareMarginalsStudy(ParseStudyFile(TextOf(options), "s.toml")), {}, progress);
    rehearsals::ExpectPassed(rehearsal);
    ASSERT_EQ(rehearsal.agreement.random.size(), 1u);
  }
}

}  // namespace
}  // namespace partita::methods::marginals::curves_test
