// R66 on 1e4 random parameter sets.
#include "tests/privacy/accounting/soundness.h"

namespace partita::privacy::testing {
namespace {

TEST(SoundnessSlowTest, ClosedForms) { ExpectSound(CheckClosedForms(Product, 5000, 11), 6000); }
TEST(SoundnessSlowTest, Discrete) {
  ExpectSound(CheckDiscrete(ProductInLittleMemory, 2000, 12), 1500);
}
TEST(SoundnessSlowTest, SampledGaussians) {
  ExpectSound(CheckSampledGaussians(Product, 3000, 13), 1500);
}

}  // namespace
}  // namespace partita::privacy::testing
