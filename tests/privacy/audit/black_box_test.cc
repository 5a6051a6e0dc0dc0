// Audits of whole mechanisms from their outputs: right code is never flagged, planted faults are.
// Every audit here has a false-alarm probability of 1e-6; there are fewer than 200, and their
// randomness is fixed.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/error.h"
#include "privacy/audit/epsilon_audit.h"
#include "privacy/audit/runs_needed.h"
#include "privacy/audit/trade_off_audit.h"
#include "tests/privacy/audit/worlds.h"

namespace partita::privacy::black_box_test {
namespace {

constexpr uint64_t kRuns = 100000;

double EpsilonOf(const Worlds& worlds, double delta = 0) {
  return AuditEpsilon(worlds.with, worlds.without, delta).epsilon_lower;
}
double MuOf(const Worlds& worlds) { return AuditMu(worlds.with, worlds.without).mu_lower; }

// --- epsilon -------------------------------------------------------------------------------------

TEST(EpsilonAuditTest, RightNoiseIsNotFlaggedAndNearlyReached) {
  // Noise of scale 1 at sensitivity 1, and of scale 50 at sensitivity 50: epsilon 1.
  for (const int64_t shift : {1, 50}) {
    const auto scale = static_cast<double>(shift);
    const double found = EpsilonOf(Observe(Scalar({Laplace(scale)}, shift), {}, kRuns, 1));
    EXPECT_LE(found, 1);
    EXPECT_GE(found, 0.9) << "the audit has lost its power";
  }
}

TEST(EpsilonAuditTest, RightNoiseIsNotFlaggedInManyAudits) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    EXPECT_LE(EpsilonOf(Observe(Scalar({Laplace(1)}, 1), {}, 2000, 100 + seed)), 1) << seed;
  }
}

TEST(EpsilonAuditTest, TheDirectionDoesNotMatter) {
  Worlds worlds = Observe(Scalar({Laplace(1)}, -1), {}, kRuns, 2);
  const double found = EpsilonOf(worlds);
  EXPECT_GE(found, 0.9);
  std::swap(worlds.with, worlds.without);
  EXPECT_GE(EpsilonOf(worlds), 0.9);
}

TEST(EpsilonAuditTest, AtDeltaTheClaimOfAGaussianHolds) {
  // Sigma 64 at sensitivity 64: delta(1) = 0.1269.
  const Worlds worlds = Observe(Scalar({Gaussian(64)}, 64), {}, kRuns, 3);
  const double found = EpsilonOf(worlds, 0.12693674);
  EXPECT_LE(found, 1);
  EXPECT_GT(found, 0.8);
  EXPECT_GT(EpsilonOf(worlds, 0), 1);  // without a delta it is not 1-private
}

TEST(EpsilonAuditTest, HalvedScaleIsFound) {
  EXPECT_GT(EpsilonOf(Observe(Scalar({Laplace(0.5)}, 1), {}, kRuns, 4)), 1.8);
}

TEST(EpsilonAuditTest, DoubledSensitivityIsFound) {
  EXPECT_GT(EpsilonOf(Observe(Scalar({Laplace(1)}, 2), {}, kRuns, 5)), 1.8);
}

TEST(EpsilonAuditTest, OneSidedNoiseIsFound) {
  const ShareSampler one_sided = [](crypto::RandomSource& random, std::span<Int128> out) {
    for (Int128& value : out) value = SampleGeometric(random, {1, 1});
  };
  EXPECT_GT(EpsilonOf(Observe(Scalar({one_sided}, 1), {}, kRuns, 6)), 5);
}

TEST(EpsilonAuditTest, NoNoiseIsUnlimited) {
  EXPECT_GT(EpsilonOf(Observe(Scalar({NoNoise()}, 1), {}, kRuns, 7)), 8);
}

TEST(EpsilonAuditTest, ARefusalThatDependsOnDataIsFound) {
  Worlds worlds = Observe(Scalar({Laplace(1)}, 1), {}, kRuns, 8);
  for (size_t i = 0; i < kRuns; i += 20) {
    worlds.with.values[i] = std::numeric_limits<double>::quiet_NaN();
  }
  const EpsilonFinding finding = AuditEpsilon(worlds.with, worlds.without, 0);
  EXPECT_EQ(finding.chosen.event.comparison, Comparison::kNoOutput);
  EXPECT_EQ(EventText(finding.chosen.event), "no output");
  EXPECT_GT(finding.epsilon_lower, 5);
}

TEST(EpsilonAuditTest, AnExactValueThatIsReleasedOftenIsFoundByEquality) {
  // One run in ten publishes the statistic: an atom in wide noise.
  const ShareSampler leaky = [noise = Laplace(100), calls = std::make_shared<int>(0)](
                                 crypto::RandomSource& random, std::span<Int128> out) {
    noise(random, out);
    for (Int128& value : out) {
      if (++*calls % 10 == 0) value = 0;
    }
  };
  const Worlds worlds = Observe(Scalar({leaky}, 100), {}, kRuns, 9);
  const EpsilonFinding finding = AuditEpsilon(worlds.with, worlds.without, 0);
  EXPECT_EQ(finding.chosen.event.comparison, Comparison::kEqual);
  EXPECT_GT(finding.epsilon_lower, 2);
}

// Mironov 2012: a float Laplace variable takes few of the doubles, and which ones says what it was
// added to. The auditor looks whether an output is one that the value 0 can give.
TEST(EpsilonAuditTest, FloatLaplaceIsFound) {
  constexpr int kSteps = 1 << 12;
  const auto noise = [](int step, bool negative) {
    const double value = -10 * std::log((step + 0.5) / kSteps);
    return negative ? -value : value;
  };
  std::set<double> possible;
  for (int step = 0; step < kSteps; ++step) {
    possible.insert(0.0 + noise(step, false));
    possible.insert(0.0 + noise(step, true));
  }
  crypto::Prg random = SeededStream(10);
  const auto runs = [&](double statistic) {
    Outputs outputs{1, {}};
    for (size_t i = 0; i < 20000; ++i) {
      std::array<uint8_t, 4> bytes{};
      random.Fill(bytes);
      const double out = statistic + noise((bytes[0] + 256 * bytes[1]) % kSteps, bytes[2] % 2 == 0);
      outputs.values.push_back(possible.count(out) != 0 ? 1 : 0);
    }
    return outputs;
  };
  // Claimed: sensitivity 1, scale 10, epsilon 0.1.
  EXPECT_GT(EpsilonOf({runs(0), runs(1.0)}), 1);
}

TEST(EpsilonAuditTest, PolyaSharesFromOutsideAndFromACoalition) {
  const std::vector<ShareSampler> shares(3, LaplaceShare(20, 3));
  const SharedRelease release = Scalar(shares, 20);
  EXPECT_LE(EpsilonOf(Observe(release, {}, kRuns, 11)), 1);
  // Who knows one share faces a law that is not discrete Laplace: its loss is above epsilon.
  EXPECT_GT(EpsilonOf(Observe(release, {2}, kRuns, 12)), 1);
}

// --- mu ------------------------------------------------------------------------------------------

TEST(MuAuditTest, RightNoiseIsNotFlaggedAndNearlyReached) {
  const double found = MuOf(Observe(Scalar({Gaussian(64)}, 64), {}, kRuns, 20));
  EXPECT_LE(found, 1);
  EXPECT_GE(found, 0.9);
}

TEST(MuAuditTest, RightNoiseIsNotFlaggedInManyAudits) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    EXPECT_LE(MuOf(Observe(Scalar({Gaussian(64)}, 64), {}, 2000, 200 + seed)), 1) << seed;
  }
}

TEST(MuAuditTest, HalvedScaleIsFound) {
  EXPECT_GT(MuOf(Observe(Scalar({Gaussian(32)}, 64), {}, kRuns, 21)), 1.8);
}

// The number of runs that runs_needed.h promises is enough, with the runs that choose on top.
TEST(MuAuditTest, ThePromisedNumberOfRunsFindsTheFault) {
  const double inflated = std::sqrt(1.5);
  const uint64_t runs = RunsForGaussian(1, inflated) * 10 / 9 + 10;
  int found = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Worlds worlds = Observe(Scalar({Gaussian(64 / inflated)}, 64), {}, runs, 300 + seed);
    // The event is chosen, not given: slightly worse than the best.
    found += MuOf(worlds) > 1 ? 1 : 0;
  }
  EXPECT_GE(found, 16);
}

// Three parties, one of which may pool its share with the analyst: shares of sigma^2 / 2.
SharedRelease ThreeParties(double share_stddev) {
  return Scalar(std::vector<ShareSampler>(3, Gaussian(share_stddev)), 64);
}

TEST(CoalitionAuditTest, SharesSizedForTheRemainingPartiesHold) {
  const SharedRelease release = ThreeParties(64 / std::sqrt(2.0));
  for (size_t party = 0; party < 3; ++party) {
    const double found = MuOf(Observe(release, {party}, kRuns, 30 + party));
    EXPECT_LE(found, 1);
    EXPECT_GE(found, 0.9);
  }
}

TEST(CoalitionAuditTest, NoiseSizedForAllIsFoundFromInsideOnly) {
  const SharedRelease release = ThreeParties(64 / std::sqrt(3.0));
  EXPECT_LE(MuOf(Observe(release, {}, kRuns, 40)), 1);
  EXPECT_GT(MuOf(Observe(release, {1}, kRuns, 41)), 1);
}

TEST(CoalitionAuditTest, APartyThatAddsNoNoiseIsFoundFromInsideOnly) {
  SharedRelease release = ThreeParties(64 / std::sqrt(2.0));
  release.shares[0] = NoNoise();
  EXPECT_LE(MuOf(Observe(release, {}, kRuns, 42)), 1);
  EXPECT_GT(MuOf(Observe(release, {1}, kRuns, 43)), 1.3);
}

TEST(CoalitionAuditTest, RefusesPartiesThatDoNotExist) {
  crypto::Prg random = SeededStream(1);
  const SharedRelease release = ThreeParties(8);
  for (const std::vector<size_t>& known : {std::vector<size_t>{3}, std::vector<size_t>{0, 0}}) {
    EXPECT_THROW(ObserveRuns(release, World::kWith, known, 10, random), Error);
  }
  SharedRelease unlike = release;
  unlike.with.push_back(0);
  EXPECT_THROW(ObserveRuns(unlike, World::kWith, {}, 10, random), Error);
}

// --- vectors -------------------------------------------------------------------------------------

// A person moves the outputs by (30, 10) at sigma 40: mu = sqrt(10) / 4.
const double kVectorMu = std::sqrt(1000.0) / 40;

TEST(VectorAuditTest, TheClassifierReachesTheWholeVector) {
  const SharedRelease release = {{Gaussian(40)}, {530, 210}, {500, 200}};
  const double found = MuOf(Observe(release, {}, kRuns, 50));
  EXPECT_LE(found, kVectorMu);
  EXPECT_GE(found, 0.9 * kVectorMu);
}

TEST(VectorAuditTest, TheSameNoiseForTwoOutputsIsFound) {
  const ShareSampler same = [noise = Gaussian(40)](crypto::RandomSource& random,
                                                   std::span<Int128> out) {
    noise(random, out);
    for (size_t i = 0; i + 1 < out.size(); i += 2) out[i + 1] = out[i];
  };
  const SharedRelease release = {{same}, {530, 210}, {500, 200}};
  const MuFinding finding =
      AuditMu(Observe(release, {}, kRuns, 51).with, Observe(release, {}, kRuns, 52).without);
  EXPECT_GT(finding.mu_lower, 5);
  EXPECT_EQ(EventText(finding.chosen.event).substr(0, 10), "classifier");
}

TEST(VectorAuditTest, ConstantCoordinatesAndManyDimensionsAreNoProblem) {
  std::vector<Int128> with(30, 5);
  const std::vector<Int128> without(30, 5);
  with[17] = 45;
  const ShareSampler partly = [noise = Gaussian(40)](crypto::RandomSource& random,
                                                     std::span<Int128> out) {
    noise(random, out);
    for (size_t i = 0; i < out.size(); i += 30) out[i] = 0;
  };
  const double found = MuOf(Observe({{partly}, with, without}, {}, 20000, 53));
  EXPECT_LE(found, 1);
  EXPECT_GE(found, 0.85);
}

// --- whole curves --------------------------------------------------------------------------------

TEST(CurveAuditTest, RightClaimsHold) {
  const Worlds laplace = Observe(Scalar({Laplace(50)}, 50), {}, kRuns, 60);
  EXPECT_FALSE(AuditTradeOff(laplace.with, laplace.without, EpsilonDeltaTradeOff({1, 0})).violated);
  const Worlds gaussian = Observe(Scalar({Gaussian(64)}, 64), {}, kRuns, 61);
  EXPECT_FALSE(AuditTradeOff(gaussian.with, gaussian.without, GaussianTradeOff(1)).violated);
  // Against the exact curve of the discrete mechanism.
  const std::vector<privacy::Event> events = {{DiscreteGaussianMechanism(64, 64, {}), 1}};
  const TradeOff exact = LowerTradeOff(Profile(events, ShowingEpsilons(events, 40)));
  EXPECT_FALSE(AuditTradeOff(gaussian.with, gaussian.without, exact).violated);
}

TEST(CurveAuditTest, ViolationsAreFoundWhereverTheyAre) {
  const Worlds halved = Observe(Scalar({Gaussian(32)}, 64), {}, kRuns, 62);
  EXPECT_TRUE(AuditTradeOff(halved.with, halved.without, GaussianTradeOff(1)).violated);
  // Gaussian noise is not (1, 1e-5)-private at mu = 1, and Laplace noise not 1-GDP: its curve lies
  // below that of mu = 1 in the tails.
  const Worlds gaussian = Observe(Scalar({Gaussian(64)}, 64), {}, kRuns, 63);
  EXPECT_TRUE(
      AuditTradeOff(gaussian.with, gaussian.without, EpsilonDeltaTradeOff({1, 1e-5})).violated);
  const Worlds laplace = Observe(Scalar({Laplace(50)}, 100), {}, kRuns, 64);
  const CurveFinding finding = AuditTradeOff(laplace.with, laplace.without, GaussianTradeOff(1.3));
  EXPECT_TRUE(finding.violated);
  EXPECT_LT(finding.tests[finding.worst].beta_upper, finding.tests[finding.worst].claimed_beta);
}

TEST(CurveAuditTest, AnUpperCurveIsNoClaim) {
  const Worlds worlds = Observe(Scalar({Laplace(1)}, 1), {}, 1000, 65);
  TradeOff upper = GaussianTradeOff(1);
  upper.side = CurveSide::kUpper;
  EXPECT_THROW(AuditTradeOff(worlds.with, worlds.without, upper), Error);
}

// --- bad input -----------------------------------------------------------------------------------

TEST(AuditInputTest, RefusesWhatCannotBeAudited) {
  const Outputs few{1, std::vector<double>(99, 0.0)};
  const Outputs good{1, std::vector<double>(1000, 0.0)};
  const Outputs pairs{2, std::vector<double>(1000, 0.0)};
  const Outputs ragged{3, std::vector<double>(1000, 0.0)};
  EXPECT_THROW(AuditEpsilon(few, good, 0), Error);
  EXPECT_THROW(AuditEpsilon(good, few, 0), Error);
  EXPECT_THROW(AuditEpsilon(good, pairs, 0), Error);
  EXPECT_THROW(AuditEpsilon(ragged, ragged, 0), Error);
  EXPECT_THROW(AuditEpsilon(Outputs{0, {}}, good, 0), Error);
  for (const double bad : {-0.1, 1.0, std::nan("")}) {
    EXPECT_THROW(AuditEpsilon(good, good, bad), Error);
    EXPECT_THROW(AuditMu(good, good, {bad, 0.1}), Error);
  }
  EXPECT_THROW(AuditMu(good, good, {1e-6, 0.0}), Error);
  // Constant outputs, and none at all, show nothing.
  EXPECT_EQ(AuditEpsilon(good, good, 0).epsilon_lower, 0);
  EXPECT_EQ(AuditMu(good, good).mu_lower, 0);
  const Outputs none{1, std::vector<double>(1000, std::numeric_limits<double>::infinity())};
  EXPECT_EQ(AuditEpsilon(none, none, 0).epsilon_lower, 0);
  EXPECT_EQ(AuditMu(none, none).mu_lower, 0);
  EXPECT_FALSE(AuditTradeOff(none, none, GaussianTradeOff(0)).violated);
}

}  // namespace
}  // namespace partita::privacy::black_box_test
