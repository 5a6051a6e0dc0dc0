// Invariances of the fit, its warnings, and both routes to the optimum.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"
#include "stats/sem/fit.h"
#include "stats/sem/optimize.h"
#include "stats/sem/starts.h"
#include "stats/sem/syntax.h"
#include "tests/paths.h"
#include "tests/stats/sem_models.h"
#include "tests/stats/sem_reference.h"

namespace partita::stats::sem_fit_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

using testing::Json;
using testing::Number;

const Json& Case(const std::string& id) {
  static const Json cases = testing::ReadJson(std::filesystem::path(SourcePath()) /
                                              "tests/vectors/sem_constraints.json")["cases"];
  for (const Json& one : cases) {
    if (one["id"] == id) return one;
  }
  throw std::runtime_error("no case " + id);
}

SemFit Fit(const ParameterTable& table, const std::vector<GroupMoments>& moments,
           SemFitOptions options = {}) {
  SilentProgress progress;
  return FitSem(table, moments, options, progress);
}

SemModelOptions Family(SemFamily family) {
  SemModelOptions options;
  options.family = family;
  return options;
}

SemModelOptions WithMeans(SemFamily family = SemFamily::kSem) {
  SemModelOptions options = Family(family);
  options.meanstructure = true;
  return options;
}

// Moments of the democracy data, variables in the order of the table.
GroupMoments MomentsFor(const ParameterTable& table, const Json& one) {
  const GroupMoments theirs = testing::SampleMoments(one)[0];
  const auto names = one["moments"][0]["names"].get<std::vector<std::string>>();
  std::vector<Eigen::Index> order;
  for (const std::string& name : table.observed) {
    order.push_back(std::find(names.begin(), names.end(), name) - names.begin());
  }
  GroupMoments moments{theirs.n, theirs.mean(order), theirs.covariance(order, order)};
  // A level far from zero, so that means are tested as well.
  for (std::size_t i = 0; i < order.size(); ++i) {
    moments.mean[static_cast<Eigen::Index>(i)] = 3 + static_cast<double>(order[i]);
  }
  return moments;
}

const char kDemocracy[] =
    "ind60 =~ x1 + x2 + x3\n"
    "dem60 =~ y1 + y2 + y3 + y4\n"
    "dem65 =~ y5 + y6 + y7 + y8\n"
    "dem60 ~ ind60\n"
    "dem65 ~ ind60 + dem60\n"
    "y1 ~~ y5\n";

std::string Key(const Parameter& row) {
  const bool swap = row.op == "~~" && row.rhs < row.lhs;
  return swap ? row.rhs + row.op + row.lhs : row.lhs + row.op + row.rhs;
}

TEST(SemInvariance, UnitsOfTheDataDoNotMatter) {
  const ParameterTable table = BuildParameterTable(kDemocracy, WithMeans());
  const GroupMoments moments = MomentsFor(table, Case("democracy"));
  // 1e-6 to 1e6; each parameter scales by a known power of the units.
  Eigen::VectorXd unit(moments.mean.size());
  for (Eigen::Index i = 0; i < unit.size(); ++i) {
    unit[i] = std::pow(10.0, static_cast<double>((5 * i) % 13) - 6);
  }
  GroupMoments scaled = moments;
  scaled.mean = unit.cwiseProduct(moments.mean);
  scaled.covariance = unit.asDiagonal() * moments.covariance * unit.asDiagonal();

  const SemFit fit = Fit(table, {moments}), other = Fit(table, {scaled});
  ASSERT_TRUE(fit.converged && other.converged);
  EXPECT_EQ(fit.iterations, other.iterations);
  const auto scale = [&](const std::string& name) {
    const std::map<std::string, std::string> marker = {
        {"ind60", "x1"}, {"dem60", "y1"}, {"dem65", "y5"}};
    const auto found = marker.find(name);
    const std::string column = found == marker.end() ? name : found->second;
    return unit[std::find(table.observed.begin(), table.observed.end(), column) -
                table.observed.begin()];
  };
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const Parameter& row = table.rows[r];
    double factor = scale(row.lhs);
    if (row.op == "=~") factor = scale(row.rhs) / scale(row.lhs);
    if (row.op == "~") factor = scale(row.lhs) / scale(row.rhs);
    if (row.op == "~~") factor = scale(row.lhs) * scale(row.rhs);
    SCOPED_TRACE(Key(row));
    const ParameterEstimate &a = fit.estimates[r], &b = other.estimates[r];
    EXPECT_NEAR(b.estimate / factor, a.estimate, 1e-8 * (std::abs(a.estimate) + a.standard_error));
    EXPECT_NEAR(b.standard_error / factor, a.standard_error, 1e-8 * a.standard_error);
    EXPECT_NEAR(b.std_all, a.std_all, 1e-8);
  }
  EXPECT_NEAR(fit.fit_measures.at("chisq"), other.fit_measures.at("chisq"), 1e-8);
  EXPECT_NEAR(fit.fit_measures.at("srmr"), other.fit_measures.at("srmr"), 1e-9);
}

TEST(SemInvariance, OrderOfVariablesAndFormulasDoesNotMatter) {
  const ParameterTable table = BuildParameterTable(kDemocracy, WithMeans());
  const ParameterTable shuffled = BuildParameterTable(
      "y1 ~~ y5\n"
      "dem65 ~ dem60 + ind60\n"
      "dem65 =~ y5 + y8 + y7 + y6\n"
      "dem60 =~ y1 + y4 + y2 + y3\n"
      "dem60 ~ ind60\n"
      "ind60 =~ x1 + x3 + x2\n",
      WithMeans());
  ASSERT_NE(table.observed, shuffled.observed);
  const SemFit fit = Fit(table, {MomentsFor(table, Case("democracy"))});
  const SemFit other = Fit(shuffled, {MomentsFor(shuffled, Case("democracy"))});
  std::map<std::string, ParameterEstimate> by_name;
  for (std::size_t r = 0; r < shuffled.rows.size(); ++r) {
    by_name[Key(shuffled.rows[r])] = other.estimates[r];
  }
  ASSERT_EQ(by_name.size(), table.rows.size());
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    ASSERT_TRUE(by_name.count(Key(table.rows[r]))) << Key(table.rows[r]);
    const ParameterEstimate &a = fit.estimates[r], &b = by_name[Key(table.rows[r])];
    EXPECT_NEAR(a.estimate, b.estimate, 1e-8 * (std::abs(a.estimate) + a.standard_error));
    EXPECT_NEAR(a.standard_error, b.standard_error, 1e-8 * a.standard_error);
  }
  EXPECT_NEAR(fit.fit_measures.at("logl"), other.fit_measures.at("logl"), 1e-9);
}

// A group twice as large with the same moments: same estimates, errors smaller by sqrt(2).
TEST(SemInvariance, TwoEqualGroupsAreOneGroupOfTwiceTheSize) {
  SemModelOptions one = WithMeans(SemFamily::kCfa), two = one;
  two.groups = {"a", "b"};
  two.group_equal = {"loadings", "intercepts", "residuals", "lv.variances", "means"};
  const std::string model = "f =~ x1 + x2 + x3 + x4";
  const ParameterTable single = BuildParameterTable(model, one),
                       pair = BuildParameterTable(model, two);
  std::mt19937_64 generator(4);
  const GroupMoments moments = testing::RandomMoments(4, 120, generator);
  const SemFit a = Fit(single, {moments}), b = Fit(pair, {moments, moments});
  for (std::size_t r = 0; r < single.rows.size(); ++r) {
    EXPECT_NEAR(a.estimates[r].estimate, b.estimates[r].estimate, 1e-9) << Key(single.rows[r]);
    EXPECT_NEAR(a.estimates[r].standard_error, b.estimates[r].standard_error * std::sqrt(2.0),
                1e-9);
  }
  EXPECT_NEAR(2 * a.fit_measures.at("chisq"), b.fit_measures.at("chisq"), 1e-9);
}

// SLSQP first or scoring alone: the same optimum, from every kind of start.
TEST(SemRoutes, AllLeadToTheSameOptimum) {
  SilentProgress progress;
  for (const char* id :
       {"nonlinear", "linear_mean", "equal_loadings", "mimic_fixed", "democracy"}) {
    SCOPED_TRACE(id);
    const Json& one = Case(id);
    SemModelOptions options;
    options.family = one["lavaan_function"] == "cfa" ? SemFamily::kCfa : SemFamily::kSem;
    options.meanstructure = one["meanstructure"].get<bool>();
    if (std::string(id) == "equal_loadings") {
      options.groups = {"Pasteur", "Grant-White"};
      options.group_equal = {"loadings"};
    }
    const ParameterTable table = BuildParameterTable(one["model"], options);
    const std::vector<GroupMoments> moments = testing::SampleMoments(one);
    const RamModel model = BuildRamModel(table, moments);
    const std::vector<GroupSample> samples =
        ScaleMoments(moments, model.variable_unit.head(model.num_observed));
    const SemObjective objective{model, samples};
    const ModelExpressions expressions(table, model);
    int routes = 0;
    for (StartMethod method : {StartMethod::kFabin, StartMethod::kSimple, StartMethod::kCautious}) {
      for (bool slsqp : {false, true}) {
        OptimizeOptions how;
        how.slsqp_first = slsqp;
        const Optimum found = Minimize(objective, expressions,
                                       StartValues(table, model, samples, method), how, progress);
        if (method == StartMethod::kFabin) {
          EXPECT_TRUE(found.converged) << found.reason;
        }
        if (!found.converged) continue;
        ++routes;
        EXPECT_NEAR(found.value, Number(one["fit"]["fmin"]), 1e-9) << slsqp;
      }
    }
    EXPECT_GE(routes, 4);
  }
}

TEST(SemWarnings, HeywoodCaseIsNamedAndNotHidden) {
  const Json& one = Case("heywood");
  const ParameterTable table = BuildParameterTable(one["model"], Family(SemFamily::kCfa));
  const SemFit fit = Fit(table, testing::SampleMoments(one));
  EXPECT_TRUE(fit.converged);
  EXPECT_THAT(fit.warnings, Contains(AllOf(HasSubstr("Heywood case"), HasSubstr("y1 ~~ y1"),
                                           HasSubstr("-3.175"))));
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    EXPECT_NEAR(fit.estimates[r].estimate, Number(one["parameters"][r]["est"]), 1e-7);
  }
}

TEST(SemWarnings, FactorCorrelationBeyondOneIsNamed) {
  // Two factors whose indicators correlate more across than within.
  Eigen::MatrixXd s = Eigen::MatrixXd::Constant(6, 6, 0.5);
  s.topLeftCorner(3, 3).setConstant(0.4);
  s.bottomRightCorner(3, 3).setConstant(0.4);
  s.diagonal().setOnes();
  const ParameterTable table =
      BuildParameterTable("f =~ x1 + x2 + x3\ng =~ x4 + x5 + x6", Family(SemFamily::kCfa));
  const SemFit fit = Fit(table, {{200, Eigen::VectorXd::Zero(6), s}});
  EXPECT_TRUE(fit.converged);
  EXPECT_THAT(fit.warnings, Contains(AllOf(HasSubstr("latent variables is not positive definite"),
                                           HasSubstr("f and g (1.250)"))));
}

TEST(SemWarnings, ParametersThatAreNotIdentifiedAreNamed) {
  const Json& one = Case("not_identified");
  const ParameterTable table = BuildParameterTable(one["model"], Family(SemFamily::kCfa));
  const SemFit fit = Fit(table, testing::SampleMoments(one));
  EXPECT_NEAR(fit.fit_measures.at("chisq"), Number(one["fit"]["chisq"]), 1e-5);
  ASSERT_THAT(fit.warnings, SizeIs(1));
  EXPECT_THAT(fit.warnings[0], AllOf(HasSubstr("not identified"), HasSubstr("visual =~ x1"),
                                     HasSubstr("visual ~~ visual"), HasSubstr("visual ~~ textual"),
                                     Not(HasSubstr("x4")), Not(HasSubstr("x1 ~~ x1"))));
  // The second factor and all residual variances keep their standard errors.
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const Parameter& row = table.rows[r];
    const bool involved = row.lhs == "visual";
    if (row.free == 0) continue;
    EXPECT_EQ(std::isnan(fit.estimates[r].standard_error), involved) << Key(row);
  }
}

TEST(SemWarnings, TooManyParametersAreReported) {
  std::mt19937_64 generator(8);
  const ParameterTable table =
      BuildParameterTable("f =~ x1 + x2\nx1 ~~ x2", Family(SemFamily::kCfa));
  const SemFit fit = Fit(table, {testing::RandomMoments(2, 50, generator)});
  EXPECT_EQ(fit.fit_measures.at("df"), -2);
  EXPECT_THAT(fit.warnings, Contains(HasSubstr("2 more parameters than the data have moments")));
  EXPECT_THAT(fit.warnings, Contains(HasSubstr("not identified")));
  EXPECT_TRUE(std::isnan(fit.fit_measures.at("pvalue")));
}

TEST(SemWarnings, IterationLimitIsAResultNotAnError) {
  const ParameterTable table = BuildParameterTable(kDemocracy, WithMeans());
  SemFitOptions options;
  options.max_iterations = 1;
  const SemFit fit = Fit(table, {MomentsFor(table, Case("democracy"))}, options);
  EXPECT_FALSE(fit.converged);
  EXPECT_THAT(fit.warnings, Contains(HasSubstr("iteration limit of 1 was reached")));
  EXPECT_THAT(fit.estimates, SizeIs(table.rows.size()));
}

TEST(SemWarnings, ContradictoryConstraintsAreReported) {
  const ParameterTable table = BuildParameterTable("f =~ x1 + a*x2 + b*x3 + x4\na == 0.5\na == 0.7",
                                                   Family(SemFamily::kCfa));
  std::mt19937_64 generator(8);
  const SemFit fit = Fit(table, {testing::RandomMoments(4, 50, generator)});
  EXPECT_FALSE(fit.converged);
  EXPECT_THAT(fit.warnings, Contains(HasSubstr("constraints could not be satisfied together")));
}

TEST(SemWarnings, StartValuesOutsideTheModelDoNotStopTheFit) {
  const ParameterTable table =
      BuildParameterTable("f =~ x1 + x2 + x3 + x4\nx1 ~~ start(-5)*x1", Family(SemFamily::kCfa));
  std::mt19937_64 generator(8);
  const SemFit fit = Fit(table, {testing::RandomMoments(4, 50, generator)});
  EXPECT_TRUE(fit.converged) << fit.warnings.front();
  EXPECT_LT(fit.max_scaled_gradient, 1e-10);
}

// The marker x1 is unrelated to the others: its factor's variance tends to 0 and the loadings to
// infinity.
TEST(SemWarnings, AParameterThatRunsAwayIsNamed) {
  const ParameterTable table =
      BuildParameterTable("f =~ x1 + x2 + x3 + x4", Family(SemFamily::kCfa));
  Eigen::MatrixXd s = Eigen::MatrixXd::Identity(4, 4);
  s.bottomRightCorner(3, 3).setConstant(0.6);
  s.diagonal().setOnes();
  const SemFit fit = Fit(table, {{100, Eigen::VectorXd::Zero(4), s}});
  EXPECT_FALSE(fit.converged);
  EXPECT_THAT(fit.warnings, Contains(AllOf(HasSubstr("f =~ x"), HasSubstr("ran away"))));
}

class Cancelling : public Progress {
 public:
  void Phase(std::string_view) override {}
  void Step(uint64_t, uint64_t) override {}
  void CheckCancelled() override { throw Error(ErrorCode::kCancelled, "stopped"); }
};

TEST(SemFitTest, StopsWhenCancelled) {
  const ParameterTable table = BuildParameterTable(kDemocracy, WithMeans());
  const GroupMoments moments = MomentsFor(table, Case("democracy"));
  Cancelling progress;
  try {
    FitSem(table, {moments}, {}, progress);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
  // Inside NLopt as well.
  const RamModel model = BuildRamModel(table, {moments});
  const std::vector<GroupSample> samples =
      ScaleMoments({moments}, model.variable_unit.head(model.num_observed));
  const ModelExpressions expressions(table, model);
  OptimizeOptions options;
  options.slsqp_first = true;
  EXPECT_THROW(Minimize({model, samples}, expressions,
                        StartValues(table, model, samples, StartMethod::kFabin), options, progress),
               Error);
}

TEST(SemFitTest, ConfidenceLevelWidensTheInterval) {
  const ParameterTable table = BuildParameterTable(kDemocracy, WithMeans());
  const GroupMoments moments = MomentsFor(table, Case("democracy"));
  SemFitOptions options;
  options.confidence_level = 0.99;
  const SemFit fit = Fit(table, {moments}, options);
  const ParameterEstimate& e = fit.estimates[1];
  EXPECT_NEAR((e.ci_upper - e.ci_lower) / e.standard_error, 2 * 2.5758293035489004, 1e-9);
}

TEST(SemFitTest, FixedRowFixesItsLabel) {
  ParameterTable table = BuildParameterTable("f =~ x1 + a*x2 + a*x3 + x4", Family(SemFamily::kCfa));
  std::mt19937_64 generator(8);
  const GroupMoments moments = testing::RandomMoments(4, 50, generator);
  const double free_chisq = Fit(table, {moments}).fit_measures.at("chisq");
  table.rows[1].free = 0;  // x2's loading, with the label a
  table.rows[1].value = 0.8;
  const SemFit fit = Fit(table, {moments});
  EXPECT_EQ(fit.estimates[1].estimate, 0.8);
  EXPECT_EQ(fit.estimates[2].estimate, 0.8);
  EXPECT_EQ(fit.estimates[2].standard_error, 0);
  EXPECT_GT(fit.fit_measures.at("chisq"), free_chisq);
}

TEST(SemFitTest, ConstraintsMayDetermineEveryParameter) {
  const ParameterTable table =
      BuildParameterTable("x1 ~~ a*x1\nx2 ~~ b*x2\na == 1\nb == 2*a", Family(SemFamily::kLavaan));
  Eigen::MatrixXd s(2, 2);
  s << 1.5, 0.3, 0.3, 1;
  const SemFit fit = Fit(table, {{40, Eigen::VectorXd::Zero(2), s}});
  EXPECT_TRUE(fit.converged) << fit.warnings.front();
  EXPECT_EQ(fit.fit_measures.at("npar"), 0);
  EXPECT_NEAR(fit.estimates[1].estimate, 2, 1e-12);
  EXPECT_EQ(fit.estimates[1].standard_error, 0);
}

TEST(SemFitTest, EverythingFixedIsEvaluatedOnly) {
  const ParameterTable table =
      BuildParameterTable("x1 ~~ 1*x1\nx2 ~~ 2*x2", Family(SemFamily::kLavaan));
  Eigen::MatrixXd s(2, 2);
  s << 1.5, 0.3, 0.3, 1;
  const SemFit fit = Fit(table, {{40, Eigen::VectorXd::Zero(2), s}});
  EXPECT_TRUE(fit.converged);
  EXPECT_EQ(fit.fit_measures.at("npar"), 0);
  EXPECT_EQ(fit.fit_measures.at("df"), 3);
  const double fmin = 0.5 * (std::log(2.0) + 1.5 + 0.5 - std::log(1.5 - 0.09) - 2);
  EXPECT_NEAR(fit.fit_measures.at("chisq"), 80 * fmin, 1e-12);
}

}  // namespace
}  // namespace partita::stats::sem_fit_test
