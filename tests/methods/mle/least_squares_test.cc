// Regressions as least squares, against exact arithmetic (tests/references/lm.py) and against what
// must be the same.
#include "methods/mle/fit/least_squares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "methods/mle/fit/extras.h"
#include "tests/paths.h"

namespace partita::methods::mle::least_squares_test {
namespace {

using nlohmann::json;

struct Table {
  std::vector<std::string> names;
  Eigen::MatrixXd rows;
};

Table Wine() {
  std::ifstream file(FixturePath("tables/winequality_red.csv"));
  Table table;
  std::string line, cell;
  std::getline(file, line);
  for (std::istringstream header(line); std::getline(header, cell, ',');)
    table.names.push_back(cell);
  std::vector<double> cells;
  while (std::getline(file, line)) {
    for (std::istringstream row(line); std::getline(row, cell, ',');)
      cells.push_back(std::stod(cell));
  }
  const auto p = static_cast<Eigen::Index>(table.names.size());
  table.rows = Eigen::Map<Eigen::Matrix<double, -1, -1, Eigen::RowMajor>>(
      cells.data(), static_cast<Eigen::Index>(cells.size()) / p, p);
  return table;
}

stats::GroupMoments MomentsOf(const Eigen::MatrixXd& rows) {
  stats::GroupMoments moments;
  moments.n = static_cast<double>(rows.rows());
  moments.mean = rows.colwise().mean();
  const Eigen::MatrixXd centred = rows.rowwise() - moments.mean.transpose();
  moments.covariance = centred.transpose() * centred / moments.n;
  return moments;
}

struct RegressionCase {
  std::string outcome = "quality";
  std::string model;  // empty: the outcome on everything else
  std::string function = "regression";
  bool intercept = true;
  bool plain_moments = true;
  size_t absorbed = 0;
};

// Of rows whose columns have these names, in groups of these sizes.
MleResult Fit(const Table& table, const RegressionCase& setup,
              const std::vector<Eigen::Index>& groups) {
  MleOptions options;
  options.name = "main";
  options.function = setup.function;
  options.meanstructure = setup.intercept;
  options.plain_moments = setup.plain_moments;
  options.absorbed_intercepts = setup.absorbed;
  options.model = setup.model;
  data::Schema schema;
  for (const std::string& name : table.names) {
    data::ColumnSchema& column = schema.columns.emplace_back();
    column.name = name;
    column.type = data::ColumnType::kNumeric;
    column.lower = -1000;
    column.upper = 1000;
    if (!setup.model.empty() || name == setup.outcome) continue;
    options.model += (options.model.empty() ? setup.outcome + " ~ " : " + ") + name;
  }
  std::vector<data::DesignColumn> columns = data::DesignColumns(schema, {});
  if (groups.size() > 1) {
    options.group = "part";
    data::ColumnSchema& part = schema.columns.emplace_back();
    part.name = "part";
    part.type = data::ColumnType::kFactor;
    for (size_t g = 0; g < groups.size(); ++g) part.levels.push_back("p" + std::to_string(g + 1));
  }
  const MleAnalysis analysis = PrepareAnalysis(options, schema, columns);
  std::vector<Eigen::Index> order;
  for (const std::string& name : analysis.table.observed) {
    order.push_back(std::find(table.names.begin(), table.names.end(), name) - table.names.begin());
  }
  std::vector<MleResult> results = {ResultWithoutFit(analysis)};
  std::vector<stats::GroupMoments> moments;
  Eigen::Index first = 0;
  for (const Eigen::Index size : groups) {
    moments.push_back(MomentsOf(table.rows.middleRows(first, size)(Eigen::all, order)));
    results[0].group_n.push_back(static_cast<double>(size));
    first += size;
  }
  SilentProgress progress;
  results[0].fit = stats::FitSem(analysis.table, moments, {}, progress);
  EXPECT_TRUE(results[0].fit.converged);
  AddTables({&analysis}, {moments}, results, progress);
  return results[0];
}

MleResult Fit(const Table& table, const RegressionCase& setup) {
  return Fit(table, setup, {table.rows.rows()});
}

// The density of this table varies by a five-hundredth of its mean, so that its moments lose five
// or six of sixteen digits, and correlations with a condition number of about a hundred two more.
constexpr double kDigits = 1e-8;

void ExpectClose(double value, double expected, const std::string& what) {
  EXPECT_NEAR(value, expected, kDigits * std::max(1.0, std::abs(expected))) << what;
}

void ExpectSameTerm(const LeastSquaresTerm& term, const LeastSquaresTerm& expected) {
  EXPECT_EQ(term.name, expected.name);
  ExpectClose(term.estimate, expected.estimate, term.name);
  ExpectClose(term.standard_error, expected.standard_error, term.name);
  ExpectClose(term.t, expected.t, term.name);
  ExpectClose(term.p_value, expected.p_value, term.name);
  ExpectClose(term.ci_lower, expected.ci_lower, term.name);
  ExpectClose(term.ci_upper, expected.ci_upper, term.name);
}

TEST(LeastSquaresTest, IsWhatLmPrints) {
  std::ifstream file(FixturePath("references/lm.json"));
  const json reference = json::parse(file);
  const MleResult result = Fit(Wine(), {});
  ASSERT_EQ(result.least_squares.size(), 1U);
  const LeastSquares& found = result.least_squares[0];
  EXPECT_EQ(found.outcome, "quality");
  EXPECT_EQ(found.n, reference["n"]);
  EXPECT_EQ(found.df, reference["df"]);
  EXPECT_EQ(found.f_df, reference["f_df"]);
  ExpectClose(found.sigma, reference["sigma"], "sigma");
  ExpectClose(found.r2, reference["r2"], "R2");
  ExpectClose(found.adjusted_r2, reference["adjusted_r2"], "adjusted R2");
  ExpectClose(found.f, reference["f"], "F");
  // 1e-145: only its logarithm has digits to compare.
  EXPECT_NEAR(std::log10(found.f_p_value), std::log10(reference["f_p_value"].get<double>()), 1e-6);
  ExpectClose(result.fit.fit_measures.at("logl"), reference["logl"], "log-likelihood");
  ExpectClose(result.fit.fit_measures.at("aic"), reference["aic"], "AIC");
  ExpectClose(result.fit.fit_measures.at("bic"), reference["bic"], "BIC");
  ASSERT_EQ(found.terms.size(), reference["coefficients"].size());
  for (size_t i = 0; i < found.terms.size(); ++i) {
    const json& expected = reference["coefficients"][i];
    ExpectSameTerm(found.terms[i], {expected["name"], 0, expected["estimate"],
                                    expected["standard_error"], expected["t"], expected["p_value"],
                                    expected["ci_lower"], expected["ci_upper"]});
  }
  EXPECT_THAT(result.notes, ::testing::ElementsAre(kResidualsNotChecked));
  // Said by least squares; the tables of the family would repeat it.
  EXPECT_TRUE(result.tables.empty());
}

TEST(LeastSquaresTest, GroupsAreRegressionsOfTheirOwn) {
  Table table = Wine();
  const MleResult both = Fit(table, {}, {700, 899});
  ASSERT_EQ(both.least_squares.size(), 2U);
  for (size_t group = 0; group < 2; ++group) {
    Table part = table;
    part.rows = group == 0 ? table.rows.topRows(700) : table.rows.bottomRows(899);
    const LeastSquares alone = Fit(part, {}).least_squares.at(0);
    const LeastSquares& found = both.least_squares[group];
    EXPECT_EQ(found.group, group);
    EXPECT_EQ(found.df, alone.df);
    ExpectClose(found.sigma, alone.sigma, "sigma");
    ExpectClose(found.f, alone.f, "F");
    for (size_t i = 0; i < found.terms.size(); ++i)
      ExpectSameTerm(found.terms[i], alone.terms.at(i));
  }
}

// A mean of its own for every block and variable is a dummy variable for every block.
TEST(LeastSquaresTest, AbsorbedInterceptsCount) {
  Table table = Wine();
  Table with_blocks = table;
  with_blocks.names.emplace_back("block");
  with_blocks.rows.conservativeResize(Eigen::NoChange, table.rows.cols() + 1);
  for (Eigen::Index r = 0; r < table.rows.rows(); ++r)
    with_blocks.rows(r, table.rows.cols()) = r < 700 ? 0 : 1;
  const LeastSquares dummies = Fit(with_blocks, {}).least_squares.at(0);
  for (auto block : {table.rows.topRows(700), table.rows.bottomRows(899)})
    block.rowwise() -= Eigen::RowVectorXd(block.colwise().mean());
  RegressionCase setup;
  setup.intercept = false;
  setup.absorbed = 2;
  const LeastSquares centred = Fit(table, setup).least_squares.at(0);
  EXPECT_EQ(centred.df, dummies.df);
  ExpectClose(centred.sigma, dummies.sigma, "sigma");
  ASSERT_EQ(centred.terms.size() + 2, dummies.terms.size());
  for (size_t i = 0; i < centred.terms.size(); ++i)
    ExpectSameTerm(centred.terms[i], dummies.terms[i + 1]);
}

TEST(LeastSquaresTest, SeveralOutcomesOnTheSamePredictorsAreOneEach) {
  const Table table = Wine();
  RegressionCase setup;
  setup.model = "quality ~ alcohol + pH\ndensity ~ alcohol + pH";
  const MleResult both = Fit(table, setup);
  ASSERT_EQ(both.least_squares.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    RegressionCase one;
    one.model = i == 0 ? "quality ~ alcohol + pH" : "density ~ alcohol + pH";
    const LeastSquares alone = Fit(table, one).least_squares.at(0);
    EXPECT_EQ(both.least_squares[i].outcome, alone.outcome);
    for (size_t k = 0; k < alone.terms.size(); ++k)
      ExpectSameTerm(both.least_squares[i].terms[k], alone.terms[k]);
  }
}

TEST(LeastSquaresTest, IsOnlyForWhatItIsTheSameAs) {
  const Table table = Wine();
  RegressionCase setup;
  setup.function = "sem";
  EXPECT_TRUE(Fit(table, setup).least_squares.empty());
  setup = {};
  setup.plain_moments = false;
  EXPECT_TRUE(Fit(table, setup).least_squares.empty());
  // Constraints, and outcomes on predictors that differ, are fitted together.
  setup = {};
  setup.model = "quality ~ a*alcohol + a*pH";
  EXPECT_TRUE(Fit(table, setup).least_squares.empty());
  setup.model = "quality ~ alcohol\ndensity ~ pH";
  const MleResult apart = Fit(table, setup);
  EXPECT_TRUE(apart.least_squares.empty());
  EXPECT_THAT(apart.notes, ::testing::ElementsAre(kNormalityNotChecked));
  EXPECT_FALSE(apart.tables.empty());
}

TEST(LeastSquaresTest, WithoutAReleasedInterceptItStillCounts) {
  const Table table = Wine();
  RegressionCase setup;
  const LeastSquares with = Fit(table, setup).least_squares.at(0);
  setup.intercept = false;
  const LeastSquares without = Fit(table, setup).least_squares.at(0);
  EXPECT_EQ(without.df, with.df);
  ASSERT_EQ(without.terms.size() + 1, with.terms.size());
  for (size_t i = 0; i < without.terms.size(); ++i)
    ExpectSameTerm(without.terms[i], with.terms[i + 1]);
}

}  // namespace
}  // namespace partita::methods::mle::least_squares_test
