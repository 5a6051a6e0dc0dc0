// Robust errors of clusters and of rows that enter late, concordance and cumulative hazards of Cox's model
// on shares: against R's survival and against their twins in plain code, with exactly the messages of
// the plan.
#include "methods/survival/cox/units.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/methods/survival/cox/run_cox.h"
#include "tests/thorough.h"

namespace partita::methods::survival::cox_units_test {
namespace {

using Eigen::Index;
using nlohmann::json;
using stats::survival::Ties;
using testing::Covariates;
using testing::CoxCase;
using testing::DealClusters;
using testing::DrawColumns;
using testing::ExpectTwin;
using testing::kFineBits;
using testing::kOfRounding;
using testing::MostTies;
using testing::NumberSchema;
using testing::NumericColumns;
using testing::Ran;
using testing::RealCase;
using testing::References;
using testing::RunCox;
using testing::TakeEfron;

// Errors 1e-4 of themselves and Wald's test 1e-4 of itself, before they are rounded.
void ExpectErrors(const Ran& ran, const CoxCase& of, const json& errors, const json& wald) {
  const CoxModel& model = *ran.fitted.model;
  ASSERT_TRUE(model.converged);
  const double rounding = std::ldexp(kOfRounding, -kFineBits);
  for (size_t c = 0; c < of.spec.columns.size(); ++c) {
    const double error = errors[c].get<double>();
    EXPECT_NEAR(model.standard_errors[static_cast<Index>(c)] / HalfOf(of.spec.columns[c]), error,
                (1e-4 + rounding) * error);
  }
  EXPECT_NEAR(model.totals[3], wald.get<double>(), 1e-4 * wald.get<double>() + rounding);
}

struct Real {
  std::string name, kind;
  size_t holders;
  bool clusters = true;
};

TEST(CoxUnits, ErrorsAreThoseOfR) {
  for (const Real& real : Cases<Real>({{"cox_months_efron", "replicated", 3},
                                       {"cox_late_breslow", "dealer", 2, false},
                                       {"cox_months_breslow", "shamir", 3}},
                                      {{"cox_lung_breslow", "dealer", 2},
                                       {"cox_strata_breslow", "replicated", 3},
                                       {"cox_late_efron", "dealer", 2},
                                       {"cox_late_efron", "replicated", 3, false}})) {
    SCOPED_TRACE(real.name + " " + real.kind);
    const json wanted = References()[real.name];
    CoxCase of = RealCase(wanted);
    of.spec.proportional = false;
    of.spec.robust = true;
    if (real.clusters) {
      DealClusters(of, "inst", real.holders);
    } else {
      testing::Deal(of, real.holders);
    }
    const Ran ran = RunCox(of, real.kind);
    ASSERT_TRUE(ran.answers->clusters);
    EXPECT_EQ(ran.fitted.model->clusters, real.clusters ? 18u : 0u);
    ExpectErrors(ran, of, wanted[real.clusters ? "cluster_error" : "robust_error"],
                 wanted[real.clusters ? "cluster_wald" : "robust_wald"]);
  }
}

// On transfers few cells: months of half the rows.
TEST(CoxUnits, ErrorsOnTransfersAreThoseOfTheTwin) {
  NumericColumns columns = DrawColumns(21, 60, 6);
  for (size_t r = 0; r < 60; ++r) columns["ward"].push_back(static_cast<double>(r % 12));
  data::Schema covariates = Covariates();
  covariates.columns.push_back(NumberSchema("ward", 0, 20, data::ColumnType::kInteger));
  CoxCase of = testing::CaseOf("age", 6, covariates, columns);
  DealClusters(of, "ward", 2);
  of.spec.concordance = true;
  of.spec.report = {3};
  ExpectTwin(of, RunCox(of, "ot", 8), 8);
}

// Clusters of one row and of many, late entries, strata, ties; holders without rows and with one.
TEST(CoxUnits, ErrorsAreThoseOfTheTwin) {
  NumericColumns columns = DrawColumns(22, 240, 20);
  for (size_t r = 0; r < 240; ++r) {
    columns["ward"].push_back(r < 60 ? 2 : static_cast<double>(r % 30));
    columns["enter"].push_back(static_cast<double>(r * 7 % 9) - 1);
    columns["stratum"].push_back(static_cast<double>(r % 2));
  }
  data::Schema covariates = Covariates();
  covariates.columns.push_back(NumberSchema("ward", 0, 40, data::ColumnType::kInteger));
  covariates.columns.push_back(NumberSchema("enter", -1, 40));
  CoxCase of = testing::CaseOf("age + dose * smoker", 20, covariates, columns, 2);
  DealClusters(of, "ward", 3);
  of.spec.proportional = true;
  ExpectTwin(of, RunCox(of, "dealer", 8), 8);
  of.most_clusters += 5;  // more than there are
  of.spec.entry = "enter";
  TakeEfron(of, MostTies(of));
  const Ran late = RunCox(of, "replicated", 8);
  ExpectTwin(of, late, 8);
  // Every row by itself is another answer.
  CoxCase rows = of;
  rows.spec.cluster = "";
  const Ran by_rows = RunCox(rows, "dealer", 8);
  ExpectTwin(rows, by_rows, 8);
  EXPECT_GT((by_rows.fitted.model->standard_errors - late.fitted.model->standard_errors).norm(),
            4 * late.fitted.model->steps.norm());
  CoxCase uneven = rows;
  uneven.spec.by_site = true;
  uneven.parts = {{}, {0}, {}};
  for (size_t r = 1; r < 240; ++r) uneven.parts[2].push_back(r);
  ExpectTwin(uneven, RunCox(uneven, "dealer", 8), 8);
}

TEST(CoxUnits, ClustersAreCounted) {
  NumericColumns columns = DrawColumns(23, 200, 20);
  for (size_t r = 0; r < 200; ++r) columns["ward"].push_back(static_cast<double>(r % 8));
  data::Schema covariates = Covariates();
  covariates.columns.push_back(NumberSchema("ward", 0, 20, data::ColumnType::kInteger));
  CoxCase of = testing::CaseOf("age + smoker", 20, covariates, columns);
  DealClusters(of, "ward", 2);
  // Eight, of which each holder has four.
  EXPECT_TRUE(RunCox(of, "dealer", 6, 4).answers->clusters);
  EXPECT_FALSE(RunCox(of, "dealer", 6, 5).answers->clusters);
  // As many as columns are too few.
  CoxCase few = testing::CaseOf("age + dose * smoker", 20, covariates, columns);
  for (double& ward : few.table.columns[4].numbers) ward = std::fmod(ward, 4);
  DealClusters(few, "ward", 2);
  EXPECT_FALSE(RunCox(few, "dealer", 6, 1).answers->clusters);
}

// ---- concordance and cumulative hazards

// Bins tie what R tells apart: within 0.01 of its concordance. Hazards within 1e-4 of their own.
TEST(CoxAfter, ConcordanceAndHazardsAreThoseOfR) {
  for (const Real& real :
       Cases<Real>({{"cox_months_efron", "replicated", 3}, {"cox_veteran_breslow", "dealer", 2}},
                   {{"cox_lung_efron", "dealer", 3},
                    {"cox_late_breslow", "dealer", 2},
                    {"cox_months_breslow", "shamir", 3}})) {
    SCOPED_TRACE(real.name + " " + real.kind);
    const json wanted = References()[real.name];
    CoxCase of = RealCase(wanted);
    of.spec.concordance = true;
    for (const double time : wanted["hazard"]["report"])
      of.spec.report.push_back(of.spec.grid.EndingAt(time).value());
    testing::Deal(of, real.holders);
    const Ran ran = RunCox(of, real.kind);
    const CoxModel& model = *ran.fitted.model;
    ASSERT_TRUE(model.converged);
    EXPECT_NEAR(std::ldexp(model.totals.back(), -kConcordanceLog2),
                wanted["concordance"].get<double>(), 0.01);
    double of_middles = 0;
    for (size_t c = 0; c < of.spec.columns.size(); ++c) {
      of_middles += ran.fitted.points.back()[static_cast<Index>(c)] * MiddleOf(of.spec.columns[c]) /
                    HalfOf(of.spec.columns[c]);
    }
    // R sorts strata; here they are as they come.
    const json& cumulated = wanted["hazard"]["cumulated"];
    ASSERT_EQ(model.log_hazards.size(), cumulated.size());
    std::vector<double> ours, of_r;
    for (size_t k = 0; k < cumulated.size(); ++k) {
      EXPECT_TRUE(model.shows_hazard[k / of.spec.report.size()]);
      ours.push_back(model.log_hazards[k] - of_middles);
      of_r.push_back(std::log(cumulated[k].get<double>()));
    }
    std::sort(ours.begin(), ours.end());
    std::sort(of_r.begin(), of_r.end());
    // The coefficients are 1e-4 standard errors from R's, the covariates up to 10 of their units from 0.
    for (size_t k = 0; k < ours.size(); ++k) EXPECT_NEAR(ours[k], of_r[k], 5e-3);
  }
}

// Entries, strata, ties, a time before the first event, and the last cell.
TEST(CoxAfter, ConcordanceAndHazardsAreThoseOfTheTwin) {
  NumericColumns columns = DrawColumns(24, 300, 30);
  for (size_t r = 0; r < 300; ++r) {
    columns["enter"].push_back(static_cast<double>(r * 7 % 12) - 1);
    columns["stratum"].push_back(static_cast<double>(r % 2));
    if (columns["days"][r] < 3) columns["died"][r] = 0;
  }
  data::Schema covariates = Covariates();
  covariates.columns.push_back(NumberSchema("enter", -1, 40));
  CoxCase of = testing::CaseOf("age + smoker", 30, covariates, columns, 2);
  of.spec.concordance = true;
  of.spec.report = {2, 10, 30};
  testing::Deal(of, 2);
  const Ran first = RunCox(of, "dealer", 8);
  ExpectTwin(of, first, 8);
  EXPECT_EQ(first.fitted.model->hazard_steps.front(), 0);  // no event until then
  EXPECT_GT(first.fitted.model->hazard_steps[1], 0);
  of.spec.entry = "enter";
  of.spec.grid = data::GridOf(of.spec.outcome, 3);
  of.spec.report = {1, 4, 10};
  TakeEfron(of, 40);
  of.spec.robust = of.spec.proportional = true;
  testing::Deal(of, 3);
  ExpectTwin(of, RunCox(of, "replicated", 8), 8);
}

// Of 600 rows a stratum has few events after the second report time; the other is shown.
TEST(CoxAfter, HazardsOfFewRowsAreWithheld) {
  NumericColumns columns = DrawColumns(25, 600, 30);
  for (size_t r = 0; r < 600; ++r) {
    columns["stratum"].push_back(static_cast<double>(r / 2 % 2));
    if (columns["stratum"][r] == 1 && columns["days"][r] > 8 && columns["days"][r] <= 20)
      columns["died"][r] = r < 40 ? columns["died"][r] : 0;
  }
  CoxCase of = testing::CaseOf("age + smoker", 30, Covariates(), columns, 2);
  of.spec.report = {8, 20};
  testing::Deal(of, 2);
  const CoxTask task = testing::TaskOf(of, 8);
  const std::vector<CoxRows> rows = testing::RowsOf(of, task);
  // Of the second stratum: events between the two times.
  const size_t place = NumHazardCounts(of.spec) + 2;
  const auto few =
      static_cast<uint64_t>(rows[0].hazard_counts[place] + rows[1].hazard_counts[place]);
  ASSERT_GT(few, 0u);
  ASSERT_LT(few, 8u);
  const Ran ran = RunCox(of, "dealer", 8, 8);
  ExpectTwin(of, ran, 8);
  EXPECT_EQ(ran.fitted.model->shows_hazard, (std::vector<bool>{true, false}));
  EXPECT_GT(ran.fitted.model->hazard_steps[1], 0);
  // No fit, no hazard.
  CoxCase slow = of;
  slow.spec.steps = 1;
  slow.spec.concordance = true;
  const CoxModel none = *RunCox(slow, "dealer", 8, 1).fitted.model;
  EXPECT_FALSE(none.converged);
  EXPECT_EQ(none.shows_hazard, (std::vector<bool>{false, false}));
  for (const double value : none.log_hazards) EXPECT_EQ(value, 0);
  EXPECT_EQ(none.totals.back(), 0);
}

}  // namespace
}  // namespace partita::methods::survival::cox_units_test
