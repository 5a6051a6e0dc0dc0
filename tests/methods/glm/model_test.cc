// From a formula and a dictionary to columns: names, bounds and counts, and what is refused.
#include "methods/glm/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "methods/glm/task.h"
#include "tests/methods/glm/tables.h"

namespace partita::methods::glm::model_test {
namespace {

using stats::glm::Family;
using ::testing::ElementsAre;
using testing::Factor;
using ::testing::HasSubstr;
using testing::Integer;
using testing::Number;

data::Schema Dictionary() {
  data::Schema schema;
  schema.columns = {Number("age", 20, 80),      Integer("smoker", 0, 1),
                    Integer("grade", 1, 3),     Integer("visits", 0, 40),
                    Factor("sex", {"f", "m"}),  Factor("stage", {"one", "two", "three"}),
                    Number("cost", 0.5, 100),   Number("change", -4, 12),
                    Number("year", 2000, 2002), Integer("many", 0, 60)};
  data::ColumnSchema survival = Number("onset", 0, 10, data::ColumnType::kSurvival);
  survival.time_column = "t";
  survival.event_column = "e";
  schema.columns.push_back(survival);
  return schema;
}

std::vector<data::DerivedVariable> Derived() {
  data::DerivedVariable decade;
  decade.name = "decade";
  decade.from = "age";
  decade.kind = data::TransformKind::kCut;
  decade.points = {40, 60};
  decade.labels = {"young", "middle", "old"};
  return {decade};
}

Spec Model(Family family, const std::string& formula) {
  return ModelOf(stats::glm::LawOf(family), formula, Dictionary(), Derived());
}

std::vector<std::string> NamesOf(const Spec& spec) {
  std::vector<std::string> names;
  for (const data::ModelColumn& column : spec.columns) names.push_back(column.name);
  return names;
}

TEST(GlmModel, NamesTermsOfSeveralColumns) {
  Spec spec = Model(Family::kBinomial, "smoker ~ age + stage * sex + decade");
  ASSERT_EQ(spec.terms.size(), 3u);
  EXPECT_EQ(spec.terms[0].name, "stage");
  EXPECT_THAT(spec.terms[0].columns, ElementsAre(2u, 3u));
  EXPECT_EQ(spec.terms[1].name, "decade");
  EXPECT_THAT(spec.terms[1].columns, ElementsAre(5u, 6u));
  EXPECT_EQ(spec.terms[2].name, "stage:sex");
  EXPECT_THAT(spec.terms[2].columns, ElementsAre(7u, 8u));
  TakeSiteEffects(spec, 2);
  EXPECT_THAT(spec.terms[2].columns, ElementsAre(6u, 7u));
}

TEST(GlmModel, SaysWhatCoefficientsAreComparedWith) {
  const auto coding = [](const std::string& formula, const data::Schema& dictionary) {
    const Spec spec = ModelOf(stats::glm::LawOf(Family::kBinomial), formula, dictionary, Derived());
    return data::CodingText(spec, data::FactorsOf(spec, dictionary, Derived()),
                            spec.outcome.levels ? spec.outcome.name : "");
  };
  EXPECT_EQ(coding("smoker ~ age", Dictionary()), "");
  EXPECT_EQ(coding("sex ~ age", Dictionary()), "An event is sex = m.");
  EXPECT_EQ(coding("smoker ~ age + stage", Dictionary()), "Reference level: stage = one.");
  EXPECT_EQ(
      coding("sex ~ stage * age + factor(grade) + decade", Dictionary()),
      "An event is sex = m. Reference levels: stage = one; factor(grade) = 1; decade = young.");
  // Sums and scores have no reference.
  data::Schema sums = Dictionary();
  for (data::ColumnSchema& column : sums.columns) {
    if (column.name == "stage") column.contrasts = data::Contrasts::kSum;
  }
  EXPECT_EQ(coding("smoker ~ sex + stage", sums), "Reference level: sex = f.");
  std::vector<data::DerivedVariable> middle = Derived();
  middle[0].reference = "middle";
  const Spec spec =
      ModelOf(stats::glm::LawOf(Family::kBinomial), "smoker ~ decade", Dictionary(), middle);
  EXPECT_EQ(data::CodingText(spec, data::FactorsOf(spec, Dictionary(), middle), ""),
            "Reference level: decade = middle.");
}

TEST(GlmModel, HasTheColumnsOfR) {
  const Spec spec = Model(Family::kBinomial, "smoker ~ stage * age + factor(grade) + decade");
  EXPECT_THAT(NamesOf(spec), ElementsAre("(Intercept)", "stage.two", "stage.three", "age",
                                         "factor(grade).2", "factor(grade).3", "decade.middle",
                                         "decade.old", "stage.two:age", "stage.three:age"));
  EXPECT_THAT(spec.factors, ElementsAre("stage", "factor(grade)", "decade"));
  EXPECT_EQ(spec.columns[3].scale, 80);
  EXPECT_EQ(spec.columns[8].scale, 80);
  EXPECT_TRUE(spec.columns[1].zero_one);
  EXPECT_FALSE(spec.columns[8].zero_one);
  EXPECT_TRUE(spec.products.empty());
  EXPECT_THAT(spec.variables, ElementsAre("age", "smoker", "grade", "stage"));
  // The first factor's columns vary fastest, as in R.
  const Spec crossed = Model(Family::kGaussian, "change ~ stage * sex * smoker");
  EXPECT_THAT(
      NamesOf(crossed),
      ElementsAre("(Intercept)", "stage.two", "stage.three", "sex.m", "smoker", "stage.two:sex.m",
                  "stage.three:sex.m", "stage.two:smoker", "stage.three:smoker", "sex.m:smoker",
                  "stage.two:sex.m:smoker", "stage.three:sex.m:smoker"));
  EXPECT_THAT(crossed.products, ElementsAre(5, 6, 7, 8, 9, 10, 11));
  EXPECT_THAT(crossed.binaries, ElementsAre("smoker"));
}

TEST(GlmModel, ScalesTheOutcome) {
  const Spec change = Model(Family::kGaussian, "change ~ age");
  EXPECT_EQ(change.outcome.centre, 4);
  EXPECT_EQ(change.outcome.scale, 8);
  EXPECT_EQ(change.outcome.lower, -1);
  EXPECT_EQ(change.outcome.upper, 1);
  const Spec plain = Model(Family::kGaussian, "change ~ age - 1");
  EXPECT_EQ(plain.outcome.centre, 0);
  EXPECT_EQ(plain.outcome.scale, 12);
  const Spec cost = Model(Family::kGamma, "cost ~ age + offset(log(age))");
  EXPECT_EQ(cost.outcome.scale, 1);
  EXPECT_EQ(cost.outcome.upper, 100);
  EXPECT_DOUBLE_EQ(cost.offset_lower, std::log(20));
  EXPECT_THAT(cost.offsets, ElementsAre("log(age)"));
  EXPECT_TRUE(Model(Family::kBinomial, "sex ~ age").outcome.levels);
  EXPECT_EQ(Model(Family::kGaussian, "log(cost) ~ age").outcome.name, "log(cost)");
}

struct Refused {
  Family family;
  std::string formula, what, hint;
};

TEST(GlmModel, RefusesWhatItHasNot) {
  for (const Refused& refused : std::vector<Refused>{
           {Family::kBinomial, "smoker ~ agee", "no variable 'agee'", "age"},
           {Family::kBinomial, "smoker ~ log(decade)", "not in the dictionary", "age"},
           {Family::kBinomial, "smoker ~ onset", "type survival", "numbers"},
           {Family::kBinomial, "stage ~ age", "two levels", "second level"},
           {Family::kBinomial, "age ~ smoker", "two levels", "[[derived]]"},
           {Family::kPoisson, "age ~ smoker", "no count", "at least 0"},
           {Family::kPoisson, "stage ~ smoker", "not one number", "poisson"},
           {Family::kGamma, "change ~ age", "as low as -4", "above 0"},
           {Family::kGaussian, "change ~ age:smoker", "without", "a + b + a:b"},
           {Family::kGaussian, "change ~ stage - 1", "without an intercept", "keep the intercept"},
           {Family::kGaussian, "change ~ factor(many)", "every value", "[[derived]]"},
           {Family::kGaussian, "change ~ factor(age)", "every value", "[[derived]]"},
           {Family::kGaussian, "change ~ log(change)", "as low as -4", "log"},
           {Family::kGaussian, "change ~ change", "covariate, too", "right side"},
           {Family::kGaussian, "change ~ year", "all but constant", "scale"},
           {Family::kGaussian, "change ~ age + offset(stage)", "not one number", "number"},
           {Family::kGaussian, "change ~ 0", "no column", "keep 1"},
           {Family::kGaussian, "change ~ age +", "ends too early", "y ~ age"}}) {
    SCOPED_TRACE(refused.formula);
    try {
      Model(refused.family, refused.formula);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      EXPECT_THAT(error.message(), HasSubstr(refused.what));
      EXPECT_THAT(error.hint(), HasSubstr(refused.hint));
    }
  }
}

// What a row adds is within the units, at the extremes of its bounds.
TEST(GlmUnits, HoldEveryRow) {
  for (const auto& [family, formula] :
       std::vector<std::pair<Family, std::string>>{{Family::kBinomial, "smoker ~ age"},
                                                   {Family::kPoisson, "visits ~ age"},
                                                   {Family::kGaussian, "change ~ age"},
                                                   {Family::kGamma, "cost ~ age"}}) {
    const stats::glm::Law law = stats::glm::LawOf(family);
    SCOPED_TRACE(FamilyName(law));
    Task task;
    task.spec = Model(family, formula);
    task.holders = {{0, 1000}, {1, 500}};
    SetUnits(task);
    const Units& units = task.units;
    EXPECT_EQ(units.row_bits, 11);
    for (const double y : {task.spec.outcome.lower, task.spec.outcome.upper}) {
      for (const double eta : {units.limits.lower, 0.0, units.limits.upper}) {
        const stats::glm::RowTerms terms = TermsAt(law, y, eta);
        EXPECT_LE(std::ldexp(terms.weight, -units.weight_bits), 1);
        EXPECT_LE(std::ldexp(std::abs(terms.score), -units.weight_bits), units.most_score);
        EXPECT_LE(std::abs(terms.deviance), units.most_fit);
        if (HasDispersion(law)) {
          EXPECT_LE(terms.pearson, units.most_pearson);
        }
      }
    }
  }
}

TEST(GlmUnits, RefuseSumsThatDoNotFit) {
  Task task;
  data::Schema dictionary = Dictionary();
  dictionary.columns.push_back(Integer("huge", 0, 1000000));
  task.spec = ModelOf(stats::glm::LawOf(Family::kPoisson), "huge ~ age", dictionary, {});
  task.holders = {{0, uint64_t{1} << 26}};
  EXPECT_THROW(SetUnits(task), Error);
  task.holders = {{0, uint64_t{1} << 20}};
  EXPECT_NO_THROW(SetUnits(task));
}

}  // namespace
}  // namespace partita::methods::glm::model_test
