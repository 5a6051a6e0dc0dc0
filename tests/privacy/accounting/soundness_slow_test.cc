// R66 on 1e4 random parameter sets and more, one minute: closed forms against 256 bits,
// compositions of a few draws against exact rational arithmetic, sampled Gaussians against Laplace
// inversion with three contours that agree to 1e-9.
#include "tests/privacy/accounting/soundness.h"

namespace partita::privacy::testing::soundness_slow_test {
namespace {

TEST(SoundnessSlowTest, ClosedForms) {
  const Soundness found = CheckClosedForms(Product, 6500, 11);
  ExpectSound(found, 10000);
  EXPECT_EQ(found.wide, 0);
}
TEST(SoundnessSlowTest, Discrete) {
  ExpectSound(CheckDiscrete(ProductInLittleMemory, 2000, 12), 1600);
}
TEST(SoundnessSlowTest, SampledGaussians) {
  const Soundness found = CheckSampledGaussians(Product, 3000, 13);
  ExpectSound(found, 2200);
  EXPECT_EQ(found.wide, 0);
}

}  // namespace
}  // namespace partita::privacy::testing::soundness_slow_test
