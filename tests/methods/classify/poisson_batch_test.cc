// Batches by the exact coins that the header describes.
#include "methods/classify/poisson_batch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>

#include "crypto/prg.h"

namespace partita::methods::classify::poisson_batch_test {
namespace {

using Eigen::Index;

// Bytes that are written down.
class Tape : public crypto::RandomSource {
 public:
  explicit Tape(std::deque<uint8_t> bytes) : bytes_(std::move(bytes)) {}
  void Fill(std::span<uint8_t> out) override {
    for (uint8_t& byte : out) {
      ASSERT_FALSE(bytes_.empty()) << "more is drawn than the coins need";
      byte = bytes_.front();
      bytes_.pop_front();
    }
  }
  size_t left() const { return bytes_.size(); }

 private:
  std::deque<uint8_t> bytes_;
};

// Rows whose coin is below it, equal to it, above it.
TEST(PoissonBatch, ARowIsDrawnIfItsCoinIsBelowTheRate) {
  const double rate = std::ldexp(static_cast<double>(0x0280000000000000), -64);
  Tape tape({0,    1,   2,   2,   2,   3,   255,  // first bytes of seven rows
             0x7f, 255, 255, 255, 255, 255, 255,  // row 2: just below
             0x80, 0,   0,   0,   0,   0,   0,    // row 3: equal
             0x80, 0,   0,   0,   0,   0,   1});  // row 4: just above
  EXPECT_EQ(DrawPoissonBatch(7, rate, tape), (std::vector<Index>{0, 1, 2}));
  EXPECT_EQ(tape.left(), 0u);
}

TEST(PoissonBatch, RatesOfWholeBytesAndOfOneNeedNoMore) {
  Tape tape({0, 1, 127, 128, 255, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(DrawPoissonBatch(5, 0.5, tape), (std::vector<Index>{0, 1, 2}));
  EXPECT_EQ(tape.left(), 0u);  // row 3 was equal in its first byte
  EXPECT_EQ(DrawPoissonBatch(3, 1, tape), (std::vector<Index>{0, 1, 2}));
  // Below 2^-64 nothing is drawn: the chance is rounded down.
  Tape zeros(std::deque<uint8_t>(8, 0));
  EXPECT_TRUE(DrawPoissonBatch(1, 0x1p-65, zeros).empty());
}

// A million coins of a rate whose first byte ties once in 256: five standard deviations, 6e-7.
TEST(PoissonBatch, HasTheMeanOfTheRate) {
  const crypto::Key key;
  crypto::Prg prg(key);
  constexpr double kRate = 0.004096;
  constexpr Index kCoins = 1000000;
  const auto drawn = static_cast<double>(DrawPoissonBatch(kCoins, kRate, prg).size());
  EXPECT_NEAR(drawn, kRate * kCoins, 5 * std::sqrt(kRate * (1 - kRate) * kCoins));
}

}  // namespace
}  // namespace partita::methods::classify::poisson_batch_test
