#include "privacy/accounting/accountant.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "privacy/accounting/normal.h"

namespace partita::privacy::accountant_test {
namespace {

constexpr double kRate = 100.0 / 30162;

std::vector<Event> Dpvi(double noise, uint64_t steps, Adjacency adjacency) {
  return {{GaussianMechanism(noise, {adjacency, kRate}), steps}};
}

ErrorCode CodeOf(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_FALSE(error.hint().empty()) << error.what();
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorCode::kInternal;
}

// A decision needs less than an interval, and is the same.
TEST(AccountantTest, DecidesAsTheIntervalSays) {
  for (const Adjacency adjacency : {Adjacency::kAddRemove, Adjacency::kReplace}) {
    for (const uint64_t uses : {1, 300}) {
      const std::vector<Event> events = {{GaussianMechanism(2, {adjacency, 0.05}), uses}};
      const PldResult whole = PldEpsilon(events, 1e-6);
      for (const double factor : {0.5, 0.99, 0.999, 1.001, 1.01, 2.0}) {
        PldOptions options;
        const double asked = factor * whole.value.upper;
        options.decide = asked;
        const PldResult decided = PldEpsilon(events, 1e-6, options);
        EXPECT_EQ(decided.value.upper <= asked, factor > 1) << uses << " " << factor;
        EXPECT_LE(decided.value.lower, whole.value.upper);
        EXPECT_GE(decided.value.upper, whole.value.lower);
      }
    }
  }
}

// Whoever shares a limit of work gets wider intervals when it is used up, not wrong ones.
TEST(AccountantTest, StopsWhereTheWorkIsUsedUp) {
  const std::vector<Event> events = {{LaplaceMechanism(1, {Adjacency::kReplace, 0.1}), 20}};
  PldOptions options;
  options.relative_width = 1e-4;
  const PldResult whole = PldEpsilon(events, 1e-6, options);
  EXPECT_TRUE(whole.reached);
  options.work = std::make_shared<double>(0);
  const PldResult first = PldEpsilon(events, 1e-6, options);
  EXPECT_FALSE(first.reached);
  EXPECT_LT(first.cells, whole.cells);
  EXPECT_LE(first.value.lower, whole.value.lower);
  EXPECT_GE(first.value.upper, whole.value.upper);
  EXPECT_LT(*options.work, 0);
  // Enough for some refinement, and then for less.
  options.work = std::make_shared<double>(1e8);
  const PldResult second = PldEpsilon(events, 1e-6, options);
  EXPECT_GT(second.cells, first.cells);
}

TEST(AccountantTest, TheRungsOfTheLadder) {
  const std::vector<Event> events = Dpvi(2.042, 20000, Adjacency::kAddRemove);
  const Guarantee pld = Account(AccountantKind::kPld, events, 1e-5);
  const Guarantee rdp = Account(AccountantKind::kRdp, events, 1e-5);
  const Guarantee clt = Account(AccountantKind::kGaussianClt, events, 1e-5);
  EXPECT_NEAR(pld.epsilon.upper, 0.90898, 1e-3);
  EXPECT_NEAR(rdp.epsilon.upper, 0.9948, 1e-3);
  EXPECT_GE(rdp.epsilon.upper, pld.epsilon.upper);
  EXPECT_FALSE(clt.is_bound);
  EXPECT_TRUE(clt.applicable);
  EXPECT_FALSE(Account(AccountantKind::kAdvancedComposition, events, 1e-5).applicable);
  const Guarantee advanced =
      Account(AccountantKind::kAdvancedComposition, {{RandomisedResponse(0.1, {}), 100}}, 1e-5);
  EXPECT_GE(advanced.epsilon.upper,
            PldEpsilon({{RandomisedResponse(0.1, {}), 100}}, 1e-5).value.lower);
  EXPECT_LT(advanced.epsilon.upper, 10);
}

TEST(AccountantTest, NoiseForABudget) {
  for (const auto& setting :
       {std::pair{Adjacency::kAddRemove, 1.8926}, std::pair{Adjacency::kReplace, 3.4998}}) {
    const NoiseCalibration found = NoiseForBudget(
        [&](double noise) { return Dpvi(noise, 20000, setting.first); }, {1, 1e-5}, 1e-4);
    EXPECT_LE(found.epsilon.upper, 1);
    EXPECT_NEAR(found.noise_multiplier, setting.second, 2e-3);
  }
  // One Gaussian: the analytic calibration, from the safe side.
  const NoiseCalibration one = NoiseForBudget(
      [](double noise) {
        return std::vector<Event>{{GaussianMechanism(noise, {}), 1}};
      },
      {1, 1e-6}, 1e-5);
  EXPECT_GE(one.noise_multiplier, 1 / GaussianMu(1, 1e-6));
  EXPECT_LE(one.noise_multiplier, 1.002 / GaussianMu(1, 1e-6));
}

TEST(AccountantTest, StepsForABudget) {
  const EventsAtSteps events = [](uint64_t steps) {
    return Dpvi(2.042, steps, Adjacency::kAddRemove);
  };
  const StepsCalibration found = StepsForBudget(events, {0.90898, 1e-5}, 1'000'000);
  EXPECT_LE(found.epsilon.upper, 0.90898);
  EXPECT_NEAR(static_cast<double>(found.steps), 20000, 40);
  EXPECT_GT(PldEpsilon(events(found.steps + 1), 1e-5).value.upper, 0.90898);
  EXPECT_EQ(StepsForBudget(events, {0.0001, 1e-9}).steps, 0u);
  EXPECT_EQ(StepsForBudget(events, {5, 1e-5}, 7).steps, 7u);
}

// Whatever the scale, a search ends when its work is used up, with a number that fits.
TEST(AccountantTest, ASearchOfStepsKeepsToItsWork) {
  constexpr double kWork = 1.2e9;
  for (const double scale : {30.0, 1000.0, 3000.0}) {
    for (const uint64_t most : {uint64_t{1000}, uint64_t{1'000'000'000}}) {
      const EventsAtSteps events = [scale](uint64_t steps) -> std::vector<Event> {
        return {{DiscreteLaplaceMechanism(scale, 1, {Adjacency::kAddRemove, 0.01}), steps}};
      };
      PldOptions options;
      options.max_cells = size_t{1} << 20;
      options.work = std::make_shared<double>(kWork);
      const StepsCalibration found = StepsForBudget(events, {0.1, 1e-6}, most, options);
      EXPECT_GT(*options.work, -kWork) << scale;
      EXPECT_GE(found.steps, std::min<uint64_t>(most, 1000)) << scale;
      EXPECT_LE(PldEpsilon(events(found.steps), 1e-6).value.lower, 0.1) << scale;
      if (found.largest && found.steps < most) {
        EXPECT_GT(PldEpsilon(events(found.steps + 1), 1e-6).value.upper * (1 + 2e-3), 0.1);
      }
    }
  }
}

// What cannot be decided any more does not fit.
TEST(AccountantTest, UndecidedStepsDoNotFit) {
  const EventsAtSteps events = [](uint64_t steps) -> std::vector<Event> {
    return {{GaussianMechanism(20, {Adjacency::kAddRemove, 0.01}), 1000 * steps}};
  };
  const double epsilon = PldEpsilon(events(1), 1e-6).value.lower * 0.9995;
  PldOptions options;
  options.work = std::make_shared<double>(0);
  EXPECT_EQ(StepsForBudget(events, {epsilon, 1e-6}, 10, options).steps, 0u);
  options.work = std::make_shared<double>(0);
  EXPECT_EQ(StepsForBudget(events, {2 * epsilon, 1e-6}, 1, options).steps, 1u);
}

// The same as trying every number would find.
TEST(AccountantTest, StepsAreTheLargestNumberThatFits) {
  for (const double noise : {0.8, 1.0, 2.0, 5.0}) {
    for (const double epsilon : {0.5, 1.0, 3.0}) {
      const EventsAtSteps events = [noise](uint64_t steps) -> std::vector<Event> {
        return {{GaussianMechanism(noise, {Adjacency::kReplace, 0.2}), steps}};
      };
      const auto fits = [&](uint64_t steps) {
        return PldEpsilon(events(steps), 1e-5).value.upper <= epsilon;
      };
      uint64_t expected = 0;
      while (expected < 40 && fits(expected + 1)) ++expected;
      EXPECT_EQ(StepsForBudget(events, {epsilon, 1e-5}, 40).steps, expected) << noise << epsilon;
    }
  }
}

TEST(AccountantTest, MonotoneInEveryArgument) {
  const auto upper = [](double noise, double rate, uint64_t steps, double delta) {
    return PldEpsilon({{GaussianMechanism(noise, {Adjacency::kAddRemove, rate}), steps}}, delta)
        .value;
  };
  const Interval base = upper(2, 0.01, 1000, 1e-6);
  EXPECT_GT(base.lower, upper(2.02, 0.01, 1000, 1e-6).upper);
  EXPECT_LT(base.upper, upper(2, 0.0101, 1000, 1e-6).lower);
  EXPECT_LT(base.upper, upper(2, 0.01, 1010, 1e-6).lower);
  EXPECT_LT(base.upper, upper(2, 0.01, 1000, 0.9e-6).lower);
}

TEST(AccountantTest, HeterogeneousPlansAddUp) {
  // Gaussians combine exactly, whatever the order and the split.
  const Interval joint =
      PldEpsilon({{GaussianMechanism(3, {}), 4}, {GaussianMechanism(1.5, {}), 1}}, 1e-6).value;
  const double mu = std::sqrt(4.0 / 9 + 1 / 2.25);
  EXPECT_LE(joint.lower, GaussianEpsilon(mu, 1e-6));
  EXPECT_GE(joint.upper, GaussianEpsilon(mu, 1e-6));
  // Sampled steps, a Laplace count and a bit, together: at least each part, at most the sum.
  const std::vector<Event> plan = {{GaussianMechanism(1.2, {Adjacency::kAddRemove, 0.02}), 500},
                                   {LaplaceMechanism(5, {}), 3},
                                   {RandomisedResponse(0.3, {}), 1}};
  const PldResult all = PldEpsilon(plan, 1e-6);
  double sum = 0;
  for (const Event& event : plan) {
    const Interval part = PldEpsilon({event}, 1e-6 / 3).value;
    sum += part.upper;
    EXPECT_GT(all.value.upper, PldEpsilon({event}, 1e-6).value.lower);
  }
  EXPECT_LT(all.value.lower, sum);
  EXPECT_LT(all.value.upper - all.value.lower, 0.02 * all.value.upper);
}

TEST(AccountantTest, ExtremeArguments) {
  // A million steps, tiny delta, huge loss: an interval, never an epsilon of 0 by underflow.
  const PldResult many = PldEpsilon(Dpvi(5, 1'000'000, Adjacency::kAddRemove), 1e-6);
  EXPECT_TRUE(many.reached);
  EXPECT_GT(many.value.lower, 2);
  const PldResult tiny = PldEpsilon({{GaussianMechanism(2, {}), 1}}, 1e-250);
  EXPECT_NEAR(tiny.value.upper, GaussianEpsilon(0.5, 1e-250), 2e-3 * tiny.value.upper);
  const PldResult sampled =
      PldEpsilon({{GaussianMechanism(2, {Adjacency::kAddRemove, 0.01}), 100}}, 1e-100);
  EXPECT_GT(sampled.value.lower, 5);
  EXPECT_LE(sampled.value.lower, sampled.value.upper);
  const PldResult loud = PldEpsilon({{GaussianMechanism(0.05, {}), 1}}, 1e-5);  // mu = 20
  EXPECT_NEAR(loud.value.upper, GaussianEpsilon(20, 1e-5), 2e-3 * loud.value.upper);
  const PldResult quiet = PldDelta({{GaussianMechanism(1000, {}), 1}}, 0.5);
  EXPECT_GT(quiet.value.upper, 0);  // the truth is about 1e-54000
  EXPECT_GE(PldEpsilon({{GaussianMechanism(1000, {}), 1}}, 0.5).value.upper, 0);
}

TEST(AccountantTest, BadInputIsATypedError) {
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               inf = std::numeric_limits<double>::infinity();
  const std::vector<Event> good = {{GaussianMechanism(1, {}), 1}};
  EXPECT_EQ(CodeOf([&] { PldEpsilon({}, 1e-5); }), ErrorCode::kUsage);
  EXPECT_EQ(CodeOf([&] { Account(AccountantKind::kRdp, {}, 1e-5); }), ErrorCode::kUsage);
  for (double delta : {0.0, 1.0, -1e-5, 2.0, nan, inf, 1e-290})
    EXPECT_EQ(CodeOf([&] { PldEpsilon(good, delta); }), ErrorCode::kUsage) << delta;
  for (double epsilon : {-1.0, nan, inf, 1e7})
    EXPECT_EQ(CodeOf([&] { PldDelta(good, epsilon); }), ErrorCode::kUsage) << epsilon;
  EXPECT_EQ(CodeOf([&] { PldEpsilon({{GaussianMechanism(1, {}), 0}}, 1e-5); }), ErrorCode::kUsage);
  EXPECT_EQ(CodeOf([&] {
              PldEpsilon({{GaussianMechanism(1, {}), kMaxCount + 1}}, 1e-5);
            }),
            ErrorCode::kUsage);
  for (double width : {0.0, 1.0, nan}) {
    PldOptions options;
    options.relative_width = width;
    EXPECT_EQ(CodeOf([&] { PldEpsilon(good, 1e-5, options); }), ErrorCode::kUsage) << width;
  }
  EXPECT_THROW(PldEpsilon({Event{}}, 1e-5), Error);
  EXPECT_EQ(CodeOf([] {
              NoiseForBudget([](double noise) { return Dpvi(noise, 1000, Adjacency::kReplace); },
                             {1e-9, 1e-20});
            }),
            ErrorCode::kBudget);
}

}  // namespace
}  // namespace partita::privacy::accountant_test
