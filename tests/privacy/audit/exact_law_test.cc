// The exact layer: masses, delta and the largest loss of integer noise, against closed forms and
// against the calibration; planted faults show without a single run.
#include "tests/privacy/audit/exact_law.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "privacy/sampling/discrete_gaussian_mechanism.h"

namespace partita::privacy::exact_law_test {
namespace {

double Sum(const IntegerLaw& law, double Bounds::*end) {
  double sum = 0;
  for (const Bounds& mass : law.masses) sum += mass.*end;
  return sum;
}

TEST(ExactLawTest, MassesAddUpToOne) {
  for (const IntegerLaw& law :
       {DiscreteGaussianLaw(VarianceOfStddev(0.1)), DiscreteGaussianLaw(VarianceOfStddev(3)),
        DiscreteLaplaceLaw({7, 3}),
        SumOfLaws(DiscreteGaussianLaw(VarianceOfStddev(2)),
                  DiscreteGaussianLaw(VarianceOfStddev(5)))}) {
    EXPECT_LE(Sum(law, &Bounds::lower), 1 + 1e-12);
    EXPECT_GE(Sum(law, &Bounds::upper), 1 - 1e-12);
    EXPECT_NEAR(Sum(law, &Bounds::upper), Sum(law, &Bounds::lower), 1e-12);
    EXPECT_LT(law.outside, 1e-29);
  }
}

TEST(ExactLawTest, LaplaceHasItsClosedForm) {
  const double a = std::exp(-3.0 / 7);
  const IntegerLaw law = DiscreteLaplaceLaw({7, 3});
  for (int64_t k = -20; k <= 20; ++k) {
    const Bounds& mass = law.masses[static_cast<size_t>(k - law.first)];
    const double exact = (1 - a) / (1 + a) * std::pow(a, std::abs(static_cast<double>(k)));
    EXPECT_LE(mass.lower, exact * (1 + 1e-15));
    EXPECT_GE(mass.upper, exact * (1 - 1e-15));
    EXPECT_NEAR(mass.upper, mass.lower, 1e-15 * exact);
  }
}

TEST(ExactLawTest, LaplaceIsPrivateAsClaimedAndNoMore) {
  const IntegerLaw law = DiscreteLaplaceLaw({5, 1});
  for (const int64_t shift : {-5, 5}) {
    EXPECT_LT(ExactDelta(law, law, shift, 1.0000001).upper, 1e-25);
    EXPECT_GT(ExactDelta(law, law, shift, 0.99).lower, 1e-3);
    EXPECT_NEAR(LargestLoss(law, law, shift), 1, 1e-12);
    const Bounds exact = ExactDelta(law, law, shift, 0.3);
    EXPECT_NEAR(exact.upper, exact.lower, 1e-13);
  }
}

TEST(ExactLawTest, GaussianAgreesWithItsCalibration) {
  for (const double stddev : {0.7, 2.5, 20.0}) {
    const DiscreteGaussianNoise noise{VarianceOfStddev(stddev), 1, 1};
    const IntegerLaw law = DiscreteGaussianLaw(VarianceOfStddev(stddev));
    for (const int64_t shift : {1, 3, 30}) {
      for (const double epsilon : {0.0, 1.0, 4.0}) {
        const Bounds claimed =
            DiscreteGaussianProfileOf(GridL2Sensitivity(static_cast<double>(shift)), noise)
                .Delta(Epsilon(epsilon));
        const Bounds exact = ExactDelta(law, law, shift, epsilon);
        EXPECT_LE(exact.lower, claimed.upper) << stddev << " " << shift << " " << epsilon;
        EXPECT_GE(exact.upper, claimed.lower) << stddev << " " << shift << " " << epsilon;
        EXPECT_NEAR(exact.upper, exact.lower, 1e-12);
      }
    }
  }
}

TEST(ExactLawTest, SumOfSharesAgreesWithItsStatement) {
  const IntegerLaw share = DiscreteGaussianLaw(VarianceOfStddev(4.5));
  const IntegerLaw sum = SumOfLaws(SumOfLaws(share, share), share);
  const DiscreteGaussianNoise noise{VarianceOfStddev(4.5), 3, 1};
  const Bounds claimed = DiscreteGaussianProfileOf(GridL2Sensitivity(8), noise).Delta(Epsilon(1));
  const Bounds exact = ExactDelta(sum, sum, 8, 1);
  EXPECT_LE(exact.lower, claimed.upper);
  EXPECT_GE(exact.upper, claimed.lower);
}

// --- planted faults ------------------------------------------------------------------------------

TEST(ExactLawTest, ScaleHalved) {
  const IntegerLaw law = DiscreteLaplaceLaw({5, 2});
  EXPECT_GT(LargestLoss(law, law, 5), 1.99);
  EXPECT_GT(ExactDelta(law, law, 5, 1).lower, 0.3);
}

TEST(ExactLawTest, TailClamped) {
  // Noise of scale 2 clamped to [-20, 20]: what is beyond goes to the ends, which no run of any
  // reasonable number sees.
  IntegerLaw law = DiscreteLaplaceLaw({2, 1});
  IntegerLaw clamped{-20, {}, 0};
  for (int64_t k = -20; k <= 20; ++k) {
    clamped.masses.push_back(law.masses[static_cast<size_t>(k - law.first)]);
  }
  EXPECT_EQ(LargestLoss(clamped, clamped, 2), std::numeric_limits<double>::infinity());
  EXPECT_GT(ExactDelta(clamped, clamped, 2, 1).lower, 0);
  EXPECT_LT(ExactDelta(clamped, clamped, 2, 1).upper, 1e-4);  // 1e4 runs would not have shown it
}

// Noise over eight values from a tape of 3 bits, enumerated: a fault in one mass is a fact.
TEST(ExactLawTest, CountsOfAnEnumeratedTape) {
  const std::vector<uint64_t> right = {1, 2, 4, 8, 16, 8, 4, 2, 1};
  const IntegerLaw law = LawOfCounts(-4, right);
  EXPECT_NEAR(ExactDelta(law, law, 1, std::log(2.0) + 1e-12).upper, 1.0 / 46, 1e-9);
  std::vector<uint64_t> wrong = right;
  wrong[6] = 0;
  EXPECT_EQ(LargestLoss(LawOfCounts(-4, wrong), LawOfCounts(-4, wrong), 1),
            std::numeric_limits<double>::infinity());
}

TEST(ExactLawTest, RefusesWhatIsTooLargeOrNoLaw) {
  EXPECT_THROW(DiscreteGaussianLaw(VarianceOfStddev(5000)), Error);
  EXPECT_THROW(DiscreteLaplaceLaw({5000, 1}), Error);
  EXPECT_THROW(LawOfCounts(0, {}), Error);
  const IntegerLaw law = DiscreteLaplaceLaw({1, 1});
  for (const double bad : {-0.1, std::nan("")}) EXPECT_THROW(ExactDelta(law, law, 1, bad), Error);
}

}  // namespace
}  // namespace partita::privacy::exact_law_test
