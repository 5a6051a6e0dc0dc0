// Parameter tables against lavaan's own (tests/vectors/lavaan_partables.json), against the
// reference fits, and the refusals that need the whole model.
#include "stats/sem/parameter_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/paths.h"

namespace partita::stats::parameter_table_test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

json ReadJson(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return json::parse(file);
}

SemFamily Family(const std::string& wrapper) {
  if (wrapper == "cfa") return SemFamily::kCfa;
  if (wrapper == "growth") return SemFamily::kGrowth;
  if (wrapper == "lavaan") return SemFamily::kLavaan;
  EXPECT_EQ(wrapper, "sem");
  return SemFamily::kSem;
}

std::vector<std::string> Strings(const json& value) {
  if (value.is_string()) return {value.get<std::string>()};
  return value.get<std::vector<std::string>>();
}

SemModelOptions Options(const std::string& wrapper, const json& options) {
  SemModelOptions result;
  result.family = Family(wrapper);
  for (const auto& [key, value] : options.items()) {
    if (key == "std.lv") {
      result.std_lv = value;
    } else if (key == "meanstructure") {
      result.meanstructure = value.get<bool>();
    } else if (key == "fixed.x") {
      result.fixed_x = value.get<bool>();
    } else if (key == "orthogonal") {
      result.orthogonal = value;
    } else if (key == "group.equal") {
      result.group_equal = Strings(value);
    } else if (key == "group.partial") {
      result.group_partial = Strings(value);
    } else if (key == "groups") {
      for (int g = 0; g < value.get<int>(); ++g)
        result.groups.push_back("school" + std::to_string(g));
    } else {
      ADD_FAILURE() << "the test does not know the option " << key;
    }
  }
  return result;
}

// One row as lavaan's columns, with null for values that lavaan leaves open.
json AsLavaan(const Parameter& row) {
  const bool constraint = row.op == ":=" || row.op == "==";
  const bool open = (row.free > 0 && !row.user_start) || row.exogenous || constraint;
  return {row.lhs,
          row.op,
          row.rhs,
          row.group,
          row.label,
          row.free,
          open ? json() : json(row.value),
          row.exogenous ? 1 : 0,
          row.user ? 1 : 0};
}

TEST(LavaanTables, AgreeInEveryRow) {
  const json file = ReadJson(SourcePath("tests/vectors/lavaan_partables.json"));
  ASSERT_GE(file.at("cases").size(), 90U);
  for (const json& model_case : file.at("cases")) {
    const std::string model = model_case.at("model");
    SCOPED_TRACE(model_case.at("wrapper").get<std::string>() + " " +
                 model_case.at("options").dump() + "\n" + model);
    const ParameterTable table =
        BuildParameterTable(model, Options(model_case.at("wrapper"), model_case.at("options")));
    const json& expected = model_case.at("rows");
    EXPECT_EQ(table.rows.size(), expected.size());
    int largest_free = 0;
    for (std::size_t i = 0; i < std::min(table.rows.size(), expected.size()); ++i) {
      const json& row = expected[i];
      // The generator writes values with 17 digits, so they are equal to the last bit.
      EXPECT_EQ(AsLavaan(table.rows[i]), row) << "row " << i + 1;
      largest_free = std::max(largest_free, row[5].get<int>());
    }
    EXPECT_EQ(table.num_free, largest_free);
    EXPECT_EQ(table.observed, model_case.at("observed").get<std::vector<std::string>>());
    EXPECT_EQ(table.latent, model_case.at("latent").get<std::vector<std::string>>());
    EXPECT_EQ(table.meanstructure, model_case.at("meanstructure").get<bool>());
    if (table.fixed_x) {
      EXPECT_EQ(table.exogenous_covariates,
                model_case.at("exogenous").get<std::vector<std::string>>());
    } else {
      EXPECT_THAT(table.exogenous_covariates, IsEmpty());
    }
  }
}

TEST(ReferenceFits, HaveTheSameRows) {
  const std::filesystem::path folder = FixturePath("references/sem");
  int models = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    const json file = ReadJson(entry.path());
    if (!file.contains("model")) continue;
    ++models;
    SCOPED_TRACE(entry.path().string());
    json options = file.at("lavaan_options");
    if (options.contains("group")) {
      options["groups"] = file.at("n").size();
      options.erase("group");
    }
    // lavaan turns the mean structure on when it maximises over incomplete rows.
    if (options.contains("missing")) options["meanstructure"] = true;
    options.erase("missing");
    const ParameterTable table =
        BuildParameterTable(file.at("model"), Options(file.at("lavaan_function"), options));
    json parameters = json::array();
    for (const json& p : file.at("parameters")) {
      // Equal labels say the same as lavaan's added rows ".p5. == .p9.".
      const bool added = p["op"] == "==" && p["lhs"].get<std::string>().starts_with(".p");
      if (!added) parameters.push_back(p);
    }
    ASSERT_EQ(table.rows.size(), parameters.size());
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      const Parameter& row = table.rows[i];
      const json& p = parameters[i];
      const int group = row.op == ":=" ? 1 : row.group;  // definitions stand in group 1 there
      const json ours = {row.lhs, row.op, row.rhs, group, row.label, row.free > 0};
      const json theirs = {p["lhs"], p["op"], p["rhs"], p["group"], p["label"], p["free"]};
      EXPECT_EQ(ours, theirs);
      if (row.free == 0 && row.group > 0 && !row.exogenous) {
        EXPECT_EQ(row.value, p["est"].get<double>());
      }
    }
  }
  EXPECT_EQ(models, 17);
}

TEST(ParameterTable, KeepsGroupLabelsAndPositions) {
  SemModelOptions options;
  options.groups = {"north", "south"};
  const ParameterTable table = BuildParameterTable("f =~ x1 +\n  x2 + x3", options);
  EXPECT_THAT(table.groups, ElementsAre("north", "south"));
  EXPECT_EQ(table.rows[1].rhs, "x2");
  EXPECT_EQ(table.rows[1].line, 2);
  EXPECT_EQ(table.rows[1].column, 3);
  EXPECT_EQ(table.rows[3].line, 0) << "a default row";
  EXPECT_THAT(BuildParameterTable("y ~ x", {}).groups, ElementsAre(""));
}

TEST(ParameterTable, TakesColumnsWithUnusualNames) {
  const ParameterTable table =
      BuildParameterTable("Gr\u00f6\u00dfe ~ \"blood pressure\" + 'x y'", {});
  EXPECT_THAT(table.observed, ElementsAre("Gr\u00f6\u00dfe", "blood pressure", "x y"));
}

TEST(ParameterTable, OneGroupIsNoGroup) {
  SemModelOptions options;
  options.groups = {"all"};
  const ParameterTable table = BuildParameterTable("y ~ x", options);
  EXPECT_FALSE(table.meanstructure);
  EXPECT_EQ(table.rows.size(), 3U);
}

// Runs and returns message and hint of the refusal.
std::string Refusal(const std::string& model, const SemModelOptions& options = {}) {
  try {
    BuildParameterTable(model, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_FALSE(error.hint().empty());
    return error.message() + " | " + error.hint();
  }
  ADD_FAILURE() << "accepted:\n" << model;
  return "";
}

TEST(ParameterTable, RefusesFaultyModels) {
  struct Case {
    const char *model, *message;
  };
  const Case cases[] = {
      {"y ~ x\ny ~ x", "line 2, column 5: the parameter y ~ x is there twice"},
      {"y ~ 1\ny ~ 0*1", "line 2, column 5: the parameter y ~1  is there twice"},
      {"x1 ~~ x2\nx2 ~~ x1", "line 2, column 7: the parameter x2 ~~ x1 is there twice"},
      {"x1 + x2 ~~ x1 + x2", "column 12: the parameter x2 ~~ x1 is there twice"},
      {"f =~ x1 + x2\ny ~ y + f", "line 2, column 5: 'y' cannot be regressed on itself"},
      {"f =~ x1 + f", "column 11: the latent variable 'f' cannot measure itself"},
      {"f =~ x1 + x2\nx1 ~ f", "line 2, column 6: the path x1 ~ f is there already as f =~ x1"},
      {"f =~ g\ng =~ h\nh =~ x + f", "line 3, column 10: h =~ f closes a circle"},
      {"y ~ c(a, b)*x", "column 5: this modifier has 2 values but the model has 1 group"},
      {"y ~ 0.5*x + start(1)*x", "column 13: y ~ x has a fixed value and a start value"},
      {"y ~ a*x\nb := 2*c", "line 2, column 8: no parameter has the label 'c'"},
      {"y ~ a*x\nb := 2*x", "'x' is a variable; label the parameter you mean"},
      {"y ~ a*x\nb := 2 *\n   (a + q)", "line 3, column 9: no parameter has the label 'q'"},
      {"y ~ a*x\na := 2", "line 2, column 1: 'a' is the label of a parameter already"},
      {"y ~ a*x\nb := a\nb := 2*a", "line 3, column 1: 'b' is defined twice"},
      {"y ~ a*x\nb := c + a\nc := 2*d\nd := b",
       "line 4, column 1: this definition depends on itself"},
      {"y ~ a*x\nb := b + a", "line 2, column 1: this definition depends on itself"},
      {"y ~ a*x\n1 == 2", "line 2, column 1: this constraint involves no free parameter"},
      {"y ~ a*x + 2*x\na == 2", "line 2, column 1: this constraint involves no free parameter"},
      {"f =~ x1 + equal(\"f=~x9\")*x2", "column 11: equal(\"f=~x9\") names no other parameter"},
      {"y ~ x\ny ~~ equal(\"x~~x\")*y", "a moment of the fixed covariate x"},
  };
  for (const Case& c : cases) EXPECT_THAT(Refusal(c.model), HasSubstr(c.message));
}

TEST(ParameterTable, ShowsTheLineOfAFault) {
  EXPECT_THAT(Refusal("f =~ x1 + x2\ny ~ f + y # itself"),
              HasSubstr("\n  y ~ f + y # itself\n          ^ |"));
}

TEST(ParameterTable, RefusesFaultyOptions) {
  SemModelOptions options;
  options.groups = {"a", "b"};
  options.group_equal = {"loading"};
  EXPECT_THAT(Refusal("f =~ x1 + x2 + x3", options),
              HasSubstr("group.equal does not know 'loading'"));
  options.group_equal = {"loadings"};
  options.group_partial = {"f=~x4"};
  EXPECT_THAT(Refusal("f =~ x1 + x2 + x3", options), HasSubstr("group.partial names 'f=~x4'"));
  options.group_partial = {};
  options.groups = {"a", "a"};
  EXPECT_THAT(Refusal("f =~ x1 + x2 + x3", options), HasSubstr("same label"));
  options.groups = {"a"};
  EXPECT_THAT(Refusal("f =~ x1 + x2 + x3", options), HasSubstr("one group only"));
}

TEST(ParameterTable, RefusesModelsThatWouldNotFitInMemory) {
  std::string many = "y ~ x0";
  for (int i = 1; i < 1000; ++i) many += " + x" + std::to_string(i);
  EXPECT_THAT(Refusal(many), HasSubstr("more than 200000 parameters"));
  std::string left = "a0", right = "b0";
  for (int i = 1; i < 400; ++i) {
    left += "+a" + std::to_string(i);
    right += "+b" + std::to_string(i);
  }
  EXPECT_THAT(Refusal(left + "~" + right), HasSubstr("more than 100000 parameters"));
}

TEST(ParameterTable, DefinitionsMayComeInAnyOrder) {
  const ParameterTable table = BuildParameterTable("t := ab + a\ny ~ a*x + b*z\nab := a*b", {});
  const Parameter& first = table.rows[table.rows.size() - 2];
  EXPECT_EQ(first.lhs, "t");
  EXPECT_EQ(first.rhs, "ab+a");
  EXPECT_EQ(first.label, "t");
  EXPECT_EQ(first.group, 0);
}

}  // namespace
}  // namespace partita::stats::parameter_table_test
