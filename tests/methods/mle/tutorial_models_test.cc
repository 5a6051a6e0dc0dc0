// Models as the tutorials of lavaan have them, each a study of its own with default settings: two
// holders of rows, a dealer, protocol `pooled-moments`. All converge, equal the fit of the pooled
// rows, and have the chi-square that the tutorial prints where it prints one.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "stats/sem/fit.h"
#include "tests/methods/mle/reference_run.h"
#include "tests/paths.h"

namespace partita::methods::mle::tutorial_models_test {
namespace {

struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;

  size_t Place(const std::string& name) const {
    return static_cast<size_t>(std::find(columns.begin(), columns.end(), name) - columns.begin());
  }
};

std::vector<std::string> Cells(const std::string& line) {
  std::vector<std::string> cells;
  std::stringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
  return cells;
}

Table ReadTable(const std::string& name) {
  std::ifstream file(FixturePath("tables/gpl/" + name));
  Table table;
  std::string line;
  std::getline(file, line);
  table.columns = Cells(line);
  while (std::getline(file, line)) table.rows.push_back(Cells(line));
  EXPECT_FALSE(table.rows.empty()) << name;
  return table;
}

struct Model {
  const char* name;
  const char* table;
  const char* function;
  const char* text;
  const char* more = "";  // of [[analysis]]
  double chisq = -1;      // as the tutorial prints it
  bool group = false;
};

constexpr const char* kHs = "holzinger_swineford_1939.csv";
constexpr const char* kDemocracy = "political_democracy.csv";
constexpr const char* kGrowth = "demo_growth.csv";
constexpr const char* kFactors =
    "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9\n";
constexpr const char* kRegressions =
    "ind60 =~ x1 + x2 + x3\ndem60 =~ y1 + y2 + y3 + y4\ndem65 =~ y5 + y6 + y7 + y8\n"
    "dem60 ~ ind60\ndem65 ~ ind60 + dem60\n"
    "y1 ~~ y5\ny2 ~~ y4 + y6\ny3 ~~ y7\ny4 ~~ y8\ny6 ~~ y8\n";

const Model kModels[] = {
    {"three_factors", kHs, "cfa", kFactors, "", 85.306},
    {"factors_of_unit_variance", kHs, "cfa", kFactors, "std_lv = true\n", 85.306},
    {"a_free_first_loading", kHs, "cfa",
     "visual =~ NA*x1 + x2 + x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9\n"
     "visual ~~ 1*visual\n",
     "", 85.306},
    {"orthogonal_factors", kHs, "cfa",
     "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6\nspeed =~ NA*x7 + x8 + x9\n"
     "visual ~~ 0*speed\ntextual ~~ 0*speed\nspeed ~~ 1*speed\n"},
    {"means", kHs, "cfa", kFactors, "meanstructure = true\n", 85.306},
    {"start_values", kHs, "cfa",
     "visual =~ x1 + start(0.8)*x2 + start(1.2)*x3\ntextual =~ x4 + start(0.5)*x5 + start(1.0)*x6\n"
     "speed =~ x7 + start(0.7)*x8 + start(1.8)*x9\n",
     "", 85.306},
    {"one_factor", kHs, "cfa", "g =~ x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8 + x9\n"},
    {"residual_covariance", kHs, "cfa",
     "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9\nx7 ~~ x8\n"},
    {"equal_loadings", kHs, "cfa",
     "visual =~ x1 + v2*x2 + v2*x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9\n"},
    {"constrained_loadings", kHs, "cfa",
     "visual =~ x1 + a*x2 + b*x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9\na == 0.7*b\n"},
    {"second_order_factor", kHs, "cfa",
     "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9\n"
     "g =~ visual + textual + speed\n",
     "", 85.306},
    {"two_schools", kHs, "cfa", kFactors, "", 115.851, true},
    {"metric_invariance", kHs, "cfa", kFactors, "group_equal = [\"loadings\"]\n", 124.044, true},
    {"scalar_invariance", kHs, "cfa", kFactors, "group_equal = [\"loadings\", \"intercepts\"]\n",
     164.103, true},
    {"strict_invariance", kHs, "cfa", kFactors,
     "group_equal = [\"loadings\", \"intercepts\", \"residuals\"]\n", -1, true},
    {"a_loading_for_both_schools", kHs, "cfa",
     "visual =~ x1 + x2 + c(v3, v3)*x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9\n", "", -1,
     true},
    {"chained_modifiers", kHs, "cfa",
     "visual =~ NA*c(a, a)*x1 + x2 + x3\nvisual ~~ c(1, NA)*visual\n", "", -1, true},
    {"fixed_in_a_school", kHs, "cfa",
     "visual =~ x1 + 0.5*x2 + c(0.6, 0.8)*x3\ntextual =~ x4 + start(c(1.2, 0.6))*x5 + a*x6\n"
     "speed =~ x7 + x8 + x9\n",
     "", -1, true},
    {"slopes_by_school", kHs, "sem", "x9 ~ c(b1, b2)*x7\nd := b1 - b2\n", "", -1, true},
    {"regression", kHs, "regression", "x9 ~ x7\n"},
    {"multiple_regression", kHs, "regression", "x4 ~ x1 + x2 + x3\n"},
    {"multivariate_regression", kHs, "regression", "x4 ~ x1 + x2\nx5 ~ x1 + x3\n"},
    {"nonlinear_constraint", kHs, "sem", "x9 ~ b1*x7 + b2*x8 + b3*x1\nb1 == (b2 + b3)^2\n"},
    {"mediation", kHs, "mediation",
     "x7 ~ c*x1\nx4 ~ a*x1\nx7 ~ b*x4\nab := a*b\ntotal := c + (a*b)\n"},
    {"path_analysis", kHs, "path", "x4 ~ x1 + x2\nx7 ~ x4 + x1\nx9 ~ x7 + x4\n"},
    {"factors_predict", kHs, "sem",
     "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9\n"
     "textual ~ visual\nspeed ~ visual + textual\n",
     "", 85.306},
    {"causes_of_a_factor", kHs, "sem", "visual =~ x1 + x2 + x3\nvisual ~ x4 + x7\n"},
    {"saturated", kHs, "saturated", "x1 + x2 + x3\n"},
    {"democracy", kDemocracy, "sem", kRegressions, "", 38.125},
    {"democracy_equal_loadings", kDemocracy, "sem",
     "ind60 =~ x1 + x2 + x3\ndem60 =~ y1 + d1*y2 + d2*y3 + d3*y4\n"
     "dem65 =~ y5 + d1*y6 + d2*y7 + d3*y8\ndem60 ~ ind60\ndem65 ~ ind60 + dem60\n"
     "y1 ~~ y5\ny2 ~~ y4 + y6\ny3 ~~ y7\ny4 ~~ y8\ny6 ~~ y8\n"},
    {"growth", kGrowth, "growth",
     "i =~ 1*t1 + 1*t2 + 1*t3 + 1*t4\ns =~ 0*t1 + 1*t2 + 2*t3 + 3*t4\n", "", 8.069},
    {"growth_with_covariates", kGrowth, "growth",
     "i =~ 1*t1 + 1*t2 + 1*t3 + 1*t4\ns =~ 0*t1 + 1*t2 + 2*t3 + 3*t4\n"
     "i ~ x1 + x2\ns ~ x1 + x2\nt1 ~ c1\nt2 ~ c2\nt3 ~ c3\nt4 ~ c4\n",
     "", 26.059},
    {"growth_equal_residuals", kGrowth, "growth",
     "i =~ 1*t1 + 1*t2 + 1*t3 + 1*t4\ns =~ 0*t1 + 1*t2 + 2*t3 + 3*t4\n"
     "t1 ~~ r*t1\nt2 ~~ r*t2\nt3 ~~ r*t3\nt4 ~~ r*t4\n"}};

constexpr const char* kSchools[] = {"Pasteur", "Grant-White"};  // as they first occur

// The numbers that models use.
std::vector<std::string> VariablesOf(const Table& table) {
  std::vector<std::string> variables;
  for (const std::string& column : table.columns) {
    if (column.size() == 2 && std::string("xytc").find(column[0]) != std::string::npos &&
        column[1] >= '1' && column[1] <= '9')
      variables.push_back(column);
  }
  return variables;
}

// Rows by turns to two parties.
std::string WriteStudy(const Model& model, const Table& table, const std::string& folder) {
  const std::vector<std::string> variables = VariablesOf(table);
  std::string toml = "partita = 1\nname = \"tutorial\"\n";
  for (const char* party : {"north", "south"}) {
    toml += fmt::format(
        "[[party]]\nname = \"{0}\"\nroles = [\"holder\"{1}]\nrows = [\"{0}\"]\n[[rows]]\nname = "
        "\"{0}\"\n",
        party, std::string(party) == "north" ? ", \"receiver\"" : "");
  }
  toml += "[[party]]\nname = \"helper\"\nroles = [\"dealer\"]\n";
  for (const std::string& variable : variables) {
    toml += fmt::format(
        "[[variable]]\nname = \"{}\"\ntype = \"numeric\"\nlower = -30\nupper = 40\n", variable);
  }
  if (model.group) {
    toml += fmt::format("[[variable]]\nname = \"school\"\ntype = \"factor\"\nlevels = [\"{}\"]\n",
                        fmt::join(kSchools, "\", \""));
  }
  toml += fmt::format(
      "[design]\nsite = \"ignore\"\nmissing = \"refuse\"\n[engine]\nname = \"dealer\"\n"
      "[[analysis]]\nmethod = \"mle\"\nprotocol = \"pooled-moments\"\nrelease = [\"moments\"]\n"
      "function = \"{}\"\n{}{}model = \"\"\"\n{}\"\"\"\n",
      model.function, model.group ? "group = \"school\"\n" : "", model.more, model.text);
  std::ofstream(folder + "/study.toml") << toml;
  for (size_t p = 0; p < 2; ++p) {
    const std::string home = folder + (p == 0 ? "/north" : "/south");
    std::filesystem::create_directories(home);
    std::ofstream csv(home + "/data.csv");
    csv << fmt::format("{}{}\n", fmt::join(variables, ","), model.group ? ",school" : "");
    for (size_t r = p; r < table.rows.size(); r += 2) {
      std::vector<std::string> cells;
      for (const std::string& variable : variables)
        cells.push_back(table.rows[r][table.Place(variable)]);
      if (model.group) cells.push_back(table.rows[r][table.Place("school")]);
      csv << fmt::format("{}\n", fmt::join(cells, ","));
    }
  }
  return folder + "/study.toml";
}

stats::GroupMoments MomentsOf(const Table& table, const std::vector<std::string>& names,
                              const std::string& school) {
  std::vector<Eigen::VectorXd> rows;
  for (const std::vector<std::string>& cells : table.rows) {
    if (!school.empty() && cells[table.Place("school")] != school) continue;
    Eigen::VectorXd row(static_cast<Eigen::Index>(names.size()));
    for (size_t v = 0; v < names.size(); ++v)
      row(static_cast<Eigen::Index>(v)) = std::stod(cells[table.Place(names[v])]);
    rows.push_back(row);
  }
  const auto p = static_cast<Eigen::Index>(names.size());
  stats::GroupMoments moments{static_cast<double>(rows.size()), Eigen::VectorXd::Zero(p),
                              Eigen::MatrixXd::Zero(p, p)};
  for (const Eigen::VectorXd& row : rows) moments.mean += row / moments.n;
  for (const Eigen::VectorXd& row : rows)
    moments.covariance += (row - moments.mean) * (row - moments.mean).transpose() / moments.n;
  return moments;
}

class TutorialModel : public ::testing::TestWithParam<Model> {};

TEST_P(TutorialModel, ConvergesToTheFitOfThePooledRows) {
  const Model& model = GetParam();
  const Table table = ReadTable(model.table);
  const std::string folder = partita::testing::MakeTemporaryFolder("tutorial");
  const auto ends = testing::Run(WriteStudy(model, table, folder));
  std::filesystem::remove_all(folder);
  if (HasFailure()) return;
  const MleResult& result = partita::testing::MleResultsOf(testing::Receiver(ends)).front();
  ASSERT_TRUE(result.fit.converged) << result.fit.warnings.front();
  std::vector<stats::GroupMoments> moments;
  if (model.group) {
    for (const char* school : kSchools)
      moments.push_back(MomentsOf(table, result.table.observed, school));
  } else {
    moments.push_back(MomentsOf(table, result.table.observed, ""));
  }
  SilentProgress progress;
  const stats::SemFit pooled = stats::FitSem(result.table, moments, {}, progress);
  ASSERT_TRUE(pooled.converged);
  for (size_t r = 0; r < pooled.estimates.size(); ++r) {
    SCOPED_TRACE(result.table.rows[r].lhs + result.table.rows[r].op + result.table.rows[r].rhs);
    const stats::ParameterEstimate& expected = pooled.estimates[r];
    const double scale = 1 + std::abs(expected.estimate);
    EXPECT_NEAR(result.fit.estimates[r].estimate, expected.estimate, 1e-7 * scale);
    EXPECT_NEAR(result.fit.estimates[r].standard_error, expected.standard_error, 1e-7 * scale);
  }
  EXPECT_NEAR(result.fit.fit_measures.at("chisq"), pooled.fit_measures.at("chisq"), 1e-6);
  if (model.chisq >= 0) {
    EXPECT_NEAR(result.fit.fit_measures.at("chisq"), model.chisq, 6e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(Lavaan, TutorialModel, ::testing::ValuesIn(kModels),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace partita::methods::mle::tutorial_models_test
