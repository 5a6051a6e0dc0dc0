// Formulas: what they mean, and what is refused with what to write instead.
#include "data/formula.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace partita::data::formula_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> TermsOf(const Formula& formula) {
  std::vector<std::string> terms;
  for (const FormulaTerm& term : formula.terms) {
    std::string text;
    for (const FormulaAtom& atom : term) text += (text.empty() ? "" : ":") + atom.text;
    terms.push_back(text);
  }
  return terms;
}

TEST(Formula, HasTermsInTheOrderOfR) {
  const Formula formula = ParseFormula("y ~ a:b + a + log(x.1) + b + offset(log(t)) + a*c_2");
  EXPECT_EQ(formula.outcome.text, "y");
  EXPECT_THAT(TermsOf(formula), ElementsAre("a", "log(x.1)", "b", "c_2", "a:b", "a:c_2"));
  EXPECT_TRUE(formula.intercept);
  ASSERT_EQ(formula.offsets.size(), 1u);
  EXPECT_EQ(formula.offsets.front().function, FormulaAtom::Function::kLog);
  EXPECT_EQ(formula.offsets.front().name, "t");
}

TEST(Formula, ExpandsProducts) {
  EXPECT_THAT(TermsOf(ParseFormula("y~a*b*c")),
              ElementsAre("a", "b", "c", "a:b", "a:c", "b:c", "a:b:c"));
  EXPECT_THAT(TermsOf(ParseFormula("y ~ a + b:a + a:b + a:a")), ElementsAre("a", "b:a"));
}

TEST(Formula, HasAnInterceptOrNot) {
  for (const char* without : {"y ~ a - 1", "y ~ 0 + a", "y ~ a + 0", "y ~ -1 + a"})
    EXPECT_FALSE(ParseFormula(without).intercept) << without;
  for (const char* with : {"y ~ a", "y ~ 1", "y ~ 1 + a", "y ~ a - 0"})
    EXPECT_TRUE(ParseFormula(with).intercept) << with;
  EXPECT_THAT(ParseFormula("y ~ 1").terms, IsEmpty());
}

TEST(Formula, HasFunctions) {
  const Formula formula =
      ParseFormula("log( y ) ~ I(a^2) + I( a*b ) + factor(k) + sqrt(s) + log1p(d)");
  EXPECT_EQ(formula.outcome.text, "log(y)");
  EXPECT_THAT(TermsOf(formula),
              ElementsAre("I(a^2)", "I(a * b)", "factor(k)", "sqrt(s)", "log1p(d)"));
  EXPECT_EQ(formula.terms[0].front().with, "a");
  EXPECT_EQ(formula.terms[1].front().with, "b");
}

struct Refused {
  std::string formula, what, hint;
};

TEST(Formula, RefusesTheRestWithAReplacement) {
  for (const Refused& refused :
       std::vector<Refused>{{"", "character 1: it ends too early", "y ~ age + sex"},
                            {"y", "there should be '~'", "y ~ age + sex"},
                            {"y ~", "ends too early", "y ~ age + sex"},
                            {"y ~ a +", "ends too early", "y ~ age + sex"},
                            {"y ~ a b", "'b' is not understood", "joined by +"},
                            {"y ~ (a + b)^2", "'(' is not understood", "without brackets"},
                            {"y ~ a^2", "character 6: '^'", "I(a^2)"},
                            {"y ~ a / b", "'/'", "a + a:b"},
                            {"y ~ a | b", "'|'", "no random effects"},
                            {"y ~ a %in% b", "'%'", "nested"},
                            {"y ~ .", "'.'", "name the variables"},
                            {"y ~ a - b", "only 1 can be taken away", "leave the term out"},
                            {"y ~ ns(a)", "'ns'", "transform = \"ns\""},
                            {"y ~ poly(a, 2)", "'poly'", "transform = \"poly\""},
                            {"y ~ cut(a, 4)", "'cut'", "transform = \"cut\""},
                            {"y ~ scale(a)", "'scale'", "transform = \"scale\""},
                            {"y ~ exp(a)", "'exp'", "[[derived]]"},
                            {"Surv(t, e) ~ a", "'Surv'", "survival.md"},
                            {"y ~ strata(a)", "'strata'", "write the factor as a term"},
                            {"cbind(s, f) ~ a", "'cbind'", "one row per trial"},
                            {"y ~ log(a + 1)", "there should be ')'", "one variable"},
                            {"y ~ log()", "')' is not understood", "joined"},
                            {"y ~ I(a)", "I holds something else", "I(a^2)"},
                            {"y ~ I(a^3)", "this power", "I(a^2)"},
                            {"y ~ I(a + b)", "I holds something else", "I(a * b)"},
                            {"y ~ offset(a", "there should be ')'", "one variable"},
                            {"y ~ a:b:c:d:e", "an interaction of 5", "at most 4"},
                            {"y ~ 12", "'2' is not understood", "joined"}}) {
    SCOPED_TRACE(refused.formula);
    try {
      ParseFormula(refused.formula);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      EXPECT_THAT(error.message(), HasSubstr(refused.what));
      EXPECT_THAT(error.hint(), HasSubstr(refused.hint));
    }
  }
}

TEST(Formula, ReadsSurvivalTimesAndStrata) {
  const Formula formula = ParseSurvivalFormula("Surv(days,died)~age + strata( ward ) + sex");
  EXPECT_EQ(formula.outcome.text, "Surv(days, died)");
  EXPECT_EQ(formula.outcome.name, "days");
  EXPECT_EQ(formula.outcome.with, "died");
  EXPECT_THAT(TermsOf(formula), ElementsAre("age", "sex"));
  ASSERT_EQ(formula.strata.size(), 1u);
  EXPECT_EQ(formula.strata.front().text, "ward");
  EXPECT_TRUE(ParseSurvivalFormula("Surv(days, died) ~ 1").terms.empty());
  EXPECT_EQ(formula.outcome.entry, "");
  const FormulaAtom entered = ParseSurvivalFormula("Surv(in, out, died) ~ age").outcome;
  EXPECT_EQ(entered.entry, "in");
  EXPECT_EQ(entered.name, "out");
  EXPECT_EQ(entered.with, "died");
  EXPECT_EQ(entered.text, "Surv(in, out, died)");
  for (const auto& [text, what] : std::vector<std::pair<std::string, std::string>>{
           {"days ~ age", "no survival time"},
           {"Surv days ~ age", "there should be '('"},
           {"Surv(days) ~ age", "there should be ','"},
           {"Surv(in, out, died, x) ~ age", "there should be ')'"},
           {"Surv(days, died) ~ strata(a, b)", "there should be ')'"}}) {
    SCOPED_TRACE(text);
    try {
      ParseSurvivalFormula(text);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_THAT(error.message(), HasSubstr(what));
      EXPECT_FALSE(error.hint().empty());
    }
  }
}

TEST(Formula, RefusesTooManyTerms) {
  std::string formula = "y ~ a0";
  for (int i = 1; i <= 200; ++i) formula += " + a" + std::to_string(i);
  EXPECT_THROW(ParseFormula(formula), Error);
}

}  // namespace
}  // namespace partita::data::formula_test
