// Design columns: contrasts, transforms and splines against R, and bounds that hold.
#include "data/design.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "data/contrasts.h"
#include "data/natural_spline.h"
#include "tests/data/expect_error.h"
#include "tests/data/tables.h"

namespace partita::data::design_test {
namespace {

using testing::ElementsAre;
using Matrix = std::vector<std::vector<double>>;

DerivedVariable Derived(const std::string& name, const std::string& from, TransformKind kind) {
  DerivedVariable derived;
  derived.name = name;
  derived.from = from;
  derived.kind = kind;
  return derived;
}

DerivedVariable Spline(const std::string& name, const std::string& from, std::vector<double> knots,
                       double lower, double upper) {
  DerivedVariable derived = Derived(name, from, TransformKind::kNs);
  derived.knots = std::move(knots);
  derived.boundary_lower = lower;
  derived.boundary_upper = upper;
  return derived;
}

DerivedVariable Cut(const std::string& name, const std::string& from, std::vector<double> points,
                    std::vector<std::string> labels) {
  DerivedVariable derived = Derived(name, from, TransformKind::kCut);
  derived.points = std::move(points);
  derived.labels = std::move(labels);
  return derived;
}

DerivedVariable Poly(const std::string& name, const std::string& from, int degree, double centre,
                     double scale) {
  DerivedVariable derived = Derived(name, from, TransformKind::kPoly);
  derived.degree = degree;
  derived.centre = centre;
  derived.scale = scale;
  return derived;
}

// "NAME [lower, upper]" of each column.
std::vector<std::string> Describe(const std::vector<DesignColumn>& columns) {
  std::vector<std::string> list;
  for (const DesignColumn& column : columns) {
    list.push_back(column.schema.name + " " + BoundsText(column.schema));
  }
  return list;
}

Table TableOf(const std::string& text, const Schema& schema,
              const std::vector<DerivedVariable>& derived = {}) {
  Table table = Read(text, schema).table;
  AddDesignColumns(table, schema, derived);
  return table;
}

// A table of one numeric column with these cells.
Table TableOf(const ColumnSchema& schema, const std::vector<double>& cells) {
  Column column;
  column.schema = schema;
  column.numbers = cells;
  Table table;
  table.num_rows = cells.size();
  table.columns.push_back(std::move(column));
  return table;
}

void ExpectColumns(const Table& table, const std::string& prefix, const Matrix& rows,
                   double tolerance) {
  for (size_t row = 0; row < rows.size(); ++row) {
    for (size_t column = 0; column < rows[row].size(); ++column) {
      const std::string name = prefix + "." + std::to_string(column + 1);
      EXPECT_NEAR(table.Get(name).numbers[row], rows[row][column], tolerance) << name << " " << row;
    }
  }
}

TEST(DesignTest, NumbersAndDatesStandForThemselves) {
  const Schema schema{
      {Numeric("x", -1, 2), Integer("n", 0, 5), Date("d", 10, 20), Survival("os", "t", "e")}};
  const auto columns = DesignColumns(schema, {});
  EXPECT_THAT(Describe(columns), ElementsAre("x [-1, 2]", "n [0, 5]", "d [10, 20]"));
  EXPECT_EQ(columns[0].schema.type, ColumnType::kNumeric);
  EXPECT_EQ(columns[1].schema.type, ColumnType::kInteger);
  EXPECT_EQ(columns[2].schema.type, ColumnType::kInteger);
  EXPECT_EQ(columns[2].source, "d");
}

TEST(DesignTest, TreatmentContrasts) {
  ColumnSchema sex = Factor("sex", {"female", "male", "not known"});
  sex.reference = "male";
  const Schema schema{{sex}};
  const auto columns = DesignColumns(schema, {});
  EXPECT_THAT(Describe(columns), ElementsAre("sex.female [0, 1]", "sex.not_known [0, 1]"));
  EXPECT_EQ(columns[1].factor, "sex");
  EXPECT_EQ(columns[1].level, "not known");
  EXPECT_EQ(columns[1].source, "sex");
  const Table table = TableOf("sex\nmale\nnot known\nfemale\n\"\"\n", schema);
  const auto& female = table.Get("sex.female").numbers;
  EXPECT_THAT(std::vector<double>(female.begin(), female.end() - 1), ElementsAre(0, 0, 1));
  EXPECT_TRUE(std::isnan(female[3]));
  EXPECT_EQ(table.Get("sex.not_known").numbers[1], 1);
}

TEST(DesignTest, LevelsBecomePartsOfNames) {
  const Schema schema{{Factor("f", {"a", "\xC3\xA9t\xC3\xA9", "b-1.5_x", ">= 3"})}};
  EXPECT_THAT(Describe(DesignColumns(schema, {})),
              ElementsAre("f._t_ [0, 1]", "f.b_1.5_x [0, 1]", "f.___3 [0, 1]"));
}

TEST(DesignTest, SumContrasts) {
  // R: contr.sum(3)
  ColumnSchema f = Factor("f", {"a", "b", "c"});
  f.contrasts = Contrasts::kSum;
  const auto columns = DesignColumns({{f}}, {});
  EXPECT_THAT(Describe(columns), ElementsAre("f.a [-1, 1]", "f.b [-1, 1]"));
  EXPECT_EQ(columns[0].factor, "");  // no 0/1 column of a level
  const Table table = TableOf("f\na\nb\nc\n", {{f}});
  EXPECT_THAT(table.Get("f.a").numbers, ElementsAre(1, 0, -1));
  EXPECT_THAT(table.Get("f.b").numbers, ElementsAre(0, 1, -1));
}

TEST(DesignTest, PolynomialContrastsAreThoseOfR) {
  // R 4.2: format(contr.poly(6), digits = 17)
  const Matrix expected = {{-0.597614304667196894, 0.545544725589980906, -0.372677996249965060,
                            0.188982236504613654, -0.062994078834871056},
                           {-0.358568582800318059, -0.109108945117996028, 0.521749194749950962,
                            -0.566946709513841074, 0.314970394174355461},
                           {-0.119522860933439390, -0.436435780471984724, 0.298142396999971804,
                            0.377964473009227808, -0.629940788348711700},
                           {0.119522860933439307, -0.436435780471984724, -0.298142396999971915,
                            0.377964473009226642, 0.629940788348712477},
                           {0.358568582800318059, -0.109108945117996139, -0.521749194749950851,
                            -0.566946709513840741, -0.314970394174356405},
                           {0.597614304667196783, 0.545544725589980906, 0.372677996249964893,
                            0.188982236504613682, 0.062994078834871264}};
  const auto columns = ContrastColumns(Ordered("o", {"1", "2", "3", "4", "5", "6"}));
  ASSERT_EQ(columns.size(), 5u);
  const char* suffixes[] = {".L", ".Q", ".C", ".4", ".5"};
  for (size_t j = 0; j < 5; ++j) {
    EXPECT_EQ(columns[j].suffix, suffixes[j]);
    // R's own columns are orthonormal to 3e-15 only.
    for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(columns[j].values[i], expected[i][j], 4e-15);
  }
}

TEST(DesignTest, PolynomialContrastsStayOrthonormal) {
  std::vector<std::string> levels;
  for (size_t i = 0; i < kMaxPolynomialLevels; ++i) levels.push_back("l" + std::to_string(i));
  const auto columns = ContrastColumns(Ordered("o", levels));
  double worst = 0;
  for (size_t a = 0; a < columns.size(); ++a) {
    for (size_t b = 0; b <= a; ++b) {
      double product = 0;
      for (size_t i = 0; i < levels.size(); ++i) {
        product += columns[a].values[i] * columns[b].values[i];
      }
      worst = std::max(worst, std::fabs(product - (a == b ? 1 : 0)));
    }
  }
  EXPECT_LT(worst, 1e-14);
  levels.push_back("one more");
  ExpectError(ErrorCode::kBadInput, "'o' has 96 levels", "scores",
              [&] { ContrastColumns(Ordered("o", levels)); });
}

TEST(DesignTest, ScoresAreTheNumbersOfTheOrderedVariable) {
  const Schema schema{{Ordered("pain", {"no", "some", "bad"}, Contrasts::kScores)}};
  EXPECT_THAT(Describe(DesignColumns(schema, {})), ElementsAre("pain [1, 3]"));
  const Table table = TableOf("pain\nbad\nno\n\"\"\n", schema);
  ASSERT_EQ(table.columns.size(), 1u);
  const Column& pain = table.Get("pain");
  EXPECT_THAT(pain.codes, ElementsAre(2, 0, -1));
  EXPECT_EQ(pain.numbers[0], 3);
  EXPECT_EQ(pain.numbers[1], 1);
  EXPECT_TRUE(std::isnan(pain.numbers[2]));
  EXPECT_EQ(pain.schema.upper, 3);
}

TEST(DesignTest, MonotoneTransforms) {
  const Schema schema{{Numeric("x", 0.5, 8)}};
  DerivedVariable scaled = Derived("s", "x", TransformKind::kScale);
  scaled.centre = 2;
  scaled.scale = 0.5;
  const std::vector<DerivedVariable> derived = {Derived("l", "x", TransformKind::kLog),
                                                Derived("l1", "x", TransformKind::kLog1p),
                                                Derived("r", "x", TransformKind::kSqrt), scaled};
  const auto columns = DesignColumns(schema, derived);
  ASSERT_EQ(columns.size(), 5u);
  EXPECT_EQ(columns[1].schema.lower, std::log(0.5));
  EXPECT_EQ(columns[1].schema.upper, std::log(8.0));
  EXPECT_EQ(columns[2].schema.upper, std::log1p(8.0));
  EXPECT_EQ(columns[3].schema.lower, std::sqrt(0.5));
  EXPECT_EQ(columns[4].schema.lower, -3);
  EXPECT_EQ(columns[4].schema.upper, 12);
  const Table table = TableOf("x\n4\n\"\"\n", schema, derived);
  EXPECT_EQ(table.Get("l").numbers[0], std::log(4.0));
  EXPECT_EQ(table.Get("l1").numbers[0], std::log1p(4.0));
  EXPECT_EQ(table.Get("r").numbers[0], 2);
  EXPECT_EQ(table.Get("s").numbers[0], 4);
  for (const char* name : {"l", "l1", "r", "s"})
    EXPECT_TRUE(std::isnan(table.Get(name).numbers[1]));
}

TEST(DesignTest, ProductsOfTwoVariables) {
  ColumnSchema count = Numeric("k", -1, 3);
  count.type = ColumnType::kInteger;
  const Schema schema{{Numeric("x", -2, 5), Numeric("y", 1, 4), count}};
  const auto product = [](const std::string& name, const std::string& a, const std::string& b) {
    DerivedVariable derived = Derived(name, a, TransformKind::kProduct);
    derived.with = b;
    return derived;
  };
  const std::vector<DerivedVariable> derived = {product("xy", "x", "y"), product("xx", "x", "x"),
                                                product("yy", "y", "y"), product("kk", "k", "k")};
  const std::vector<DesignColumn> columns = DesignColumns(schema, derived);
  EXPECT_THAT(Describe(columns), ElementsAre("x [-2, 5]", "y [1, 4]", "k [-1, 3]", "xy [-8, 20]",
                                             "xx [0, 25]", "yy [1, 16]", "kk [0, 9]"));
  EXPECT_EQ(columns[6].schema.type, ColumnType::kInteger);
  EXPECT_EQ(columns[3].schema.type, ColumnType::kNumeric);
  EXPECT_THAT(SourcesOf(columns[3]), ElementsAre("x", "y"));
  EXPECT_THAT(SourcesOf(columns[4]), ElementsAre("x"));
  const Table table = TableOf("x,y,k\n-2,4,3\n\"\",2,-1\n1,\"\",0\n", schema, derived);
  EXPECT_EQ(table.Get("xy").numbers[0], -8);
  EXPECT_TRUE(std::isnan(table.Get("xy").numbers[1]));
  EXPECT_TRUE(std::isnan(table.Get("xy").numbers[2]));
  EXPECT_EQ(table.Get("xx").numbers[0], 4);
  EXPECT_EQ(table.Get("kk").numbers[1], 1);
}

TEST(DesignTest, CutsAsR) {
  // R: as.integer(cut(x, c(-Inf, 18.5, 25, 30, Inf)))
  const Schema schema{{Numeric("bmi", 0, 100)}};
  DerivedVariable cut = Cut("class", "bmi", {18.5, 25, 30}, {"under", "normal", "over", "obese"});
  cut.reference = "normal";
  const std::vector<DerivedVariable> derived = {cut};
  EXPECT_THAT(
      Describe(DesignColumns(schema, derived)),
      ElementsAre("bmi [0, 100]", "class.under [0, 1]", "class.over [0, 1]", "class.obese [0, 1]"));
  const Schema with_factors = WithDerivedFactors(schema, derived);
  ASSERT_EQ(with_factors.columns.size(), 2u);
  EXPECT_THAT(with_factors.columns[1].levels, ElementsAre("under", "normal", "over", "obese"));
  const Table table =
      TableOf("bmi\n0\n18.4\n18.5\n18.6\n25\n29.99\n30\n30.01\n60\n\"\"\n", schema, derived);
  EXPECT_THAT(table.Get("class").codes, ElementsAre(0, 0, 0, 1, 1, 2, 2, 3, 3, -1));
  const auto& over = table.Get("class.over").numbers;
  EXPECT_THAT(std::vector<double>(over.begin(), over.end() - 1),
              ElementsAre(0, 0, 0, 0, 0, 1, 1, 0, 0));
  EXPECT_TRUE(std::isnan(over[9]));
}

TEST(DesignTest, PolynomialsAreRawPowers) {
  const Schema schema{{Numeric("x", -2, 6)}};
  const std::vector<DerivedVariable> derived = {Poly("p", "x", 4, 2, 2)};
  EXPECT_THAT(Describe(ColumnsOf(derived[0], schema)),
              ElementsAre("p.1 [-2, 2]", "p.2 [0, 4]", "p.3 [-8, 8]", "p.4 [0, 16]"));
  // Away from 0 even powers do not start there.
  EXPECT_THAT(Describe(ColumnsOf(Poly("p", "x", 2, 8, 2), schema)),
              ElementsAre("p.1 [-5, -1]", "p.2 [1, 25]"));
  const Table table = TableOf("x\n3\n0\n", schema, derived);
  ExpectColumns(table, "p", {{0.5, 0.25, 0.125, 0.0625}, {-1, 1, -1, 1}}, 0);
}

TEST(DesignTest, SplinesAreThoseOfR) {
  // R 4.2: splines::ns(x, knots = c(20, 40, 60), Boundary.knots = c(10, 80))
  const std::vector<double> x = {-3, 0, 5, 10, 12.5, 20, 33, 47.25, 60, 75, 80, 90, 120};
  const Matrix three_knots = {
      {0, 0.2527994521853440535, -0.7583983565560321605, 0.5055989043706881070},
      {0, 0.1944611170656492249, -0.5833833511969477303, 0.3889222341312984499},
      {0, 0.0972305585328246125, -0.2916916755984738652, 0.1944611170656492249},
      {0, 0, 0, 0},
      {0.0010416666666666667, -0.0480075882755821651, 0.1440227648267465022,
       -0.0960151765511643301},
      {0.0666666666666666657, -0.1555688936525194133, 0.4667066809575582398,
       -0.3111377873050388265},
      {0.4907375000000000487, -0.0739677569526148160, 0.3592157708578444519,
       -0.2394771805718962920},
      {0.5504416666666667179, 0.3473900822932196597, 0.1272369796828410615, -0.0768855255177273711},
      {0.1666666666666666574, 0.5952380952380951218, 0.2142857142857142738, 0.0238095238095238151},
      {0.0026041666666666665, 0.1197916666666666574, 0.3750000000000000000, 0.5026041666666666297},
      {0, -0.1428571428571428215, 0.4285714285714284366, 0.7142857142857144126},
      {0, -0.6785714285714282701, 0.5357142857142851433, 1.1428571428571434598},
      {0, -2.2857142857142851433, 0.8571428571428549859, 2.4285714285714297134}};
  // knots = 33, Boundary.knots = c(0, 90)
  const Matrix one_knot = {
      {-0.057414678466404835, 0.035151843959023370}, {0, 0},
      {0.095286685779308433, -0.058052477401702163}, {0.188146701570419239, -0.112901379623383646},
      {0.232908373849088635, -0.138123372797960109}, {0.356880043235256794, -0.200174157806601499},
      {0.515285143975972137, -0.233167775223384305}, {0.577749533902113144, -0.122569867695171336},
      {0.549968708259148453, 0.086843361574241273},  {0.448864306110684341, 0.423538144128438876},
      {0.404860134567444629, 0.549370882059926013},  {0.309827220462498110, 0.810309865022960318},
      {0.019108821332884718, 1.600545619592111279}};
  const ColumnSchema source = Numeric("x", -3, 120);
  const std::vector<DerivedVariable> derived = {Spline("a", "x", {20, 40, 60}, 10, 80),
                                                Spline("b", "x", {33}, 0, 90)};
  Table table = TableOf(source, x);
  AddDesignColumns(table, {{source}}, derived);
  ExpectColumns(table, "a", three_knots, 1e-13);
  ExpectColumns(table, "b", one_knot, 1e-14);
}

TEST(DesignTest, SplinesWithUnevenKnotsAreThoseOfR) {
  // knots = c(0.1, 0.2, 0.5, 0.7, 0.95), Boundary.knots = c(0.02, 0.98)
  const std::vector<double> x = {0, 0.05, 0.3, 0.5, 0.77, 1};
  const Matrix expected = {
      {0, 0, 0, 0.0157994457027504920, -0.1632609389284215839, 0.1474614932256711197},
      {0.0039062500000000009, 0, 0, -0.0229379973418838597, 0.2370259725327996669,
       -0.2140879751909158246},
      {0.5944444444444443310, 0.2577777777777776613, 0.0088888888888888854, -0.0095089256544331705,
       0.0982588984291426770, -0.0887499727747095152},
      {0.1333333333333333315, 0.6266666666666667052, 0.2400000000000000466, 0, 0, 0},
      {0, 0.0691199999999999315, 0.4997549999999999493, 0.4124305159635122120,
       0.0298430017103763351, -0.0111485176738882630},
      {0, 0, 0, -0.2497149372862031702, 0.5803876852907636774, 0.6693272519954391875}};
  const ColumnSchema source = Numeric("x", 0, 1);
  const std::vector<DerivedVariable> derived = {
      Spline("s", "x", {0.1, 0.2, 0.5, 0.7, 0.95}, 0.02, 0.98)};
  Table table = TableOf(source, x);
  AddDesignColumns(table, {{source}}, derived);
  ExpectColumns(table, "s", expected, 1e-14);
}

TEST(DesignTest, SplineRangesEncloseEveryValue) {
  const NaturalSpline spline({0.1, 0.2, 0.5, 0.7, 0.95}, 0.02, 0.98);
  ASSERT_EQ(spline.num_columns(), 6u);
  for (size_t column = 0; column < 6; ++column) {
    const auto [low, high] = spline.Range(column, -2, 3);
    double least = 1e9, most = -1e9;
    for (int i = 0; i <= 5000; ++i) {
      const double value = spline.Value(column, -2 + i * 1e-3);
      least = std::min(least, value);
      most = std::max(most, value);
    }
    EXPECT_GE(least, low - 1e-12);
    EXPECT_LE(most, high + 1e-12);
    // Not far too wide either: a bit of precision at most.
    EXPECT_LE(high - low, 2 * (most - least)) << column;
  }
}

TEST(DesignTest, ValuesAtTheBoundsStayWithinTheBounds) {
  const ColumnSchema source = Numeric("x", 0.1, 97.3);
  const std::vector<DerivedVariable> derived = {
      Derived("log", "x", TransformKind::kLog), Derived("root", "x", TransformKind::kSqrt),
      Poly("p", "x", 7, 13.37, 17.1), Spline("s", "x", {20, 40, 60}, 0.1, 97.3)};
  std::vector<double> cells = {0.1, 97.3, std::nextafter(0.1, 1), std::nextafter(97.3, 0), 13.37};
  Table table = TableOf(source, cells);
  AddDesignColumns(table, {{source}}, derived);
  EXPECT_EQ(table.columns.size(), 1u + 1 + 1 + 7 + 4);
  for (const Column& column : table.columns) {
    EXPECT_LT(column.schema.lower, column.schema.upper);
    for (double value : column.numbers) {
      EXPECT_GE(value, column.schema.lower) << column.schema.name;
      EXPECT_LE(value, column.schema.upper) << column.schema.name;
    }
  }
  // Powers reach their bounds exactly: the bounds are made by the same multiplications.
  EXPECT_EQ(table.Get("p.7").numbers[1], table.Get("p.7").schema.upper);
  EXPECT_EQ(table.Get("p.6").numbers[4], 0);
}

TEST(DesignTest, AddsOnlyWhatTheOwnerCanCompute) {
  const Schema dictionary{{Numeric("x", 1, 2), Factor("f", {"a", "b"}), Numeric("y", 1, 2)}};
  const std::vector<DerivedVariable> derived = {Derived("lx", "x", TransformKind::kLog),
                                                Derived("ly", "y", TransformKind::kLog),
                                                Cut("cx", "x", {1.5}, {"low", "high"})};
  const auto names = [](const Table& table) {
    std::vector<std::string> list;
    for (const Column& column : table.columns) list.push_back(column.schema.name);
    return list;
  };
  const Schema own{{dictionary.columns[0], dictionary.columns[1]}};
  Table table = Read("x,f\n1,b\n2,a\n", own).table;
  AddDesignColumns(table, dictionary, derived);
  EXPECT_THAT(names(table), ElementsAre("x", "f", "f.b", "lx", "cx.high", "cx"));
  AddDesignColumns(table, dictionary, derived);  // nothing twice
  EXPECT_EQ(table.columns.size(), 6u);
  Table some = Read("x,f\n1,b\n2,a\n", own).table;
  AddDesignColumns(some, dictionary, derived, std::vector<std::string>{"lx", "ly", "x"});
  EXPECT_THAT(names(some), ElementsAre("x", "f", "lx", "cx"));
  EXPECT_THAT(some.Get("cx").codes, ElementsAre(0, 1));
}

TEST(DesignTest, RefusesWhatDoesNotFit) {
  const Schema schema{
      {Numeric("x", -2, 10), Numeric("age", 0, 100), Factor("f", {"a", "b"}), Date("d", 0, 100)}};
  struct Case {
    DerivedVariable derived;
    std::string message, hint;
  };
  DerivedVariable flat = Derived("z", "x", TransformKind::kScale);
  flat.scale = 0;
  DerivedVariable vanishing = Derived("z", "x", TransformKind::kScale);
  vanishing.centre = 1e300;
  DerivedVariable with_nothing = Derived("z", "x", TransformKind::kProduct);
  with_nothing.with = "weight";
  const std::vector<Case> cases = {
      {with_nothing, "derived from 'weight', which is not in", "known names"},
      {Derived("z", "weight", TransformKind::kLog), "derived from 'weight', which is not in",
       "known names"},
      {Derived("z", "f", TransformKind::kLog), "of type factor", "numeric"},
      {Derived("z", "age", TransformKind::kLog), "the log of 'age', which can be as low as 0",
       "above 0: raise the bound of 'age' in the dictionary if it is not possible, or write "
       "transform = \"log1p\""},
      {Derived("z", "x", TransformKind::kLog1p), "can be as low as -2", "above -1"},
      {Derived("z", "x", TransformKind::kSqrt), "can be as low as -2", "at least 0"},
      {flat, "'z' has the centre 0 and the scale 0", "positive"},
      {vanishing, "the column 'z' would lie between", "constants"},
      {Poly("z", "x", 0, 0, 1), "degree 0", "between 1 and 10"},
      {Poly("z", "x", 11, 0, 1), "degree 11", "between 1 and 10"},
      {Poly("z", "x", 2, 0, -1), "the scale -1", "positive"},
      {Poly("z", "x", 10, 0, 1e-300), "would lie between", "constants"},
      {Cut("z", "x", {1, 2}, {"a", "b"}), "2 cut points and 2 labels", "one label more"},
      {Cut("z", "x", {}, {"a"}), "0 cut points", "one label more"},
      {Cut("z", "x", {2, 1}, {"a", "b", "c"}), "not in ascending order: 2 comes before 1", "sort"},
      {Cut("z", "x", {1, 1}, {"a", "b", "c"}), "not in ascending order", "once"},
      {Cut("z", "x", {10}, {"a", "b"}), "must lie within the bounds [-2, 10]", "hold a value"},
      {Cut("z", "x", {-3}, {"a", "b"}), "must lie within the bounds [-2, 10]", "hold a value"},
      {Cut("z", "x", {1}, {"a", "a"}), "lists the level 'a' twice", ""},
      {Cut("z", "d", {50, 20}, {"a", "b", "c"}), "1970-02-20 comes before 1970-01-21", "sort"},
      {Spline("z", "x", {}, 0, 1), "'z' has 0 knots", "1 to 50"},
      {Spline("z", "x", {2, 1}, 0, 3), "the knots of 'z' are not in ascending order", "sort"},
      {Spline("z", "x", {1}, 1, 3), "the boundary [1, 3] of 'z' does not enclose", "order"},
      {Spline("z", "x", {3}, 1, 3), "does not enclose", "order"},
      {Spline("z", "x", {1}, -3, 3), "within the bounds [-2, 10] of 'x'", "order"},
      {Spline("z", "x", {1}, 0, 11), "within the bounds", "order"},
      {Spline("z", "d", {50}, 60, 70), "the boundary [1970-03-02, 1970-03-12]", "order"},
  };
  for (const Case& bad : cases) {
    SCOPED_TRACE(bad.message);
    ExpectError(ErrorCode::kBadInput, bad.message, bad.hint,
                [&] { ColumnsOf(bad.derived, schema); });
  }
}

TEST(DesignTest, NamesAreUnique) {
  const auto expect = [](const Schema& schema, const std::vector<DerivedVariable>& derived,
                         const std::string& message) {
    ExpectError(ErrorCode::kBadInput, message, "another name",
                [&] { DesignColumns(schema, derived); });
  };
  expect({{Factor("f", {"x", "a b", "a_b"})}}, {}, "the column 'f.a_b' would come from both 'f'");
  expect({{Factor("f", {"x", "b"}), Numeric("f.b")}}, {}, "the column 'f.b'");
  const Schema schema{{Numeric("x", 1, 2), Factor("f", {"a", "b"})}};
  expect(schema, {Derived("x", "x", TransformKind::kLog)}, "two variables are named 'x'");
  expect(schema, {Derived("f", "x", TransformKind::kLog)}, "two variables are named 'f'");
  expect(schema, {Derived("f.b", "x", TransformKind::kLog)}, "the column 'f.b'");
  expect(schema, {Derived("z", "x", TransformKind::kLog), Derived("z", "x", TransformKind::kSqrt)},
         "two variables are named 'z'");
  expect(schema, {Derived("p.2", "x", TransformKind::kLog), Poly("p", "x", 2, 0, 1)},
         "the column 'p.2'");
}

}  // namespace
}  // namespace partita::data::design_test
