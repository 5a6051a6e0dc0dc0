// Families by name and their tables, against lavaan's standardised solutions, eigenvalues from R,
// and formulas by hand.
#include "methods/mle/fit/families.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "methods/mle/fit/analysis.h"
#include "methods/mle/fit/comparison.h"
#include "methods/mle/fit/extras.h"
#include "tests/paths.h"
#include "tests/stats/sem_reference.h"

namespace partita::methods::mle::families_test {
namespace {

using stats::testing::Json;
using stats::testing::Number;
using ::testing::HasSubstr;

std::filesystem::path Reference(const std::string& name) {
  return FixturePath("references/sem/" + name + ".json");
}

data::Schema Dictionary(const std::vector<std::string>& names) {
  data::Schema schema;
  for (const std::string& name : names) {
    data::ColumnSchema column;
    column.name = name;
    column.type = data::ColumnType::kNumeric;
    column.lower = -1;
    column.upper = 1;
    schema.columns.push_back(column);
  }
  return schema;
}

MleAnalysis Prepare(const std::string& function, const std::string& model,
                    const data::Schema& schema) {
  MleOptions options;
  options.name = "main";
  options.function = function;
  options.model = model;
  return PrepareAnalysis(options, schema, data::DesignColumns(schema, {}));
}

std::string FamilyOf(const std::string& function, const std::string& model) {
  return FamilyName(
      Prepare(function, model, Dictionary({"x1", "x2", "x3", "x4", "x5", "x6"})).table, function);
}

MleResult FitTo(const MleAnalysis& analysis, const std::vector<stats::GroupMoments>& moments) {
  std::vector<MleResult> results = {ResultWithoutFit(analysis)};
  for (const stats::GroupMoments& group : moments) results[0].group_n.push_back(group.n);
  SilentProgress progress;
  results[0].fit = stats::FitSem(analysis.table, moments, {}, progress);
  EXPECT_TRUE(results[0].fit.converged);
  AddTables({&analysis}, {moments}, results, progress);
  return results[0];
}

MleResult FitReference(const Json& reference) {
  MleAnalysis analysis;
  analysis.options.name = "main";
  analysis.options.function = reference["lavaan_function"];
  analysis.table = stats::testing::TableOf(reference);
  return FitTo(analysis, stats::testing::SampleMoments(reference));
}

const CellTable& TableOf(const MleResult& result, const std::string& title) {
  for (const CellTable& table : result.tables) {
    if (table.title == title) return table;
  }
  throw Error(ErrorCode::kInternal, "no table " + title);
}

double At(const CellTable& table, size_t row, size_t column) {
  return std::get<double>(table.rows.at(row).at(column));
}

std::string Name(const CellTable& table, size_t row, size_t column = 0) {
  return std::get<std::string>(table.rows.at(row).at(column));
}

class FamilyTablesTest : public ::testing::Test {};

TEST(FamilyNameTest, IsReadOffTheModel) {
  EXPECT_EQ(FamilyOf("sem", "x1 ~ x2 + x3"), "linear regression");
  EXPECT_EQ(FamilyOf("sem", "x1 + x4 ~ x2 + x3"), "multivariate regression");
  EXPECT_EQ(FamilyOf("sem", "x1 ~ x2\nx2 ~ x3"), "path analysis");
  EXPECT_EQ(FamilyOf("sem", "x1 ~ b*x2\nx2 ~ a*x3\nab := a*b"), "mediation analysis");
  EXPECT_EQ(FamilyOf("cfa", "f =~ x1 + x2 + x3"), "confirmatory factor analysis");
  EXPECT_EQ(FamilyOf("sem", "f =~ x1 + x2 + x3\nx4 ~ f"), "structural equation model");
  EXPECT_EQ(FamilyOf("growth", "i =~ 1*x1 + 1*x2 + 1*x3\ns =~ 0*x1 + 1*x2 + 2*x3"),
            "latent growth model");
  EXPECT_EQ(FamilyOf("pca", "x1 + x2 + x3"), "saturated model");
  EXPECT_EQ(FamilyOf("sem", "x1 ~~ x2\nx3 ~~ x3"), "covariance structure");
}

TEST(FamilyNameTest, AFamilyByNameIsAPromise) {
  const auto refused = [](const std::string& function, const std::string& model) {
    try {
      FamilyOf(function, model);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      return error.message() + " | " + error.hint();
    }
    return std::string("accepted");
  };
  EXPECT_EQ(FamilyOf("regression", "x1 ~ x2"), "linear regression");
  EXPECT_EQ(FamilyOf("path", "x1 ~ x2\nx2 ~ x3"), "path analysis");
  EXPECT_EQ(FamilyOf("mediation", "x1 ~ b*x2\nx2 ~ a*x3\nab := a*b"), "mediation analysis");
  EXPECT_THAT(refused("regression", "x1 ~ x2\nx2 ~ x3"), HasSubstr("'path analysis'"));
  EXPECT_THAT(refused("path", "x1 ~ x2"), HasSubstr("'linear regression'"));
  EXPECT_THAT(refused("mediation", "x1 ~ x2\nx2 ~ x3"), HasSubstr("indirect := a*b"));
  EXPECT_THAT(refused("saturated", "x1 ~ x2"), HasSubstr("list of variables"));
  EXPECT_THAT(refused("pca", "x1 + "), HasSubstr("list of variables"));
}

TEST(FamilyNameTest, OrderedItemsAreRefusedByName) {
  data::Schema schema = Dictionary({"x1", "x2"});
  data::ColumnSchema item;
  item.name = "pain";
  item.type = data::ColumnType::kOrdered;
  item.levels = {"none", "some", "much"};
  schema.columns.push_back(item);
  try {
    Prepare("cfa", "f =~ x1 + x2 + pain", schema);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_THAT(error.message(), HasSubstr("'pain', an ordered item"));
    EXPECT_THAT(error.hint(), HasSubstr("contrasts = \"scores\""));
    EXPECT_THAT(error.hint(), HasSubstr("pain.some, pain.much"));
  }
  schema.columns.back().contrasts = data::Contrasts::kScores;
  EXPECT_EQ(Prepare("cfa", "f =~ x1 + x2 + pain", schema).table.observed.size(), 3u);
}

// R-squared of every dependent variable is one minus lavaan's standardised residual variance.
TEST_F(FamilyTablesTest, ExplainedVarianceIsLavaans) {
  for (const char* name : {"hs_cfa3", "poldem_sem", "path_indirect", "growth_predictors"}) {
    SCOPED_TRACE(name);
    const Json reference = stats::testing::ReadJson(Reference(name));
    const MleResult result = FitReference(reference);
    const CellTable& table = TableOf(result, "Explained variance");
    size_t compared = 0;
    for (size_t r = 0; r < table.rows.size(); ++r) {
      for (const Json& row : reference["parameters"]) {
        if (row["op"] != "~~" || row["lhs"] != Name(table, r) || row["rhs"] != Name(table, r))
          continue;
        EXPECT_NEAR(At(table, r, 1), 1 - Number(row["std_all"]), 1e-6) << Name(table, r);
        ++compared;
      }
    }
    EXPECT_EQ(compared, table.rows.size());
    EXPECT_GE(compared, 3u);
  }
}

// Ordinary least squares by hand from the sample moments of the reference.
TEST_F(FamilyTablesTest, RegressionHasRSquaredAndResidualSpread) {
  for (const char* name : {"reg_multiple", "reg_multiple_fixedx"}) {
    SCOPED_TRACE(name);
    const Json reference = stats::testing::ReadJson(Reference(name));
    const MleResult result = FitReference(reference);
    EXPECT_EQ(result.family, "linear regression");
    const CellTable& table = TableOf(result, "Regressions");
    ASSERT_EQ(table.rows.size(), 1u);
    double residual = 0, total = 0, k = 0;
    const std::string outcome = Name(table, 0);
    for (const Json& row : reference["parameters"]) {
      if (row["op"] == "~") ++k;
      if (row["op"] == "~~" && row["lhs"] == outcome && row["rhs"] == outcome)
        residual = Number(row["est"]);
    }
    const Json& moments = reference["moments"][0];
    for (size_t i = 0; i < moments["names"].size(); ++i) {
      if (moments["names"][i] == outcome) total = Number(moments["sample_cov"][i][i]);
    }
    const double n = Number(moments["n"]);
    const double r2 = 1 - residual / total;
    EXPECT_EQ(At(table, 0, 1), k);
    EXPECT_NEAR(At(table, 0, 2), r2, 1e-6);
    EXPECT_NEAR(At(table, 0, 3), 1 - (1 - r2) * (n - 1) / (n - k - 1), 1e-6);
    EXPECT_NEAR(At(table, 0, 4), std::sqrt(residual), 1e-6 * std::sqrt(residual));
    EXPECT_NEAR(At(table, 0, 5), std::sqrt(residual * n / (n - k - 1)), 1e-6 * std::sqrt(residual));
  }
}

// The reference defines ab, and the total effect of x1 on x7, by := rows.
TEST_F(FamilyTablesTest, EffectsAreSumsOverPaths) {
  const Json reference = stats::testing::ReadJson(Reference("path_indirect"));
  const MleResult result = FitReference(reference);
  EXPECT_EQ(result.family, "mediation analysis");
  const CellTable& table = TableOf(result, "Effects");
  const auto effect = [&](const std::string& outcome, const std::string& predictor, size_t column) {
    for (size_t r = 0; r < table.rows.size(); ++r) {
      if (Name(table, r, 0) == outcome && Name(table, r, 1) == predictor)
        return At(table, r, column);
    }
    ADD_FAILURE() << outcome << " ~ " << predictor;
    return 0.0;
  };
  const auto estimate = [&](const std::string& name) {
    for (const Json& row : reference["parameters"]) {
      if (row["label"] == name || row["lhs"] == name) return Number(row["est"]);
    }
    ADD_FAILURE() << name;
    return 0.0;
  };
  EXPECT_NEAR(effect("x7", "x1", 2), estimate("c"), 1e-6);
  EXPECT_NEAR(effect("x7", "x1", 3), estimate("ab"), 1e-6);
  EXPECT_NEAR(effect("x7", "x1", 4), estimate("total"), 1e-6);
  // x9 by x1: a f + (c + a b) d.
  EXPECT_NEAR(effect("x9", "x1", 3),
              estimate("a") * estimate("f") + estimate("total") * estimate("d"), 1e-6);
  EXPECT_EQ(effect("x9", "x1", 2), 0);
}

TEST_F(FamilyTablesTest, FactorsHaveReliabilityAndExtractedVariance) {
  const Json reference = stats::testing::ReadJson(Reference("hs_cfa3"));
  const MleResult result = FitReference(reference);
  const CellTable& table = TableOf(result, "Factors");
  ASSERT_EQ(table.rows.size(), 3u);
  for (size_t r = 0; r < 3; ++r) {
    double sum = 0, variance = 0, squares = 0, residual = 0;
    std::set<std::string> indicators;
    for (const Json& row : reference["parameters"]) {
      if (row["op"] == "=~" && row["lhs"] == Name(table, r)) {
        sum += Number(row["est"]);
        squares += Number(row["std_all"]) * Number(row["std_all"]);
        indicators.insert(row["rhs"]);
      }
    }
    for (const Json& row : reference["parameters"]) {
      if (row["op"] != "~~" || row["lhs"] != row["rhs"]) continue;
      if (row["lhs"] == Name(table, r)) variance = Number(row["est"]);
      if (indicators.contains(row["lhs"])) residual += Number(row["est"]);
    }
    EXPECT_EQ(At(table, r, 1), 3);
    EXPECT_NEAR(At(table, r, 2), sum * sum * variance / (sum * sum * variance + residual), 1e-6);
    EXPECT_NEAR(At(table, r, 3), squares / 3, 1e-6);
  }
}

TEST_F(FamilyTablesTest, GrowthHasFactorsAndTrajectory) {
  const Json reference = stats::testing::ReadJson(Reference("growth_linear6"));
  const MleResult result = FitReference(reference);
  EXPECT_EQ(result.family, "latent growth model");
  const CellTable& trajectory = TableOf(result, "Implied trajectory");
  const Json& moments = reference["moments"][0];
  ASSERT_EQ(trajectory.rows.size(), moments["names"].size());
  for (size_t i = 0; i < trajectory.rows.size(); ++i) {
    EXPECT_EQ(Name(trajectory, i), moments["names"][i]);
    EXPECT_NEAR(At(trajectory, i, 1), Number(moments["implied_mean"][i]), 1e-5);
    EXPECT_NEAR(At(trajectory, i, 2), std::sqrt(Number(moments["implied_cov"][i][i])), 1e-5);
  }
  const CellTable& factors = TableOf(result, "Growth factors");
  ASSERT_EQ(factors.rows.size(), 2u);
  for (const Json& row : reference["parameters"]) {
    for (size_t r = 0; r < 2; ++r) {
      if (row["lhs"] != Name(factors, r)) continue;
      if (row["op"] == "~1") {
        EXPECT_NEAR(At(factors, r, 1), Number(row["est"]), 1e-5);
      } else if (row["op"] == "~~" && row["rhs"] == row["lhs"]) {
        EXPECT_NEAR(At(factors, r, 3), Number(row["est"]), 1e-5);
      }
    }
  }
}

TEST_F(FamilyTablesTest, SaturatedModelsHavePrincipalComponents) {
  const Json reference = stats::testing::ReadJson(Reference("pca_hs9"));
  const auto names = reference["variables"].get<std::vector<std::string>>();
  std::string model;
  for (const std::string& name : names) model += (model.empty() ? "" : " + ") + name;
  const MleAnalysis analysis = Prepare("pca", model, Dictionary(names));
  ASSERT_EQ(analysis.table.observed, names);
  const Eigen::MatrixXd covariance = stats::testing::ToMatrix(reference["cov"]);
  const MleResult result =
      FitTo(analysis, {{Number(reference["n"]), Eigen::VectorXd::Zero(9), covariance}});
  const CellTable& values = TableOf(result, "Principal components");
  const CellTable& directions = TableOf(result, "Directions of the components of correlations");
  double shares = 0;
  for (size_t c = 0; c < 9; ++c) {
    EXPECT_NEAR(At(values, c, 1), Number(reference["cov_eigenvalues"][c]), 1e-6);
    EXPECT_NEAR(At(values, c, 3), Number(reference["cor_eigenvalues"][c]), 1e-6);
    shares += At(values, c, 2);
    for (size_t v = 0; c < 8 && v < 9; ++v) {
      EXPECT_NEAR(At(directions, v, c + 1), Number(reference["cor_eigenvectors"][v][c]), 1e-5);
    }
  }
  EXPECT_NEAR(shares, 1, 1e-12);
}

// What cannot be made is a note, and the fit is kept.
TEST(ExtrasTest, ATestThatCannotBeMadeIsANote) {
  const std::vector<std::string> names = {"x1", "x2", "x3"};
  Eigen::MatrixXd covariance = Eigen::MatrixXd::Identity(3, 3);
  covariance(0, 1) = covariance(1, 0) = 0.5;
  const std::vector<stats::GroupMoments> moments = {{100, Eigen::VectorXd::Zero(3), covariance}};
  const MleAnalysis wide = Prepare("sem", "x1 ~ x2 + x3", Dictionary(names));
  MleAnalysis narrow = Prepare("sem", "x1 ~ x2 + 0*x3", Dictionary(names));
  narrow.options.name = "narrow";
  narrow.options.nested_in = "main";
  const auto run = [&](const MleAnalysis& first, const MleAnalysis& second) {
    std::vector<MleResult> results;
    SilentProgress progress;
    for (const MleAnalysis* analysis : {&first, &second}) {
      results.push_back(ResultWithoutFit(*analysis));
      results.back().group_n = {100};
      results.back().fit = stats::FitSem(analysis->table, moments, {}, progress);
    }
    AddTables({&first, &second}, {moments, moments}, results, progress);
    return results;
  };
  const std::vector<MleResult> tested = run(wide, narrow);
  const CellTable& table = TableOf(tested[1], "Nested models, differences of chi-square");
  EXPECT_EQ(Name(table, 0), "main");
  EXPECT_EQ(Name(table, 1), "narrow");
  EXPECT_EQ(At(table, 1, 6), 1);
  EXPECT_NEAR(At(table, 1, 5),
              tested[1].fit.fit_measures.at("chisq") - tested[0].fit.fit_measures.at("chisq"),
              1e-12);
  MleAnalysis swapped = wide;
  swapped.options.name = "wide";
  swapped.options.nested_in = "narrow";
  MleAnalysis first = narrow;
  first.options.nested_in.clear();
  const std::vector<MleResult> refused = run(first, swapped);
  ASSERT_FALSE(refused[1].notes.empty());
  EXPECT_THAT(refused[1].notes.back(), HasSubstr("not nested"));
  EXPECT_TRUE(refused[1].fit.converged);
}

}  // namespace
}  // namespace partita::methods::mle::families_test
