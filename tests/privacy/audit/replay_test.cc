// Record and replay: the right mechanism passes on every pair of neighbours, every planted fault of
// what enters the noise is named.
#include "privacy/audit/replay.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "privacy/sampling/clipping.h"
#include "privacy/sampling/discrete_gaussian.h"
#include "tests/privacy/sampling/tape.h"

namespace partita::privacy::replay_test {
namespace {

using ::testing::Message;
using Rows = std::vector<std::vector<double>>;

constexpr int kFractionBits = 20;
constexpr double kBound = 1;

enum class Fault {
  kNone,
  kNormsMixed,          // the L2 bound is declared as one in L1
  kReplaceAsAddRemove,  // one row's contribution declared where two rows are exchanged
  kIntegerDivision,     // 3 (2 C / 3), the bound over three sites, in whole numbers: 0
  kClipUnused,          // the clipped row is computed and not used
  kNoiseForgotten,      // no noise where the sum is small
  kNoiseInOtherOrder,   // sums and count exchange places with the data
  kScaleOfData,         // the noise is as large as the data say
  kTruncationFree,      // rows are rounded downwards after clipping, and that is not charged
};

// Sum of clipped rows and their number, each with Gaussian noise; neighbours exchange one row, or
// add one if `add_remove`.
class NoisySum {
 public:
  NoisySum(Fault fault, bool add_remove) : fault_(fault), add_remove_(add_remove) {}

  std::vector<Int128> operator()(const Rows& rows, NoiseAdder& noise) const {
    std::vector<Int128> sum(2);
    Int128 count = 0;
    for (const std::vector<double>& row : rows) {
      std::vector<Int128> clipped(2);
      ClipToGrid(row, {Norm::kL2, kBound, kFractionBits}, clipped);
      for (size_t i = 0; i < 2; ++i) {
        const double unclipped = std::ldexp(row[i], kFractionBits);
        Int128 value = fault_ == Fault::kClipUnused ? static_cast<Int128>(unclipped) : clipped[i];
        if (fault_ == Fault::kTruncationFree) value = (value >> 12) << 12;
        sum[i] += value;
      }
      ++count;
    }
    const double person = std::ldexp(kBound, kFractionBits);
    double declared = person;
    if (!add_remove_ && fault_ != Fault::kReplaceAsAddRemove) declared *= 2;
    if (fault_ == Fault::kIntegerDivision)
      declared = 3 * (static_cast<int>(declared / person) / 3) * person;
    const NoiseRequest vector =
        Request(fault_ == Fault::kNormsMixed ? Norm::kL1 : Norm::kL2, declared,
                fault_ == Fault::kScaleOfData ? static_cast<int>(rows.size()) : 1);
    const NoiseRequest counting = Request(Norm::kL1, add_remove_ ? 1 : 0.5, 1);
    std::vector<Int128> counted = {count};
    const bool other_order = fault_ == Fault::kNoiseInOtherOrder && sum[0] > 0;
    if (other_order) noise.Add(counting, counted);
    if (!(fault_ == Fault::kNoiseForgotten && sum[0] < 0)) noise.Add(vector, sum);
    if (!other_order) noise.Add(counting, counted);
    sum.push_back(counted[0]);
    return sum;
  }

 private:
  // Noise of sigma 100, `factor` times as large.
  static NoiseRequest Request(Norm norm, double sensitivity, int factor) {
    return {"discrete Gaussian, sigma 100 x " + std::to_string(factor), norm, sensitivity,
            [factor](crypto::RandomSource& random, std::span<Int128> out) {
              static const DiscreteGaussian sampler(VarianceOfStddev(100));
              sampler.Sample(random, out);
              for (Int128& value : out) value *= factor;
            }};
  }

  Fault fault_;
  bool add_remove_;
};

// Rows of a small domain that holds the hard ones: on the bound, beyond it, between grid points.
const Rows kDomain = {{0, 0}, {0.7, 0.7}, {-3, 0.1}, {0.6, -0.8}, {1e-4, -1e-4}};

std::vector<std::string> ReplayPair(const NoisySum& mechanism, const Rows& a, const Rows& b) {
  return Replay<Rows, Tape>(mechanism, a, b, [] { return Tape(7); });
}

// The faults that some pair of neighbours of up to three rows shows.
std::vector<std::string> ReplayAll(Fault fault, bool add_remove) {
  const NoisySum mechanism(fault, add_remove);
  std::vector<std::string> all;
  for (const auto& x : kDomain) {
    for (const auto& y : kDomain) {
      for (const auto& z : kDomain) {
        const Rows a = {x, y};
        const Rows b = add_remove ? Rows{x, y, z} : Rows{x, z};
        for (std::string& found : ReplayPair(mechanism, a, b)) all.push_back(std::move(found));
      }
    }
  }
  return all;
}

TEST(ReplayTest, TheRightMechanismPasses) {
  for (const bool add_remove : {false, true}) {
    const std::vector<std::string> found = ReplayAll(Fault::kNone, add_remove);
    EXPECT_TRUE(found.empty()) << found[0];
  }
}

TEST(ReplayTest, EveryFaultIsNamed) {
  const std::vector<std::tuple<Fault, bool, std::string>> cases = {
      {Fault::kNormsMixed, true, "noise call 1: neighbours differ by"},
      {Fault::kReplaceAsAddRemove, false, "noise call 1: neighbours differ by"},
      {Fault::kIntegerDivision, false, "noise call 1: neighbours differ by"},
      {Fault::kClipUnused, true, "noise call 1: neighbours differ by"},
      {Fault::kNoiseForgotten, false, "noise calls on one data set and"},
      {Fault::kNoiseInOtherOrder, false,
       "noise call 1: the declared sensitivity depends on the data"},
      {Fault::kScaleOfData, true, "the law depends on the data"},
      {Fault::kTruncationFree, true, "noise call 1: neighbours differ by"},
  };
  for (const auto& [fault, add_remove, sentence] : cases) {
    const std::vector<std::string> found = ReplayAll(fault, add_remove);
    ASSERT_FALSE(found.empty()) << sentence;
    bool named = false;
    for (const std::string& text : found) named = named || text.find(sentence) != std::string::npos;
    EXPECT_TRUE(named) << sentence << " / " << found[0];
  }
}

TEST(ReplayTest, HowMuchRandomnessIsReadMayNotDependOnData) {
  using Mechanism = ReplayedMechanism<int>;
  const Mechanism reads_more = [](const int& data, NoiseAdder& noise) {
    std::vector<Int128> value = {0};
    noise.Add({"constant law", Norm::kL1, 1,
               [data](crypto::RandomSource& random, std::span<Int128>) {
                 std::vector<uint8_t> bytes(static_cast<size_t>(8 + data));
                 random.Fill(bytes);
               }},
              value);
    return value;
  };
  const auto found = Replay<int, Tape>(reads_more, 0, 1, [] { return Tape(7); });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0], "how much randomness is read depends on the data");
}

// The calls hold what went in, and what comes out is that plus the noise of the tape.
TEST(ReplayTest, RecordsTheValuesBeforeTheNoise) {
  Tape tape(3);
  Tape twin(3);
  RecordingNoise noise(tape);
  std::vector<Int128> values = {5, -7};
  const DiscreteGaussian sampler(VarianceOfStddev(50));
  noise.Add(
      {"law", Norm::kLinf, 2,
       [&](crypto::RandomSource& random, std::span<Int128> out) { sampler.Sample(random, out); }},
      values);
  std::vector<Int128> drawn(2);
  sampler.Sample(twin, drawn);
  ASSERT_EQ(noise.calls().size(), 1u);
  EXPECT_TRUE((noise.calls()[0].values == std::vector<Int128>{5, -7}));
  EXPECT_TRUE(values[0] == 5 + drawn[0]);
  EXPECT_TRUE(values[1] == -7 + drawn[1]);
}

TEST(ReplayTest, DistancesAreThoseOfTheNorm) {
  const std::vector<Int128> a = {Int128{1} << 70, 3, 0};
  const std::vector<Int128> b = {(Int128{1} << 70) - 4, 0, 0};
  EXPECT_NEAR(static_cast<double>(GridDistance(a, b, Norm::kL1)), 7, 1e-15);
  EXPECT_NEAR(static_cast<double>(GridDistance(a, b, Norm::kL2)), 5, 1e-15);
  EXPECT_NEAR(static_cast<double>(GridDistance(a, b, Norm::kLinf)), 4, 1e-15);
  EXPECT_LE(GridDistance(a, b, Norm::kL2), 5.0L);  // never flags what is exactly as declared
  EXPECT_THROW(GridDistance(a, std::vector<Int128>{1}, Norm::kL1), Error);
}

TEST(ReplayTest, UnlikeCallsAreNamed) {
  const NoiseCall call{"law", Norm::kL2, 1, {1, 2}};
  NoiseCall other = call;
  other.sensitivity = 2;
  EXPECT_EQ(CompareReplays({call}, {other}),
            std::vector<std::string>{"noise call 1: the declared sensitivity depends on the data"});
  other = call;
  other.values = {1};
  EXPECT_EQ(
      CompareReplays({call, call}, {call, other}),
      std::vector<std::string>{"noise call 2: 2 values on one data set and 1 on its neighbour"});
  EXPECT_EQ(CompareReplays({call, call}, {call}),
            std::vector<std::string>{"2 noise calls on one data set and 1 on its neighbour"});
  EXPECT_TRUE(CompareReplays({call}, {call}).empty());
}

}  // namespace
}  // namespace partita::privacy::replay_test
