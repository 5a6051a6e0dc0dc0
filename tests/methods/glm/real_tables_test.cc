// R's fits of two dozen real tables (tests/references/glm/real.json): the twin in the clear, and whole studies at every level,
// on every engine, with rows, columns and both split. At level sealed what opens is on a grid of 2^-16 standard errors, so that
// the numbers are compared as they were before rounding.
#include "tests/methods/glm/real_tables.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "methods/glm/result.h"
#include "stats/glm/fit.h"
#include "stats/glm/robust.h"
#include "stats/glm/wald.h"
#include "tests/run/study_in_process.h"
#include "tests/thorough.h"

namespace partita::methods::glm::real_tables_test {
namespace {

using nlohmann::json;
using real_tables::Case;

// A coefficient that is almost 0 has its digits relative to a tenth of its standard error.
double Digits(double estimate, double error) {
  return 1e-6 * std::max(std::abs(estimate), 0.1 * error);
}

// What is thrown is a failure of this case, and the others are run.
template <typename Of>
void Each(const Case& made, void (*expect)(const Of&), const Of& of) {
  SCOPED_TRACE(NameOf(made));
  try {
    expect(of);
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
}

// ---- the twin in the clear

stats::glm::Rows PooledRows(const GlmStudy& study, std::vector<data::Table> parts) {
  const CountTables tables(study.task.spec, study.factors);
  std::vector<stats::glm::Rows> rows;
  for (data::Table& part : parts) {
    study.DeriveColumns(part);
    run::TakenRows taken;
    run::OwnRows counts;
    const std::vector<size_t> indices = RowsTaken(study, part, taken, counts);
    rows.push_back(OwnDataOf(study.task.spec, tables, part, indices).rows);
  }
  return stats::glm::Pooled(rows);
}

Eigen::MatrixXd CovarianceAt(const GlmStudy& study, const stats::glm::Rows& rows,
                             const Eigen::VectorXd& point, const FittedModel& told) {
  const Spec& spec = study.task.spec;
  const stats::glm::Limits limits = testing::LimitsOfModel(spec);
  const stats::glm::PointSums sums = SumsAt(spec.law, rows, point, limits);
  if (!spec.robust()) {
    const Eigen::Index p = point.size();
    const double freedom = rows.count() - static_cast<double>(p);
    const double dispersion = HasDispersion(spec.law) ? sums.pearson / freedom : 1;
    return dispersion * sums.information.ldlt().solve(Eigen::MatrixXd::Identity(p, p));
  }
  const stats::glm::Meat meat = MeatAt(spec.law, rows, point, limits);
  EXPECT_EQ(meat.outside, 0u);
  const double factor = SmallSampleFactor(spec, told);
  return factor * factor * stats::glm::SandwichCovariance(sums.information, meat.meat);
}

void ExpectTwinAsR(const json& wanted) {
  const Case made{&wanted, "aggregates", "replicated"};
  const real_tables::Dealt dealt = Deal(made);
  const GlmStudy study = real_tables::Prepared(made, dealt.text);
  const Spec& spec = study.task.spec;
  const stats::glm::Rows rows = PooledRows(study, dealt.parts);
  const stats::glm::Fit fit = FitRows(spec.law, rows, testing::LimitsOfModel(spec), spec.intercept);
  EXPECT_TRUE(fit.maximum.converged);
  FittedModel told;
  told.rows = static_cast<uint64_t>(rows.count());
  told.clusters = NumClusters(rows);
  EXPECT_EQ(told.rows, wanted["rows"]);
  if (spec.clustered()) {
    EXPECT_EQ(told.clusters, wanted["clusters"]);
  }
  const Eigen::MatrixXd covariance = CovarianceAt(study, rows, fit.maximum.point, told);
  const size_t estimates = wanted["estimate"].size();
  const bool has_theta = !wanted["theta"].is_null();
  ASSERT_EQ(spec.parameters.size(), estimates + (has_theta ? 1 : 0));
  for (size_t c = 0; c < estimates; ++c) {
    SCOPED_TRACE(spec.parameters[c].name);
    const auto i = static_cast<Eigen::Index>(c);
    const double unit = spec.outcome.scale / spec.parameters[c].scale;
    const double estimate = wanted["estimate"][c], error = wanted["standard_error"][c];
    EXPECT_NEAR(fit.maximum.point[i] * unit + (c == 0 ? spec.outcome.centre : 0), estimate,
                Digits(estimate, error));
    EXPECT_NEAR(std::sqrt(covariance(i, i)) * unit, error, 1e-6 * error);
  }
  if (has_theta) {
    const auto last = static_cast<Eigen::Index>(estimates);
    const double theta = wanted["theta"];
    EXPECT_NEAR(std::exp(fit.maximum.point[last]), theta, 1e-6 * theta);
    EXPECT_NEAR(std::exp(fit.maximum.point[last]) * fit.standard_errors[last],
                wanted["theta_error"].get<double>(), 1e-6 * theta);
  }
  const bool gaussian = spec.law.family == stats::glm::Family::kGaussian;
  const double deviance = wanted["deviance"];
  EXPECT_NEAR(fit.deviance * (gaussian ? std::pow(spec.outcome.scale, 2) : 1), deviance,
              1e-8 * deviance);
  const std::optional<double> df =
      wanted["df"].is_null() ? std::nullopt : std::optional<double>(wanted["df"]);
  ASSERT_EQ(spec.terms.size(), wanted["tests"].size());
  for (size_t t = 0; t < spec.terms.size(); ++t) {
    const std::vector<size_t>& columns = spec.terms[t].columns;
    testing::ExpectTest(spec.terms[t], wanted["tests"][t],
                        stats::glm::WaldStatistic(fit.maximum.point, covariance, columns).value(),
                        df);
  }
}

TEST(GlmRealTables, TheTwinIsAsR) {
  EXPECT_GE(real_tables::References()["tables"].size(), 24u);
  for (const json& wanted : real_tables::References()["fits"])
    Each({&wanted, "aggregates", "replicated"}, ExpectTwinAsR, wanted);
}

// ---- studies

// Half a step of a grid with its guard bits; and what an estimate (in standard errors), a standard error (of itself) and a
// log-likelihood may be off before they are rounded.
constexpr double kRounded = 0.5 + 0x1p-9, kExact = 1e-4;

struct Ran {
  json result;
  GlmStudy study;
  stats::glm::Rows rows;
  double grid = 0;  // half a step of the result's own grid
  bool digits() const { return study.task.spec.aggregates; }
};

// What a standard error of 1, or a statistic, may be off.
double Off(const Ran& ran) { return ran.digits() ? 1e-6 : ran.grid + kExact; }

void ExpectCoefficients(const Ran& ran, const json& wanted) {
  ASSERT_EQ(ran.result["coefficients"].size(), wanted["estimate"].size());
  for (size_t c = 0; c < wanted["estimate"].size(); ++c) {
    const json& row = ran.result["coefficients"][c];
    SCOPED_TRACE(row["term"].get<std::string>());
    const double estimate = wanted["estimate"][c], error = wanted["standard_error"][c];
    EXPECT_NEAR(row["estimate"], estimate,
                ran.digits() ? Digits(estimate, error)
                             : kRounded * row["step"].get<double>() + kExact * error);
    EXPECT_NEAR(row["standard_error"], error, Off(ran) * error);
    // By the statistic, of which p-values change by at most 0.8.
    const double off = 2 * Off(ran) * (1 + std::abs(estimate / error));
    EXPECT_NEAR(row["p_value"], wanted["p_value"][c].get<double>(), off);
  }
  ASSERT_EQ(ran.result["theta"].is_null(), wanted["theta"].is_null());
  if (wanted["theta"].is_null()) return;
  const double theta = wanted["theta"], error = wanted["theta_error"];
  EXPECT_NEAR(ran.result["theta"]["estimate"], theta, 1e-6 * theta);
  EXPECT_NEAR(ran.result["theta"]["standard_error"], error, 1e-6 * theta);
}

void ExpectTests(const Ran& ran, const json& wanted) {
  ASSERT_EQ(ran.result["tests"].size(), wanted["tests"].size());
  for (size_t t = 0; t < wanted["tests"].size(); ++t) {
    const json &test = ran.result["tests"][t], &of_r = wanted["tests"][t];
    SCOPED_TRACE(of_r["term"].get<std::string>());
    const double columns = of_r["columns"], times = wanted["df"].is_null() ? 1 : columns;
    const double chi_square = of_r["statistic"].get<double>() * times;
    EXPECT_EQ(test["columns"], of_r["columns"]);
    // By estimates that are so far off, a covariance that is, and the statistic's own grid.
    const double off = Off(ran) * (1 + times * of_r["slope"].get<double>() + 2 * chi_square);
    EXPECT_NEAR(test["statistic"].get<double>() * times, chi_square, off);
    EXPECT_NEAR(test["p_value"], of_r["p_value"].get<double>(), off);
  }
}

// Deviances and log-likelihoods. moved: by how much the deviance of the point that opened is another one than that of the maximum;
// dispersion: of that point.
void ExpectFit(const Ran& ran, const json& wanted, double moved, double dispersion) {
  const json& fit = ran.result["fit"];
  const double deviance = wanted["deviance"], rows = wanted["rows"];
  EXPECT_EQ(fit["df_residual"], wanted["df_residual"]);
  const double exact = ran.digits() ? 1e-6 : kExact;
  // Of a gaussian outcome relative to its variance (fit_numbers.h).
  const auto within = [&](double of) {
    if (ran.digits()) return 1e-8 * of;
    return (wanted["family"] == "gaussian" ? of / rows : 1) * (ran.grid + 2 * exact);
  };
  EXPECT_NEAR(fit["deviance"], deviance, within(deviance) + moved);
  if (!fit["null_deviance"].is_null()) {
    const double null = wanted["null_deviance"];
    EXPECT_NEAR(fit["null_deviance"], null, within(null));
  }
  EXPECT_NEAR(fit["dispersion"], dispersion, 2 * Off(ran) * dispersion);
  ASSERT_EQ(fit["log_likelihood"].is_null(), wanted["log_likelihood"].is_null());
  if (wanted["log_likelihood"].is_null()) return;
  // By the deviance D: of a gaussian likelihood -n / (2 D), of a gamma one no more than n / (2 D) + 1 / 2, of others -1 / 2.
  const double slope = wanted["family"] == "gaussian" ? rows / deviance
                       : wanted["family"] == "gamma"  ? 1 + rows / deviance
                                                      : 1;
  const double off = 2 * std::max(1.0, slope) * ran.grid + exact + slope * moved;
  EXPECT_NEAR(fit["log_likelihood"], wanted["log_likelihood"].get<double>(), off);
  EXPECT_NEAR(fit["aic"], wanted["aic"].get<double>(), 2 * off);
}

// Level iterates opens points that are rounded and goes on from these: the last is a step of scoring from the one before, and
// everything else is of the last. Estimates and standard errors are within a step of the
// grid of R's, as docs/glm.md states.
void ExpectPath(const Ran& ran, const json& wanted) {
  const Spec& spec = ran.study.task.spec;
  const stats::glm::Limits limits = testing::LimitsOfModel(spec);
  const auto point_of = [&](size_t back) {
    Eigen::VectorXd point(static_cast<Eigen::Index>(spec.parameters.size()));
    for (size_t c = 0; c < spec.parameters.size(); ++c) {
      const json& at = ran.result["path"][c]["at"];
      const double value = at[at.size() - 1 - back];
      const double centre = c == 0 && spec.intercept ? spec.outcome.centre : 0;
      point[static_cast<Eigen::Index>(c)] =
          (value - centre) * spec.parameters[c].scale / spec.outcome.scale;
    }
    return point;
  };
  const Eigen::VectorXd before = point_of(1), last = point_of(0);
  const stats::glm::PointSums there = SumsAt(spec.law, ran.rows, before, limits);
  const Eigen::VectorXd next = before + there.information.ldlt().solve(there.score);
  FittedModel told;
  told.rows = static_cast<uint64_t>(ran.rows.count());
  told.clusters = NumClusters(ran.rows);
  const stats::glm::PointSums here = SumsAt(spec.law, ran.rows, last, limits);
  const Eigen::MatrixXd covariance = CovarianceAt(ran.study, ran.rows, last, told);
  const bool gaussian = spec.law.family == stats::glm::Family::kGaussian;
  const double step = std::ldexp(1.0, -ran.study.task.grid_bits);
  for (size_t c = 0; c < wanted["estimate"].size(); ++c) {
    const json& row = ran.result["coefficients"][c];
    SCOPED_TRACE(row["term"].get<std::string>());
    const auto i = static_cast<Eigen::Index>(c);
    const double unit = spec.outcome.scale / spec.parameters[c].scale;
    const double error = std::sqrt(covariance(i, i)) * unit;
    EXPECT_NEAR(last[i] * unit, next[i] * unit,
                kRounded * row["step"].get<double>() + kExact * error);
    EXPECT_NEAR(row["standard_error"], error, Off(ran) * error);
    const double of_r = wanted["standard_error"][c];
    EXPECT_NEAR(row["estimate"], wanted["estimate"][c].get<double>(), step * of_r);
    EXPECT_NEAR(row["standard_error"], of_r, step * of_r);
  }
  ASSERT_EQ(spec.terms.size(), ran.result["tests"].size());
  for (size_t t = 0; t < spec.terms.size(); ++t) {
    const std::vector<size_t>& columns = spec.terms[t].columns;
    const double statistic = stats::glm::WaldStatistic(last, covariance, columns).value();
    const double times = wanted["df"].is_null() ? 1 : static_cast<double>(columns.size());
    EXPECT_NEAR(ran.result["tests"][t]["statistic"].get<double>() * times, statistic,
                ran.grid + 2 * kExact * (1 + statistic))
        << spec.terms[t].name;
  }
  if (!wanted["theta"].is_null()) return;
  const double unit = gaussian ? std::pow(spec.outcome.scale, 2) : 1;
  const double freedom = wanted["df_residual"];
  ExpectFit(ran, wanted, std::abs(here.deviance * unit - wanted["deviance"].get<double>()),
            HasDispersion(spec.law) ? here.pearson * unit / freedom : 1);
}

void ExpectStudyAsR(const Case& made) {
  const json& wanted = *made.fit;
  const real_tables::Dealt dealt = Deal(made);
  Ran ran{{}, real_tables::Prepared(made, dealt.text), {}};
  ran.grid = ran.digits() ? 0 : kRounded * std::ldexp(1.0, -ran.study.task.grid_bits);
  const auto outcomes =
      partita::testing::Outcomes(partita::testing::RunStudy(ran.study, dealt.tables));
  ASSERT_EQ(outcomes.size(), ran.study.parties.size());
  partita::testing::ExpectPlannedTraffic(outcomes);
  const auto told =
      std::find_if(outcomes.begin(), outcomes.end(),
                   [](const run::PartyOutcome& one) { return one.result != nullptr; });
  ASSERT_NE(told, outcomes.end());
  ran.result = partita::testing::ResultOf(*told);
  ASSERT_EQ(ran.result["converged"], true);
  EXPECT_EQ(ran.result["level"], made.level);
  EXPECT_EQ(ran.result["rows"], wanted["rows"]);
  EXPECT_EQ(ran.result["df"], wanted["df"]);
  EXPECT_EQ(ran.result["clusters"], wanted["clusters"]);
  if (made.level == "iterates") {
    ran.rows = PooledRows(ran.study, dealt.parts);
    ExpectPath(ran, wanted);
    return;
  }
  ExpectCoefficients(ran, wanted);
  ExpectTests(ran, wanted);
  ExpectFit(ran, wanted, 0,
            wanted["dispersion"].is_null() ? 1 : wanted["dispersion"].get<double>());
}

// Frequencies of rows whose columns are split are refused.
std::vector<std::string> SplitsOf(const json& fit, const std::string& level) {
  if (level != "sealed") return {"rows"};
  for (const char* family : {"binomial", "poisson", "gaussian", "gamma", "modified-poisson"}) {
    if (fit["family"] != family || !fit["link"].is_null()) continue;
    return fit["weights"].is_null() ? std::vector<std::string>{"rows", "columns", "both"}
                                    : std::vector<std::string>{"rows"};
  }
  return {};
}

// Engine `ot` has two parties.
std::vector<Case> CasesOf(const json& fit, const std::string& level) {
  std::vector<Case> cases;
  for (const std::string& split : SplitsOf(fit, level)) {
    for (const char* engine : {"dealer", "replicated", "shamir", "ot"}) {
      if (std::string(engine) != "ot" || split != "both")
        cases.push_back({&fit, level, engine, split});
    }
  }
  return cases;
}

bool IsSmall(const Case& made) {
  return made.text("table") == "menarche" || made.text("table") == "swiss";
}

// For `./test` the first model of each table once at each level, each time on the next engine and split: two small ones by
// transfers, which take long, and tables of more rows not on shamir.
std::vector<Case> FewOf(const std::vector<Case>& cases, size_t& turn) {
  std::vector<Case> few;
  for (const Case& made : cases) {
    const bool large = real_tables::TableOf(*made.fit)["rows"] > 500;
    if ((made.engine == "ot") == IsSmall(made) && (made.engine != "shamir" || !large))
      few.push_back(made);
  }
  if (few.empty() || IsSmall(few.front())) return few;
  return {few[turn++ % few.size()]};
}

// combinations: of an engine and a split, all of which some table meets.
void ExpectStudies(const std::string& level, size_t combinations) {
  std::string table;
  size_t turn = 0;
  std::set<std::string> met;
  for (const json& fit : real_tables::References()["fits"]) {
    const bool first = fit["table"] != table;
    table = fit["table"];
    std::vector<Case> cases = CasesOf(fit, level);
    if (!Thorough()) cases = first ? FewOf(cases, turn) : std::vector<Case>{};
    for (const Case& made : cases) {
      Each(made, ExpectStudyAsR, made);
      met.insert(made.engine + " " + made.split);
    }
  }
  EXPECT_EQ(met.size(), combinations);
}

TEST(GlmRealTables, AggregatesAreAsR) { ExpectStudies("aggregates", 4); }

TEST(GlmRealTables, IteratesAreAsR) { ExpectStudies("iterates", 4); }

TEST(GlmRealTables, SealedFitsAreAsR) { ExpectStudies("sealed", 11); }

}  // namespace
}  // namespace partita::methods::glm::real_tables_test
