// Tables that lme4 and nlme come with (tests/references/mixed), in whole studies on every engine, against
// R's fits: numbers that open within half a step of their grids, those of points within a step and a half.
#include "tests/methods/real_tables.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "methods/mixed/study.h"
#include "tests/paths.h"
#include "tests/thorough.h"

namespace partita::methods::mixed::real_tables_test {
namespace {

using nlohmann::json;
using real::Parties;

// Half a step, and the guard bits.
constexpr double kHalf = 0.5 + 0x1p-8;
// A point is within a step of where the next one would be.
constexpr double kOfPoints = 1 + kHalf;

json ReferencesOf(const std::string& file) {
  std::ifstream stream(FixturePath("references/mixed/" + file));
  return json::parse(stream);
}

// Whole numbers around the values are their bounds.
json ColumnOf(const std::vector<double>& values, const std::string& type) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  double lower = std::floor(*least), upper = std::ceil(*most);
  if (lower == upper) ++upper;
  return {{"type", type}, {"lower", lower}, {"upper", upper}, {"values", values}};
}

// y, the columns of the model but the intercept as x1, x2 and so on, and the group.
json TableOf(const json& of_r) {
  json table;
  const std::vector<double> x = of_r["x"], y = of_r["y"];
  const size_t width = of_r["columns"].size();
  table["columns"]["y"] = ColumnOf(y, of_r.contains("family") ? "integer" : "numeric");
  for (size_t c = 1; c < width; ++c) {
    std::vector<double> column;
    for (size_t r = 0; r < y.size(); ++r) column.push_back(x[r * width + c]);
    table["columns"][fmt::format("x{}", c)] = ColumnOf(column, "numeric");
  }
  table["columns"]["group"] = ColumnOf(of_r["cluster"], "integer");
  return table;
}

// keys: of the analysis, lines. slope: its column, or 0.
std::string TextOf(const json& of_r, const json& table, const Parties& parties,
                   const std::string& keys, size_t slope = 0) {
  const size_t rows = of_r["y"].size();
  std::string text =
      real::HeadText(parties, real::HolderOfRows(table, parties.holders, "group"), rows);
  std::string terms = "1";
  for (const auto& [name, column] : table["columns"].items()) {
    text += real::VariableText(name, column);
    if (name[0] == 'x') terms += " + " + name;
  }
  if (terms.size() > 1) terms = terms.substr(4);
  const std::string random = slope == 0 ? "1" : fmt::format("1 + x{}", slope);
  return text + fmt::format(
                    "[design]\nsite = \"ignore\"\nmissing = \"refuse\"\n[[analysis]]\nmethod = "
                    "\"mixed\"\nformula = \"y ~ {} + ({} | group)\"\nrelease = [\"estimates\"]\n{}",
                    terms, random, keys);
}

json ResultOf(const json& of_r, const Parties& parties, const std::string& keys, size_t slope = 0) {
  const json table = TableOf(of_r);
  const auto study = partita::testing::Prepare(TextOf(of_r, table, parties, keys, slope));
  const json result =
      real::RunReal(*study, table, real::HolderOfRows(table, parties.holders, "group")).result;
  if (result.is_null()) return result;
  EXPECT_EQ(dynamic_cast<const MixedStudy&>(*study).task.grid_bits, 6);
  EXPECT_EQ(result["converged"], true);
  EXPECT_EQ(result["rows"], of_r["y"].size());
  return result;
}

// grid: of estimates in standard errors, at most.
void ExpectCoefficients(const json& result, const json& of_r, double steps, double grid = 0x1p-6) {
  ASSERT_EQ(result["coefficients"].size(), of_r["estimate"].size());
  for (size_t c = 0; c < of_r["estimate"].size(); ++c) {
    SCOPED_TRACE(c);
    const json& row = result["coefficients"][c];
    const double error = of_r["standard_error"][c],
                 most = steps * row["step"].get<double>() + 1e-4 * error;
    EXPECT_LE(row["step"], grid * 1.01 * error);
    EXPECT_NEAR(row["estimate"], of_r["estimate"][c].get<double>(), most);
    EXPECT_NEAR(row["standard_error"], error, most);
  }
}

const char* CriterionOf(const json& fit) {
  return fit["reml"] == true ? "criterion = \"REML\"\n" : "criterion = \"ML\"\n";
}

struct Case {
  std::string name;
  Parties parties;
};

// ---- a random intercept

// sigma^2 and the ratio of variances open as logarithms on grids of 2^-6 of their errors; RunReal compares
// these with the twin to 1e-5 beside half a step, and the twin is that of R (twin_test).
void ExpectIntercepts(const json& of_r, const Parties& parties) {
  for (const json& fit : of_r["fits"]) {
    // By transfers and by polynomials one takes as long as several others.
    const bool slow = parties.engine == "ot" || parties.engine == "shamir";
    if (slow && fit["reml"] == false && !Thorough()) continue;
    SCOPED_TRACE(fit["reml"]);
    const json result = ResultOf(of_r, parties, CriterionOf(fit));
    if (result.is_null()) return;
    ExpectCoefficients(result, fit, kHalf);
    const auto rows = static_cast<double>(of_r["y"].size()),
               p = static_cast<double>(of_r["columns"].size());
    const double error = std::sqrt(2 / (rows - p)), grid = kHalf * 0x1p-6;
    EXPECT_NEAR(std::log(result["within"]["value"].get<double>()),
                std::log(fit["sigma_squared"].get<double>()), grid * error + 1e-5);
    EXPECT_NEAR(result["minus_2_log_likelihood"], fit["criterion"].get<double>(), grid + 1e-4);
    // The error of the ratio's logarithm is at most that of tau^2's and of sigma^2's together.
    const json& between = result["between"];
    const double of_between =
        std::log(between["upper"].get<double>() / between["lower"].get<double>()) / 2 / 1.95996;
    EXPECT_NEAR(std::log(between["value"].get<double>()),
                std::log(fit["tau_squared"].get<double>()), grid * (of_between + 2 * error) + 2e-5);
  }
}

// Without each holder's own groups there have to be five.
TEST(MixedRealTables, RandomInterceptsAreThoseOfR) {
  const json all = ReferencesOf("packages.json");
  for (const Case& of : Cases<Case>({{"sleepstudy", {"dealer", 2}},
                                     {"sleepstudy", {"ot", 2}},
                                     {"orthodont", {"replicated", 3}},
                                     {"machines", {"dealer", 6}},
                                     {"stools", {"shamir", 3}},
                                     {"rails", {"dealer", 6}}},
                                    {{"sleepstudy", {"replicated", 3}},
                                     {"sleepstudy", {"shamir", 3}},
                                     {"orthodont", {"dealer", 2}},
                                     {"orthodont", {"shamir", 3}},
                                     {"orthodont", {"ot", 2}},
                                     {"machines", {"shamir", 6}},
                                     {"stools", {"dealer", 3}},
                                     {"stools", {"replicated", 3}},
                                     {"rails", {"shamir", 6}}})) {
    SCOPED_TRACE(of.name + " " + of.parties.engine);
    ExpectIntercepts(all[of.name], of.parties);
  }
}

// ---- slopes

void ExpectSlopes(const json& of_r, const Parties& parties) {
  for (const json& fit : of_r["fits"]) {
    SCOPED_TRACE(fit["reml"]);
    const json result = ResultOf(of_r, parties, CriterionOf(fit), of_r["slope"]);
    if (result.is_null()) return;
    // Grids are of errors with what the deviations add to them, R's without: of rats a quarter more.
    ExpectCoefficients(result, fit, kOfPoints, 0x1p-5);
    const auto near = [&](double number, double wanted, size_t psi) {
      EXPECT_NEAR(number, wanted, kOfPoints * std::ldexp(fit["psi_errors"][psi].get<double>(), -6))
          << psi;
    };
    const auto log_deviation = [](const json& part) {
      return std::log(part["value"].get<double>()) / 2;
    };
    const std::vector<double> deviations = fit["deviations"];
    near(log_deviation(result["between"]), std::log(deviations[0]), 0);
    near(log_deviation(result["slope"]["variance"]), std::log(deviations[1]), 1);
    near(std::atanh(result["slope"]["correlation"]["value"].get<double>()),
         std::atanh(fit["correlation"].get<double>()), 2);
    near(log_deviation(result["within"]), std::log(deviations[2]), 3);
  }
}

TEST(MixedRealTables, RandomSlopesAreThoseOfR) {
  const json all = ReferencesOf("slopes.json");
  for (const Case& of : Cases<Case>({{"sleepstudy", {"dealer", 2}},
                                     {"orthodont", {"replicated", 3}},
                                     {"oxboys", {"dealer", 2}},
                                     {"body_weight", {"replicated", 3}}},
                                    {{"sleepstudy", {"shamir", 3}},
                                     {"sleepstudy", {"ot", 2}},
                                     {"orthodont", {"dealer", 2}},
                                     {"oxboys", {"replicated", 3}},
                                     {"oxboys", {"shamir", 3}},
                                     {"body_weight", {"dealer", 2}}})) {
    SCOPED_TRACE(of.name + " " + of.parties.engine);
    ExpectSlopes(all[of.name], of.parties);
  }
}

// ---- other families

TEST(MixedRealTables, LogisticAndPoissonModelsAreThoseOfR) {
  const json all = ReferencesOf("laplace.json");
  for (const Case& of : Cases<Case>({{"herds", {"dealer", 2}}, {"ticks", {"replicated", 3}}},
                                    {{"herds", {"replicated", 3}},
                                     {"herds", {"shamir", 3}},
                                     {"herds", {"ot", 2}},
                                     {"ticks", {"dealer", 2}}})) {
    SCOPED_TRACE(of.name + " " + of.parties.engine);
    const json& of_r = all[of.name];
    const json result = ResultOf(
        of_r, of.parties, fmt::format("family = \"{}\"\n", of_r["family"].get<std::string>()));
    if (result.is_null()) continue;
    ExpectCoefficients(result, of_r, kOfPoints);
    EXPECT_NEAR(result["log_likelihood"], of_r["log_likelihood"].get<double>(), 0.01);
  }
}

}  // namespace
}  // namespace partita::methods::mixed::real_tables_test
