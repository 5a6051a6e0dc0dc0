// Proportional hazards on shares against R's coxph and against the twin in plain code, on every
// engine, with exactly the messages of the plan: real tables, ties, strata, and what has no estimate.
#include "methods/survival/cox/fitter.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "methods/survival/cox/ties.h"
#include "tests/methods/survival/cox/run_cox.h"
#include "tests/thorough.h"

namespace partita::methods::survival::cox_fitter_test {
namespace {

using Eigen::Index;
using Eigen::VectorXd;
using mpc::Engine;
using nlohmann::json;
using stats::survival::Ties;
using testing::Covariates;
using testing::CoxCase;
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

// ---- lung and veteran, as R analyses them

// Before they are rounded: coefficients within 1e-4 of an SE, SEs 1e-4 of themselves, the
// log-likelihoods 1e-4, tests 1e-3; half a step for rounding beside these.
constexpr size_t kNeverAtRisk = 10;  // of lung, with late entries
void ExpectReal(const std::string& name, const std::string& kind, size_t holders,
                bool robust = false) {
  SCOPED_TRACE(name + " " + kind);
  const json wanted = References()[name];
  CoxCase of = RealCase(wanted);
  of.spec.robust = robust;
  testing::Deal(of, holders);
  const Ran ran = RunCox(of, kind);
  ASSERT_TRUE(ran.answers && ran.answers->rows && ran.answers->outcome && ran.answers->ties);
  EXPECT_TRUE(ran.collinear.empty());
  const CoxModel& model = *ran.fitted.model;
  ASSERT_TRUE(model.converged);
  EXPECT_EQ(model.rows, of.table.num_rows - (of.spec.entry.empty() ? 0u : kNeverAtRisk));
  const double rounding = std::ldexp(kOfRounding, -kFineBits);
  for (size_t c = 0; c < of.spec.columns.size(); ++c) {
    const auto i = static_cast<Index>(c);
    const double unit = 1 / HalfOf(of.spec.columns[c]);
    const double of_model = wanted["standard_error"][c];
    const double error = robust ? wanted["robust_error"][c].get<double>() : of_model;
    EXPECT_NEAR(ran.fitted.points.back()[i] * unit, wanted["estimate"][c].get<double>(),
                (1e-4 + rounding) * of_model);
    EXPECT_NEAR(model.standard_errors[i] * unit, error, (1e-4 + rounding) * error);
  }
  EXPECT_NEAR(model.totals[0], wanted["log_likelihood"][0].get<double>(), 1e-4 + rounding);
  EXPECT_NEAR(model.totals[1], wanted["log_likelihood"][1].get<double>(), 1e-4 + rounding);
  EXPECT_NEAR(model.totals[2], wanted["score"].get<double>(), 1e-3 + rounding);
  if (robust) {
    const double test = wanted["robust_wald"];
    EXPECT_NEAR(model.totals[3], test, 1e-4 * test + rounding);
  } else {
    // R rounds this one to two digits.
    EXPECT_NEAR(model.totals[3], wanted["wald"].get<double>(), 0.0051 + rounding);
  }
  EXPECT_TRUE(model.proportional);
  ASSERT_EQ(model.totals.size(), kCoxTotals + wanted["proportional"].size());
  for (size_t k = kCoxTotals; k < model.totals.size(); ++k) {
    const double test = wanted["proportional"][k - kCoxTotals];
    EXPECT_NEAR(model.totals[k], test, 1e-4 * test + 1e-4 + rounding) << k;
  }
}

// For `./test` each engine, each table, each way of ties and each kind of errors once or twice; all
// together under the label slow.
struct Real {
  std::string name, kind;
  size_t holders;
  bool robust = false;
};

void ExpectReals(const std::vector<Real>& reals) {
  for (const Real& real : reals) ExpectReal(real.name, real.kind, real.holders, real.robust);
}

TEST(CoxFitter, IsThatOfR) {
  ExpectReals(
      Cases<Real>({{"cox_months_breslow", "replicated", 3}, {"cox_veteran_breslow", "dealer", 2}},
                  {{"cox_lung_breslow", "dealer", 2},
                   {"cox_strata_breslow", "dealer", 3},
                   {"cox_late_breslow", "replicated", 3},
                   {"cox_months_breslow", "shamir", 3}}));
}

TEST(CoxFitter, IsThatOfRByEfron) {
  ExpectReals(Cases<Real>({{"cox_months_efron", "shamir", 3}, {"cox_late_efron", "dealer", 3}},
                          {{"cox_lung_efron", "dealer", 2},
                           {"cox_months_efron", "replicated", 3},
                           {"cox_veteran_efron", "dealer", 3}}));
}

TEST(CoxFitter, RobustErrorsAreThoseOfR) {
  ExpectReals(Cases<Real>({{"cox_strata_breslow", "dealer", 3, true}},
                          {{"cox_lung_breslow", "dealer", 2, true},
                           {"cox_months_breslow", "replicated", 3, true},
                           {"cox_veteran_breslow", "shamir", 3, true}}));
}

TEST(CoxFitter, RobustErrorsAreThoseOfRByEfron) {
  ExpectReals(Cases<Real>(
      {{"cox_months_efron", "replicated", 3, true}, {"cox_lung_efron", "dealer", 2, true}},
      {{"cox_veteran_efron", "dealer", 3, true}}));
}

TEST(CoxFitter, IsThatOfROnTransfers) { ExpectReal("cox_months_breslow", "ot", 2); }

// ---- made-up rows

TEST(CoxFitter, IsItsTwinOnUnevenHoldersAndTies) {
  const NumericColumns columns = DrawColumns(1, 300, 20);
  CoxCase of = testing::CaseOf("age + dose * smoker", 20, Covariates(), columns);
  // A holder without rows, and one with a single one.
  of.parts = {{}, {0}, {}};
  for (size_t r = 1; r < 300; ++r) of.parts[2].push_back(r);
  ExpectTwin(of, RunCox(of, "dealer", 6), 6);
  // Times beyond the last cell of others; every third event is one day.
  CoxCase coarse = of;
  coarse.spec.proportional = true;
  coarse.spec.grid = data::GridOf(coarse.spec.outcome, 5);
  testing::Deal(coarse, 3);
  ExpectTwin(coarse, RunCox(coarse, "replicated", 6), 6);
}

TEST(CoxFitter, TiesByEfronAreThoseOfTheTwin) {
  CoxCase of = testing::CaseOf("age + dose * smoker", 20, Covariates(), DrawColumns(8, 200, 20));
  testing::Deal(of, 3);
  of.spec.grid = data::GridOf(of.spec.outcome, 2);
  const size_t ties = MostTies(of);
  ASSERT_GE(ties, 6u);
  TakeEfron(of, ties);
  const Ran efron = RunCox(of, "dealer", 10);
  EXPECT_TRUE(efron.answers->ties);
  ExpectTwin(of, efron, 10);
  // More than there are changes nothing.
  TakeEfron(of, ties + 3);
  EXPECT_EQ((RunCox(of, "dealer", 10).fitted.points.back() - efron.fitted.points.back()).norm(), 0);
  // By Breslow it is another model.
  of.spec.ties = Ties::kBreslow;
  of.spec.most_ties = 1;
  const Ran breslow = RunCox(of, "dealer", 10);
  EXPECT_GT((breslow.fitted.points.back() - efron.fitted.points.back()).norm(),
            8 * efron.fitted.estimate_steps.norm());
  TakeEfron(of, ties - 1);
  EXPECT_FALSE(RunCox(of, "dealer", 10).answers->ties);
}

// Every number of events up to one more than there are terms.
TEST(CoxFitter, TermsOfTiesAreEventsOneAfterTheOther) {
  for (const std::string kind : {"dealer", "replicated", "shamir"}) {
    for (const size_t most : {2, 5, 8}) {
      SCOPED_TRACE(fmt::format("{} {}", kind, most));
      mpc::testing::RunOptions run;
      run.kind = kind;
      run.num_parties = 3;
      const size_t cells = most + 2;
      const uint64_t opened = most * cells + (most - 1) * cells + 1;
      run.releases = {{"test", "", "all", "exact", 1, mpc::kEverybody, opened}};
      const auto result = mpc::testing::RunAndComparePlan(run, [&](Engine& engine, size_t) {
        mpc::PrivateMatrix counts{0, {cells, 1}, 0, 100, nullptr};
        if (engine.self() == std::optional<size_t>(0)) {
          counts.read = [](size_t first, size_t rows, Int128* out) {
            for (size_t d = first; d < first + rows; ++d) *out++ = static_cast<Int128>(d);
          };
        }
        const mpc::Shared events = engine.Input(std::vector<mpc::PrivateMatrix>{counts}).front();
        const TiedTerms terms = TermsOfTies(engine, events, most);
        const std::vector<mpc::Shared> shares = {terms.events, terms.gone, terms.beyond};
        const auto values = engine.Reveal("test", shares, mpc::kEverybody);
        if (!engine.self()) return;
        EXPECT_EQ(values[2].values.front(), 1);
        for (size_t d = 0; d < cells; ++d) {
          for (size_t k = 0; k < most; ++k) EXPECT_EQ(values[0].values[k * cells + d], k < d);
          for (size_t k = 1; k < most && d <= most; ++k) {
            const double gone = mpc::DecodeFixed(values[1].values[(k - 1) * cells + d], kGoneBits);
            const double part = static_cast<double>(k) / static_cast<double>(d);
            EXPECT_NEAR(gone, k < d ? part : 0, std::ldexp(static_cast<double>(most + 1), -41));
          }
        }
      });
      result.ThrowIfFailed();
    }
  }
}

// All events in one cell of time: nothing changes with it, and a ratio that does is found.
TEST(CoxFitter, ProportionalHazardsAreTested) {
  NumericColumns columns = DrawColumns(9, 400, 20);
  for (size_t r = 0; r < 400; ++r) {
    if (columns["died"][r] == 1) columns["days"][r] = 7;
  }
  CoxCase at_once = testing::CaseOf("age + smoker", 20, Covariates(), columns);
  testing::Deal(at_once, 2);
  at_once.spec.proportional = true;
  const CoxModel none = *RunCox(at_once, "dealer", 6).fitted.model;
  EXPECT_TRUE(none.converged);
  EXPECT_FALSE(none.proportional);
  for (size_t k = kCoxTotals; k < none.totals.size(); ++k) EXPECT_EQ(none.totals[k], 0);
  // Smokers die early or not at all.
  NumericColumns early = DrawColumns(9, 400, 20);
  for (size_t r = 0; r < 400; ++r) {
    if (early["smoker"][r] == 1 && early["days"][r] > 8) early["died"][r] = r % 8 == 0 ? 1 : 0;
  }
  CoxCase changing = testing::CaseOf("age + smoker", 20, Covariates(), early);
  testing::Deal(changing, 2);
  changing.spec.proportional = true;
  const Ran ran = RunCox(changing, "dealer", 6);
  ExpectTwin(changing, ran, 6);
  EXPECT_GT(ran.fitted.model->totals[kCoxTotals + 1], 10.83);
  EXPECT_LT(ran.fitted.model->totals[kCoxTotals], 7);
}

// Entries within cells count as at their end; in strata each has its own.
TEST(CoxFitter, WhoEntersLateIsNotAtRiskBefore) {
  NumericColumns columns = DrawColumns(10, 300, 30);
  for (size_t r = 0; r < 300; ++r) {
    columns["enter"].push_back(static_cast<double>(r * 7 % 12) - 1);
    columns["stratum"].push_back(static_cast<double>(r % 2));
  }
  data::Schema covariates = Covariates();
  covariates.columns.push_back(NumberSchema("enter", -1, 40));
  CoxCase of = testing::CaseOf("age + smoker", 30, covariates, columns, 2);
  of.spec.entry = "enter";
  of.spec.proportional = true;
  of.spec.grid = data::GridOf(of.spec.outcome, 3);
  TakeEfron(of, 30);
  testing::Deal(of, 2);
  const Ran late = RunCox(of, "dealer", 8);
  ExpectTwin(of, late, 8);
  // In plain code, row by row.
  const CoxTask task = testing::TaskOf(of, 8);
  size_t at_risk = 0;
  for (size_t r = 0; r < 300; ++r)
    at_risk +=
        std::ceil(std::max(columns["enter"][r], 0.0) / 3) < std::ceil(columns["days"][r] / 3);
  EXPECT_EQ(late.fitted.model->rows, at_risk);
  EXPECT_LT(at_risk, 300u);
  const std::vector<CoxRows> rows = testing::RowsOf(of, task);
  const VectorXd zero = VectorXd::Zero(2);
  for (size_t h = 0; h < 2; ++h) {
    const RiskSums sums = RiskSumsAt(rows[h], task.cells, zero);
    for (size_t place = 0; place < task.cells.count(); ++place) {
      Int128 count = 0;
      for (size_t i = 0; i < rows[h].place.size(); ++i)
        count += rows[h].entry[i] < place && place <= rows[h].place[i] &&
                 place / task.cells.cells == rows[h].place[i] / task.cells.cells;
      EXPECT_EQ(sums.sums[place * NumRiskSums(2)], count << kRiskBits) << place;
    }
  }
  CoxCase early = of;
  early.spec.entry = "";
  EXPECT_GT((RunCox(early, "dealer", 8).fitted.points.back() - late.fitted.points.back()).norm(),
            2 * late.fitted.estimate_steps.norm());
}

// ---- robust errors

// Strata of holders, ties and holders that have next to nothing; far predictors, which are where sums of
// squared weights and of hazards are largest and smallest.
TEST(CoxFitter, RobustErrorsAreThoseOfTheTwin) {
  const NumericColumns columns = DrawColumns(11, 240, 20);
  CoxCase of = testing::CaseOf("age + dose * smoker", 20, Covariates(), columns);
  of.spec.robust = of.spec.proportional = true;
  of.parts = {{}, {0}, {}};
  for (size_t r = 1; r < 240; ++r) of.parts[2].push_back(r);
  ExpectTwin(of, RunCox(of, "dealer", 8), 8);
  testing::Deal(of, 2);
  of.spec.by_site = true;
  TakeEfron(of, MostTies(of));
  ExpectTwin(of, RunCox(of, "dealer", 8), 8);
  data::Schema wide = Covariates();
  wide.columns.front().upper = 400;  // ages are at the lower end: x'b about -4
  CoxCase far = testing::CaseOf("age + smoker", 20, wide, columns);
  far.spec.robust = true;
  testing::Deal(far, 2);
  ExpectTwin(far, RunCox(far, "dealer", 8), 8);
}

// A ratio that is not constant: errors of the model and robust ones differ by more than their grids.
TEST(CoxFitter, RobustErrorsAreNotThoseOfTheModel) {
  NumericColumns columns = DrawColumns(12, 400, 20);
  for (size_t r = 0; r < 400; ++r) {
    if (columns["smoker"][r] == 1 && columns["days"][r] > 6) columns["died"][r] = 0;
  }
  CoxCase of = testing::CaseOf("age + smoker", 20, Covariates(), columns);
  testing::Deal(of, 2);
  const CoxModel model = *RunCox(of, "dealer", 8).fitted.model;
  of.spec.robust = true;
  const Ran robust = RunCox(of, "dealer", 8);
  ExpectTwin(of, robust, 8);
  EXPECT_GT(std::abs(robust.fitted.model->standard_errors[1] - model.standard_errors[1]),
            4 * model.steps[1]);
}

TEST(CoxFitter, RobustErrorsDoNotOpenWithoutAFit) {
  NumericColumns columns = DrawColumns(4, 200, 30);
  for (size_t r = 0; r < 200; ++r) columns["died"][r] = columns["smoker"][r];
  CoxCase of = testing::CaseOf("age + smoker", 30, Covariates(), columns);
  testing::Deal(of, 2);
  of.spec.steps = 8;
  of.spec.robust = of.spec.proportional = true;
  const CoxModel model = *RunCox(of, "dealer", 6).fitted.model;
  EXPECT_FALSE(model.converged);
  EXPECT_FALSE(model.proportional);
  EXPECT_EQ(model.standard_errors.norm(), 0);
  for (const double total : model.totals) EXPECT_EQ(total, 0);
}

TEST(CoxFitter, HoldersAreStrata) {
  const NumericColumns columns = DrawColumns(2, 240, 30);
  CoxCase of = testing::CaseOf("age + smoker", 30, Covariates(), columns);
  testing::Deal(of, 2);
  of.spec.by_site = true;
  of.spec.proportional = true;
  const Ran by_site = RunCox(of, "dealer", 10);
  ExpectTwin(of, by_site, 10);
  CoxCase pooled = of;
  pooled.spec.by_site = false;
  const Ran together = RunCox(pooled, "dealer", 10);
  EXPECT_GT((by_site.fitted.points.back() - together.fitted.points.back()).norm(), 1e-3);
}

TEST(CoxFitter, StrataWithoutEventsSayNothing) {
  NumericColumns columns = DrawColumns(3, 200, 30);
  NumericColumns without;
  for (size_t r = 0; r < 200; ++r) {
    const bool third = r % 3 == 2;
    columns["stratum"].push_back(static_cast<double>(r % 3));
    if (third) columns["died"][r] = 0;
    if (third) continue;
    for (const auto& [name, values] : columns) without[name].push_back(values[r]);
  }
  CoxCase all = testing::CaseOf("age + dose", 30, Covariates(), columns, 3);
  CoxCase fewer = testing::CaseOf("age + dose", 30, Covariates(), without, 3);
  testing::Deal(all, 2);
  testing::Deal(fewer, 2);
  const Ran with = RunCox(all, "dealer", 8);
  ExpectTwin(all, with, 8);
  const VectorXd other = RunCox(fewer, "dealer", 8).fitted.points.back();
  for (Index i = 0; i < other.size(); ++i) {
    EXPECT_NEAR(with.fitted.points.back()[i], other[i], 1.01 * with.fitted.estimate_steps[i]);
  }
}

// ---- no estimate

TEST(CoxFitter, MonotoneLikelihoodDoesNotConverge) {
  NumericColumns columns = DrawColumns(4, 200, 30);
  for (size_t r = 0; r < 200; ++r) columns["died"][r] = columns["smoker"][r];
  CoxCase of = testing::CaseOf("age + smoker", 30, Covariates(), columns);
  testing::Deal(of, 2);
  of.spec.steps = 8;
  of.spec.proportional = true;
  const CoxModel model = *RunCox(of, "dealer", 6).fitted.model;
  EXPECT_FALSE(model.converged);
  EXPECT_FALSE(model.proportional);
  EXPECT_EQ(model.totals.size(), kCoxTotals + 3);
  EXPECT_EQ(model.standard_errors.norm(), 0);
  for (const double total : model.totals) EXPECT_EQ(total, 0);
  // One step is too few for anything.
  CoxCase slow = testing::CaseOf("age + smoker", 30, Covariates(), DrawColumns(4, 200, 30));
  testing::Deal(slow, 2);
  slow.spec.steps = 1;
  EXPECT_FALSE(RunCox(slow, "dealer", 6).fitted.model->converged);
}

// Far from the middle of careless bounds some predictors are beyond what the cells hold, by a little,
// so that everything else looks well.
TEST(CoxFitter, PredictorsBeyondAllBoundsDoNotConverge) {
  const NumericColumns columns = DrawColumns(7, 300, 30);
  CoxCase of = testing::CaseOf("age", 30, Covariates(), columns);
  testing::Deal(of, 2);
  const CoxTask task = testing::TaskOf(of, 6);
  const double slope =
      FitCox(PooledCoxRows(task.cells, testing::RowsOf(of, task)), Ties::kBreslow).point[0] /
      HalfOf(of.spec.columns[0]);
  const double oldest = *std::max_element(columns.at("age").begin(), columns.at("age").end());
  for (const double most : {kMostPredictor - 0.3, kMostPredictor + 0.06}) {
    data::Schema covariates = Covariates();
    covariates.columns.front().lower = 2 * (oldest - most / slope) - 100;
    CoxCase wide = testing::CaseOf("age", 30, covariates, columns);
    testing::Deal(wide, 2);
    EXPECT_EQ(RunCox(wide, "dealer", 6).fitted.model->converged, most < kMostPredictor) << most;
  }
}

TEST(CoxFitter, CollinearColumnsAreNamed) {
  NumericColumns columns = DrawColumns(5, 150, 30);
  for (size_t r = 0; r < 150; ++r) columns["dose"][r] = columns["age"][r] / 20 - 3;
  CoxCase of = testing::CaseOf("age + smoker + dose", 30, Covariates(), columns);
  testing::Deal(of, 2);
  EXPECT_EQ(RunCox(of, "dealer", 6).collinear, std::vector<size_t>{2});
  // Nobody differs among those at risk: all censored.
  CoxCase censored = of;
  std::fill(censored.table.columns[0].codes.begin(), censored.table.columns[0].codes.end(), 0);
  const Ran ran = RunCox(censored, "dealer", 6);
  EXPECT_FALSE(ran.answers->outcome);
  EXPECT_FALSE(ran.fitted.model->converged);
}

TEST(CoxFitter, FewEventsAreNoticedWithoutEachHolder) {
  NumericColumns columns = DrawColumns(6, 200, 30);
  for (size_t r = 0; r < 200; ++r) columns["died"][r] = r < 9 ? 1 : 0;
  CoxCase of = testing::CaseOf("age + smoker", 30, Covariates(), columns);
  // Nine events, six of them at the first holder.
  of.parts.assign(2, {});
  for (size_t r = 0; r < 200; ++r) of.parts[r < 6 || r > 100 ? 0 : 1].push_back(r);
  EXPECT_TRUE(RunCox(of, "dealer", 6, 3).answers->outcome);
  EXPECT_FALSE(RunCox(of, "dealer", 6, 4).answers->outcome);
  EXPECT_FALSE(RunCox(of, "dealer", 6, 4).answers->tables.front());
}

}  // namespace
}  // namespace partita::methods::survival::cox_fitter_test
