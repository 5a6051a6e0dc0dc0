// Models with constraints, covariates, groups and improper solutions, against lavaan's fits of
// them (tests/vectors/sem_constraints.R). Tables come from the model text.
#include <gtest/gtest.h>

#include <map>

#include "stats/sem/syntax.h"
#include "tests/paths.h"
#include "tests/stats/sem_reference.h"

namespace partita::stats::sem_constraints_test {
namespace {

using testing::Json;
using testing::Number;

const Json& Cases() {
  static const Json cases = testing::ReadJson(std::filesystem::path(SourcePath()) /
                                              "tests/vectors/sem_constraints.json")["cases"];
  return cases;
}

const Json& Case(const std::string& id) {
  for (const Json& one : Cases()) {
    if (one["id"] == id) return one;
  }
  throw std::runtime_error("no case " + id);
}

std::vector<std::string> StringOrList(const Json& value) {
  if (value.is_string()) return {value.get<std::string>()};
  return value.get<std::vector<std::string>>();
}

ParameterTable Table(const Json& one) {
  SemModelOptions options;
  const std::string wrapper = one["lavaan_function"];
  options.family = wrapper == "cfa" ? SemFamily::kCfa : SemFamily::kSem;
  const Json given = one["lavaan_options"].is_null() ? Json::object() : one["lavaan_options"];
  options.std_lv = given.value("std.lv", false);
  options.orthogonal = given.value("orthogonal", false);
  if (given.contains("meanstructure")) options.meanstructure = given["meanstructure"].get<bool>();
  if (given.contains("fixed.x")) options.fixed_x = given["fixed.x"].get<bool>();
  if (given.contains("group.equal")) options.group_equal = StringOrList(given["group.equal"]);
  if (given.contains("group")) {
    for (const Json& group : one["moments"]) options.groups.push_back(group["group"]);
  }
  return BuildParameterTable(one["model"], options);
}

// lavaan's order of the observed variables and ours agree; the test says so if not.
std::vector<GroupMoments> Moments(const Json& one, const ParameterTable& table) {
  EXPECT_EQ(one["moments"][0]["names"].get<std::vector<std::string>>(), table.observed);
  return testing::SampleMoments(one);
}

SemFit Fit(const Json& one, Information information = Information::kExpected) {
  const ParameterTable table = Table(one);
  SemFitOptions options;
  options.information = information;
  SilentProgress progress;
  return FitSem(table, Moments(one, table), options, progress);
}

class SemConstraints : public ::testing::TestWithParam<std::string> {
 protected:
  const Json& one() const { return Case(GetParam()); }
  // Index of each of lavaan's rows among ours.
  std::vector<std::size_t> RowsOf(const ParameterTable& table) const {
    std::vector<std::size_t> rows;
    for (const Json& theirs : one()["parameters"]) {
      std::size_t r = 0;
      for (; r < table.rows.size(); ++r) {
        const Parameter& mine = table.rows[r];
        if (mine.op != theirs["op"] || mine.lhs != theirs["lhs"]) continue;
        if (mine.op == ":=") break;  // lavaan drops the blanks of the expression
        if (mine.op == "==") break;
        if (mine.rhs == theirs["rhs"] && mine.group == theirs["group"]) break;
      }
      EXPECT_LT(r, table.rows.size()) << theirs;
      rows.push_back(r);
    }
    return rows;
  }
};

TEST_P(SemConstraints, EstimatesErrorsAndStandardizedSolutions) {
  const SemFit fit = Fit(one()), observed = Fit(one(), Information::kObserved);
  EXPECT_TRUE(fit.converged);
  EXPECT_LT(fit.max_scaled_gradient, 1e-10);
  EXPECT_TRUE(fit.warnings.empty()) << fit.warnings.front();
  const std::vector<std::size_t> rows = RowsOf(Table(one()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Json& theirs = one()["parameters"][i];
    SCOPED_TRACE(theirs.dump());
    if (theirs["op"] == "==") {
      EXPECT_NEAR(fit.estimates[rows[i]].estimate, 0, 1e-12);
      continue;
    }
    const ParameterEstimate& mine = fit.estimates[rows[i]];
    const double se = Number(theirs["se"]), se_observed = Number(theirs["se_observed"]);
    if (!(se > 1e-7)) {  // fixed by value or by constraints; lavaan leaves rounding or NA there
      EXPECT_NEAR(mine.estimate, Number(theirs["est"]), 1e-12);
      EXPECT_EQ(mine.standard_error, 0);
      EXPECT_EQ(observed.estimates[rows[i]].standard_error, 0);
    } else {
      EXPECT_NEAR(mine.estimate, Number(theirs["est"]), 1e-6 * se);
      EXPECT_NEAR(mine.standard_error, se, 1e-7 * se);
      // lavaan differentiates its gradient numerically for the observed information.
      EXPECT_NEAR(observed.estimates[rows[i]].standard_error, se_observed, 1e-6 * se_observed);
    }
    for (const auto& [value, name] :
         {std::pair{mine.std_lv, "std_lv"}, std::pair{mine.std_all, "std_all"}}) {
      const double reference = Number(theirs[name]);
      EXPECT_EQ(std::isnan(value), std::isnan(reference)) << name;
      if (!std::isnan(reference)) {
        EXPECT_NEAR(value, reference, 1e-7 * std::max(1.0, std::abs(reference))) << name;
      }
    }
  }
}

void ExpectFitMeasures(const Json& theirs, const SemFit& fit) {
  const std::map<std::string, double> tolerances = {{"npar", 0},
                                                    {"fmin", 1e-8},
                                                    {"chisq", 1e-5},
                                                    {"df", 0},
                                                    {"pvalue", 1e-7},
                                                    {"baseline.chisq", 1e-5},
                                                    {"baseline.df", 0},
                                                    {"cfi", 1e-6},
                                                    {"tli", 1e-6},
                                                    {"logl", 1e-5},
                                                    {"unrestricted.logl", 1e-6},
                                                    {"aic", 1e-5},
                                                    {"bic", 1e-5},
                                                    {"bic2", 1e-5},
                                                    {"rmsea", 1e-6},
                                                    {"rmsea.ci.lower", 1e-5},
                                                    {"rmsea.ci.upper", 1e-5},
                                                    {"rmsea.pvalue", 1e-6},
                                                    {"srmr", 1e-6}};
  for (const auto& [name, tolerance] : tolerances) {
    SCOPED_TRACE(name);
    const double value = fit.fit_measures.at(name), reference = Number(theirs[name]);
    EXPECT_EQ(std::isnan(value), std::isnan(reference));
    if (!std::isnan(reference)) {
      EXPECT_NEAR(value, reference, tolerance);
    }
  }
}

TEST_P(SemConstraints, FitMeasures) { ExpectFitMeasures(one()["fit"], Fit(one())); }

INSTANTIATE_TEST_SUITE_P(Lavaan, SemConstraints,
                         ::testing::Values("linear", "linear_mean", "nonlinear", "to_a_number",
                                           "redundant", "na_star", "fixed_values", "equal_loadings",
                                           "equal_intercepts", "equal_residuals", "group_labels",
                                           "higher_order", "bifactor", "mimic_fixed",
                                           "mimic_fixed_mean", "mimic_random", "mimic_groups",
                                           "path_fixed", "nonrecursive", "reversed", "democracy",
                                           "single_indicator", "starts"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace partita::stats::sem_constraints_test
