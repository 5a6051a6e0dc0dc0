// Maximum likelihood over an oracle for linear statistics: every complete-data reference fit of
// lavaan is reproduced without its moments.
#include "stats/sem/oracle_fit.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <cmath>
#include <numbers>
#include <random>

#include "base/error.h"
#include "stats/sem/objective.h"
#include "stats/sem/starts.h"
#include "stats/sem/weight_rank.h"
#include "tests/paths.h"
#include "tests/stats/sem_reference.h"

namespace partita::stats::oracle_fit_test {
namespace {

using testing::Json;
using testing::Number;

// Bounds as somebody would write them down who knows the columns roughly: off centre by more than a
// standard deviation, and unlike from column to column.
StatisticsScale RoughScale(const std::vector<GroupMoments>& moments) {
  const Eigen::Index p = moments.front().mean.size();
  StatisticsScale scale{Eigen::VectorXd(p), Eigen::VectorXd(p)};
  for (Eigen::Index i = 0; i < p; ++i) {
    const double sd = std::sqrt(moments.front().covariance(i, i));
    scale.centre[i] = moments.front().mean[i] + (i % 2 == 0 ? 1.3 : -0.6) * sd;
    scale.half_width[i] = (4 + 3 * static_cast<double>(i % 3)) * sd;
  }
  return scale;
}

// Of all rows together, by their moments.
Eigen::VectorXd SampleStatistics(const StatisticsLayout& layout, const StatisticsScale& scale,
                                 const std::vector<GroupMoments>& moments) {
  Eigen::VectorXd out(layout.size());
  Eigen::Index at = 0;
  for (const GroupMoments& group : moments) {
    const Eigen::VectorXd mean = (group.mean - scale.centre).cwiseQuotient(scale.half_width);
    for (Eigen::Index i = 0; i < layout.num_sums(); ++i) out[at++] = group.n * mean[i];
    for (Eigen::Index i = 0; i < layout.num_variables; ++i) {
      for (Eigen::Index j = i; j < layout.num_variables; ++j) {
        const double covariance =
            group.covariance(i, j) / (scale.half_width[i] * scale.half_width[j]);
        out[at++] = group.n * (covariance + (layout.means ? mean[i] * mean[j] : 0));
      }
    }
  }
  return out;
}

struct Clear {
  OracleFitInput input;
  int calls = 0;
};

void MakeInput(const ParameterTable& table, const std::vector<GroupMoments>& moments,
               const StatisticsScale& scale, Clear& clear) {
  const StatisticsLayout layout{static_cast<Eigen::Index>(table.observed.size()),
                                static_cast<Eigen::Index>(table.groups.size()),
                                table.meanstructure};
  const Eigen::VectorXd statistics = SampleStatistics(layout, scale, moments);
  for (const GroupMoments& group : moments) clear.input.n.push_back(group.n);
  clear.input.scale = scale;
  clear.input.oracle = [statistics, &clear](const Eigen::MatrixXd& weights) -> OracleAnswer {
    ++clear.calls;
    return {weights * statistics, weights};
  };
}

class OracleReference : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    reference_ = testing::ReadJson(FixturePath("references/sem/" + GetParam() + ".json"));
    table_ = testing::TableOf(reference_);
    moments_ = testing::SampleMoments(reference_);
    rows_ = testing::KeptRows(reference_);
  }

  Json reference_;
  ParameterTable table_;
  std::vector<GroupMoments> moments_;
  std::vector<Json> rows_;
};

TEST_P(OracleReference, EstimatesErrorsAndLikelihood) {
  Clear clear;
  MakeInput(table_, moments_, RoughScale(moments_), clear);
  SilentProgress progress;
  const OracleFit result = FitSemFromOracle(table_, clear.input, {}, progress);
  const SemFit& fit = result.fit;
  ASSERT_TRUE(fit.converged) << (fit.warnings.empty() ? "" : fit.warnings[0]);
  for (const std::string& warning : fit.warnings) ADD_FAILURE() << warning;
  ASSERT_EQ(fit.estimates.size(), rows_.size());
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    SCOPED_TRACE(rows_[r]["lhs"].get<std::string>() + rows_[r]["op"].get<std::string>() +
                 rows_[r]["rhs"].get<std::string>());
    const ParameterEstimate& e = fit.estimates[r];
    const double se = Number(rows_[r]["se"]), estimate = Number(rows_[r]["est"]);
    // A scaled gradient of 1e-8 is sqrt(n) 1e-8 standard errors from the optimum.
    EXPECT_NEAR(e.estimate, estimate, se > 0 ? 1e-5 * se : 1e-5 * std::abs(estimate) + 1e-9);
    EXPECT_NEAR(e.standard_error, se, 1e-5 * se);
    EXPECT_NEAR(e.std_all, Number(rows_[r]["std_all"]), 1e-5);
  }
  EXPECT_NEAR(fit.fit_measures.at("logl"), Number(reference_["fit"]["logl"]), 1e-6);
  for (const std::string name : {"npar", "df", "ntotal"}) {
    EXPECT_EQ(fit.fit_measures.at(name), Number(reference_["fit"][name])) << name;
  }
  for (const std::string name : {"aic", "bic", "bic2"}) {
    EXPECT_NEAR(fit.fit_measures.at(name), Number(reference_["fit"][name]), 2e-6) << name;
  }
  EXPECT_EQ(fit.fit_measures.count("chisq"), 0u);
  EXPECT_EQ(clear.calls, result.usage.values + result.usage.gradients);
}

// The numbers behind methods.md 0, item 2: log-likelihoods at thetas near the optimum span as many
// directions as a least-squares solution found.
class WeightRank : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    reference_ = testing::ReadJson(FixturePath("references/sem/" + GetParam() + ".json"));
    expected_ = testing::ReadJson(FixturePath(
        "references/secure_mle_leakage.json"))["likelihood_oracle"]["models"][GetParam()];
    moments_ = testing::SampleMoments(reference_);
    const ParameterTable table = testing::TableOf(reference_);
    model_ = BuildRamModel(table, moments_);
    SilentProgress progress;
    const SemFit fit = FitSem(table, moments_, {}, progress);
    x_ = Eigen::VectorXd::Zero(model_.num_parameters);
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
      const int k = model_.row_parameter[r];
      if (k >= 0) x_[k] = fit.estimates[r].estimate / model_.parameter_unit[k];
    }
    scale_ = RoughScale(moments_);
  }

  // Rank of so many evaluations at thetas with 25 % relative jitter.
  Eigen::Index RankOf(int evaluations, bool gradient) {
    std::mt19937_64 random(3);
    std::normal_distribution<double> jitter(0, 0.25);
    RankTracker tracker(LayoutOf(model_), ReferenceAt(model_, scale_, x_));
    for (int done = 0; done < evaluations;) {
      Eigen::VectorXd at = x_;
      for (double& value : at) value *= 1 + jitter(random);
      const LinearRows rows = LikelihoodRows(model_, scale_, {moments_[0].n}, at, gradient);
      if (rows.weights.rows() == 0) continue;
      tracker.Add(rows.weights);
      ++done;
    }
    return tracker.rank();
  }

  Json reference_, expected_;
  std::vector<GroupMoments> moments_;
  RamModel model_;
  StatisticsScale scale_;
  Eigen::VectorXd x_;
};

TEST_P(WeightRank, OfLogLikelihoodsIsThatOfTheModelFamily) {
  const int unknown = expected_["unknown_moments"];
  EXPECT_EQ(LayoutOf(model_).size(), unknown);
  EXPECT_EQ(RankOf(4 * unknown, false), expected_["rank_over_model_family"].get<int>());
  EXPECT_EQ(RankOf(1, false), 1);
  EXPECT_EQ(RankOf(3, false), 3);
}

INSTANTIATE_TEST_SUITE_P(Leakage, WeightRank,
                         ::testing::Values("growth_linear6", "hs_cfa3_mean", "poldem_sem",
                                           "onefactor"),
                         [](const auto& test) { return test.param; });

class GradientRank : public WeightRank {};
TEST_P(GradientRank, FourGradientsTellAllMomentsOfThreeFactors) {
  EXPECT_LT(RankOf(1, true), 54);
  EXPECT_EQ(RankOf(4, true), 54);
}
INSTANTIATE_TEST_SUITE_P(Leakage, GradientRank, ::testing::Values("hs_cfa3_mean"));

// Known weights: rank does not count what is repeated, scaled, or a sum of what is known.
TEST(RankTrackerTest, CountsDirections) {
  const StatisticsLayout layout{3, 2, true};
  RankReference reference{std::vector<Eigen::VectorXd>(2, Eigen::VectorXd::Constant(3, 4)),
                          std::vector<Eigen::MatrixXd>(2, 0.01 * Eigen::MatrixXd::Identity(3, 3))};
  RankTracker tracker(layout, reference);
  EXPECT_EQ(tracker.num_statistics(), 18);
  const Eigen::MatrixXd rows = Eigen::MatrixXd::Random(17, 18);
  EXPECT_EQ(tracker.Add(rows.topRows(5)), 5);
  EXPECT_EQ(tracker.Add(-1e6 * rows.topRows(5)), 5);
  EXPECT_EQ(tracker.Add(rows.row(1) + 1e-3 * rows.row(4)), 5);
  EXPECT_EQ(tracker.Add(Eigen::MatrixXd::Zero(2, 18)), 5);
  EXPECT_EQ(tracker.Add(rows), 17);
  EXPECT_FALSE(tracker.full());
  EXPECT_EQ(tracker.Add(Eigen::MatrixXd::Random(9, 18)), 18);
  EXPECT_TRUE(tracker.full());
}

// LL and its derivatives against differences of the discrepancy, with and without means.
TEST(LinearStatisticsTest, RowsGiveTheLikelihoodAndItsGradient) {
  for (const bool means : {false, true}) {
    SCOPED_TRACE(means);
    SemModelOptions options;
    options.meanstructure = means;
    const ParameterTable table = BuildParameterTable("f =~ a + b + c\nd ~ f + b\na ~~ d", options);
    GroupMoments moments{50, Eigen::VectorXd::LinSpaced(4, 1, 4), Eigen::MatrixXd(4, 4)};
    moments.covariance << 2, .6, .5, .3, .6, 1.5, .4, .2, .5, .4, 1.1, .35, .3, .2, .35, .9;
    const RamModel model = BuildRamModel(table, {moments});
    const StatisticsScale scale = RoughScale({moments});
    const std::vector<GroupSample> samples = ScaleMoments({moments}, model.variable_unit.head(4));
    const SemObjective objective{model, samples};
    const Eigen::VectorXd x =
        StartValues(table, model, samples, StartMethod::kSimple).array() + 0.07;
    const LinearRows rows = LikelihoodRows(model, scale, {50}, x, true);
    ASSERT_EQ(rows.weights.rows(), 1 + model.num_parameters);
    const Eigen::VectorXd answers =
        rows.weights * SampleStatistics(LayoutOf(model), scale, {moments}) + rows.constants;
    Eigen::VectorXd gradient;
    const double discrepancy = DiscrepancyWithGradient(objective, x, gradient);
    const double saturated =
        -25 * (4 * std::log(2 * std::numbers::pi) + std::log(moments.covariance.determinant()) + 4);
    EXPECT_NEAR(answers[0], saturated - 50 * discrepancy, 1e-9);
    for (Eigen::Index k = 0; k < gradient.size(); ++k) {
      EXPECT_NEAR(answers[1 + k], -50 * gradient[k], 1e-9 * (1 + std::abs(50 * gradient[k])));
    }
  }
}

// Answers off by what coarse weights lose are made up for by the implied statistics.
TEST(OracleFitTest, CoarseWeightsHardlyMatter) {
  SemModelOptions options;
  options.meanstructure = true;
  const ParameterTable table = BuildParameterTable("f =~ a + b + c + d", options);
  GroupMoments moments{400, Eigen::VectorXd::LinSpaced(4, 1, 4), Eigen::MatrixXd(4, 4)};
  moments.covariance << 2, .6, .5, .3, .6, 1.5, .4, .2, .5, .4, 1.1, .35, .3, .2, .35, .9;
  Clear clear;
  MakeInput(table, {moments}, RoughScale({moments}), clear);
  const LinearOracle exact = clear.input.oracle;
  OracleFitInput coarse = clear.input;
  coarse.oracle = [&](const Eigen::MatrixXd& weights) {
    Eigen::MatrixXd used = weights;
    for (auto row : used.rowwise()) {
      const double grid = row.lpNorm<1>() * std::ldexp(1.0, -30);
      row = (row / grid).array().round().matrix() * grid;
    }
    return exact(used);
  };
  SilentProgress progress;
  const SemFit a = FitSemFromOracle(table, clear.input, {}, progress).fit;
  const SemFit b = FitSemFromOracle(table, coarse, {}, progress).fit;
  ASSERT_TRUE(a.converged && b.converged);
  for (std::size_t r = 0; r < a.estimates.size(); ++r) {
    EXPECT_NEAR(b.estimates[r].estimate, a.estimates[r].estimate,
                1e-5 * (1e-3 + a.estimates[r].standard_error));
  }
}

// Five factors of five items, of which some are reversed: 600 rows.
struct FiveFactors {
  FiveFactors(uint64_t seed, double reversed, bool std_lv);

  ParameterTable table;
  GroupMoments moments;
  Eigen::VectorXd deviation;
};

FiveFactors::FiveFactors(uint64_t seed, double reversed, bool std_lv) {
  constexpr Eigen::Index kFactors = 5, kItems = 25;
  std::string model;
  for (Eigen::Index f = 0; f < kFactors; ++f) {
    model += "f" + std::to_string(f) + " =~ ";
    for (Eigen::Index i = 0; i < kFactors; ++i)
      model += (i == 0 ? "x" : " + x") + std::to_string(kFactors * f + i);
    model += "\n";
  }
  SemModelOptions options;
  options.meanstructure = true;
  options.std_lv = std_lv;
  table = BuildParameterTable(model, options);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform;
  std::normal_distribution<double> normal;
  Eigen::MatrixXd loadings = Eigen::MatrixXd::Zero(kItems, kFactors);
  Eigen::VectorXd sd(kItems), mean(kItems);
  for (Eigen::Index i = 0; i < kItems; ++i) {
    loadings(i, i / kFactors) = 0.3 + 0.6 * uniform(random);
    if (uniform(random) < reversed) loadings(i, i / kFactors) *= -1;
    sd[i] = std::exp(2 * normal(random));
    mean[i] = 10 * sd[i] * normal(random);
  }
  Eigen::MatrixXd factors = Eigen::MatrixXd::Constant(kFactors, kFactors, 0.4);
  factors.diagonal().setOnes();
  Eigen::MatrixXd correlation = loadings * factors * loadings.transpose();
  correlation.diagonal().setOnes();
  const Eigen::MatrixXd root =
      sd.asDiagonal() * Eigen::MatrixXd(Eigen::LLT<Eigen::MatrixXd>(correlation).matrixL());
  Eigen::MatrixXd rows(600, kItems);
  for (Eigen::Index r = 0; r < rows.rows(); ++r)
    rows.row(r) = root * Eigen::VectorXd::NullaryExpr(kItems, [&] { return normal(random); });
  const Eigen::VectorXd centre = rows.colwise().mean();
  const Eigen::MatrixXd centred = rows.rowwise() - centre.transpose();
  moments = {600, mean + centre, centred.transpose() * centred / 600};
  deviation = moments.covariance.diagonal().cwiseSqrt();
}

void ExpectPooledFit(const FiveFactors& data, const StatisticsScale& scale, int most_gradients) {
  SilentProgress progress;
  const SemFit pooled = FitSem(data.table, {data.moments}, {}, progress);
  ASSERT_TRUE(pooled.converged);
  Clear clear;
  MakeInput(data.table, {data.moments}, scale, clear);
  const OracleFit result = FitSemFromOracle(data.table, clear.input, {}, progress);
  ASSERT_TRUE(result.fit.converged) << result.fit.warnings.front();
  EXPECT_LE(result.usage.gradients, most_gradients);
  for (std::size_t r = 0; r < pooled.estimates.size(); ++r) {
    EXPECT_NEAR(result.fit.estimates[r].estimate, pooled.estimates[r].estimate,
                1e-4 * pooled.estimates[r].standard_error);
  }
}

// Bounds that fit the items, ones that are far too wide, and ones that differ from item to item, off
// centre. All lead to the pooled fit, in as many questions.
TEST(OracleFitTest, BoundsDoNotMatterToLargeModels) {
  const FiveFactors data(25, 0, false);
  const Eigen::VectorXd &mean = data.moments.mean, &own = data.deviation;
  std::vector<StatisticsScale> scales = {{mean, 4 * own}, {mean, 60 * own}};
  scales.push_back({mean + 3 * own, 5 * own});
  for (Eigen::Index i = 0; i < own.size(); i += 2) scales.back().half_width[i] *= 12;
  for (const StatisticsScale& scale : scales) ExpectPooledFit(data, scale, 40);
}

// Reversed items, reference indicators among them: the first question tells the signs of loadings.
// Without them half of these models run away, or find their factors turned round.
TEST(OracleFitTest, ReversedItemsDoNotMatter) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const FiveFactors data(seed, 0.3, seed % 2 == 1);
    SCOPED_TRACE(seed);
    ExpectPooledFit(data, {data.moments.mean + 2 * data.deviation, 6 * data.deviation}, 40);
  }
}

// A first start that leads nowhere leaves questions for another.
TEST(OracleFitTest, ASecondStartIsWithinWhatWasDeclared) {
  // The user's start is far from anything; the cautious one ignores it.
  const ParameterTable table = BuildParameterTable("f =~ a + start(25)*b + start(-25)*c + d", {});
  GroupMoments moments{400, Eigen::VectorXd::Zero(4), Eigen::MatrixXd(4, 4)};
  moments.covariance << 2, .6, .5, .3, .6, 1.5, .4, .2, .5, .4, 1.1, .35, .3, .2, .35, .9;
  Clear clear;
  MakeInput(table, {moments}, RoughScale({moments}), clear);
  SilentProgress progress;
  const SemFit pooled = FitSem(table, {moments}, {}, progress);
  const OracleFit result = FitSemFromOracle(table, clear.input, {}, progress);
  ASSERT_TRUE(result.fit.converged) << result.fit.warnings.front();
  EXPECT_LE(result.usage.gradients, OracleFitOptions().max_gradients);
  for (std::size_t r = 0; r < pooled.estimates.size(); ++r)
    EXPECT_NEAR(result.fit.estimates[r].estimate, pooled.estimates[r].estimate, 1e-5);
}

TEST(OracleFitTest, AnUnidentifiedModelIsSaidToBe) {
  const ParameterTable table = BuildParameterTable("f =~ NA*a + b + c", {});
  GroupMoments moments{400, Eigen::VectorXd::Zero(3), Eigen::MatrixXd(3, 3)};
  moments.covariance << 2, .6, .5, .6, 1.5, .4, .5, .4, 1.1;
  Clear clear;
  MakeInput(table, {moments}, RoughScale({moments}), clear);
  SilentProgress progress;
  const SemFit fit = FitSemFromOracle(table, clear.input, {}, progress).fit;
  bool said = false;
  for (const std::string& warning : fit.warnings) {
    said = said || warning.find("not identified") != std::string::npos;
  }
  EXPECT_TRUE(said);
}

TEST(OracleFitTest, TooFewRowsAreRefusedBeforeAnyQuestion) {
  const ParameterTable table = BuildParameterTable("f =~ a + b + c", {});
  GroupMoments moments{3, Eigen::VectorXd::Zero(3), Eigen::MatrixXd::Identity(3, 3)};
  Clear clear;
  MakeInput(table, {moments}, RoughScale({moments}), clear);
  SilentProgress progress;
  EXPECT_THROW(FitSemFromOracle(table, clear.input, {}, progress), Error);
  EXPECT_EQ(clear.calls, 0);
}

INSTANTIATE_TEST_SUITE_P(Complete, OracleReference,
                         ::testing::Values("growth_linear6", "growth_openmx5", "growth_predictors",
                                           "hs_cfa3", "hs_cfa3_group", "hs_cfa3_mean",
                                           "hs_cfa3_stdlv", "onefactor", "path_indirect",
                                           "poldem_sem", "poldem_sem_eq", "reg_multiple",
                                           "reg_multiple_fixedx", "reg_simple", "saturated_hs9"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace partita::stats::oracle_fit_test
