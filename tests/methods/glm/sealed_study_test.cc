// Studies of level `sealed` through the whole path: R's fits of real tables with rows, columns and both
// split, traffic as planned, who learns what, and what is refused.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "methods/glm/study.h"
#include "methods/prepare_study.h"
#include "run/party/build_plan.h"
#include "tests/methods/glm/reference_text.h"
#include "tests/methods/glm/sealed_tables.h"
#include "tests/methods/glm/tables.h"
#include "tests/methods/rehearsals.h"
#include "tests/paths.h"
#include "tests/run/matching/hidden_views.h"
#include "tests/run/study_in_process.h"
#include "tests/study/edited.h"

namespace partita::methods::glm::sealed_study_test {
namespace {

using partita::testing::ExpectPlannedTraffic;
using partita::testing::Outcomes;
using partita::testing::Prepare;
using partita::testing::ResultOf;
using partita::testing::RunStudy;
using study::Edited;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::SealedText;

std::string Sealed(const std::string& text) {
  return Edited(text, "method = \"glm\"\nsteps = 4\n", "method = \"glm\"\nprotocol = \"sealed\"\n");
}

// The table in the hands of `parties`, column c at party c modulo their number; and the tables.
struct SplitTable {
  std::string text;
  std::vector<std::string> tables;
};

SplitTable ByColumns(const nlohmann::json& wanted, const std::string& engine, size_t parties) {
  const data::Table all = testing::ReadParts(wanted["data"], 1).front();
  SplitTable split;
  split.text = "partita = 1\nname = \"reference\"\n";
  for (size_t p = 0; p < parties; ++p) {
    std::string columns;
    std::vector<size_t> own;
    for (size_t c = p; c < all.columns.size(); c += parties) {
      own.push_back(c);
      columns += fmt::format("{}\"{}\"", columns.empty() ? "" : ", ", all.columns[c].schema.name);
    }
    split.text += fmt::format("[[party]]\nname = \"p{}\"\nroles = [\"holder\"{}]\ncolumns = [{}]\n",
                              p, p == 0 ? ", \"receiver\"" : "", columns);
    data::Table part;
    part.num_rows = all.num_rows;
    for (const size_t c : own) part.columns.push_back(all.columns[c]);
    // A key in front of each line.
    std::istringstream lines(testing::CsvOf(part));
    std::string csv, line;
    for (size_t r = 0; std::getline(lines, line); ++r)
      csv += (r == 0 ? std::string("id") : fmt::format("k{:05}", r)) + "," + line + "\n";
    split.tables.push_back(csv);
  }
  if (engine == "dealer") split.text += "[[party]]\nname = \"helper\"\nroles = [\"dealer\"]\n";
  split.text +=
      fmt::format("[table]\nkey = \"id\"\n[[rows]]\nname = \"all\"\ncount = {}\n", all.num_rows);
  for (const data::ColumnSchema& schema : testing::DictionaryOf(wanted["data"]).columns)
    split.text += testing::VariableText(schema);
  split.text += fmt::format(
      "[design]\nsite = \"ignore\"\nmissing = \"refuse\"\n[disclosure]\nmin_cell = 2\n[release]\n"
      "accept = \"table of covariates\"\n[engine]\nname = \"{}\"\n[[analysis]]\nmethod = \"glm\"\n"
      "protocol = \"sealed\"\nrelease = [\"estimates\"]\nfamily = \"{}\"\nformula = \"{}\"\n",
      engine, wanted["family"].get<std::string>(), wanted["formula"].get<std::string>());
  if (wanted.contains("errors"))
    split.text += fmt::format("errors = \"{}\"\n", wanted["errors"].get<std::string>());
  for (const char* key : {"weights_type", "weights", "cluster"}) {
    if (!wanted.contains(key) || wanted[key].is_null()) continue;
    split.text =
        Edited(split.text, "[design]\n",
               fmt::format("[design]\n{} = \"{}\"\n", key, wanted[key].get<std::string>()));
  }
  if (wanted.contains("ridge"))
    split.text += fmt::format("penalty = {{ridge = {}}}\n", wanted["ridge"].get<double>());
  return split;
}

// Half a step of the grid, the guard bits, and 1e-4 standard errors before it.
constexpr double kHalf = 0.5 + 0x1p-9, kExact = 1e-4;

// Of a point 1e-4 standard errors off in any direction, before it is rounded.
void ExpectTests(const nlohmann::json& tests, const nlohmann::json& wanted) {
  ASSERT_EQ(tests.size(), wanted["tests"].size());
  for (size_t t = 0; t < tests.size(); ++t) {
    const nlohmann::json &test = tests[t], &of_r = wanted["tests"][t];
    // F where there is a dispersion, and with sampling weights.
    const nlohmann::json& freedom = wanted[wanted.contains("df") ? "df" : "dispersion"];
    const double columns = of_r["columns"], times = freedom.is_null() ? 1 : columns;
    const double chi_square = of_r["statistic"].get<double>() * times;
    EXPECT_EQ(test["columns"], of_r["columns"]);
    EXPECT_NEAR(test["statistic"].get<double>() * times, chi_square,
                std::ldexp(kHalf, -6) + 2 * kExact * (1 + chi_square))
        << of_r["term"];
    EXPECT_NEAR(test["p_value"], of_r["p_value"].get<double>(), 0x1p-6);
  }
}

void ExpectR(const nlohmann::json& result, const nlohmann::json& wanted) {
  EXPECT_EQ(result["converged"], true);
  EXPECT_EQ(result["level"], "sealed");
  EXPECT_TRUE(result["path"].empty());
  EXPECT_EQ(result["clusters"], wanted.value("clusters", nlohmann::json()));
  ASSERT_EQ(result["coefficients"].size(), wanted["estimate"].size());
  for (size_t c = 0; c < wanted["estimate"].size(); ++c) {
    const nlohmann::json& row = result["coefficients"][c];
    SCOPED_TRACE(row["term"].get<std::string>());
    const double error = wanted["standard_error"][c], step = row["step"];
    EXPECT_LE(step, 0x1p-6 * 1.01 * error);
    EXPECT_NEAR(row["estimate"], wanted["estimate"][c].get<double>(),
                kHalf * step + kExact * error);
    EXPECT_NEAR(row["standard_error"], error, kHalf * step + kExact * error);
  }
  ExpectTests(result["tests"], wanted);
  const nlohmann::json& fit = result["fit"];
  if (wanted["deviance"].is_null()) {
    EXPECT_TRUE(fit.is_null());
    return;
  }
  // On the scale of log-likelihoods.
  const bool gaussian = wanted["family"] == "gaussian";
  const double total = std::ldexp(kHalf, -6) + 2 * kExact;
  const double unit =
      gaussian ? wanted["deviance"].get<double>() / result["rows"].get<double>() : 1;
  EXPECT_NEAR(fit["deviance"], wanted["deviance"].get<double>(), unit * total);
  const auto expect = [&](const char* key, double times) {
    if (!wanted.contains(key)) return;
    ASSERT_EQ(fit[key].is_null(), wanted[key].is_null()) << key;
    if (!fit[key].is_null()) {
      EXPECT_NEAR(fit[key], wanted[key].get<double>(), times * total) << key;
    }
  };
  expect("df_residual", 0);
  // The derivative of the gamma likelihood by the deviance D is -n / (2 D).
  const double slope = wanted["family"] == "gamma" ? 1 + result["rows"].get<double>() /
                                                             (2 * wanted["deviance"].get<double>())
                                                   : 1;
  expect("log_likelihood", 2 * slope);
  expect("aic", 4 * slope);
}

nlohmann::json Reference(const std::string& name, const std::string& file_name = "families") {
  std::ifstream file(FixturePath("references/glm/" + file_name + ".json"));
  return nlohmann::json::parse(file)[name];
}

void ExpectColumnsOfR(const std::string& name, const std::string& engine, size_t parties,
                      const std::string& file = "families") {
  SCOPED_TRACE(name + " by columns, " + engine);
  const nlohmann::json wanted = Reference(name, file);
  const SplitTable split = ByColumns(wanted, engine, parties);
  const auto outcomes = Outcomes(RunStudy(split.text, split.tables));
  ASSERT_EQ(outcomes.size(), parties + (engine == "dealer" ? 1 : 0));
  ExpectPlannedTraffic(outcomes);
  ExpectR(ResultOf(outcomes.front()), wanted);
  for (size_t p = 1; p < outcomes.size(); ++p) EXPECT_EQ(outcomes[p].result, nullptr);
}

void ExpectRowsOfR(const std::string& name, const std::string& engine, size_t parties,
                   const std::string& file = "families") {
  SCOPED_TRACE(name + " by rows, " + engine);
  const nlohmann::json wanted = Reference(name, file);
  const std::vector<data::Table> parts = testing::ReadParts(wanted["data"], parties);
  std::vector<std::string> tables;
  for (const data::Table& part : parts) tables.push_back(testing::CsvOf(part));
  const auto outcomes =
      Outcomes(RunStudy(Sealed(testing::ReferenceText(wanted, engine, parts)), tables));
  ASSERT_FALSE(outcomes.empty());
  ExpectPlannedTraffic(outcomes);
  ExpectR(ResultOf(outcomes.front()), wanted);
}

TEST(SealedStudyTest, ColumnsSplitAsR) {
  for (const char* name : {"birthwt", "birthwt_interaction", "birthwt_offset", "birthwt_plain",
                           "quine", "abalone", "abalone_plain", "cancer", "red"})
    ExpectColumnsOfR(name, "dealer", 2);
  ExpectColumnsOfR("birthwt", "replicated", 3);
  ExpectColumnsOfR("quine", "shamir", 3);
}

TEST(SealedStudyTest, GammaModelsAsR) {
  for (const char* name : {"abalone_gamma", "abalone_gamma_offset"})
    ExpectColumnsOfR(name, "dealer", 2);
  ExpectColumnsOfR("gamma_robust", "dealer", 2, "errors");
  ExpectColumnsOfR("gamma", "dealer", 2, "ridge");
  ExpectColumnsOfR("abalone_gamma", "replicated", 3);
  ExpectRowsOfR("abalone_gamma", "dealer", 2);
}

TEST(SealedStudyTest, RidgesAsR) {
  for (const char* name :
       {"logistic", "logistic_strong", "logistic_robust", "counts", "gaussian", "plain"})
    ExpectColumnsOfR(name, "dealer", 2, "ridge");
  ExpectColumnsOfR("logistic", "replicated", 3, "ridge");
}

TEST(SealedStudyTest, WeightsAsR) {
  for (const char* name :
       {"sampling", "sampling_gaussian", "sampling_factor", "precision", "precision_robust"})
    ExpectColumnsOfR(name, "dealer", 2, "errors");
  ExpectColumnsOfR("sampling", "replicated", 3, "errors");
  for (const char* name : {"frequency", "frequency_rates", "frequency_robust"})
    ExpectRowsOfR(name, "dealer", 2, "errors");
  ExpectRowsOfR("frequency", "replicated", 3, "errors");
}

// Clusters across holders where columns are split, within holders where rows are.
TEST(SealedStudyTest, ClustersAsR) {
  for (const char* name : {"logistic", "logistic_factor", "gaussian", "gaussian_many", "counts",
                           "risks", "gamma", "sampling"})
    ExpectColumnsOfR(name, "dealer", 2, "clusters");
  ExpectColumnsOfR("logistic", "replicated", 3, "clusters");
  ExpectColumnsOfR("gaussian", "shamir", 3, "clusters");
  for (const char* name : {"clusters", "gaussian_clusters", "sampling_clusters", "clusters_factor"})
    ExpectRowsOfR(name, "dealer", 2, "errors");
}

// Rows that lack a variable at either holder, and weights at the one without the outcome.
TEST(SealedStudyTest, TheLinkedExampleAsR) {
  const auto read = [](const std::string& name) {
    std::ifstream file(SourcePath("examples/linked_outcomes/" + name));
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string text = read("study.toml");
  const std::vector<std::string> tables = {read("clinic/data.csv"), read("office/data.csv")};
  const auto expect = [&](const char* name, const std::string& study) {
    SCOPED_TRACE(name);
    const auto outcomes = Outcomes(RunStudy(study, tables));
    ASSERT_EQ(outcomes.size(), 3u);
    ExpectPlannedTraffic(outcomes);
    const nlohmann::json wanted = Reference(name, "linked"), result = ResultOf(outcomes.front());
    EXPECT_EQ(result["rows"], wanted["rows"]);
    ExpectR(result, wanted);
  };
  expect("model", text);
  expect("ridge", Edited(text, "release = [", "penalty = {ridge = 0.01}\nrelease = ["));
  expect("sampling", Edited(text, "[design]\n",
                            "[design]\nweights = \"income\"\nweights_type = \"sampling\"\n"));
}

// R's numbers of the joined table: glm, predict, findInterval, and the area by ranks of the predictions. No row's
// prediction is as close to a cut point as the last point is to the maximum.
TEST(SealedStudyTest, RiskGroupsOfTheLinkedExampleAsR) {
  const auto read = [](const std::string& name) {
    std::ifstream file(SourcePath("examples/linked_outcomes/" + name));
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string text = read("study.toml") + "[analysis.risk_groups]\ncuts = [0.15, 0.2, 0.3]\n";
  const auto outcomes =
      Outcomes(RunStudy(text, {read("clinic/data.csv"), read("office/data.csv")}));
  ASSERT_EQ(outcomes.size(), 3u);
  ExpectPlannedTraffic(outcomes);
  const nlohmann::json result = ResultOf(outcomes.front()), &risk = result["risk"];
  EXPECT_EQ(risk["shown"], true);
  EXPECT_NEAR(risk["area"], 0.6733695379, risk["area_error"].get<double>());
  EXPECT_LT(risk["area_error"], 0.02);
  const std::vector<double> rows = {609, 297, 412, 209}, events = {66, 44, 99, 80},
                            expected = {61.907144, 51.925273, 100.344885, 74.822698};
  ASSERT_EQ(risk["groups"].size(), rows.size());
  for (size_t g = 0; g < rows.size(); ++g) {
    EXPECT_EQ(risk["groups"][g]["rows"], rows[g]);
    EXPECT_EQ(risk["groups"][g]["events"], events[g]);
    EXPECT_NEAR(risk["groups"][g]["expected"], expected[g], 0x1p-7 + 1e-4 * rows[g]);
  }
  for (size_t p = 1; p < outcomes.size(); ++p) EXPECT_EQ(outcomes[p].result, nullptr);
}

TEST(SealedStudyTest, RowsSplitAsR) {
  for (const char* name : {"birthwt_interaction", "quine", "abalone", "abalone_counts_plain"})
    ExpectRowsOfR(name, "dealer", 2);
  ExpectRowsOfR("abalone_rates", "replicated", 3);
}

// ---- what the plan says, and what is refused

std::string WithRows(std::string text, size_t rows) {
  for (size_t at = text.find("ROWS"); at != std::string::npos; at = text.find("ROWS"))
    text.replace(at, 4, std::to_string(rows));
  return text;
}

const std::string& Patients() {
  static const std::string text =
      WithRows(SealedText("binomial", "event ~ age + smoker + stage", "columns"), 2000);
  return text;
}

TEST(SealedStudyTest, ThePlanSaysThatNothingOpensOnTheWay) {
  const study::Plan plan = run::BuildPlan(*Prepare(Patients()));
  EXPECT_EQ(plan.leakage_level, "sealed");
  ASSERT_EQ(plan.releases.size(), 3u);
  EXPECT_EQ(plan.releases[2].to, "first");
  EXPECT_THAT(plan.assumptions, Contains(HasSubstr("Nothing opens on the way")));
  EXPECT_THAT(plan.parties[1].learns, Not(Contains(HasSubstr("coefficients"))));
  ASSERT_EQ(plan.exposures.size(), 1u);
  // Converged, rows, events; five grids, errors and estimates; the deviance, and the test of stage.
  EXPECT_EQ(plan.exposures[0].opened, 20u);
  // Eleven numbers of 6 bits, a statistic of 15 and a count of at most 2000: 11 / 2 + 2.
  EXPECT_EQ(plan.exposures[0].bits->opened, 89u);
}

TEST(SealedStudyTest, ThePlanSaysWhatClustersTell) {
  const study::Plan plan = run::BuildPlan(*Prepare(WithRows(
      testing::WithWards(SealedText("binomial", "event ~ age", "columns"), 15, true), 2000)));
  EXPECT_THAT(plan.releases[2].what, HasSubstr("the number of rows and of events and of clusters"));
  EXPECT_THAT(plan.assumptions, Contains(HasSubstr("one for each of the 16 values")));
  EXPECT_THAT(plan.exposures[0].exposes, Contains("the exact number of clusters of ward"));
  // Converged, rows, events, clusters; two grids, errors and estimates; the deviance.
  EXPECT_EQ(plan.exposures[0].opened, 11u);
  std::vector<std::string> rules;
  for (const study::PlanCheck& check : plan.checks) {
    if (check.variable == "ward") rules.push_back(check.rule);
  }
  EXPECT_THAT(rules, ::testing::ElementsAre("at least 3 clusters",
                                            "no cluster has more than half of the rows"));
}

// Beside them whether the groups are told, three numbers of each of three groups, the area and its error.
TEST(SealedStudyTest, ThePlanSaysWhatRiskGroupsTell) {
  const std::string groups = "[analysis.risk_groups]\ncuts = [0.2, 0.4]\n";
  const study::Plan plan = run::BuildPlan(*Prepare(Patients() + groups));
  ASSERT_EQ(plan.releases.size(), 3u);
  EXPECT_THAT(plan.releases[2].what, HasSubstr("of 3 groups by predicted probability rows"));
  EXPECT_EQ(plan.exposures[0].opened, 32u);
  // Six counts of at most 2000 (7.5 bits each, as above), three numbers of 6, two of 10.
  EXPECT_EQ(plan.exposures[0].bits->opened, 89u + 45u + 18u + 20u);
  EXPECT_THAT(plan.assumptions,
              Contains(HasSubstr("whoever is told them (first) and holds the outcome")));
  EXPECT_THAT(plan.parties[1].learns, Not(Contains(HasSubstr("groups by"))));
  // Whole rows are checked as at the other levels.
  const study::Plan rows = run::BuildPlan(
      *Prepare(WithRows(SealedText("binomial", "event ~ age + smoker", "rows"), 2000) + groups));
  EXPECT_THAT(rows.assumptions, Not(Contains(HasSubstr("Risk groups are counted"))));
}

void ExpectRefused(const std::string& text, const std::string& what) {
  SCOPED_TRACE(what);
  try {
    Prepare(text);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_THAT(error.message(), HasSubstr(what));
    EXPECT_FALSE(error.hint().empty());
  }
}

TEST(SealedStudyTest, WhatItDoesNotTakeIsRefused) {
  const auto edited = [](const std::string& from, const std::string& to) {
    return Edited(Patients(), from, to);
  };
  ExpectRefused(edited("protocol = \"sealed\"\n", ""), "columns are split");
  ExpectRefused(edited("protocol = \"sealed\"\n", "protocol = \"sealed\"\nlink = \"probit\"\n"),
                "no family binomial with link probit");
  ExpectRefused(edited("family = \"binomial\"", "family = \"quasi-binomial\""),
                "no family quasi-binomial");
  const auto clustered = [](const std::string& engine, size_t rows, int most_ward) {
    return WithRows(testing::WithWards(SealedText("gaussian", "score ~ age", "columns", engine),
                                       most_ward, true),
                    rows);
  };
  ExpectRefused(clustered("dealer", 1000, 16777), "16777216 rows times values of the cluster");
  Prepare(clustered("dealer", 1000, 16776));
  ExpectRefused(clustered("ot", 1000, 262),
                "262144 rows times values of the cluster at most with engine 'ot', and 'ward' may "
                "have 263 values in 1000 rows");
  const auto of_seven = [](int most_ward) {
    return WithRows(
        testing::WithWards(SealedText("gaussian", "score ~ age + dose * smoker + stage", "columns"),
                           most_ward, true),
        55);
  };
  Prepare(of_seven(299'592));
  ExpectRefused(of_seven(299'593),
                "2097152 values of the cluster times holders of it and columns at most, and 'ward' "
                "may have 299594 values at 1 holder, of 7 columns");
  const auto of_two = [](int most_ward) {
    return WithRows(
        testing::WithWards(SealedText("gaussian", "score ~ age", "rows"), most_ward, true), 31);
  };
  Prepare(of_two(262'143));
  ExpectRefused(of_two(262'144), "524288 values of the cluster at all holders together");
  // No rows would pass.
  ExpectRefused(clustered("dealer", 1000, 1),
                "level sealed opens nothing without at least 3 clusters, and 'ward' may have 2 "
                "values at 1 holder: in the rows that are declared 2 clusters at most");
  ExpectRefused(
      Edited(of_two(3), "min_cell = 1", "min_cell = 5"),
      "opens nothing without at least 5 clusters, and min_cell = 5, also without each "
      "holder's own rows, and 'ward' may have 4 values at 2 holders: in the rows that are "
      "declared 4 clusters at most without those of one of these");
  ExpectRefused(Edited(WithRows(SealedText("binomial", "event ~ age", "rows"), 300),
                       "site = \"ignore\"", "site = \"fixed\""),
                "no effects of sites");
  ExpectRefused(edited("count = 2000", "count = 300000"), "262144 rows at most");
  // One row that stands for min_cell rows would pass every check.
  ExpectRefused(ByColumns(Reference("frequency", "errors"), "dealer", 2).text,
                "no frequencies of rows whose columns are split");
  ExpectRefused(WithRows(SealedText("binomial", "event ~ age", "columns", "ot"), 2001),
                "2000 rows at most with engine 'ot'");
  ExpectRefused(WithRows(SealedText("gaussian", "score ~ age + offset(years)", "columns"), 300),
                "no offset in a gaussian model");
  ExpectRefused(WithRows(SealedText("binomial", "event ~ age + offset(dose) - 1", "columns"), 300),
                "without an intercept");
  ExpectRefused(edited("stage\"\nrelease", "I(age * dose)\"\nrelease"), "of two holders");
  ExpectRefused(
      WithRows(SealedText("poisson", "visits ~ offset(years) + offset(dose)", "columns"), 300),
      "the offset is made of variables of two holders");
  ExpectRefused(
      Edited(WithRows(SealedText("binomial", "event ~ age", "rows"), 300), "count = 300\n", ""),
      "declares no number");
  ExpectRefused(Edited(WithRows(SealedText("gaussian", "score ~ age", "columns"), 300), "family",
                       "steps = 3\nfamily"),
                "takes no steps");
  // Of too many columns for so few rows, unless all accept it.
  ExpectRefused(edited("accept = \"table of covariates\"", "grid = \"2^-6\""), "half of");
}

// Forty columns of as many rows as there may be fit the integers of every engine; plans say so.
TEST(SealedStudyTest, TheWidestModelsFit) {
  std::string levels;
  for (int level = 0; level < 40; ++level)
    levels += fmt::format("{}\"l{}\"", level == 0 ? "" : ", ", level);
  for (const char* engine : {"dealer", "replicated", "shamir"}) {
    for (const char* model :
         {"binomial|event", "poisson|visits", "gaussian|score", "gamma|years"}) {
      const std::string family(model, std::strchr(model, '|'));
      const std::string outcome = std::strchr(model, '|') + 1;
      SCOPED_TRACE(family + " " + engine);
      const std::string text =
          Edited(WithRows(SealedText(family, outcome + " ~ stage", "columns", engine), 262144),
                 "levels = [\"one\", \"two\", \"three\"]", "levels = [" + levels + "]");
      const auto study = Prepare(text);
      EXPECT_EQ(study->Size().free_parameters, 40u);
      EXPECT_GT(study::Totals(run::BuildPlan(*study)).rounds, 250u);
      // And as many clusters.
      EXPECT_GT(study::Totals(run::BuildPlan(*Prepare(testing::WithWards(text, 63, true)))).rounds,
                250u);
    }
  }
}

// ---- counts on shares

std::vector<std::string> CsvParts(const GlmStudy& study, const data::Table& all) {
  std::vector<std::string> tables;
  for (const data::SegmentPart& part : study.partition.segments.front().parts) {
    std::string csv = "id";
    for (const size_t v : part.variables) csv += "," + study.partition.variables[v];
    csv += "\n";
    for (size_t r = 0; r < all.num_rows; ++r) {
      csv += fmt::format("k{:05}", r);
      for (const size_t v : part.variables) {
        const data::Column& column = all.Get(study.partition.variables[v]);
        csv += "," + (column.codes.empty()
                          ? fmt::format("{}", column.numbers[r])
                          : column.schema.levels[static_cast<size_t>(column.codes[r])]);
      }
      csv += "\n";
    }
    tables.push_back(csv);
  }
  return tables;
}

// Of level three with an event one row too few, in counts that no holder can make alone.
TEST(SealedStudyTest, FewRowsOfALevelAndAnOutcomeOpenNothing) {
  for (const size_t events : {size_t{5}, size_t{4}}) {
    SCOPED_TRACE(events);
    testing::SealedCase made{Edited(SealedText("binomial", "event ~ age + smoker", "columns"),
                                    "min_cell = 1", "min_cell = 5"),
                             21, 200};
    const GlmStudy study = testing::SealedStudyOf(made);
    std::mt19937_64 random(made.seed);
    data::Table all = testing::PatientTable(study, random, made);
    size_t smokers = 0;
    for (size_t r = 0; r < all.num_rows; ++r) {
      // Smoker is at the first, event at the second holder.
      if (all.columns[1].numbers[r] == 0) continue;
      all.columns[6].numbers[r] = smokers++ < events ? 1 : 0;
    }
    const auto ends = RunStudy(WithRows(made.text, made.rows), CsvParts(study, all));
    const run::PartyEnd& receiver = ends.front();
    if (events >= 5) {
      EXPECT_FALSE(receiver.error.has_value());
      continue;
    }
    ASSERT_TRUE(receiver.error.has_value());
    EXPECT_EQ(receiver.error->code(), ErrorCode::kRefused);
    EXPECT_THAT(receiver.error->message(), HasSubstr("smoker"));
  }
}

std::vector<run::PartyEnd> RunPatients(const testing::SealedCase& made) {
  const GlmStudy study = testing::SealedStudyOf(made);
  std::mt19937_64 random(made.seed);
  return RunStudy(WithRows(made.text, made.rows),
                  CsvParts(study, testing::PatientTable(study, random, made)));
}

TEST(SealedStudyTest, FewClustersOpenNothing) {
  testing::SealedCase made{
      testing::WithWards(Edited(SealedText("gaussian", "score ~ age + smoker", "columns"),
                                "min_cell = 1", "min_cell = 5"),
                         9, true),
      24, 200};
  for (const size_t wards : {size_t{5}, size_t{4}}) {
    made.wards = wards;
    const auto ends = RunPatients(made);
    for (const run::PartyEnd& end : ends) {
      if (end.party == "helper") continue;
      ASSERT_EQ(end.error.has_value(), wards < 5);
      if (!end.error) continue;
      EXPECT_EQ(end.error->code(), ErrorCode::kRefused);
      EXPECT_THAT(end.error->message(), HasSubstr("at least 5 clusters"));
      EXPECT_EQ(end.error->hint(),
                "take a variable of more clusters, or errors = \"robust\" without cluster in "
                "[design]");
    }
  }
}

TEST(SealedStudyTest, AClusterOfMostRowsOpensNothing) {
  testing::SealedCase made{
      testing::WithWards(SealedText("gaussian", "score ~ age + smoker", "columns"), 15, true), 26,
      200};
  for (const size_t rows : {size_t{100}, size_t{101}}) {
    made.in_one_ward = rows;
    const auto ends = RunPatients(made);
    for (const run::PartyEnd& end : ends) {
      if (end.party == "helper") continue;
      ASSERT_EQ(end.error.has_value(), rows > 100);
      if (!end.error) continue;
      EXPECT_EQ(end.error->code(), ErrorCode::kRefused);
      EXPECT_THAT(end.error->message(), HasSubstr("no cluster has more than half of the rows"));
      EXPECT_THAT(end.error->hint(), HasSubstr("take a variable of smaller clusters"));
    }
  }
}

// Whoever is in which ward, and however many wards there are: what the other holder is told, sends and
// receives, to the byte.
TEST(SealedStudyTest, TheOtherHolderSeesNothingOfClusters) {
  testing::SealedCase made{
      testing::WithWards(SealedText("binomial", "event ~ age + dose", "columns"), 39, false), 25};
  std::vector<std::string> views, results;
  for (const size_t wards : {size_t{12}, size_t{30}}) {
    made.wards = wards;
    const auto ends = RunPatients(made);
    views.push_back(run::hidden_lists::ViewOf(run::hidden_lists::EndOf(ends, "second")));
    const nlohmann::json result = ResultOf(*run::hidden_lists::EndOf(ends, "first").outcome);
    EXPECT_EQ(result["clusters"], wards);
    results.push_back(result["coefficients"].dump());
  }
  EXPECT_EQ(views[0], views[1]);
  EXPECT_NE(results[0], results[1]);
}

TEST(SealedStudyTest, SeparationIsReported) {
  testing::SealedCase made{SealedText("binomial", "event ~ age + smoker", "columns"), 22};
  made.separated = true;
  const GlmStudy study = testing::SealedStudyOf(made);
  std::mt19937_64 random(made.seed);
  const auto outcomes = Outcomes(RunStudy(
      WithRows(made.text, made.rows), CsvParts(study, testing::PatientTable(study, random, made))));
  ASSERT_FALSE(outcomes.empty());
  ExpectPlannedTraffic(outcomes);
  const nlohmann::json result = ResultOf(outcomes.front());
  EXPECT_EQ(result["converged"], false);
  EXPECT_TRUE(result["coefficients"].empty());
  EXPECT_TRUE(result["fit"].is_null());
  EXPECT_EQ(partita::testing::DocumentOf(outcomes.front()).ending, study::Ending::kNotConverged);
}

// Conditions of both holders, and rows that lack variables of both.
TEST(SealedStudyTest, RehearsalsAgree) {
  const auto rehearse = [](const std::string& text) {
    SCOPED_TRACE(text.substr(text.find("[design]")));
    SilentProgress progress;
    const run::Rehearsal rehearsal = run::Rehearse(
        PrepareGlmStudy(ParseStudyFile(WithRows(text, 400), "study.toml")), {}, progress);
    rehearsals::ExpectPassed(rehearsal);
    EXPECT_TRUE(rehearsal.converged());
  };
  const std::string subset = "subset = [{variable = \"smoker\", is = 1}]\nrelease =";
  rehearse(Edited(SealedText("binomial", "event ~ age * dose", "columns", "dealer", "complete"),
                  "release =", subset));
  rehearse(SealedText("poisson", "visits ~ dose * smoker + stage", "both", "dealer", "complete"));
  const std::string groups = "[analysis.risk_groups]\ncuts = [0.3, 0.6]\n";
  rehearse(SealedText("binomial", "event ~ age * dose", "both", "dealer", "complete") + groups);
  rehearse(SealedText("binomial", "event ~ age + smoker", "rows", "replicated") + groups);
  rehearse(SealedText("gaussian", "score ~ age + dose", "rows"));
  rehearse(SealedText("gamma", "years ~ age * dose + stage", "both", "dealer", "complete"));
  // A ward at two holders is two clusters.
  const auto clustered = [](const std::string& text) { return testing::WithWards(text, 19, true); };
  rehearse(
      clustered(SealedText("binomial", "event ~ age * dose", "columns", "dealer", "complete")));
  rehearse(clustered(SealedText("binomial", "event ~ age * dose", "both", "dealer", "complete")) +
           groups);
  rehearse(clustered(SealedText("gaussian", "score ~ age + dose + stage", "both")));
  rehearse(clustered(SealedText("poisson", "visits ~ dose + smoker", "rows")));
}

}  // namespace
}  // namespace partita::methods::glm::sealed_study_test
