// Tables that R and its packages come with (tests/references/tables/real.json), described by whole studies on
// every engine, against R: counts and what is made of them exactly, means within half a step of their grids,
// tests of means and ranks within what that moves them.
#include "tests/methods/real_tables.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "methods/describe/layout.h"
#include "methods/describe/study.h"
#include "stats/tables/groups.h"
#include "stats/tables/standardized.h"
#include "tests/paths.h"
#include "tests/thorough.h"

namespace partita::methods::describe::real_tables_test {
namespace {

using nlohmann::json;
using real::Parties;

// Half a step, and the guard bits.
constexpr double kHalf = 0.5 + 0x1p-8;
// By which a mean errs at most, in its standard errors, and a deviation in these of the mean.
constexpr double kOfMean = kHalf * 0x1p-6;

const json& References() {
  static const json all = [] {
    std::ifstream file(FixturePath("references/tables/real.json"));
    return json::parse(file);
  }();
  return all;
}

bool IsCounted(const json& column) {
  return column.contains("levels") ||
         (column["type"] == "integer" && column["lower"] == 0 && column["upper"] == 1);
}

std::string TextOf(const json& table, const Parties& parties) {
  std::string text =
      real::HeadText(parties, real::HolderOfRows(table, parties.holders), table["rows"]);
  for (const auto& [name, column] : table["columns"].items())
    text += real::VariableText(name, column);
  const std::string group = table["group"];
  const bool two = table["columns"][group]["levels"].size() == 2;
  return text + fmt::format(
                    "[design]\nsite = \"ignore\"\nmissing = \"complete\"\n[[analysis]]\nmethod = "
                    "\"describe\"\ngroup = \"{}\"\ncompare = [\"differences\", \"welch\", "
                    "\"anova\", \"ranks\", \"chi-square\", \"fisher\"{}]\nrelease = "
                    "[\"table\"]\n",
                    group, two ? ", \"ratios\"" : "");
}

// ---- what stands in the table

void ExpectSummary(const json& summary, const json& wanted, const json& column, bool of_groups) {
  ASSERT_EQ(summary["withheld"], false);
  EXPECT_EQ(summary["n"], wanted["n"]);
  EXPECT_EQ(summary["missing"], wanted["missing"]);
  if (wanted.contains("counts")) {
    EXPECT_EQ(summary["counts"], wanted["counts"]);
    return;
  }
  const double step = summary["step"], n = wanted["n"], sd = wanted["sd"];
  EXPECT_NEAR(summary["mean"], wanted["mean"].get<double>(), kHalf * step);
  // Over groups as the length of a vector of their deviations and of twice the means' errors.
  const double more = of_groups ? std::sqrt(5 * n / (n - 1)) : 1;
  EXPECT_NEAR(summary["sd"], sd, kHalf * step * more);
  if (!of_groups) {
    EXPECT_LE(step, 0x1p-6 * 1.01 * sd / std::sqrt(n));
  }
  const double range = column["upper"].get<double>() - column["lower"].get<double>();
  for (size_t q = 0; q < 3; ++q) {
    const double most = column["type"] == "integer" ? 0 : range / kMaxCells / 2 * (1 + 1e-9);
    EXPECT_NEAR(summary["quantiles"][q], wanted["quantiles"][q].get<double>(), most);
  }
}

// ---- comparisons

double Relative(double figure, double value) { return figure * (1 + std::abs(value)); }

void ExpectNumbers(const json& ratio, const json& wanted,
                   const std::function<double(double)>& most) {
  const char* names[] = {"estimate", "lower", "upper"};
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(ratio[names[i]].is_null(), wanted[i].is_null()) << names[i];
    if (wanted[i].is_number()) {
      EXPECT_NEAR(ratio[names[i]], wanted[i].get<double>(), most(wanted[i])) << names[i];
    }
  }
}

const json* TestNamed(const json& comparison, const std::string& name) {
  for (const json& test : comparison["tests"]) {
    if (test["test"] == name) return &test;
  }
  ADD_FAILURE() << "no test " << name << " in " << comparison.dump();
  return nullptr;
}

struct Seen {
  size_t with_fisher = 0, without_fisher = 0;
};

// Of counts, which are exact.
void ExpectCounts(const json& comparison, const json& wanted, Seen& seen) {
  ASSERT_EQ(comparison["standardized_difference"].is_null(), wanted["difference"].is_null());
  if (wanted["difference"].is_number()) {
    EXPECT_NEAR(comparison["standardized_difference"], wanted["difference"].get<double>(), 1e-9);
  }
  if (const json* test = TestNamed(comparison, "chi-square")) {
    EXPECT_NEAR((*test)["statistic"], wanted["chi_square"][0].get<double>(),
                Relative(1e-9, wanted["chi_square"][0]));
    EXPECT_EQ((*test)["df"], wanted["chi_square"][1]);
    EXPECT_NEAR((*test)["p_value"], wanted["chi_square"][2].get<double>(), 1e-9);
  }
  if (const json* test = TestNamed(comparison, "fisher")) {
    // Of tables that have more than 30 million steps there is none.
    ++((*test)["p_value"].is_null() ? seen.without_fisher : seen.with_fisher);
    if ((*test)["p_value"].is_number()) {
      EXPECT_NEAR((*test)["p_value"], wanted["fisher"].get<double>(), 1e-7);
    }
  }
  for (const char* ratio : {"odds_ratio", "risk_ratio", "risk_difference"}) {
    ASSERT_EQ(comparison.contains(ratio), wanted.contains(ratio));
    if (wanted.contains(ratio)) {
      ExpectNumbers(comparison[ratio], wanted[ratio],
                    [](double value) { return Relative(1e-8, value); });
    }
  }
}

struct Groups {
  std::vector<stats::tables::GroupMoments> moments;  // R's, of groups that have rows
  double fewest = 1e9, squares = 0, pooled = 0;      // of n; of deviations; variance within
};

Groups GroupsOf(const json& wanted) {
  Groups groups;
  double freedom = 0;
  for (size_t g = 0; g + 1 < wanted["columns"].size(); ++g) {
    const json& column = wanted["columns"][g];
    const double n = column["n"], sd = column["sd"];
    groups.moments.push_back({n, column["mean"], sd});
    groups.fewest = std::min(groups.fewest, n);
    groups.squares += sd * sd;
    groups.pooled += (n - 1) * sd * sd;
    freedom += n - 1;
  }
  groups.pooled /= freedom;
  return groups;
}

// The root of F is the length of the vector of sqrt(n) (mean - mean of all), over sqrt(k - 1) deviations within;
// its entries err by kOfMean of their own deviations, and deviations by kOfMean / sqrt(n) of themselves.
void ExpectMeans(const json& comparison, const json& wanted, const Groups& groups) {
  const json& of_r = wanted["comparison"];
  const auto k = static_cast<double>(groups.moments.size());
  const double of_deviations = kOfMean / std::sqrt(groups.fewest);
  const bool two = groups.moments.size() == 2;
  if (const json* test = TestNamed(comparison, "anova")) {
    const double root = std::sqrt(of_r["anova"][0].get<double>());
    EXPECT_NEAR(std::sqrt((*test)["statistic"].get<double>()), root,
                kOfMean * std::sqrt(groups.squares / groups.pooled / (k - 1)) +
                    1.01 * of_deviations * root);
    EXPECT_EQ((*test)["df"], of_r["anova"][1]);
  }
  if (const json* test = TestNamed(comparison, two ? "welch-t" : "welch-anova")) {
    const double statistic = of_r["welch"][0], root = two ? statistic : std::sqrt(statistic);
    const double ours = (*test)["statistic"];
    EXPECT_NEAR(
        two ? ours : std::sqrt(ours), root,
        kOfMean * std::sqrt(two ? 2 : k / (k - 1)) * 1.02 + 3 * of_deviations * std::abs(root));
    if (two) {
      // Ends of the interval, 2 errors away, err by what these do.
      const auto error = [&](size_t g) {
        return groups.moments[g].sd / std::sqrt(groups.moments[g].n);
      };
      const double most = (error(0) + error(1)) * (kOfMean + 2.1 * of_deviations);
      ExpectNumbers((*test)["difference"], of_r["of_means"], [&](double) { return most; });
    }
  }
  double largest = 0;
  for (size_t g = 0; g < groups.moments.size(); ++g)
    for (size_t h = 0; h < g; ++h) {
      const auto difference =
          stats::tables::StandardizedDifference(groups.moments[g], groups.moments[h]);
      largest = std::max(largest, difference.value());
    }
  // The twin's of R's moments is R's, and the study's is that of moments that err.
  EXPECT_NEAR(largest, of_r["difference"].get<double>(), 1e-9);
  EXPECT_NEAR(comparison["standardized_difference"], largest,
              2 * std::sqrt(2) * of_deviations + 1.01 * of_deviations * largest);
  if (const json* test = TestNamed(comparison, two ? "wilcoxon" : "kruskal-wallis")) {
    const double ours = (*test)["statistic"], root = std::sqrt(of_r["ranks"].get<double>());
    EXPECT_NEAR(two ? std::abs(ours) : std::sqrt(ours), root, kOfMean + 0x1p-11);
  }
}

void ExpectTable(const std::string& name, const Parties& parties, Seen& seen) {
  SCOPED_TRACE(name + " " + parties.engine);
  const json& table = References()[name];
  const auto study = partita::testing::Prepare(TextOf(table, parties));
  const json result =
      real::RunReal(*study, table, real::HolderOfRows(table, parties.holders)).result;
  if (result.is_null()) return;
  ASSERT_EQ(result["variables"].size(), table["variables"].size());
  for (const json& variable : result["variables"]) {
    const std::string of = variable["name"];
    SCOPED_TRACE(of);
    const json &wanted = table["variables"][of], &column = table["columns"][of];
    ASSERT_EQ(variable["columns"].size(), wanted["columns"].size());
    for (size_t c = 0; c < wanted["columns"].size(); ++c) {
      SCOPED_TRACE(c);
      ExpectSummary(variable["columns"][c], wanted["columns"][c], column,
                    c + 1 == wanted["columns"].size());
    }
    if (IsCounted(column)) {
      ExpectCounts(variable["comparison"], wanted["comparison"], seen);
    } else {
      ExpectMeans(variable["comparison"], wanted, GroupsOf(wanted));
    }
  }
}

TEST(DescribeRealTables, AreThoseOfR) {
  const std::vector<std::string> by_polynomials = {"warpbreaks"}, by_transfers = {"teeth"};
  size_t turn = 0;
  Seen seen;
  for (const auto& [name, table] : References().items()) {
    const auto among = [of = name](const std::vector<std::string>& names) {
      return std::find(names.begin(), names.end(), of) != names.end();
    };
    const size_t of_turn = among(by_transfers)     ? real::kTransfers
                           : among(by_polynomials) ? real::kPolynomials
                                                   : turn++ % 2;
    for (size_t engine = 0; engine < real::kParties.size(); ++engine) {
      if (engine == of_turn || Thorough()) ExpectTable(name, real::kParties[engine], seen);
    }
  }
  EXPECT_EQ(References().size(), 13u);
  EXPECT_GT(seen.with_fisher, 9 * seen.without_fisher);
}

}  // namespace
}  // namespace partita::methods::describe::real_tables_test
