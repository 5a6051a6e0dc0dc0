// R63: the sampler equals a rational reference on the same random tape, value by value and byte by
// byte.
#include "tests/privacy/sampling/gaussian_reference.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "privacy/sampling/discrete_gaussian.h"

namespace partita::privacy::gaussian_reference_test {
namespace {

struct Scale {
  const char* name;
  GridVariance variance;
};

std::vector<Scale> Scales() {
  return {{"1/10", {1, 100, 0}},
          {"1/2", {1, 1, -2}},
          {"1", {1, 1, 0}},
          {"3/2", {9, 4, 0}},
          {"10", {100, 1, 0}},
          {"1000", {1000000, 1, 0}},
          {"1e6 + 1/3", {UInt128{3000001} * 3000001, 9, 0}},
          {"2^40", {1, 1, 80}},
          {"2^52 * 1.9", VarianceOfStddev(0x1.e666666666666p52)},
          {"2^53", VarianceOfStddev(0x1p53)},
          {"2^80 / 3", {1, 9, 160}},
          {"2^100", {1, 1, 200}}};
}

TEST(GaussianTableTest, EveryWeightIsWhatTheProofNeeds) {
  for (const Scale& scale : Scales()) {
    SCOPED_TRACE(scale.name);
    const GaussianTable table = BuildGaussianTable(scale.variance);
    const GaussianReference reference(table);
    ASSERT_EQ(table.weights.size(), table.bins + 2);
    UInt128 total = 0;
    for (uint32_t bin = 0; bin < table.bins; ++bin) {
      const UInt128 start = static_cast<UInt128>(bin) << table.width_bits;
      Bracket mass;
      reference.Ratio(start, 0, 1, mass);
      ASSERT_EQ(table.weights[bin], mpfr_get_ui(mass.upper, MPFR_RNDU)) << bin;
      ASSERT_EQ(table.quick[bin], reference.Quick(bin)) << bin;
      Bracket ratio;
      reference.Ratio(start, 0, table.weights[bin], ratio);
      ASSERT_EQ(table.ratio_at_start[bin], mpfr_get_d(ratio.lower, MPFR_RNDN)) << bin;
      total += table.weights[bin];
    }
    Bracket tail;
    reference.Ratio(static_cast<UInt128>(table.bins) << table.width_bits, 7, 1, tail);
    EXPECT_GE(table.weights[table.bins], mpfr_get_ui(tail.upper, MPFR_RNDU));
    EXPECT_EQ(table.quick[table.bins], 0);
    EXPECT_EQ(table.quick[table.bins + 1], 0);
    total += table.weights[table.bins];
    // Little is rejected for want of room, and the tail is far.
    EXPECT_EQ(total + table.weights[table.bins + 1], UInt128{1} << 64);
    EXPECT_LT(table.weights[table.bins + 1], uint64_t{1} << 20);
    EXPECT_LT(table.weights[table.bins], uint64_t{1} << 10);
  }
}

TEST(GaussianTableTest, AliasTableHasExactlyTheWeights) {
  for (const Scale& scale : Scales()) {
    SCOPED_TRACE(scale.name);
    const GaussianTable table = BuildGaussianTable(scale.variance);
    const AliasTable& alias = table.alias;
    const UInt128 capacity = UInt128{1} << (64 - alias.slot_bits);
    std::vector<UInt128> mass(table.weights.size(), 0);
    for (const AliasEntry& entry : alias.entries) {
      ASSERT_LE(entry.threshold, capacity);
      mass[entry.index[0]] += entry.threshold;
      mass[entry.index[1]] += capacity - entry.threshold;
      EXPECT_EQ(entry.quick[0], table.quick[entry.index[0]]);
      EXPECT_EQ(entry.quick[1], table.quick[entry.index[1]]);
    }
    for (size_t i = 0; i < mass.size(); ++i) ASSERT_EQ(mass[i], table.weights[i]) << i;
  }
}

// In bulk, across block borders.
TEST(GaussianReferenceTest, SameTapeSameSamples) {
  for (const Scale& scale : Scales()) {
    SCOPED_TRACE(scale.name);
    const DiscreteGaussian sampler(scale.variance);
    const GaussianReference reference(sampler.table());
    Tape tape(17);
    Tape same(17);
    std::vector<Int128> expected;
    std::vector<Int128> actual(1700);
    reference.Sample(same, expected, actual.size());
    sampler.Sample(tape, actual);
    EXPECT_EQ(actual, expected);
    EXPECT_EQ(tape.bytes_read(), same.bytes_read());
  }
}

// One sample from each of many tapes.
TEST(GaussianReferenceTest, ManyTapes) {
  const DiscreteGaussian sampler(GridVariance{UInt128{3000001} * 3000001, 9, 0});
  const GaussianReference reference(sampler.table());
  std::vector<Int128> expected;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    Tape tape(seed);
    Tape same(seed);
    reference.Sample(same, expected, 1);
    ASSERT_EQ(sampler.Sample(tape), expected[0]);
    ASSERT_EQ(tape.bytes_read(), same.bytes_read());
  }
}

// A word that chooses this slot.
uint64_t WordOfSlot(const AliasTable& alias, size_t slot) {
  const int shift = 64 - alias.slot_bits;
  for (uint64_t i = 0; i < alias.entries.size(); ++i) {
    const AliasEntry& entry = alias.entries[i];
    if (entry.index[0] == slot && entry.threshold > 0) return i << shift;
    if (entry.index[1] == slot && entry.threshold < uint64_t{1} << shift) {
      return (i << shift) + entry.threshold;
    }
  }
  ADD_FAILURE() << "no word chooses slot " << slot;
  return 0;
}

class ScriptedTest : public ::testing::TestWithParam<int> {
 protected:
  ScriptedTest()
      : sampler_(VarianceOfStddev(std::ldexp(1.7, GetParam()))),
        reference_(sampler_.table()),
        wide_(sampler_.table().width_bits > kNarrowWidthBits) {}

  std::vector<uint64_t> Record(size_t slot, UInt128 low, bool negative, uint16_t head) const {
    const uint64_t choice = WordOfSlot(sampler_.table().alias, slot);
    const uint64_t top = (uint64_t{head} << 48) | (uint64_t{negative} << 47);
    if (!wide_) return {choice, top | static_cast<uint64_t>(low)};
    return {choice, static_cast<uint64_t>(low), top | static_cast<uint64_t>(low >> 64)};
  }

  // Both samplers on the script; returns the sample and how many words were read.
  std::pair<Int128, size_t> Run(const std::vector<uint64_t>& script) {
    Tape tape(5, script);
    Tape same(5, script);
    std::vector<Int128> expected;
    reference_.Sample(same, expected, 1);
    const Int128 actual = sampler_.Sample(tape);
    EXPECT_EQ(actual, expected[0]);
    EXPECT_EQ(tape.bytes_read(), same.bytes_read());
    return {actual, tape.bytes_read() / 8};
  }

  size_t record_words() const { return wide_ ? 3 : 2; }

  DiscreteGaussian sampler_;
  GaussianReference reference_;
  bool wide_;
};

// U agrees with the ratio in its first 80 bits, where doubles cannot tell.
TEST_P(ScriptedTest, UndecidedUniforms) {
  const GaussianTable& table = sampler_.table();
  Tape random(9);
  int read_on = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const size_t slot = random.Word() % table.bins;
    const UInt128 low = ((static_cast<UInt128>(random.Word()) << 64) | random.Word()) &
                        ((UInt128{1} << table.width_bits) - 1);
    const UInt128 m = (static_cast<UInt128>(slot) << table.width_bits) + low;
    if (m == 0) continue;
    const auto [head, word] = reference_.RatioBits(slot, m);
    if (head < table.quick[slot]) continue;
    for (const uint64_t nudge : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
      std::vector<uint64_t> script = Record(slot, low, trial % 2 == 0, head);
      script.push_back(word + nudge);
      const auto [value, words] = Run(script);
      if (nudge == 0 && words > record_words() + 1) ++read_on;
    }
  }
  EXPECT_GT(read_on, 10);
}

TEST_P(ScriptedTest, Tail) {
  const GaussianTable& table = sampler_.table();
  for (const uint64_t geometric : {uint64_t{1}, uint64_t{2}, uint64_t{8}}) {
    for (const uint64_t bin : {uint64_t{0}, uint64_t{63}, ~uint64_t{0}}) {
      for (const uint16_t head : {uint16_t{0}, uint16_t{1}, uint16_t{0xffff}}) {
        for (const uint64_t word : {uint64_t{0}, uint64_t{1} << 40, ~uint64_t{0}}) {
          std::vector<uint64_t> script = Record(table.bins, 0, true, head);
          script.insert(script.end(), {geometric, bin, word});
          Run(script);
        }
      }
    }
  }
  // U = 0 is accepted: the first value of the tail.
  std::vector<uint64_t> script = Record(table.bins, 0, true, 0);
  script.insert(script.end(), {1, 0, 0});
  EXPECT_EQ(Run(script).first,
            -static_cast<Int128>(static_cast<UInt128>(table.bins) << table.width_bits));
}

TEST_P(ScriptedTest, ZeroHasOneSign) {
  EXPECT_EQ(Run(Record(0, 0, false, 0)).first, 0);
  EXPECT_EQ(Run(Record(0, 0, false, 0)).second, record_words());
  // The negative one is a candidate lost: the sample comes from the record after it.
  EXPECT_GE(Run(Record(0, 0, true, 0)).second, 2 * record_words());
}

TEST_P(ScriptedTest, RejectSlot) {
  const GaussianTable& table = sampler_.table();
  if (table.weights[table.bins + 1] == 0) return;  // these scales leave nothing to reject
  EXPECT_GE(Run(Record(table.bins + 1, 0, false, 0)).second, 2 * record_words());
}

TEST_P(ScriptedTest, SourceOfZerosInTheTailIsReported) {
  std::vector<uint64_t> script = Record(sampler_.table().bins, 0, false, 0);
  script.insert(script.end(), 16, 0);
  Tape tape(5, script);
  EXPECT_THROW(sampler_.Sample(tape), Error);
}

INSTANTIATE_TEST_SUITE_P(Scales, ScriptedTest, ::testing::Values(4, 12, 41, 51, 60, 80),
                         [](const auto& test) { return "log2_" + std::to_string(test.param); });

}  // namespace
}  // namespace partita::privacy::gaussian_reference_test
