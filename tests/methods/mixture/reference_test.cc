// The deterministic one-step check of tests/references/dpvi_adult.json on the first 100 training
// rows of UCI Adult: densities, norms, clipped sums and prior gradients of another implementation.
#include <gtest/gtest.h>

#include <boost/math/distributions/students_t.hpp>
#include <limits>

#include "crypto/random.h"
#include "stats/mixture/experiment.h"
#include "stats/mixture/gradient.h"
#include "stats/mixture/predictive.h"
#include "tests/methods/mixture/adult_reference.h"

namespace partita::methods::mixture::reference_test {
namespace {

using Eigen::ArrayXd;
using Eigen::ArrayXXd;
using Eigen::Index;

constexpr size_t kComponents = 20;

class OneStepTest : public ::testing::Test {
 protected:
  void SetUp() override {
    reference_ = ReadAdultReference();
    check_ = reference_.json["one_step_check"];
    const FlatIndex index(reference_.layout, kComponents);
    theta_.resize(kComponents, static_cast<Index>(1 + reference_.layout.num_columns));
    for (Index j = 0; j < theta_.cols(); ++j) {
      for (Index k = 0; k < theta_.rows(); ++k)
        theta_(k, j) = std::sin(
            1.0 + static_cast<double>(index(static_cast<size_t>(k), static_cast<size_t>(j))));
    }
    batch_ = stats::mixture::AllRows(100);
  }

  ArrayXXd Sum(double clip, stats::mixture::ClippedRows* rows = nullptr) const {
    return stats::mixture::ClippedGradientSum(reference_.layout, reference_.train, batch_, theta_,
                                              clip, rows);
  }
  std::vector<double> Flat(const ArrayXXd& values) const {
    const FlatIndex index(reference_.layout, kComponents);
    std::vector<double> flat(index.size());
    for (Index j = 0; j < values.cols(); ++j) {
      for (Index k = 0; k < values.rows(); ++k)
        flat[index(static_cast<size_t>(k), static_cast<size_t>(j))] = values(k, j);
    }
    return flat;
  }
  // The norm of the difference over that of what is expected, at the listed entries.
  double RelativeError(const ArrayXXd& values, const char* expected) const {
    const std::vector<double> flat = Flat(values);
    double difference = 0, norm = 0;
    for (size_t i = 0; i < check_["indices"].size(); ++i) {
      const double wanted = check_[expected][i];
      difference += std::pow(flat[check_["indices"][i]] - wanted, 2);
      norm += wanted * wanted;
    }
    return std::sqrt(difference / norm);
  }

  AdultReference reference_;
  nlohmann::json check_;
  ArrayXXd theta_;
  std::vector<uint32_t> batch_;
};

TEST_F(OneStepTest, TheModelHasTheSizeOfTheExperiment) {
  EXPECT_EQ(reference_.train.num_rows, 30162);
  EXPECT_EQ(reference_.test.num_rows, 15060);
  EXPECT_EQ(theta_.size(), 3060);
}

TEST_F(OneStepTest, RowsHaveTheirDensitiesAndNorms) {
  stats::mixture::ClippedRows rows;
  Sum(1, &rows);
  for (Index n = 0; n < 5; ++n) {
    const auto i = static_cast<size_t>(n);
    EXPECT_NEAR(rows.log_density(n), check_["first_rows_log_density"][i], 1e-9);
    const double norm = check_["first_rows_grad_norm"][i];
    EXPECT_NEAR(rows.norm(n), norm, 1e-9 * norm);
  }
  EXPECT_NEAR(stats::mixture::LogDensityOfRows(reference_.layout, reference_.test, theta_).mean(),
              check_["mean_test_log_density"], 1e-9);
}

TEST_F(OneStepTest, SumsAreThoseOfTheReference) {
  const ArrayXXd clipped = Sum(1), whole = Sum(std::numeric_limits<double>::infinity());
  EXPECT_LT(RelativeError(clipped, "clipped_sum_at_indices"), 1e-10);
  EXPECT_LT(RelativeError(whole, "unclipped_sum_at_indices"), 1e-10);
  const double norm = check_["norm_of_clipped_sum"], whole_norm = check_["norm_of_unclipped_sum"];
  EXPECT_NEAR(clipped.matrix().norm(), norm, 1e-9 * norm);
  EXPECT_NEAR(whole.matrix().norm(), whole_norm, 1e-9 * whole_norm);
  EXPECT_LT(RelativeError(stats::mixture::LogPriorGradient(reference_.layout, theta_),
                          "prior_gradient_at_indices"),
            1e-10);
}

// What the two holders compute, put together as the protocol does, is what one holder computes.
TEST_F(OneStepTest, PartiesTogetherComputeTheSame) {
  const stats::mixture::Layout& layout = reference_.layout;
  const ArrayXd log_pi = stats::mixture::LogSoftmax(theta_.col(0));
  ArrayXXd log_densities = ArrayXXd::Zero(kComponents, 100), squares = log_densities;
  ArrayXXd normalised = log_densities;
  for (const size_t party : {kDemographicParty, kFinancialParty}) {
    const stats::mixture::Layout own = stats::mixture::PartyLayout(layout, party);
    const stats::mixture::Rows rows = stats::mixture::PartyRows(layout, party, reference_.train);
    const stats::mixture::Components components =
        stats::mixture::MakeComponents(own, stats::mixture::PartyParameters(layout, party, theta_));
    const ArrayXXd densities = stats::mixture::LogDensities(own, components, rows, batch_);
    log_densities += densities;
    normalised += densities.rowwise() - densities.colwise().maxCoeff();
    squares += stats::mixture::SquaredScores(own, components, rows, batch_);
  }
  // den_n after both parties divided by their largest density.
  for (Index n = 0; n < 5; ++n) {
    EXPECT_NEAR(std::log((log_pi + normalised.col(n)).exp().sum()),
                check_["first_rows_log_den_after_party_max_normalisation"][static_cast<size_t>(n)],
                1e-9);
  }
  const stats::mixture::ClippedRows clipped =
      stats::mixture::ClipRows(log_pi, log_densities, squares, 1);
  const ArrayXd weight_sums = clipped.weights.rowwise().sum();
  ArrayXXd sum(theta_.rows(), theta_.cols());
  sum.col(0) = weight_sums - log_pi.exp() * clipped.scale.sum();
  for (const size_t party : {kDemographicParty, kFinancialParty}) {
    const stats::mixture::Layout own = stats::mixture::PartyLayout(layout, party);
    const stats::mixture::Rows rows = stats::mixture::PartyRows(layout, party, reference_.train);
    const stats::mixture::Components components =
        stats::mixture::MakeComponents(own, stats::mixture::PartyParameters(layout, party, theta_));
    const ArrayXXd part = stats::mixture::ScoreSums(
        components, stats::mixture::WeightedStatistics(own, rows, batch_, clipped.weights),
        weight_sums);
    const std::vector<size_t> columns = stats::mixture::PartyColumns(layout, party);
    for (size_t j = 0; j < columns.size(); ++j)
      sum.col(1 + static_cast<Index>(columns[j])) = part.col(static_cast<Index>(j));
  }
  EXPECT_LT((sum - Sum(1)).abs().maxCoeff(), 1e-11);
}

// Log densities of the test rows at the start and after five epochs without clipping and noise, the
// mean of some seeds against that of the reference's. Two-sample t-tests with pooled variance at a
// false-alarm probability of 1e-6 each.
class TrajectoryTest : public OneStepTest {
 protected:
  void Compare(const char* epochs, const std::vector<double>& ours) const {
    const auto theirs = reference_.json["results"]["c"]["trajectory_plug_in"][epochs]["per_seed"]
                            .get<std::vector<double>>();
    const auto mean = [](const std::vector<double>& values) {
      double sum = 0;
      for (const double value : values) sum += value;
      return sum / static_cast<double>(values.size());
    };
    double squares = 0;
    for (const double value : ours) squares += std::pow(value - mean(ours), 2);
    for (const double value : theirs) squares += std::pow(value - mean(theirs), 2);
    const auto n = static_cast<double>(ours.size()), m = static_cast<double>(theirs.size());
    const double quantile =
        boost::math::quantile(boost::math::complement(boost::math::students_t(n + m - 2), 0.5e-6));
    const double error = std::sqrt(squares / (n + m - 2) * (1 / n + 1 / m));
    EXPECT_NEAR(mean(ours), mean(theirs), quantile * error) << epochs << " epochs";
  }
};

TEST_F(TrajectoryTest, StartsAndLearnsAsTheReference) {
  stats::mixture::ExperimentOptions options;
  options.noise = {std::numeric_limits<double>::infinity(), 0, 30};
  options.variational.frozen_share = stats::mixture::kPaperFrozenShare;
  options.variational.steps = 1508;  // five epochs
  options.predictive_draws = 1;
  const stats::mixture::Arm arm = {
      "plain", [&](const stats::mixture::ClippedNoise& chosen, crypto::RandomSource& source) {
        return stats::mixture::PlainGradientSum(reference_.layout, reference_.train, chosen,
                                                source);
      }};
  crypto::SystemRandom random;
  const crypto::Key key = crypto::RandomKey(random);
  SilentProgress silent;
  std::vector<double> starts, ends;
  for (size_t seed = 0; seed < 3; ++seed) {
    const stats::mixture::ExperimentRun run =
        stats::mixture::RunExperiment(reference_.layout, reference_.train.num_rows, reference_.test,
                                      arm, options, key, seed, silent);
    starts.push_back(run.trace.front().plug_in);
    ends.push_back(run.trace.back().plug_in);
  }
  Compare("0", starts);
  Compare("5", ends);
}

}  // namespace
}  // namespace partita::methods::mixture::reference_test
