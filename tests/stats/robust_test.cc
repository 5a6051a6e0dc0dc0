// Robust standard errors and scaled tests against lavaan's estimator "MLR" (references/robust.R).
#include "stats/sem/robust.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "base/error.h"
#include "tests/stats/robust_reference.h"

namespace partita::stats::robust_test {
namespace {

using testing::Json;
using testing::Number;
using testing::RobustCase;

class RobustReference : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { case_ = testing::LoadRobustCase(GetParam()); }
  RobustFit Run() const {
    SilentProgress progress;
    const SemFit fit = FitSem(case_.table, case_.moments, {}, progress);
    const RobustSums sums = PlaintextRobustSums(case_.table, case_.moments, fit, case_.scale,
                                                case_.rows, case_.clusters);
    return MakeRobust(case_.table, case_.moments, fit, PublicModel(case_.table, case_.scale), sums);
  }
  RobustCase case_;
};

TEST_P(RobustReference, StandardErrorsOfLavaan) {
  const RobustFit robust = Run();
  int compared = 0;
  for (const Json& row : case_.reference["parameters"]) {
    SCOPED_TRACE(row.dump());
    const std::optional<std::size_t> r = testing::FindRow(case_.table, row);
    if (!r) continue;  // lavaan lists constraints too
    const double se = Number(row["se"]);
    EXPECT_NEAR(robust.estimates[*r].estimate, Number(row["est"]),
                se > 0 ? 1e-6 * se : 1e-9 * (1 + std::abs(Number(row["est"]))));
    // lavaan differentiates the gradient numerically for the observed information.
    EXPECT_NEAR(robust.estimates[*r].standard_error, se, 1e-5 * se);
    ++compared;
  }
  EXPECT_GE(compared, static_cast<int>(case_.table.rows.size()) - 1);
}

TEST_P(RobustReference, ScaledMeasuresOfLavaan) {
  const RobustFit robust = Run();
  const std::map<std::string, double> relative = {
      {"chisq.scaled", 1e-5},         {"df.scaled", 0},
      {"chisq.scaling.factor", 1e-5}, {"baseline.chisq.scaled", 1e-5},
      {"baseline.df.scaled", 0},      {"baseline.chisq.scaling.factor", 1e-5}};
  for (const auto& [name, value] : case_.reference["fit"].items()) {
    SCOPED_TRACE(name);
    if (value.is_null()) continue;
    // Nothing is tested with 0 degrees of freedom; lavaan repeats the unscaled statistics.
    if (case_.reference["fit"]["df.scaled"] == 0 && name.rfind("baseline", 0) != 0) continue;
    ASSERT_EQ(robust.fit_measures.count(name), 1u);
    const double expected = Number(value), actual = robust.fit_measures.at(name);
    const auto found = relative.find(name);
    // The interval's ends: lavaan's root finder stops at 1.2e-4 in the noncentrality.
    EXPECT_NEAR(actual, expected, found == relative.end() ? 2e-5 : found->second * expected);
  }
}

TEST(RobustTest, NothingIsScaledWithoutDegreesOfFreedom) {
  const RobustCase saturated = testing::LoadRobustCase("saturated");
  SilentProgress progress;
  const SemFit fit = FitSem(saturated.table, saturated.moments, {}, progress);
  const RobustSums sums = PlaintextRobustSums(saturated.table, saturated.moments, fit,
                                              saturated.scale, saturated.rows, {});
  const RobustFit robust = MakeRobust(saturated.table, saturated.moments, fit,
                                      PublicModel(saturated.table, saturated.scale), sums);
  EXPECT_TRUE(std::isnan(robust.scaling_factor));
  EXPECT_TRUE(std::isnan(robust.fit_measures.at("chisq.scaled")));
  EXPECT_TRUE(std::isnan(robust.fit_measures.at("pvalue.scaled")));
}

// The sums are additive over rows, so that holders may add up their own and the rest is addition.
TEST(RobustTest, ProductsOfPartsAddUp) {
  const RobustCase example = testing::LoadRobustCase("example_clusters");
  SilentProgress progress;
  const SemFit fit = FitSem(example.table, example.moments, {}, progress);
  const ScorePoint point = PointOf(example.table, example.scale, fit, example.moments);
  for (const bool clustered : {false, true}) {
    FeatureProducts whole(FrameOf(point, 0)), first(FrameOf(point, 0)), second(FrameOf(point, 0));
    for (Eigen::Index r = 0; r < example.rows[0].rows(); ++r) {
      FeatureProducts& part = r < 100 ? first : second;  // a border between two clusters
      const Eigen::VectorXd row = example.rows[0].row(r);
      const std::uint64_t cluster = example.clusters[0][static_cast<std::size_t>(r)];
      for (FeatureProducts* to : {&whole, &part}) {
        clustered ? to->AddClusteredRow(row, cluster) : to->AddRow(row);
      }
    }
    const Eigen::MatrixXd all = whole.Products();
    EXPECT_LT((all - first.Products() - second.Products()).norm(), 1e-10 * all.norm());
    EXPECT_EQ(all, all.transpose().eval());
    // Q(0, 0) is the number of rows, or the sum of squared cluster sizes.
    EXPECT_EQ(all(0, 0), clustered ? 75 * 16 + 1 : 301);
  }
}

// At the maximum the scores add up to zero; A_g t is their casewise value.
TEST(RobustTest, ScoresAddUpToZeroAtTheMaximum) {
  const RobustCase example = testing::LoadRobustCase("example");
  SilentProgress progress;
  const SemFit fit = FitSem(example.table, example.moments, {}, progress);
  const ScorePoint point = PointOf(example.table, example.scale, fit, example.moments);
  FeatureProducts products(FrameOf(point, 0));
  for (Eigen::Index r = 0; r < example.rows[0].rows(); ++r) products.AddRow(example.rows[0].row(r));
  const Eigen::MatrixXd q = products.Products(), map = ScoreMap(point, 0);
  const Eigen::VectorXd sums = map * q.col(0);  // sum of t
  const Eigen::VectorXd sizes = (map * q * map.transpose()).diagonal().cwiseSqrt();
  for (Eigen::Index k = 0; k < sums.size(); ++k) EXPECT_LT(std::abs(sums[k]), 1e-8 * sizes[k]);
}

TEST(RobustTest, WeightsOfTheUpperTriangleGiveTheInnerProduct) {
  const Eigen::MatrixXd a = Eigen::MatrixXd::Random(4, 4), b = Eigen::MatrixXd::Random(4, 4);
  const Eigen::MatrixXd form = a + a.transpose(), q = b + b.transpose();
  EXPECT_NEAR(UpperWeights(form).dot(UpperTriangle(q)), form.cwiseProduct(q).sum(), 1e-13);
}

TEST(RobustTest, OneClusterIsRefused) {
  EXPECT_EQ(ClusterFactor(0), 1);
  EXPECT_EQ(ClusterFactor(2), 2);
  EXPECT_THROW(ClusterFactor(1), Error);
}

INSTANTIATE_TEST_SUITE_P(Mlr, RobustReference,
                         ::testing::Values("example", "example_clusters", "hs", "hs_means",
                                           "hs_clusters", "hs_clusters_no_means", "hs_group",
                                           "hs_group_clusters", "poldem_eq", "wine_fixed_x",
                                           "wine_fixed_x_means", "growth", "saturated"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace partita::stats::robust_test
