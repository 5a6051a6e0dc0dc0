// What the parser of model syntax reads, and how it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "stats/sem/syntax.h"

namespace partita::stats::model_syntax_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One line per statement: op, names and terms with their modifiers, in a form easy to compare.
std::string Show(const ModifierValue& value) {
  if (value.kind == ModifierValue::Kind::kNotAvailable) return "NA";
  if (value.kind == ModifierValue::Kind::kText) return "'" + value.text + "'";
  std::string text = std::to_string(value.number);
  text.erase(text.find_last_not_of('0') + 1);
  return text.back() == '.' ? text + "0" : text;
}

std::string Show(const Modifier& modifier) {
  std::string text = modifier.kind == Modifier::Kind::kFixed   ? "fix"
                     : modifier.kind == Modifier::Kind::kStart ? "start"
                     : modifier.equal                          ? "equal"
                                                               : "label";
  for (const ModifierValue& value : modifier.values) text += " " + Show(value);
  return "{" + text + "}";
}

std::vector<std::string> Show(const std::string& model) {
  std::vector<std::string> lines;
  for (const ModelStatement& s : ParseModelSyntax(model)) {
    std::string line = s.lhs_text;
    for (const ModelName& name : s.lhs) line += (line.empty() ? "" : ",") + name.name;
    line += " " + s.op + " " + s.rhs_text;
    for (std::size_t i = 0; i < s.terms.size(); ++i) {
      line += i > 0 ? "," : "";
      for (const Modifier& modifier : s.terms[i].modifiers) line += Show(modifier);
      line += s.terms[i].name.empty() ? "<1>" : s.terms[i].name;
    }
    lines.push_back(line);
  }
  return lines;
}

TEST(ModelSyntax, ReadsEveryOperator) {
  EXPECT_THAT(Show("f =~ x1 + x2\ny ~ f\ny ~~ z\ny ~ 1\nab := a * b\na == b + 1"),
              ElementsAre("f =~ x1,x2", "y ~ f", "y ~~ z", "y ~ <1>", "ab := a*b", "a == b+1"));
}

TEST(ModelSyntax, ReadsEveryModifier) {
  EXPECT_THAT(Show("f =~ a*x1 + 0.5*x2 + -1*x3 + NA*x4 + start(1)*x5 + equal(\"g=~x\")*x6 + "
                   "label(\"l\")*x7 + \"q\"*x8 + 1e-3*x9 + .5*x10 + label(m)*x11"),
              ElementsAre("f =~ {label 'a'}x1,{fix 0.5}x2,{fix -1.0}x3,{fix NA}x4,{start 1.0}x5,"
                          "{equal 'g=~x'}x6,{label 'l'}x7,{label 'q'}x8,{fix 0.001}x9,"
                          "{fix 0.5}x10,{label 'm'}x11"));
  EXPECT_THAT(Show("f =~ c(a,b)*x1 + c(0.5,NA)*x2 + c(\"a\",\"a\")*x3 + start(c(1,2))*x4 + "
                   "c(NA,NA)*x5 + c(\"a\",NA)*x6 + label(c(\"a\",\"b\"))*x7 + start(1,NA)*x8"),
              ElementsAre("f =~ {label 'a' 'b'}x1,{fix 0.5 NA}x2,{label 'a' 'a'}x3,"
                          "{start 1.0 2.0}x4,{fix NA NA}x5,{label 'a' ''}x6,{label 'a' 'b'}x7,"
                          "{start 1.0 NA}x8"));
  EXPECT_THAT(Show("y ~ 1/4*x + (1 + 1)*z + sqrt(4)*w + 2*3*v"),
              ElementsAre("y ~ {fix 0.25}x,{fix 2.0}z,{fix 2.0}w,{fix 6.0}v"));
  EXPECT_THAT(Show("y ~ 0*1 + x\nz ~ b*1\nw ~ 0 + x\nv ~ c(0,NA)*1"),
              ElementsAre("y ~ {fix 0.0}<1>,x", "z ~ {label 'b'}<1>", "w ~ {fix 0.0}<1>,x",
                          "v ~ {fix 0.0 NA}<1>"));
}

TEST(ModelSyntax, JoinsModifiersOfOneVariable) {
  EXPECT_THAT(Show("f =~ a*x + y + start(.5)*x + NA*x"),
              ElementsAre("f =~ {label 'a'}{start 0.5}{fix NA}x,y"));
  EXPECT_THAT(Show("f =~ x + a*x"), ElementsAre("f =~ {label 'a'}x"));
}

TEST(ModelSyntax, ReadsSeveralLeftSides) {
  EXPECT_THAT(Show("x1 + x2 ~ z + w\nf1+f2=~a*y"),
              ElementsAre("x1,x2 ~ z,w", "f1,f2 =~ {label 'a'}y"));
}

TEST(ModelSyntax, LinesGoOnBesideOperators) {
  EXPECT_THAT(Show("f =~ x1 +\n\n  x2\n  + x3; y\n ~ f # why\n\n! no\n ab :=\n a\n * b\n\n"),
              ElementsAre("f =~ x1,x2,x3", "y ~ f", "ab := a*b"));
  EXPECT_THAT(Show("f =~ start(\n 1\n)*x\r\ny ~ x\r\n"), ElementsAre("f =~ {start 1.0}x", "y ~ x"));
  EXPECT_THAT(Show(";;y ~ + x;;"), ElementsAre("y ~ x"));
}

TEST(ModelSyntax, NamesMayHoldDotsUnderscoresLettersOfAnyScript) {
  EXPECT_THAT(Show("my.f_1 =~ .x + x.1\n\"a b\" ~ 'c+d' + \u00e9t\u00e9"),
              ElementsAre("my.f_1 =~ .x,x.1", "a b ~ c+d,\u00e9t\u00e9"));
}

TEST(ModelSyntax, KnowsPositions) {
  const auto statements = ParseModelSyntax("# first\n\u00e9 ~ 1\n  f =~ x1 +\n a*x2");
  EXPECT_EQ(statements[0].terms[0].position.column, 5) << "columns count characters, not bytes";
  EXPECT_EQ(statements[1].position.line, 3);
  EXPECT_EQ(statements[1].position.column, 3);
  EXPECT_EQ(statements[1].terms[1].position.line, 4);
  EXPECT_EQ(statements[1].terms[1].position.column, 2);
}

// As lavaan's older parser read them; each says one thing of the term, as terms that are repeated
// do.
TEST(ModelSyntax, SeveralModifiersOfATermMayStandInARow) {
  const std::pair<const char*, const char*> same[] = {
      {"f =~ NA*c(a, a)*x1 + x2", "f =~ NA*x1 + c(a, a)*x1 + x2"},
      {"f =~ c(a, b)*NA*x1", "f =~ c(a, b)*x1 + NA*x1"},
      {"y ~ start(0.5)*a*x", "y ~ start(0.5)*x + a*x"},
      {"y ~ label(\"a\")*0.5*x", "y ~ label(\"a\")*x + 0.5*x"},
      {"y ~ NA*start(2*0.5)*c(a, b)*1", "y ~ NA*1 + start(1)*1 + c(a, b)*1"}};
  for (const auto& [chained, repeated] : same) {
    SCOPED_TRACE(chained);
    const ModelTerm a = ParseModelSyntax(chained).at(0).terms.at(0);
    const ModelTerm b = ParseModelSyntax(repeated).at(0).terms.at(0);
    EXPECT_EQ(a.name, b.name);
    ASSERT_EQ(a.modifiers.size(), b.modifiers.size());
    for (size_t m = 0; m < a.modifiers.size(); ++m) {
      EXPECT_EQ(a.modifiers[m].kind, b.modifiers[m].kind);
      ASSERT_EQ(a.modifiers[m].values.size(), b.modifiers[m].values.size());
      for (size_t v = 0; v < a.modifiers[m].values.size(); ++v) {
        EXPECT_EQ(a.modifiers[m].values[v].kind, b.modifiers[m].values[v].kind);
        EXPECT_EQ(a.modifiers[m].values[v].number, b.modifiers[m].values[v].number);
        EXPECT_EQ(a.modifiers[m].values[v].text, b.modifiers[m].values[v].text);
      }
    }
  }
  // A product of numbers is one fixed value.
  const ModelTerm product = ParseModelSyntax("y ~ 2*0.5*x").at(0).terms.at(0);
  ASSERT_EQ(product.modifiers.size(), 1u);
  EXPECT_EQ(product.modifiers[0].values.at(0).number, 1);
}

struct Refused {
  const char *model, *message, *hint;
};

class ModelSyntaxRefusal : public ::testing::TestWithParam<Refused> {};

TEST_P(ModelSyntaxRefusal, SaysWhereAndWhatToDo) {
  try {
    ParseModelSyntax(GetParam().model);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_THAT(error.message(), HasSubstr(GetParam().message));
    EXPECT_THAT(error.message(), HasSubstr("^"));
    EXPECT_THAT(error.hint(), HasSubstr(GetParam().hint));
    EXPECT_FALSE(error.hint().empty());
    return;
  }
  ADD_FAILURE() << "accepted:\n" << GetParam().model;
}

INSTANTIATE_TEST_SUITE_P(
    Operators, ModelSyntaxRefusal,
    ::testing::Values(
        Refused{"", "line 1, column 1: the model is empty", "f =~ x1"},
        Refused{" # nothing\n", "the model is empty", ""},
        Refused{"y | t1", "line 1, column 3: thresholds", "continuous"},
        Refused{"y ~*~ y", "column 3: scaling factors", "remove"},
        Refused{"f <~ x1 + x2", "column 3: formative", "=~"},
        Refused{"group % w", "column 7: blocks (%)", "c(a, b)*x"},
        Refused{"group: 1\nf =~ x1", "line 1, column 6: blocks (group:", "c(a, b)*x"},
        Refused{"level: 1\nf =~ x1", "line 1, column 6: models of two levels", "cluster"},
        Refused{"class: 1\nf =~ x1", "line 1, column 6: models with latent classes",
                "without classes"},
        Refused{"y ~ a*x\na > 0", "line 2, column 3: inequality", "fix the parameter with =="},
        Refused{"a < 0", "column 3: inequality", "remove the constraint"},
        Refused{"y = x", "column 3: a single '='", "=="},
        Refused{"y ~ x1\nx2 + x3", "line 2, column 1: no operator", "goes on in the next line"},
        Refused{"~ x", "column 1: nothing stands before ~", "y ~ x"},
        Refused{"y ~", "column 3: nothing follows ~", ""},
        Refused{"y ~ x ~ z", "column 7: a second operator", "line break"},
        Refused{"a == b == c", "column 8: a second operator", "line break"},
        Refused{"a + b := c", "column 1: the left side of := must be one new name", ":="},
        Refused{"a*f =~ x", "column 1: modifiers are not allowed on the left", "f =~ a*x"},
        Refused{"f g =~ x", "column 3: expected '+' or an operator, not 'g'", "+"},
        Refused{"f + =~ x", "column 1: a '+' without a name", "remove"},
        Refused{"1 ~ x", "column 1: expected the name of a variable, not '1'", "quotes"}));

INSTANTIATE_TEST_SUITE_P(
    Terms, ModelSyntaxRefusal,
    ::testing::Values(
        Refused{"y ~ x + + z", "column 7: a '+' without a term", "remove"},
        Refused{"y ~ x +", "column 7: a '+' without a term", "remove"},
        Refused{"y ~ x z", "column 7: expected an operator before 'z'", "join terms with +"},
        Refused{"y ~ x - z", "column 7: terms cannot be subtracted", "-1*x"},
        Refused{"y ~ -x", "column 5: terms cannot be subtracted", "-1*x"},
        Refused{"y ~ x:z", "column 6: products of variables", "transform = \"product\""},
        Refused{"y ~ 0.5?x", "column 8: '?' start values", "start(0.5)*x"},
        Refused{"y ~ x + x", "column 9: 'x' occurs twice", "remove"},
        Refused{"y ~ a*x + b*x", "column 11: 'x' already has a modifier", "one label"},
        Refused{"y ~ 1 + 1", "column 9: the intercept 1 occurs twice", "remove"},
        Refused{"y ~ 2", "column 5: the number 2 cannot stand here", "0.5*1"},
        Refused{"f =~ 1", "column 6: the number 1 cannot stand here", "0*x"},
        Refused{"f =~ 0", "column 6: the number 0 cannot stand here", "0*x"},
        Refused{"x ~~ 1", "column 6: the number 1 cannot stand here", "y ~ 1"},
        Refused{"y ~ NA", "column 5: NA is not the name", "quotes"},
        Refused{"y ~ \"\"", "column 5: expected the name of a variable", "quotes"},
        Refused{"y ~ a*", "column 6: nothing follows this '*'", "a*x"},
        Refused{"y ~ *x", "column 6: nothing stands before a '*'", "a*x"}));

INSTANTIATE_TEST_SUITE_P(
    Modifiers, ModelSyntaxRefusal,
    ::testing::Values(
        Refused{"y ~ lower(0)*x", "column 5: bounds", "remove"},
        Refused{"f =~ efa(\"e\")*x", "column 6: exploratory", "=~"},
        Refused{"y ~ prior(\"n\")*x", "column 5: priors", "remove"},
        Refused{"y ~ rv(\"n\")*x", "column 5: random slopes", "remove"},
        Refused{"y ~ upper(0)*x", "column 5: bounds", "remove"},
        Refused{"y ~ foo(1)*x", "column 5: unknown function 'foo'", "exp"},
        Refused{"y ~ a*0.5*x", "column 5: the label 'a' inside a fixed value", "a*x + 0.5*x"},
        Refused{"y ~ NA*0.5*x", "column 8: 'x' already has a modifier", "one fixed value"},
        Refused{"y ~ a*lower(0)*x", "column 7: bounds", "remove"},
        Refused{"y ~ (2*c(1, 2))*x", "column 8: c() is a modifier", "NA*c(a, b)*x"},
        Refused{"d := c(a, b)", "column 6: c() is a modifier", "NA*c(a, b)*x"},
        Refused{"y ~ -a*x", "column 6: the label 'a' inside a fixed value", "=="},
        Refused{"y ~ c(a, 0.5)*x", "column 5: c() mixes labels and numbers", "two modifiers"},
        Refused{"y ~ c(a, NA)*x", "column 5: c() mixes labels and NA", "c(\"a\", \"\")*x"},
        Refused{"y ~ c(1,)*x", "column 5: an empty value in c()", "one value per group"},
        Refused{"y ~ start()*x", "column 5: start() without a value", "start(0.5)*x"},
        Refused{"y ~ start(a)*x", "column 5: start() takes numbers", "start(0.5)*x"},
        Refused{"y ~ label(1)*x", "column 5: label() takes labels", "label(\"a\")*x"},
        Refused{"y ~ label(\"a b\")*x", "column 5: 'a b' cannot be a label", "letters"},
        Refused{"y ~ (1/0)*x", "column 5: this value is not a finite number", "0.5"}));

INSTANTIATE_TEST_SUITE_P(
    Characters, ModelSyntaxRefusal,
    ::testing::Values(
        Refused{"y \u02dc x", "column 3: the character '\u02dc' only looks right", "write ~"},
        Refused{"y ~ \u22121*x", "column 5: the character", "write -"},
        Refused{"y ~ \u201ca\u201d*x", "column 5: the character", "write \" instead"},
        Refused{"y ~ x\u00a0+ z", "column 6: the character", "ordinary space"},
        Refused{"y ~ \xff", "column 5: this is not valid UTF-8", "UTF-8"},
        Refused{"y ~ '\xc3'", "column 5: the quoted text is not valid UTF-8", "UTF-8"},
        Refused{"y ~ \x01", "column 5: the control character 0x01", "remove"},
        Refused{"y ~ \"x", "column 5: this quote is never closed", "same line"},
        Refused{"y ~ \"x\nz\"", "line 1, column 5: this quote is never closed", "same line"},
        Refused{"y ~ (a*x\nz ~ x", "line 1, column 5: this '(' is never closed", "add"},
        Refused{"y ~ (a; z", "line 1, column 5: this '(' is never closed", "add"},
        Refused{"y ~ x)", "column 6: this ')' closes nothing", "remove"},
        Refused{"1st ~ x", "column 1: a name cannot begin with a digit", "quotes"},
        Refused{"y ~ 1e999*x", "column 5: the number 1e999 is out of range", "1e300"}));

TEST(ModelSyntax, ShowsAWindowOfALongLine) {
  const std::string model = "y ~ " + std::string(500, 'x') + " $ z";
  try {
    ParseModelSyntax(model);
    FAIL() << "accepted";
  } catch (const Error& error) {
    const std::string message = error.message();
    EXPECT_THAT(message, HasSubstr("column 506"));
    const std::size_t shown = message.find('\n') + 1;
    const std::size_t caret = message.rfind('\n') + 1;
    EXPECT_EQ(message[shown + (message.find('^') - caret)], '$');
    EXPECT_LT(message.size(), 300U);
  }
}

TEST(ModelSyntax, IsBounded) {
  std::string deep = "y ~ ";
  for (int i = 0; i < 100000; ++i) deep += "(";
  EXPECT_THROW(ParseModelSyntax(deep), Error);
  EXPECT_THROW(ParseModelSyntax(std::string((std::size_t{1} << 20) + 1, ' ')), Error);
  std::string longest = "y ~ x0";
  for (int i = 1; i < 100000; ++i) longest += "+x" + std::to_string(i);
  EXPECT_EQ(ParseModelSyntax(longest)[0].terms.size(), 100000U);
}

}  // namespace
}  // namespace partita::stats::model_syntax_test
