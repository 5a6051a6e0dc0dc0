// Values and gradients of expressions, alone and through the := and == rows of a table.
#include "stats/sem/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "stats/sem/parameter_table.h"
#include "stats/sem/table_expressions.h"

namespace partita::stats::expression_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

double Value(const std::string& text, const std::map<std::string, double>& values = {}) {
  return ParseExpression(text).Evaluate(values);
}

TEST(Expression, FollowsThePrecedenceOfR) {
  EXPECT_EQ(Value("1 + 2*3"), 7);
  EXPECT_EQ(Value("(1 + 2)*3"), 9);
  EXPECT_EQ(Value("10 - 4 - 3"), 3);
  EXPECT_EQ(Value("24/4/2"), 3);
  EXPECT_EQ(Value("-2^2"), -4);
  EXPECT_EQ(Value("(-2)^2"), 4);
  EXPECT_EQ(Value("2^3^2"), 512);
  EXPECT_EQ(Value("2**3"), 8);
  EXPECT_EQ(Value("2^-1"), 0.5);
  EXPECT_EQ(Value("2^-1^2"), 0.5);
  EXPECT_EQ(Value("- - 3"), 3);
  EXPECT_EQ(Value("2*-3"), -6);
  EXPECT_EQ(Value("+4 - +1"), 3);
  EXPECT_EQ(Value("1e-3 + .5 + 5. + 2E2"), 205.501);
  EXPECT_EQ(Value("a\n  + b # the sum\n", {{"a", 1}, {"b", 2}}), 3);
}

TEST(Expression, ListsNamesOnceInOrder) {
  const Expression e = ParseExpression("b.1*a + b.1^2 - _c", {3, 7});
  EXPECT_THAT(e.names(), ElementsAre("b.1", "a", "_c"));
  EXPECT_EQ(e.positions()[1].line, 3);
  EXPECT_EQ(e.positions()[1].column, 11);
  EXPECT_EQ(e.Evaluate({{"b.1", 3}, {"a", 5}, {"_c", 4}}), 20);
  EXPECT_EQ(e.Evaluate(std::vector<double>{3, 5, 4}), 20);
  EXPECT_THROW(e.Evaluate({{"b.1", 3}}), Error);
  EXPECT_THROW(e.Evaluate(std::vector<double>{3, 5}), Error);
}

TEST(Expression, KnowsWhatIsAffine) {
  for (const char* text : {"1", "a", "a + 2*b - c/4", "-(a - b)*2^3", "exp(2)*a", "(1/3)*a + 0"}) {
    EXPECT_TRUE(ParseExpression(text).IsAffine()) << text;
  }
  for (const char* text : {"a*b", "a^2", "1/a", "exp(a)", "2^a", "abs(a)", "(a + b)*(a - b)"}) {
    EXPECT_FALSE(ParseExpression(text).IsAffine()) << text;
  }
}

// Derivatives against closed forms, at a = 0.3, b = -0.7 (c = 1.9 where the domain needs it).
struct Known {
  const char* text;
  double value, da, db, dc;
};

TEST(Expression, GradientsAreExact) {
  const double a = 0.3, b = -0.7, c = 1.9;
  const Known cases[] = {
      {"a + b + c", a + b + c, 1, 1, 1},
      {"a*b*c", a * b * c, b * c, a * c, a * b},
      {"a - b/c", a - b / c, 1, -1 / c, b / (c * c)},
      {"a*a + b*a + 0*c", a * a + a * b, 2 * a + b, a, 0},
      {"c^a + b", std::pow(c, a) + b, std::pow(c, a) * std::log(c), 1, a * std::pow(c, a - 1)},
      {"b^3 + a + c", b * b * b + a + c, 1, 3 * b * b, 1},
      {"b^2*a/c", b * b * a / c, b * b / c, 2 * b * a / c, -b * b * a / (c * c)},
      {"-(a*c)^2 + b", -a * a * c * c + b, -2 * a * c * c, 1, -2 * a * a * c},
      {"exp(a*b) + c", std::exp(a * b) + c, b * std::exp(a * b), a * std::exp(a * b), 1},
      {"log(c) + a + b", std::log(c) + a + b, 1, 1, 1 / c},
      {"log2(c)*a + b", std::log2(c) * a + b, std::log2(c), 1, a / (c * std::log(2.0))},
      {"log10(c)*a + b", std::log10(c) * a + b, std::log10(c), 1, a / (c * std::log(10.0))},
      {"log1p(a) + expm1(b) + c", std::log1p(a) + std::expm1(b) + c, 1 / (1 + a), std::exp(b), 1},
      {"sqrt(c)*a + b", std::sqrt(c) * a + b, std::sqrt(c), 1, a / (2 * std::sqrt(c))},
      {"abs(b) + abs(a) + c", 0.7 + 0.3 + c, 1, -1, 1},
      {"sin(a) + cos(b) + tan(c)", std::sin(a) + std::cos(b) + std::tan(c), std::cos(a),
       -std::sin(b), 1 + std::tan(c) * std::tan(c)},
      {"asin(a) + acos(b) + atan(c)", std::asin(a) + std::acos(b) + std::atan(c),
       1 / std::sqrt(1 - a * a), -1 / std::sqrt(1 - b * b), 1 / (1 + c * c)},
      {"sinh(a) + cosh(b) + tanh(c)", std::sinh(a) + std::cosh(b) + std::tanh(c), std::cosh(a),
       std::sinh(b), 1 - std::tanh(c) * std::tanh(c)},
  };
  for (const Known& known : cases) {
    SCOPED_TRACE(known.text);
    const Expression e = ParseExpression(known.text);
    const std::map<std::string, double> at = {{"a", a}, {"b", b}, {"c", c}};
    const std::map<std::string, double> slope = {{"a", known.da}, {"b", known.db}, {"c", known.dc}};
    std::vector<double> values;
    for (const std::string& name : e.names()) values.push_back(at.at(name));
    ASSERT_EQ(values.size(), 3U);
    std::vector<double> gradient(3, 99.0);
    EXPECT_DOUBLE_EQ(e.EvaluateWithGradient(values, gradient), known.value);
    for (std::size_t i = 0; i < 3; ++i) {
      // A few roundings on either side of the comparison.
      EXPECT_NEAR(
          gradient[i], slope.at(e.names()[i]),
          8 * std::numeric_limits<double>::epsilon() * (1 + std::abs(slope.at(e.names()[i]))));
    }
  }
}

TEST(Expression, EdgesOfDomainsAreNotErrors) {
  std::vector<double> g(1);
  EXPECT_TRUE(std::isnan(Value("sqrt(a)", {{"a", -1}})));
  EXPECT_TRUE(std::isnan(Value("log(a)", {{"a", -1}})));
  EXPECT_EQ(Value("1/a", {{"a", 0}}), std::numeric_limits<double>::infinity());
  EXPECT_EQ(ParseExpression("a^2").EvaluateWithGradient(std::vector<double>{0}, g), 0);
  EXPECT_EQ(g[0], 0);
  EXPECT_EQ(ParseExpression("a^0").EvaluateWithGradient(std::vector<double>{0}, g), 1);
  EXPECT_EQ(g[0], 0);
  EXPECT_EQ(ParseExpression("a^1").EvaluateWithGradient(std::vector<double>{0}, g), 0);
  EXPECT_EQ(g[0], 1);
  EXPECT_EQ(ParseExpression("abs(a)").EvaluateWithGradient(std::vector<double>{0}, g), 0);
  EXPECT_EQ(g[0], 0);
  EXPECT_EQ(ParseExpression("(-2)^a").EvaluateWithGradient(std::vector<double>{2}, g), 4);
}

std::string Refusal(const std::string& text, TextPosition at = {}) {
  try {
    ParseExpression(text, at);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    return error.message();
  }
  ADD_FAILURE() << "accepted: " << text;
  return "";
}

TEST(Expression, RefusalsSayWhere) {
  EXPECT_THAT(Refusal(""), HasSubstr("line 1, column 1: the expression ends too early"));
  EXPECT_THAT(Refusal("a +"), HasSubstr("column 3: the expression ends too early"));
  EXPECT_THAT(Refusal("a b"), HasSubstr("column 3: expected an operator, not 'b'"));
  EXPECT_THAT(Refusal("a + * b"), HasSubstr("column 5: expected a number, a label or '('"));
  EXPECT_THAT(Refusal("min(a)"), HasSubstr("column 1: unknown function 'min'"));
  EXPECT_THAT(Refusal("exp(a, b)"), HasSubstr("column 6: expected ')'"));
  EXPECT_THAT(Refusal("exp()"), HasSubstr("column 5: expected a number"));
  EXPECT_THAT(Refusal("(a + b"), HasSubstr("column 1: this '(' is never closed"));
  EXPECT_THAT(Refusal("a)"), HasSubstr("column 2: this ')' closes nothing"));
  EXPECT_THAT(Refusal("2a"), HasSubstr("column 1: a name cannot begin with a digit"));
  EXPECT_THAT(Refusal("a $ b"), HasSubstr("column 3: the character '$' means nothing here"));
  EXPECT_THAT(Refusal("\"a\" + b"), HasSubstr("column 1: expected a number, a label"));
  EXPECT_THAT(Refusal("1e999"), HasSubstr("column 1: the number 1e999 is out of range"));
  EXPECT_THAT(Refusal("a ; b"), HasSubstr("column 3: expected an operator"));
  EXPECT_THAT(Refusal("a + ? ", {12, 30}), HasSubstr("line 12, column 34: expected"));
  EXPECT_THAT(Refusal("a + ? ", {12, 30}), HasSubstr("\n  a + ? \n      ^"));
}

TEST(Expression, DepthAndLengthAreBounded) {
  const auto repeat = [](const std::string& piece, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += piece;
    return text;
  };
  EXPECT_EQ(Value(repeat("(", 150) + "1" + repeat(")", 150)), 1);
  EXPECT_THAT(Refusal(repeat("(", 300) + "1" + repeat(")", 300)), HasSubstr("nested"));
  EXPECT_THAT(Refusal(repeat("-", 100000) + "1"), HasSubstr("nested more than 200 deep"));
  EXPECT_THAT(Refusal(repeat("2^", 100000) + "1"), HasSubstr("nested more than 200 deep"));
  EXPECT_THAT(Refusal(repeat("a+", 100000) + "1"), HasSubstr("more than 10000 operands"));
  EXPECT_THAT(Refusal(std::string(std::size_t{2} << 20, 'a')), HasSubstr("bytes, more than"));
}

TEST(TableExpressions, ChainThroughDefinitionsInAnyOrder) {
  const ParameterTable table = BuildParameterTable(
      "t := ab + c^2\nm ~ a*x\ny ~ b*m + c*x + b*z\nab := a*b\nexp(ab) == 2*t\na - b == 0.5", {});
  const TableExpressions expressions(table);
  EXPECT_THAT(expressions.labels(), ElementsAre("c", "a", "b"));
  EXPECT_THAT(expressions.label_rows()[2], ElementsAre(1, 3));
  const double a = 0.4, b = 1.5, c = -0.8, ab = a * b;
  const auto results = expressions.Evaluate(std::vector<double>{c, a, b});
  ASSERT_EQ(results.size(), 4U);
  const auto near = [](double x) { return ::testing::DoubleNear(x, 1e-14); };
  EXPECT_EQ(table.rows[static_cast<std::size_t>(results[0].row)].lhs, "t");
  EXPECT_DOUBLE_EQ(results[0].value, ab + c * c);
  EXPECT_THAT(results[0].gradient, ElementsAre(near(2 * c), near(b), near(a)));
  EXPECT_THAT(results[1].gradient, ElementsAre(0, b, a));
  EXPECT_FALSE(results[2].definition);
  EXPECT_DOUBLE_EQ(results[2].value, std::exp(ab) - 2 * (ab + c * c));
  EXPECT_THAT(results[2].gradient, ElementsAre(near(-4 * c), near(b * std::exp(ab) - 2 * b),
                                               near(a * std::exp(ab) - 2 * a)));
  EXPECT_FALSE(results[2].affine);
  EXPECT_DOUBLE_EQ(results[3].value, a - b - 0.5);
  EXPECT_THAT(results[3].gradient, ElementsAre(0, 1, -1));
  EXPECT_TRUE(results[3].affine);
}

TEST(TableExpressions, AffineOnlyIfTheDefinitionsAre) {
  const TableExpressions e(
      BuildParameterTable("y ~ a*x + b*z\np := a*b\nq := a + b\np == 1\nq == 1", {}));
  const auto results = e.Evaluate(std::vector<double>{1, 2});
  EXPECT_FALSE(results[2].affine);
  EXPECT_TRUE(results[3].affine);
  EXPECT_THROW(e.Evaluate(std::vector<double>{1}), Error);
}

TEST(TableExpressions, RefusesWhatATableMayNotHold) {
  ParameterTable table = BuildParameterTable("y ~ a*x\nb := 2*a", {});
  table.rows.back().rhs = "2*q";
  EXPECT_THROW(TableExpressions{table}, Error);
  table.rows.back().rhs = "2*b";
  EXPECT_THROW(TableExpressions{table}, Error);
}

}  // namespace
}  // namespace partita::stats::expression_test
