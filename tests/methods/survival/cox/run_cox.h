// Cox's model run on shares in tests: against its twin in plain code, with exactly the messages of the
// plan; real and made-up tables.
#pragma once

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "methods/survival/cox/fitter.h"
#include "stats/survival/after_cox.h"
#include "stats/survival/cox.h"
#include "stats/survival/cox_robust.h"
#include "tests/methods/survival/cox/tables.h"
#include "tests/mpc/harness.h"
#include "tests/stats/survival/tables.h"

namespace partita::methods::survival::testing {

using Eigen::Index;
using Eigen::VectorXd;
using mpc::Engine;
using nlohmann::json;
using stats::survival::Ties;

// Finer than studies may ask for, to see the arithmetic under the rounding.
inline constexpr int kFineBits = 13;
inline constexpr double kOfRounding = 0.5 + 0x1p-8;

struct Ran {
  std::optional<CoxAnswers> answers;
  std::vector<size_t> collinear;
  CoxFitted fitted;
};

inline Ran RunCox(const CoxCase& of, const std::string& kind, int grid_bits = kFineBits,
                  uint64_t min_cell = 1) {
  const CoxTask task = TaskOf(of, grid_bits);
  const std::vector<CoxRows> rows = RowsOf(of, task);
  const CoxRows none = NoCoxRows(of.spec, CoxTables(of.spec, of.dictionary), task.cells);
  mpc::testing::RunOptions run;
  run.kind = kind;
  run.num_parties = of.parts.size();
  const uint64_t p = task.num_columns();
  run.releases = {{kCoxDisclosure, "", "all", "exact", 1, mpc::kEverybody, NumCoxChecks(task)},
                  {kIndependence, "", "all", "exact", 1, mpc::kEverybody, p},
                  {kIterates, "", "all", "exact", static_cast<uint64_t>(of.spec.steps) - 1,
                   mpc::kEverybody, 2 * p},
                  {kEstimatesRelease, "", "all", "exact", 1, mpc::kEverybody, 2 * p},
                  {kFitRelease, "", "one", "exact", 1, task.to, task.num_of_fit()}};
  std::vector<Ran> ran(of.parts.size());
  const auto result = mpc::testing::RunAndComparePlan(run, [&](Engine& engine, size_t) {
    const std::optional<size_t> self = engine.self();
    CoxFitter fitter(engine, task, self ? rows[*self] : none);
    Ran mine;
    engine.BeginPhase("counts");
    fitter.ShareCounts();
    mine.answers = fitter.Check(5, min_cell);
    engine.BeginPhase("steps");
    mine.collinear = fitter.First();
    for (int step = 1; step <= task.spec.steps; ++step) fitter.OpenPoint(step);
    engine.BeginPhase("fit");
    mine.fitted = fitter.Finish();
    if (self) ran[*self] = std::move(mine);
  });
  result.ThrowIfFailed();
  for (size_t h = 0; h < ran.size(); ++h) {
    EXPECT_EQ(ran[h].fitted.model.has_value(), h == task.to) << h;
    EXPECT_EQ(ran[h].fitted.points.size(), static_cast<size_t>(of.spec.steps));
  }
  return std::move(ran[task.to]);
}

inline void TakeEfron(CoxCase& of, size_t most) {
  of.spec.ties = Ties::kEfron;
  of.spec.most_ties = most;
}

inline json References() {
  std::ifstream file(FixturePath("references/survival/survival.json"));
  return json::parse(file);
}

inline CoxCase RealCase(const json& wanted) {
  const std::string formula = wanted["formula"];
  auto text = stats::survival::testing::ReadTable(wanted["data"]);
  const bool veteran = text.contains("karno");
  const bool months = wanted["data"].get<std::string>().starts_with("months");
  NumericColumns columns;
  const auto numbers = [&](const std::string& name) {
    std::vector<double> values;
    for (const std::string& value : text.at(name)) values.push_back(std::stod(value));
    return values;
  };
  columns["days"] = numbers("time");
  columns["died"] = numbers("status");
  data::Schema covariates;
  if (veteran) {
    covariates.columns = {NumberSchema("trt", 1, 2), NumberSchema("karno", 0, 100),
                          NumberSchema("age", 30, 90)};
  } else {
    covariates.columns = {NumberSchema("age", 30, 90), NumberSchema("sex", 1, 2),
                          NumberSchema("ph.ecog", 0, 4)};
  }
  for (const data::ColumnSchema& column : covariates.columns)
    columns[column.name] = numbers(column.name);
  if (text.contains("enter")) {
    covariates.columns.push_back(NumberSchema("enter", 0, 100));
    columns["enter"] = numbers("enter");
  }
  if (text.contains("inst")) {
    covariates.columns.push_back(NumberSchema("inst", 1, 40, data::ColumnType::kInteger));
    columns["inst"] = numbers("inst");
  }
  const size_t strata = formula.find("strata(");
  size_t levels = 1;
  std::string terms = veteran ? "trt + karno + age" : "age + sex + ph.ecog";
  if (strata != std::string::npos) {
    if (!veteran) terms = "age + ph.ecog";
    std::vector<std::string> names;
    for (const std::string& level : text.at(veteran ? "celltype" : "sex")) {
      const auto found = std::find(names.begin(), names.end(), level);
      columns["stratum"].push_back(static_cast<double>(found - names.begin()));
      if (found == names.end()) names.push_back(level);
    }
    levels = names.size();
  }
  CoxCase of = CaseOf(terms, months ? 36 : 1100, covariates, columns, levels);
  of.spec.proportional = true;
  if (text.contains("enter")) of.spec.entry = "enter";
  if (wanted["ties"] == kEfron) TakeEfron(of, months ? 20 : 4);
  return of;
}

inline NumericColumns DrawColumns(uint64_t seed, size_t rows, int upper) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  NumericColumns columns;
  for (size_t r = 0; r < rows; ++r) {
    const double age = std::clamp(60 + 12 * normal(random), 20.0, 100.0);
    const double dose = std::clamp(normal(random), -4.0, 4.0);
    const double smoker = static_cast<double>(random() % 2);
    const double rate = std::exp(0.03 * (age - 60) + 0.4 * smoker - 0.3 * dose) / (0.4 * upper);
    const double life = std::exponential_distribution<double>(rate)(random);
    const double last = std::uniform_real_distribution<double>(0.3 * upper, upper)(random);
    columns["age"].push_back(age);
    columns["dose"].push_back(dose);
    columns["smoker"].push_back(smoker);
    columns["days"].push_back(std::ceil(std::min(life, last)));
    columns["died"].push_back(life <= last ? 1 : 0);
  }
  return columns;
}

inline data::Schema Covariates() {
  data::Schema schema;
  schema.columns = {NumberSchema("age", 20, 100), NumberSchema("dose", -4, 4),
                    NumberSchema("smoker", 0, 1, data::ColumnType::kInteger)};
  return schema;
}

// By stratum and report time: on the grid of 1 / sqrt(events until then), none where there are none.
inline void ExpectHazards(const CoxCase& of, const CoxModel& model,
                          const stats::survival::CoxRows& rows, const VectorXd& point,
                          int grid_bits) {
  const size_t reports = of.spec.report.size();
  EXPECT_EQ(model.log_hazards.size(), reports * model.shows_hazard.size());
  for (size_t place = 0; place < model.log_hazards.size(); ++place) {
    SCOPED_TRACE(place);
    const auto stratum = static_cast<int>(place / reports);
    const auto time = static_cast<double>(of.spec.report[place % reports]);
    const double hazard = CumulatedHazard(rows, point, of.spec.ties, stratum, time);
    size_t events = 0;
    for (size_t i = 0; i < rows.time.size(); ++i)
      events += rows.event[i] != 0 && rows.time[i] <= time &&
                (rows.stratum.empty() ? 0 : rows.stratum[i]) == stratum;
    if (events == 0 || !model.shows_hazard[place / reports]) {
      EXPECT_EQ(model.hazard_steps[place], 0);
      EXPECT_EQ(model.log_hazards[place], 0);
      continue;
    }
    const double step = model.hazard_steps[place];
    EXPECT_NEAR(model.log_hazards[place], std::log(hazard), kOfRounding * step);
    const double finest = std::ldexp(1 / std::sqrt(static_cast<double>(events)), -grid_bits);
    EXPECT_LE(step, 1.01 * finest);
    EXPECT_GT(step, 0.49 * finest);
  }
}

// Each entry rounded to the product of two grids.
inline void ExpectCovariance(const CoxModel& model, const Eigen::MatrixXd& plain) {
  ASSERT_EQ(model.covariance.rows(), plain.rows());
  for (Index i = 0; i < plain.rows(); ++i) {
    for (Index j = 0; j < plain.cols(); ++j) {
      const double step = model.steps[i] * model.steps[j];
      EXPECT_NEAR(model.covariance(i, j), plain(i, j), kOfRounding * step) << i << " " << j;
      EXPECT_EQ(model.covariance(i, j), step * std::round(model.covariance(i, j) / step));
    }
  }
}

// The estimates are one step from the public point before them.
inline void ExpectTwin(const CoxCase& of, const Ran& ran, int grid_bits) {
  const CoxTask task = TaskOf(of, grid_bits);
  const auto rows = PooledCoxRows(task.cells, RowsOf(of, task));
  const CoxFitted& fitted = ran.fitted;
  const VectorXd& from = fitted.points[fitted.points.size() - 2];
  const auto before = CoxSumsAt(rows, from, of.spec.ties);
  const VectorXd next = from + before.information.ldlt().solve(before.score);
  const auto at = CoxSumsAt(rows, fitted.points.back(), of.spec.ties);
  const Eigen::MatrixXd inverse =
      at.information.ldlt().solve(Eigen::MatrixXd::Identity(next.size(), next.size()));
  const VectorXd of_model = inverse.diagonal().cwiseSqrt();
  const stats::survival::CoxRobust robust = CoxRobustAt(rows, fitted.points.back(), of.spec.ties);
  const VectorXd errors = of.spec.robust ? robust.standard_errors : of_model;
  ASSERT_TRUE(fitted.model->converged);
  for (Index i = 0; i < next.size(); ++i) {
    EXPECT_NEAR(fitted.points.back()[i], next[i], kOfRounding * fitted.estimate_steps[i]);
    EXPECT_NEAR(fitted.model->standard_errors[i], errors[i], kOfRounding * fitted.model->steps[i]);
    EXPECT_LE(fitted.model->steps[i], std::ldexp(errors[i] * 1.01, -grid_bits));
    EXPECT_GT(fitted.model->steps[i], std::ldexp(errors[i] * 0.49, -grid_bits));
  }
  EXPECT_EQ(fitted.model->covariance.size() > 0, of.spec.covariance);
  if (of.spec.covariance)
    ExpectCovariance(*fitted.model, of.spec.robust ? robust.covariance : inverse);
  // On the way points are coarser: their grids are those of errors that differ by less than 2.
  for (size_t k = 0; k + 1 < fitted.points.size(); ++k) {
    for (Index i = 0; i < next.size(); ++i) {
      const int exponent = static_cast<int>(std::floor(std::log2(of_model[i]))) - 1;
      const double steps = std::ldexp(fitted.points[k][i], (k < 2 ? 2 : 4) - exponent);
      EXPECT_EQ(steps, std::round(steps)) << k;
    }
  }
  const double half = std::ldexp(kOfRounding, -grid_bits);
  EXPECT_NEAR(fitted.model->totals[1], at.log_likelihood, half);
  if (of.spec.robust) {
    EXPECT_NEAR(fitted.model->totals[3], robust.wald_test, half);
  }
  if (of.spec.clustered()) {
    EXPECT_EQ(fitted.model->clusters,
              1u + *std::max_element(rows.cluster.begin(), rows.cluster.end()));
  }
  if (of.spec.concordance) {
    const double part = BinnedConcordance(task.cells, rows, fitted.points.back()).value();
    EXPECT_NEAR(fitted.model->totals.back(), std::ldexp(part, kConcordanceLog2), half);
  }
  ExpectHazards(of, *fitted.model, rows, fitted.points.back(), grid_bits);
  EXPECT_EQ(fitted.model->proportional, of.spec.proportional);
  if (!of.spec.proportional) return;
  const auto tests = TestProportional(rows, fitted.points.back(), of.spec.ties, [&](double cell) {
    return TimeOf(task.cells, static_cast<size_t>(cell));
  });
  for (Index i = 0; i < next.size(); ++i)
    EXPECT_NEAR(fitted.model->totals[kCoxTotals + static_cast<size_t>(i)], tests.columns[i], half);
  EXPECT_NEAR(fitted.model->totals[kCoxTotals + static_cast<size_t>(next.size())], tests.all, half);
}

// Events that a cell of time has at most.
inline size_t MostTies(const CoxCase& of) {
  const CoxTask task = TaskOf(of, 6);
  std::vector<Int128> events(task.cells.count());
  for (const CoxRows& rows : RowsOf(of, task)) {
    for (size_t cell = 0; cell < events.size(); ++cell) events[cell] += rows.events[cell];
  }
  return static_cast<size_t>(*std::max_element(events.begin(), events.end()));
}

// Whole clusters to one holder after the other.
inline void DealClusters(CoxCase& of, const std::string& cluster, size_t holders) {
  const std::vector<double>& values = of.table.Get(cluster).numbers;
  of.spec.cluster = cluster;
  of.spec.robust = true;
  of.parts.assign(holders, {});
  for (size_t r = 0; r < values.size(); ++r)
    of.parts[static_cast<size_t>(values[r]) % holders].push_back(r);
  of.most_clusters = 0;
  for (const auto& part : of.parts) {
    std::vector<double> own;
    for (const size_t row : part) own.push_back(values[row]);
    std::sort(own.begin(), own.end());
    const auto last = std::unique(own.begin(), own.end());
    of.most_clusters = std::max(of.most_clusters, static_cast<uint64_t>(last - own.begin()));
  }
}

}  // namespace partita::methods::survival::testing
