// Moments that cannot be fitted are refused with the culprit named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <limits>

#include "base/error.h"
#include "stats/sem/moments.h"
#include "stats/sem/syntax.h"
#include "tests/stats/sem_models.h"

namespace partita::stats::sem_moments_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class SemMoments : public ::testing::Test {
 protected:
  SemMoments() {
    SemModelOptions options;
    options.groups = {"north", "south"};
    table_ = BuildParameterTable("f =~ a + b + c + d", options);
    std::mt19937_64 generator(9);
    for (double n : {40.0, 60.0}) moments_.push_back(testing::RandomMoments(4, n, generator));
  }

  std::string Refusal() const {
    try {
      SilentProgress progress;
      FitSem(table_, moments_, {}, progress);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      return error.message();
    }
    ADD_FAILURE() << "not refused";
    return "";
  }

  ParameterTable table_;
  std::vector<GroupMoments> moments_;
};

TEST_F(SemMoments, GoodOnesPass) { EXPECT_NO_THROW(CheckMoments(table_, moments_)); }

TEST_F(SemMoments, ConstantColumnIsNamed) {
  moments_[1].covariance.row(2).setZero();
  moments_[1].covariance.col(2).setZero();
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("'c' is constant"), HasSubstr("group south")));
}

// 0.1 summed 60 times is not exactly 6: the variance that rounding leaves is still constant.
TEST_F(SemMoments, ConstantUpToRoundingIsNamed) {
  moments_[0].mean[0] = 1e8;
  moments_[0].covariance.row(0).setZero();
  moments_[0].covariance.col(0).setZero();
  moments_[0].covariance(0, 0) = 1e-12;
  EXPECT_THAT(Refusal(), HasSubstr("'a' is constant in group north"));
}

TEST_F(SemMoments, DependentColumnsAreNamed) {
  // d = a - b.
  Eigen::MatrixXd& s = moments_[0].covariance;
  const Eigen::MatrixXd old = s;
  Eigen::MatrixXd map = Eigen::MatrixXd::Identity(4, 4);
  map.row(3) << 1, -1, 0, 0;
  s = map * old * map.transpose();
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("singular: a, b, d are linearly dependent"),
                               HasSubstr("group north"), Not(HasSubstr("c,"))));
}

TEST_F(SemMoments, IndefiniteMatrixIsRefused) {
  moments_[0].covariance(0, 1) = moments_[0].covariance(1, 0) =
      2 * std::sqrt(moments_[0].covariance(0, 0) * moments_[0].covariance(1, 1));
  EXPECT_THAT(Refusal(), HasSubstr("negative eigenvalue"));
}

TEST_F(SemMoments, TooFewRowsAreRefused) {
  moments_[1].n = 4;
  EXPECT_THAT(Refusal(), HasSubstr("4 rows in group south are too few for 4 observed variables"));
  moments_[1].n = 5;
  EXPECT_NO_THROW(CheckMoments(table_, moments_));  // 45 rows, 24 parameters
  moments_[0].n = 18;
  EXPECT_THAT(Refusal(), HasSubstr("24 free parameters but there are only 23 rows"));
  moments_[0].n = 19;
  EXPECT_NO_THROW(CheckMoments(table_, moments_));
}

TEST_F(SemMoments, WrongShapesAreRefused) {
  moments_[0].mean.conservativeResize(3);
  EXPECT_THAT(Refusal(), HasSubstr("4 observed variables"));
  moments_.pop_back();
  EXPECT_THAT(Refusal(), HasSubstr("the model has 2 groups, but there are moments of 1"));
}

TEST_F(SemMoments, NumbersThatAreNotFiniteAreRefused) {
  for (double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    std::vector<GroupMoments> saved = moments_;
    moments_[0].mean[1] = bad;
    EXPECT_THAT(Refusal(), HasSubstr("not finite"));
    moments_ = saved;
    moments_[1].covariance(2, 3) = moments_[1].covariance(3, 2) = bad;
    EXPECT_THAT(Refusal(), HasSubstr("not finite"));
    moments_ = saved;
    moments_[1].n = bad;
    EXPECT_THAT(Refusal(), HasSubstr("number of rows"));
    moments_ = saved;
  }
}

TEST_F(SemMoments, AsymmetryIsRefused) {
  moments_[0].covariance(0, 1) += 0.01;
  EXPECT_THAT(Refusal(), HasSubstr("not symmetric"));
}

TEST_F(SemMoments, AnUnlistedVariableIsRefused) {
  table_.rows[1].rhs = "typo";
  EXPECT_THAT(Refusal(), HasSubstr("'typo', which is neither observed nor latent"));
}

TEST(SemScaling, GivesUnitVariancesPooledOverGroups) {
  std::mt19937_64 generator(2);
  const GroupMoments moments = testing::RandomMoments(3, 30, generator);
  const Eigen::VectorXd unit = moments.covariance.diagonal().cwiseSqrt();
  const std::vector<GroupSample> samples = ScaleMoments({moments, moments}, unit);
  EXPECT_NEAR((samples[0].covariance.diagonal().array() - 1).abs().maxCoeff(), 0, 1e-15);
  EXPECT_DOUBLE_EQ(samples[1].weight, 0.5);
  EXPECT_NEAR(samples[0].mean[2] * unit[2], moments.mean[2], 1e-15);
  EXPECT_NEAR(std::exp(samples[0].log_det), samples[0].covariance.determinant(), 1e-12);
}

}  // namespace
}  // namespace partita::stats::sem_moments_test
