// R63 at full size: 1e5 tapes over the scales of R64, each equal to the reference.
#include <gtest/gtest.h>

#include "privacy/sampling/discrete_gaussian.h"
#include "tests/privacy/sampling/gaussian_reference.h"

namespace partita::privacy::gaussian_tapes_test {
namespace {

TEST(GaussianTapesTest, HundredThousandTapes) {
  const std::vector<GridVariance> variances = {{1, 100, 0},
                                               {1, 1, -2},
                                               {1, 1, 0},
                                               {9, 4, 0},
                                               {100, 1, 0},
                                               {1000000, 1, 0},
                                               {UInt128{3000001} * 3000001, 9, 0},
                                               {1, 1, 80},
                                               {1, 1, 108},
                                               {1, 9, 160}};
  for (const GridVariance& variance : variances) {
    const DiscreteGaussian sampler(variance);
    const GaussianReference reference(sampler.table());
    std::vector<Int128> expected;
    for (uint64_t seed = 0; seed < 10000; ++seed) {
      Tape tape(seed);
      Tape same(seed);
      reference.Sample(same, expected, 1);
      ASSERT_EQ(sampler.Sample(tape), expected[0]);
      ASSERT_EQ(tape.bytes_read(), same.bytes_read());
    }
  }
}

}  // namespace
}  // namespace partita::privacy::gaussian_tapes_test
