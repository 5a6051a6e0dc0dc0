// What the design of a study does to its result, through the whole path: subsets, incomplete rows,
// frequency weights, groups and site effects, however rows and columns are split, against a fit of
// the pooled rows that selects and weights them in plain code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>
#include <functional>
#include <map>

#include "methods/mle/study/study.h"
#include "methods/prepare_study.h"
#include "privacy/release_rule.h"
#include "tests/methods/mle/design_study.h"
#include "tests/run/results.h"

namespace partita::methods::mle::study_design_test {
namespace {

using testing::Design;
using testing::ExpectPlanned;
using testing::MakeRows;
using testing::Row;
using testing::RunEnds;
using testing::RunSplit;
using testing::Split;
using testing::Splits;

// The value of a model variable, with treatment contrasts.
double Value(const Row& row, const std::string& name) {
  if (name == "y") return row.y;
  if (name == "x1") return row.x1;
  if (name == "x2") return row.x2;
  if (name == "age") return row.age;
  if (name == "x1_x2") return row.x1 * row.x2;
  if (name == "x2_x2") return row.x2 * row.x2;
  if (name == "sex.m") return row.sex;
  if (name == "region.b") return row.region == 1;
  if (name == "region.c") return row.region == 2;
  ADD_FAILURE() << "no variable " << name;
  return 0;
}

using Weight = std::function<double(const Row&)>;

stats::GroupMoments PooledMoments(const std::vector<Row>& rows,
                                  const std::vector<std::string>& names, const Weight& weight,
                                  bool centre_blocks) {
  const auto p = static_cast<Eigen::Index>(names.size());
  stats::GroupMoments moments{0, Eigen::VectorXd::Zero(p), Eigen::MatrixXd::Zero(p, p)};
  std::vector<std::pair<double, Eigen::VectorXd>> values;
  std::map<int, std::pair<double, Eigen::VectorXd>> by_block;
  for (const Row& row : rows) {
    Eigen::VectorXd value(p);
    for (Eigen::Index i = 0; i < p; ++i) value(i) = Value(row, names[static_cast<size_t>(i)]);
    const double w = weight(row);
    if (w == 0) continue;
    values.emplace_back(w, value);
    auto& [n, sum] = by_block.try_emplace(row.block, 0, Eigen::VectorXd::Zero(p)).first->second;
    n += w;
    sum += w * value;
    moments.n += w;
    moments.mean += w * value;
  }
  moments.mean /= moments.n;
  size_t index = 0;
  for (const Row& row : rows) {
    if (weight(row) == 0) continue;
    const auto& [w, value] = values[index++];
    const auto& [n, sum] = by_block.at(row.block);
    const Eigen::VectorXd centre = centre_blocks ? Eigen::VectorXd(sum / n) : moments.mean;
    moments.covariance += w * (value - centre) * (value - centre).transpose();
  }
  moments.covariance /= moments.n;
  return moments;
}

struct Expectation {
  std::vector<Weight> groups;  // one weight function per group
  bool centre_blocks = false;
};

void ExpectFit(const MleResult& result, const std::vector<Row>& rows, const Expectation& expected) {
  std::vector<stats::GroupMoments> moments;
  for (const Weight& weight : expected.groups)
    moments.push_back(PooledMoments(rows, result.table.observed, weight, expected.centre_blocks));
  SilentProgress progress;
  const stats::SemFit fit = stats::FitSem(result.table, moments, {}, progress);
  ASSERT_EQ(result.group_n.size(), moments.size());
  for (size_t g = 0; g < moments.size(); ++g) EXPECT_EQ(result.group_n[g], moments[g].n);
  ASSERT_EQ(fit.estimates.size(), result.fit.estimates.size());
  for (size_t i = 0; i < fit.estimates.size(); ++i) {
    const double scale = std::max(1.0, std::abs(fit.estimates[i].estimate));
    EXPECT_NEAR(result.fit.estimates[i].estimate, fit.estimates[i].estimate, 1e-7 * scale)
        << result.table.rows[i].lhs << result.table.rows[i].op << result.table.rows[i].rhs;
    EXPECT_NEAR(result.fit.estimates[i].standard_error, fit.estimates[i].standard_error,
                1e-7 * scale);
  }
}

void ExpectFits(const Design& design, const std::vector<Row>& rows,
                const std::vector<Expectation>& expected) {
  for (const Split& split : Splits()) {
    for (const std::string engine : {"dealer", "replicated"}) {
      if (engine == "replicated" && split.columns.size() != 3) continue;
      SCOPED_TRACE(split.name + " " + engine);
      const auto results = RunSplit(split, design, engine, rows);
      ASSERT_EQ(results.size(), expected.size());
      for (size_t a = 0; a < results.size(); ++a) ExpectFit(results[a], rows, expected[a]);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

double All(const Row&) { return 1; }
double Complete(const Row& row) { return std::isnan(row.y) || std::isnan(row.x1) ? 0 : 1; }

const std::string kModel = "model = \"y ~ x1 + x2\"\n";

TEST(DesignTest, ASubsetOfThePopulationIsSelectedByWhoeverHoldsTheColumns) {
  Design design;
  design.population =
      "subset = [{variable = \"age\", at_least = 30}, {variable = \"sex\", is = [\"f\"]}]\n";
  design.analyses = {kModel};
  const auto rows = MakeRows(240, 1, false);
  ExpectFits(design, rows,
             {{{[](const Row& row) { return row.age >= 30 && row.sex == 0 ? 1.0 : 0.0; }}}});
}

TEST(DesignTest, IncompleteRowsAreLeftOutWhoeverMissesTheCell) {
  Design design;
  design.design = "site = \"ignore\"\nmissing = \"complete\"\n";
  design.analyses = {kModel};
  ExpectFits(design, MakeRows(240, 2, true), {{{Complete}}});
}

// Of its own columns, where they are split; nobody else is told.
TEST(DesignTest, OwnersAreToldHowManyRowsTheyLose) {
  Design design;
  design.design = "site = \"ignore\"\nmissing = \"complete\"\n";
  design.analyses = {kModel};
  const auto rows = MakeRows(240, 2, true);
  const auto lost = [&](const std::function<bool(const Row&)>& is) {
    return static_cast<uint64_t>(std::count_if(rows.begin(), rows.end(), is));
  };
  const auto ends = RunEnds(Splits()[0], design, "dealer", rows);
  for (const int block : {0, 1}) {
    ASSERT_TRUE(ends[static_cast<size_t>(block)].outcome);
    EXPECT_EQ(ends[static_cast<size_t>(block)].outcome->rows.incomplete,
              lost([&](const Row& row) { return row.block == block && Complete(row) == 0; }));
  }
  const auto split = RunEnds(Splits()[1], design, "dealer", rows);
  ASSERT_TRUE(split[0].outcome && split[1].outcome && split[2].outcome);
  EXPECT_EQ(split[0].outcome->rows.incomplete,
            lost([](const Row& row) { return std::isnan(row.y); }));
  EXPECT_EQ(split[1].outcome->rows.incomplete,
            lost([](const Row& row) { return std::isnan(row.x1); }));
  EXPECT_EQ(split[2].outcome->rows.incomplete, 0u);
}

TEST(DesignTest, AMissingCellInAConditionDoesNotSatisfyIt) {
  Design design;
  design.design = "site = \"ignore\"\nmissing = \"complete\"\n";
  design.population = "subset = [{variable = \"age\", at_most = 50}]\n";
  design.analyses = {kModel};
  ExpectFits(design, MakeRows(240, 3, true),
             {{{[](const Row& row) { return row.age <= 50 ? Complete(row) : 0; }}}});
}

TEST(DesignTest, FrequencyWeightsCountRows) {
  Design design;
  design.design =
      "site = \"ignore\"\nmissing = \"refuse\"\nweights = \"w\"\nweights_type = \"frequency\"\n";
  design.analyses = {kModel};
  ExpectFits(design, MakeRows(200, 4, false),
             {{{[](const Row& row) { return static_cast<double>(row.weight); }}}});
}

TEST(DesignTest, SiteEffectsAreTheBlocksOwnMeans) {
  Design design;
  design.design = "site = \"fixed\"\nmissing = \"refuse\"\n";
  design.analyses = {kModel};
  Expectation expected{{All}, true};
  ExpectFits(design, MakeRows(200, 5, false), {expected});
}

TEST(DesignTest, FactorsEnterByTheirContrasts) {
  Design design;
  design.analyses = {"model = \"y ~ x1 + sex.m + region.b + region.c\"\n"};
  ExpectFits(design, MakeRows(240, 6, false), {{{All}}});
}

// A moderated regression: both variables are one party's, whose cells may be missing.
TEST(DesignTest, ProductsAreMadeByTheHolderOfBothVariables) {
  Design design;
  design.design = "site = \"ignore\"\nmissing = \"complete\"\n";
  design.rule +=
      "[[derived]]\nname = \"x1_x2\"\nfrom = \"x1\"\nwith = \"x2\"\ntransform = \"product\"\n"
      "[[derived]]\nname = \"x2_x2\"\nfrom = \"x2\"\nwith = \"x2\"\ntransform = \"product\"\n";
  // x1 itself is in no model: a row without it has no product.
  design.analyses = {"model = \"y ~ x2 + x1_x2 + x2_x2\"\n"};
  const auto rows = MakeRows(240, 15, true);
  for (const size_t split : {size_t{0}, size_t{2}}) {
    SCOPED_TRACE(Splits()[split].name);
    const auto results = RunSplit(Splits()[split], design, "dealer", rows);
    ASSERT_EQ(results.size(), 1u);
    ExpectFit(results[0], rows, {{Complete}});
  }
  const std::string text = testing::StudyText(Splits()[1], design, "dealer", rows);
  try {
    methods::mle::PrepareMleStudy(methods::ParseStudyFile(text, "study.toml"));
    ADD_FAILURE() << "a product across parties";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), ::testing::HasSubstr("'x1_x2' is the product of 'x1' and 'x2'"));
    EXPECT_THAT(error.hint(), ::testing::HasSubstr("products across parties are not computed"));
  }
}

// Crude, adjusted, a subgroup and groups: one row set of the population, shared by all.
TEST(DesignTest, SeveralAnalysesShareTheMoments) {
  Design design;
  design.design = "site = \"ignore\"\nmissing = \"complete\"\n";
  design.analyses = {
      "name = \"crude\"\nmodel = \"y ~ x1\"\n",
      "name = \"adjusted\"\nmodel = \"y ~ x1 + x2 + region.b + region.c\"\n",
      "name = \"women\"\nmodel = \"y ~ x1 + x2\"\nsubset = [{variable = \"sex\", is = [\"f\"]}]\n",
      "name = \"by-sex\"\nmodel = \"y ~ x1 + x2\"\ngroup = \"sex\"\n"};
  const auto sex = [](int level) {
    return [level](const Row& row) { return row.sex == level ? Complete(row) : 0; };
  };
  ExpectFits(design, MakeRows(300, 7, true),
             {{{Complete}}, {{Complete}}, {{sex(0)}}, {{sex(0), sex(1)}}});
}

// White's (1980) sandwich for the coefficients of y on x1 and x2, by hand: (X'X)^-1 M (X'X)^-1 with
// M the sum of products of the rows' (clusters') scores X'e. That is what the sandwich of the
// normal likelihood gives for a regression.
Eigen::VectorXd SandwichErrors(const std::vector<Row>& rows, const Weight& weight, bool clusters) {
  Eigen::MatrixXd cross = Eigen::MatrixXd::Zero(3, 3);
  Eigen::VectorXd moment = Eigen::VectorXd::Zero(3);
  const auto regressors = [](const Row& row) { return Eigen::Vector3d(1, row.x1, row.x2); };
  for (const Row& row : rows) {
    if (weight(row) == 0) continue;
    cross += regressors(row) * regressors(row).transpose();
    moment += regressors(row) * row.y;
  }
  const Eigen::VectorXd beta = cross.inverse() * moment;
  std::map<std::pair<int, int>, Eigen::Vector3d> scores;
  int index = 0;
  for (const Row& row : rows) {
    ++index;
    if (weight(row) == 0) continue;
    const std::pair<int, int> key{row.block, clusters ? static_cast<int>(row.age) : index};
    auto& sum = scores.try_emplace(key, Eigen::Vector3d::Zero()).first->second;
    sum += regressors(row) * (row.y - regressors(row).dot(beta));
  }
  Eigen::MatrixXd meat = Eigen::MatrixXd::Zero(3, 3);
  for (const auto& [key, sum] : scores) meat += sum * sum.transpose();
  if (clusters) {
    const auto n = static_cast<double>(scores.size());
    meat *= n / (n - 1);  // as lavaan
  }
  return (cross.inverse() * meat * cross.inverse()).diagonal().cwiseSqrt();
}

// Of the women whose age is known and whose row is complete.
Design RobustDesign() {
  Design design;
  design.design = "site = \"ignore\"\nmissing = \"complete\"\n";
  design.population =
      "subset = [{variable = \"sex\", is = [\"f\"]}, {variable = \"age\", present = true}]\n";
  design.release = "[\"moments\", \"robust\", {what = \"estimates\", to = \"all\"}]";
  design.analyses = {"model = \"y ~ x1 + x2\"\nmeanstructure = true\nrobust = true\n"};
  return design;
}

TEST(DesignTest, RobustStandardErrorsAreTheSandwich) {
  const auto rows = MakeRows(240, 13, true);
  const Weight weight = [](const Row& row) {
    return row.sex == 0 && !std::isnan(row.age) ? Complete(row) : 0;
  };
  // Clusters where rows are whole only.
  struct Run {
    size_t split;
    std::string engine;
    bool clusters;
  };
  for (const Run& run : {Run{0, "dealer", false}, Run{0, "dealer", true}, Run{1, "dealer", false},
                         Run{1, "replicated", false}, Run{1, "shamir", false},
                         Run{2, "dealer", false}, Run{2, "replicated", false}}) {
    SCOPED_TRACE(Splits()[run.split].name + " " + run.engine + (run.clusters ? " clusters" : ""));
    Design design = RobustDesign();
    if (run.clusters) design.design += "cluster = \"age\"\n";
    const auto results = RunSplit(Splits()[run.split], design, run.engine, rows);
    ASSERT_EQ(results.size(), 1u);
    ASSERT_TRUE(results[0].robust);
    const Eigen::VectorXd errors = SandwichErrors(rows, weight, run.clusters);
    for (size_t i = 0; i < results[0].table.rows.size(); ++i) {
      const stats::Parameter& row = results[0].table.rows[i];
      if (row.op != "~") continue;
      const double expected = errors[row.rhs == "x1" ? 1 : 2];
      EXPECT_NEAR(results[0].robust->estimates[i].standard_error, expected, 1e-6 * expected)
          << row.rhs;
    }
  }
}

// What robust standard errors cannot be computed with where columns are split, by name.
TEST(DesignTest, RobustStandardErrorsOfSplitColumnsRefuseTheRest) {
  const auto rows = MakeRows(60, 13, false);
  const std::string folder = partita::testing::MakeTemporaryFolder("robust_refused");
  for (const auto& [line, reason] : std::map<std::string, std::string>{
           {"cluster = \"age\"\n", "the clusters of 'age' need whole rows"},
           {"weights = \"w\"\nweights_type = \"frequency\"\n", "site effects and weights"}}) {
    for (const size_t split : {1u, 2u}) {
      SCOPED_TRACE(line + Splits()[split].name);
      Design design = RobustDesign();
      design.design += line;
      const std::string path = folder + "/study.toml";
      std::ofstream(path) << testing::StudyText(Splits()[split], design, "dealer", rows);
      try {
        PrepareMleStudy(LoadStudyFile(path));
        ADD_FAILURE() << "not refused";
      } catch (const Error& error) {
        EXPECT_THAT(error.message(), ::testing::HasSubstr(reason));
      }
    }
  }
  std::filesystem::remove_all(folder);
}

// Every computing party refuses, for the same public reason, and nothing was released.
void ExpectRefused(const Design& design, const std::vector<Row>& rows,
                   const std::vector<std::string>& reasons) {
  for (const Split& split : Splits()) {
    for (const std::string engine : {"dealer", "replicated"}) {
      if (engine == "replicated" && split.columns.size() != 3) continue;
      SCOPED_TRACE(split.name + " " + engine);
      for (const run::PartyEnd& end : RunEnds(split, design, engine, rows)) {
        ASSERT_TRUE(end.error) << end.party;
        if (end.party == "dealer") continue;
        // By itself, or told by a party that was a message ahead.
        EXPECT_THAT(end.error->message(), ::testing::HasSubstr("nothing was released"));
        for (const std::string& reason : reasons)
          EXPECT_THAT(end.error->message(), ::testing::HasSubstr(reason));
      }
    }
  }
}

TEST(DisclosureTest, ARareLevelIsNamed) {
  Design design;
  design.disclosure = "min_cell = 6\n";
  design.analyses = {"model = \"y ~ x1 + region.b + region.c\"\n"};
  auto rows = MakeRows(200, 9, false);
  for (Row& row : rows) row.region %= 2;
  for (size_t i = 0; i < 5; ++i) rows[i * 30].region = 2;
  ExpectRefused(design, rows, {"analysis 'main', region: at least 6 rows where region is c"});
  rows[199].region = 2;  // the sixth
  ExpectFits(design, rows, {{{All}}});
}

// Fixed effects take the means out of the released moments, not out of the counts.
TEST(DisclosureTest, LevelsAreCountedUnderFixedEffects) {
  Design design;
  design.design = "site = \"fixed\"\nmissing = \"refuse\"\n";
  design.disclosure = "min_cell = 6\n";
  design.analyses = {"model = \"y ~ x1 + region.b + region.c\"\n"};
  auto rows = MakeRows(200, 14, false);
  for (Row& row : rows) row.region %= 2;
  for (size_t i = 0; i < 5; ++i) rows[i * 40].region = 2;
  ExpectRefused(design, rows, {"analysis 'main', region: at least 6 rows where region is c"});
  rows[199].region = 2;
  Expectation expected{{All}, true};
  ExpectFits(design, rows, {expected});
}

TEST(DisclosureTest, ASmallGroupIsNamed) {
  Design design;
  design.analyses = {"model = \"y ~ x1\"\ngroup = \"sex\"\n"};
  auto rows = MakeRows(200, 10, false);
  for (Row& row : rows) row.sex = 0;
  for (size_t i = 0; i < 4; ++i) rows[i].sex = 1;
  ExpectRefused(design, rows, {"sex: at least 5 rows where sex is m"});
}

// Nobody may learn the few rows between two sets by subtraction.
TEST(DisclosureTest, FewRowsOutsideOfASubsetAreRefused) {
  Design design;
  design.analyses = {"name = \"all\"\nmodel = \"y ~ x1\"\n",
                     "name = \"women\"\nmodel = \"y ~ x1\"\n"
                     "subset = [{variable = \"sex\", is = [\"f\"]}]\n"};
  auto rows = MakeRows(200, 11, false);
  for (Row& row : rows) row.sex = 0;
  for (size_t i = 0; i < 3; ++i) rows[i].sex = 1;
  ExpectRefused(design, rows, {"analysis 'women', rows: at least 5 rows are outside"});
}

TEST(DisclosureTest, TooFewRowsAreRefusedAndSmallSamplesAreWarnedOf) {
  Design design;
  design.analyses = {kModel};  // 3 free parameters
  const auto rows = MakeRows(14, 12, false);
  ExpectRefused(design, rows, {"rows: at least min_rows = 20 rows"});
  design.disclosure = "min_rows = 10\n";
  const auto results = RunSplit(Splits()[0], design, "dealer", rows);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_THAT(
      results[0].notes,
      ::testing::Contains(::testing::HasSubstr("at least five rows for each of the 3 parameters")));
  design.disclosure += "small_samples = \"refuse\"\n";
  ExpectRefused(design, rows, {"at least five rows for each of the 3 parameters"});
}

double Step(double standard_error) {
  return std::ldexp(1.0, privacy::GridExponent(standard_error, privacy::kDefaultGridBits));
}

// A multiple of the step, within half of it.
void ExpectOnGrid(double told, double own, double step) {
  EXPECT_LE(std::abs(told - own), step / 2);
  EXPECT_EQ(std::remainder(told, step), 0);
}

// To whom the study file says, on the grid of standard errors and everything else computed from
// what is on it; the receiver keeps its digits. Nothing of the sample moments of fixed covariates.
TEST(DesignTest, EstimatesAreToldToThoseWhomTheStudyNames) {
  const auto rows = MakeRows(200, 8, false);
  for (const std::string to : {"all", "q"}) {
    for (const std::string engine : {"dealer", "replicated"}) {
      SCOPED_TRACE(to + " " + engine);
      Design design;
      design.release = "[\"moments\", {what = \"estimates\", to = \"" + to + "\"}]";
      design.analyses = {kModel};
      design.rule = "";
      const std::vector<run::PartyEnd> ends = RunEnds(Splits()[1], design, engine, rows);
      for (const run::PartyEnd& end : ends) ASSERT_FALSE(end.error) << end.error->message();
      ExpectPlanned(ends);
      const MleResult& own = partita::testing::MleResultsOf(*ends[0].outcome).at(0);
      for (size_t i = 1; i < ends.size(); ++i) {
        const bool told = ends[i].party != "dealer" && (to == "all" || ends[i].party == to);
        ASSERT_EQ(partita::testing::MleResultsOf(*ends[i].outcome).size(), told ? 1u : 0u)
            << ends[i].party;
        if (!told) continue;
        const MleResult& result = partita::testing::MleResultsOf(*ends[i].outcome)[0];
        EXPECT_EQ(result.group_n, own.group_n);
        ASSERT_EQ(result.fit.fit_measures.size(), own.fit.fit_measures.size());
        const auto& measures = result.fit.fit_measures;
        const double step = std::ldexp(1.0, -privacy::kDefaultGridBits);
        for (const char* name : {"chisq", "baseline.chisq", "unrestricted.logl"})
          ExpectOnGrid(measures.at(name), own.fit.fit_measures.at(name), step);
        EXPECT_EQ(measures.at("logl"), measures.at("unrestricted.logl") - measures.at("chisq") / 2);
        EXPECT_EQ(measures.at("npar"), own.fit.fit_measures.at("npar"));
        EXPECT_EQ(result.fit.vcov.size(), 0);
        size_t rounded = 0;
        for (size_t r = 0; r < own.table.rows.size(); ++r) {
          const stats::ParameterEstimate &e = result.fit.estimates[r],
                                         &exact = own.fit.estimates[r];
          if (own.table.rows[r].exogenous) {
            EXPECT_TRUE(std::isnan(e.estimate));
            continue;
          }
          if (own.table.rows[r].free == 0) continue;
          ++rounded;
          const double grid = Step(exact.standard_error);
          ExpectOnGrid(e.estimate, exact.estimate, grid);
          ExpectOnGrid(e.standard_error, exact.standard_error, grid);
          EXPECT_NE(e.estimate, exact.estimate);
          EXPECT_DOUBLE_EQ(e.z, e.estimate / e.standard_error);
          EXPECT_DOUBLE_EQ(e.p_value, std::erfc(std::abs(e.z) / std::sqrt(2.0)));
          EXPECT_NEAR(e.ci_upper - e.ci_lower, 2 * 1.959963984540054 * e.standard_error, 1e-12);
          // They would tell the covariates' exact standard deviations.
          EXPECT_TRUE(std::isnan(e.std_all));
        }
        EXPECT_GT(rounded, 0u);
      }
    }
  }
}

}  // namespace
}  // namespace partita::methods::mle::study_design_test
