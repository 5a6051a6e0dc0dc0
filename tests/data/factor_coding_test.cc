// What a result says of its factors: the very columns that rows are coded with.
#include "data/factor_coding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "data/formula.h"

namespace partita::data::factor_coding_test {
namespace {

using ::testing::ElementsAre;

ColumnSchema Factor(const std::string& name, std::vector<std::string> levels, Contrasts contrasts,
                    const std::string& reference = "") {
  ColumnSchema column;
  column.name = name;
  column.type = contrasts == Contrasts::kPolynomial || contrasts == Contrasts::kScores
                    ? ColumnType::kOrdered
                    : ColumnType::kFactor;
  column.levels = std::move(levels);
  column.contrasts = contrasts;
  column.reference = reference;
  return column;
}

ColumnSchema Whole(const std::string& name, double lower, double upper) {
  ColumnSchema column;
  column.name = name;
  column.type = ColumnType::kInteger;
  column.lower = lower;
  column.upper = upper;
  return column;
}

Schema Dictionary() {
  Schema dictionary;
  dictionary.columns = {Whole("y", 0, 1),
                        Factor("ward", {"a", "not known", "c"}, Contrasts::kTreatment, "c"),
                        Factor("g", {"a", "b", "c"}, Contrasts::kSum),
                        Factor("stage", {"I", "II", "III"}, Contrasts::kPolynomial),
                        Factor("grade", {"low", "high"}, Contrasts::kScores),
                        Whole("k", 1, 3),
                        Whole("age", 0, 99)};
  return dictionary;
}

std::vector<DerivedVariable> Derived() {
  DerivedVariable cut;
  cut.name = "decade";
  cut.from = "age";
  cut.kind = TransformKind::kCut;
  cut.points = {40};
  cut.labels = {"young", "old"};
  cut.reference = "old";
  return {cut};
}

struct Model {
  ModelColumns columns;
  Schema factors;
};

Model ModelOf(const std::string& formula) {
  const Schema dictionary = Dictionary();
  const std::vector<DerivedVariable> derived = Derived();
  FormulaColumns columns(dictionary, derived);
  Model model;
  model.columns = columns.Build(ParseFormula(formula), {}, 1, false);
  model.factors = FactorsOf(model.columns, dictionary, derived);
  return model;
}

std::vector<FactorCoding> CodingsOf(const std::string& formula) {
  const Model model = ModelOf(formula);
  return FactorCodings(model.columns, model.factors);
}

TEST(FactorCodings, NameTheReferenceOfTreatmentContrastsOnly) {
  const std::vector<FactorCoding> codings = CodingsOf("y ~ ward + g + stage + grade + age");
  ASSERT_EQ(codings.size(), 4u);
  EXPECT_EQ(codings[0].reference, "c");
  EXPECT_THAT(codings[0].levels, ElementsAre("a", "not known", "c"));
  for (size_t i = 1; i < 4; ++i) EXPECT_EQ(codings[i].reference, "") << codings[i].name;
  // By hand: the level c, the last of sums, an orthonormal line, scores.
  EXPECT_EQ(codings[0].columns[1].name, "ward.not_known");
  EXPECT_THAT(codings[0].columns[1].values, ElementsAre(0, 1, 0));
  EXPECT_THAT(codings[1].columns[0].values, ElementsAre(1, 0, -1));
  EXPECT_EQ(codings[2].columns[0].name, "stage.L");
  EXPECT_THAT(
      codings[2].columns[0].values,
      ElementsAre(::testing::DoubleNear(-std::sqrt(0.5), 1e-15), ::testing::DoubleNear(0, 1e-15),
                  ::testing::DoubleNear(std::sqrt(0.5), 1e-15)));
  EXPECT_EQ(codings[3].columns[0].name, "grade");
  EXPECT_THAT(codings[3].columns[0].values, ElementsAre(1, 2));
}

// The table that a holder computes with has these values, for every factor and level.
TEST(FactorCodings, AreWhatRowsAreCodedWith) {
  const Model model = ModelOf("y ~ ward + g + stage + grade + factor(k) + decade");
  const std::vector<FactorCoding> codings = FactorCodings(model.columns, model.factors);
  ASSERT_EQ(codings.size(), 6u);
  std::vector<DerivedVariable> derived = Derived();
  derived.insert(derived.end(), model.columns.made.begin(), model.columns.made.end());
  size_t columns = 0;
  for (const FactorCoding& coding : codings) {
    for (size_t level = 0; level < coding.levels.size(); ++level) {
      Table table;
      table.num_rows = 1;
      for (const ColumnSchema& variable : Dictionary().columns) {
        Column column;
        column.schema = variable;
        if (HasLevels(variable.type)) {
          column.codes = {variable.name == coding.name ? static_cast<int32_t>(level) : 0};
        } else {
          // Of decade an age within the interval, of factor(k) the value itself.
          column.numbers = {variable.name == "age" ? (level == 0 ? 30.0 : 50.0)
                                                   : variable.lower + static_cast<double>(level)};
          if (variable.name == "y") column.numbers = {0};
        }
        table.columns.push_back(std::move(column));
      }
      AddDesignColumns(table, Dictionary(), derived);
      for (const FactorCoding::Column& column : coding.columns) {
        EXPECT_EQ(table.Get(column.name).numbers[0], column.values[level])
            << column.name << " of level " << coding.levels[level];
        ++columns;
      }
    }
  }
  EXPECT_EQ(columns, 6u + 6u + 6u + 2u + 6u + 2u);
}

TEST(FactorCodings, SayOfWhatVariableTheyAre) {
  const std::vector<FactorCoding> codings = CodingsOf("y ~ factor(k) + decade + factor(ward)");
  ASSERT_EQ(codings.size(), 3u);
  EXPECT_EQ(codings[0].name, "factor(k)");
  EXPECT_EQ(codings[0].variable, "k");
  EXPECT_THAT(codings[0].levels, ElementsAre("1", "2", "3"));
  EXPECT_EQ(codings[1].variable, "decade");
  EXPECT_EQ(codings[1].reference, "old");
  EXPECT_EQ(codings[2].name, "ward");
  EXPECT_EQ(codings[2].variable, "ward");
}

TEST(FactorCodings, LeaveOutFactorsWithoutColumns) {
  Model model = ModelOf("y ~ age");
  EXPECT_TRUE(FactorCodings(model.columns, model.factors).empty());
  // A stratum is counted and has no column.
  model.columns.factors = {"ward"};
  EXPECT_TRUE(FactorCodings(model.columns, model.factors).empty());
}

TEST(FactorCodings, AreJson) {
  const Model model = ModelOf("y ~ g + decade");
  EXPECT_EQ(
      FactorCodingsJson(model.columns, model.factors).dump(),
      R"([{"name":"g","variable":"g","contrasts":"sum","levels":["a","b","c"],"reference":null,)"
      R"("columns":[{"name":"g.a","values":[1.0,0.0,-1.0]},{"name":"g.b","values":[0.0,1.0,-1.0]}]},)"
      R"({"name":"decade","variable":"decade","contrasts":"treatment","levels":["young","old"],)"
      R"("reference":"old","columns":[{"name":"decade.young","values":[1.0,0.0]}]}])");
}

}  // namespace
}  // namespace partita::data::factor_coding_test
