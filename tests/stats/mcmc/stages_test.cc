// Delayed acceptance: two factors decided one after the other leave their product invariant, and
// the second is computed only where the first accepts.
#include "stats/mcmc/stages.h"

#include <gtest/gtest.h>

#include <boost/math/distributions/normal.hpp>
#include <cmath>

#include "base/error.h"
#include "stats/mcmc/diagnostics.h"
#include "tests/stats/blr/random.h"

namespace partita::stats::mcmc::stages_test {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

TargetPtr Gaussian(double mean, double precision) {
  return OwnTarget(
      1, [=](const VectorXd& theta) { return -precision * std::pow(theta(0) - mean, 2) / 2; });
}

// N(1, 1/4) times N(-0.5, 1/2) times the prior N(0, 1): precision 4 + 2 + 1, mean 3/7. Mean and
// second moment within 5.2 Monte Carlo standard errors each, four comparisons: a false alarm below
// 1e-6. Power: were the second stage never asked, the mean would be 4/5, 60 errors away.
TEST(Stages, LeaveTheProductInvariant) {
  const double z = boost::math::quantile(boost::math::complement(boost::math::normal(), 1e-7));
  for (const Acceptance acceptance : {Acceptance::kBarker, Acceptance::kMetropolis}) {
    const TargetPtr first = Gaussian(1, 4), second = Gaussian(-0.5, 2);
    blr::TestRandom common(31), secret(32);
    PlainStagedDecisions decisions({first.get()}, {second.get()}, {ParsePrior("normal(0, 1)")},
                                   acceptance, secret);
    ChainOptions options;
    options.chains = 8;
    options.warmup = 1000;
    options.draws = 20000;
    options.acceptance = acceptance;
    SilentProgress progress;
    Draws draws = RunChains(MatrixXd::Zero(1, 8), options, std::ref(decisions), common, progress);
    const ParameterSummary mean = Summarise(draws).front();
    EXPECT_NEAR(mean.mean, 3.0 / 7, z * mean.mcse_mean);
    EXPECT_LT(mean.mcse_mean, 0.006);
    for (MatrixXd& chain : draws.chains) chain = (chain.array() - 3.0 / 7).square();
    const ParameterSummary square = Summarise(draws).front();
    EXPECT_NEAR(square.mean, 1.0 / 7, z * square.mcse_mean);
  }
}

TEST(Stages, TheSecondIsComputedWhereTheFirstAccepts) {
  const TargetPtr target = Gaussian(1, 4);
  LaterDifferences later(*target);
  const MatrixXd current = MatrixXd::Constant(1, 3, 0.5), step = MatrixXd::Constant(1, 3, 0.25);
  const MatrixXd some = later.Of(current, step, {true, false, true});
  EXPECT_EQ(later.evaluated(), 5u);  // where the chains begin, and two proposals
  const double difference = 2 * (0.25 - 0.0625);
  EXPECT_NEAR(some(0, 0), difference, 1e-15);
  EXPECT_EQ(some(0, 1), 0);
  EXPECT_NEAR(some(0, 2), difference, 1e-15);
  later.Replace({true, false, false});
  MatrixXd moved = current;
  moved(0, 0) += 0.25;
  const MatrixXd next = later.Of(moved, step, {true, true, false});
  EXPECT_NEAR(next(0, 0), 2 * 0.0625, 1e-15);  // from 0.75 to 1
  EXPECT_NEAR(next(0, 1), difference, 1e-15);
  EXPECT_EQ(later.evaluated(), 7u);
  EXPECT_EQ(later.Of(moved, step, {false, false, false}), MatrixXd::Zero(1, 3));
  EXPECT_EQ(later.evaluated(), 7u);
}

TEST(Stages, BrokenDensitiesAreTold) {
  const auto is = [](double value) {
    return OwnTarget(1, [=](const VectorXd& theta) { return theta(0) == 0 ? 0.0 : value; });
  };
  const MatrixXd zero = MatrixXd::Zero(1, 1), one = MatrixXd::Ones(1, 1);
  for (const double broken : {std::nan(""), HUGE_VAL}) {
    const TargetPtr target = is(broken);
    EXPECT_THROW(LaterDifferences(*target).Of(zero, one, {true}), Error);
    EXPECT_THROW(LaterDifferences(*target).Of(one, one, {true}), Error);
    EXPECT_NO_THROW(LaterDifferences(*target).Of(zero, one, {false}));
  }
  const TargetPtr impossible = is(-HUGE_VAL);
  EXPECT_EQ(LaterDifferences(*impossible).Of(zero, one, {true})(0, 0), -HUGE_VAL);
}

}  // namespace
}  // namespace partita::stats::mcmc::stages_test
