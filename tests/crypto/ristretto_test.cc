// The group against the test vectors of RFC 9496, appendix A, and the properties callers rely on.
#include "crypto/ristretto.h"

#include <gtest/gtest.h>

#include "crypto/prg.h"
#include "crypto/raised_encoding.h"
#include "crypto/scalar_ratio.h"
#include "tests/data/expect_error.h"

namespace partita::crypto::ristretto_test {
namespace {

// Yields the same bytes again and again.
class Tape : public RandomSource {
 public:
  explicit Tape(Bytes bytes) : bytes_(std::move(bytes)) {}
  void Fill(std::span<uint8_t> out) override {
    for (uint8_t& byte : out) byte = bytes_[used_++ % bytes_.size()];
  }
  size_t used() const { return used_; }

 private:
  Bytes bytes_;
  size_t used_ = 0;
};

RistrettoScalar ScalarFrom(const std::string& hex) {
  Bytes bytes = FromHex(hex);
  bytes.resize(64);
  Tape tape(bytes);
  return RandomScalar(tape);
}

RistrettoPoint Generator() {
  return *RistrettoPoint::Decode(
      FromHex("e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76"));
}

TEST(RistrettoTest,
     PublishedHashes) {  // ristretto.group; their SHA-512 are the inputs of RFC 9496, A.3
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"Ristretto is traditionally a short shot of espresso coffee",
       "3066f82a1a747d45120d1740f14358531a8f04bbffe6a819f86dfe50f44a0a46"},
      {"made with the normal amount of ground coffee but extracted with",
       "f26e5b6f7d362d2d2a94c5d0e7602cb4773c95a2e5c31a64f133189fa76ed61b"},
      {"about half the amount of water in the same amount of time",
       "006ccd2a9e6867e6a2c5cea83d3302cc9de128dd2a9a57dd8ee7b9d7ffe02826"},
  };
  for (const auto& [message, encoding] : cases) {
    EXPECT_EQ(ToHex(RistrettoPoint::Hash(AsBytes(message)).bytes()), encoding) << message;
  }
}

TEST(RistrettoTest, PublishedMultiples) {  // RFC 9496, A.1
  EXPECT_EQ(ToHex(Generator().Times(ScalarFrom("01")).bytes()),
            "e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76");
  EXPECT_EQ(ToHex(Generator().Times(ScalarFrom("02")).bytes()),
            "6a493210f7499cd17fecb510ae0cea23a110e8d5b901f8acadd3095c73a3b919");
  EXPECT_EQ(ToHex(Generator().Times(ScalarFrom("03")).bytes()),
            "94741f5d5d52755ece4f23f044ee27d5d1ea1e2bd196b462166b16152a9d0259");
}

TEST(RistrettoTest, ScalarsAreReducedFrom64Bytes) {
  // The order plus 2.
  const std::string order_2 = "efd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010";
  EXPECT_EQ(ToHex(ScalarFrom(order_2).Expose()), "02" + std::string(62, '0'));
  // The last byte counts.
  Bytes bytes(64, 5);
  Tape first(bytes);
  bytes[63] = 6;
  Tape second(bytes);
  EXPECT_NE(RandomScalar(first).Expose(), RandomScalar(second).Expose());
  EXPECT_EQ(first.used(), 64u);
}

TEST(RistrettoTest, MultiplicationsCommuteAndZeroIsRefused) {
  Prg random{Key()};
  const RistrettoScalar a = RandomScalar(random), b = RandomScalar(random);
  const RistrettoPoint p = RistrettoPoint::Hash(AsBytes("p")),
                       q = RistrettoPoint::Hash(AsBytes("q"));
  EXPECT_EQ(p.Times(a).Times(b), p.Times(b).Times(a));
  EXPECT_NE(p.Times(a), p.Times(b));
  EXPECT_NE(p.Times(a), q.Times(a));
  ExpectError(ErrorCode::kInternal, "multiplied by zero", "", [&] { p.Times(ScalarFrom("00")); });
}

TEST(RistrettoTest, ARatioTakesOneMultipleToAnother) {
  Prg random{Key()};
  const RistrettoPoint p = RistrettoPoint::Hash(AsBytes("p"));
  for (int i = 0; i < 20; ++i) {
    const RistrettoScalar a = RandomScalar(random), b = RandomScalar(random);
    EXPECT_EQ(p.Times(b).Times(Ratio(a, b)), p.Times(a));
    EXPECT_NE(p.Times(b).Times(Ratio(b, a)), p.Times(a));
  }
  const RistrettoScalar one = ScalarFrom("01"), two = ScalarFrom("02");
  EXPECT_EQ(p.Times(Ratio(one, two)).Times(two), p);
  ExpectError(ErrorCode::kInternal, "divided by zero", "", [&] { Ratio(one, ScalarFrom("00")); });
}

TEST(RistrettoTest, DecodesWhatItEncodes) {
  const RistrettoPoint p = RistrettoPoint::Hash(AsBytes("p"));
  const std::optional<RistrettoPoint> decoded = RistrettoPoint::Decode(p.bytes());
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(*decoded, p);
}

TEST(RistrettoTest, DecodingAndMultiplyingAtOnceIsBoth) {
  Prg random{Key()};
  for (int i = 0; i < 20; ++i) {
    const RistrettoScalar scalar = RandomScalar(random);
    const RistrettoPoint p = RistrettoPoint::Draw(random);
    EXPECT_EQ(RaisedEncoding(p.bytes(), scalar), p.Times(scalar).bytes());
  }
  ExpectError(ErrorCode::kInternal, "multiplied by zero", "",
              [&] { RaisedEncoding(Generator().bytes(), ScalarFrom("00")); });
}

TEST(RistrettoTest, EverythingElseIsRefused) {
  const std::string ff(60, 'f');
  const std::vector<std::string> bad = {
      std::string(64, '0'),  // the identity
      "", "e2", ToHex(Generator().bytes()) + "00",
      // RFC 9496, A.2: no canonical field elements.
      "00" + ff + "ff", "ff" + ff + "7f", "f3" + ff + "7f", "ed" + ff + "7f",
      // Negative field elements.
      "01" + std::string(62, '0'), "01" + ff + "7f",
      "ed57ffd8c914fb201471d1c3d245ce3c746fcbe63a3679d51b6a516ebebe0e20",
      // x^2 no square; x y negative; s = -1, so that y = 0.
      "26948d35ca62e643e26a83177332e6b6afeb9d08e4268b650f1f5bbd8d81d371",
      "3eb858e78f5a7254d8c9731174a94f76755fd3941c0ac93735c07ba14579630e", "ec" + ff + "7f"};
  for (const std::string& hex : bad) {
    EXPECT_FALSE(RistrettoPoint::Decode(FromHex(hex)).has_value()) << hex;
    EXPECT_FALSE(RaisedEncoding(FromHex(hex), ScalarFrom("02")).has_value()) << hex;
  }
}

TEST(RistrettoTest, SumsAndDifferences) {
  const RistrettoPoint g = RistrettoPoint::Generate(ScalarFrom("01"));
  EXPECT_EQ(g, Generator());
  const RistrettoPoint two = RistrettoPoint::Generate(ScalarFrom("02"));
  const RistrettoPoint three = RistrettoPoint::Generate(ScalarFrom("03"));
  EXPECT_EQ(g.Plus(g), two);
  EXPECT_EQ(g.Plus(two), three);
  EXPECT_EQ(three.Minus(two), g);
  EXPECT_EQ(g.Minus(g), std::nullopt);
  const RistrettoPoint negative = *g.Minus(two);
  EXPECT_EQ(g.Plus(negative), std::nullopt);
  EXPECT_EQ(two.Plus(negative), g);
}

// A scalar of zero is the one that a generator multiple cannot have.
TEST(RistrettoTest, ZeroIsRefused) {
  EXPECT_THROW(RistrettoPoint::Generate(ScalarFrom("00")), Error);
}

TEST(RistrettoTest, RandomElementsAreValidAndDifferent) {
  SystemRandom random;
  const RistrettoPoint a = RistrettoPoint::Draw(random), b = RistrettoPoint::Draw(random);
  EXPECT_EQ(RistrettoPoint::Decode(a.bytes()), a);
  EXPECT_FALSE(a == b);
  Tape tape(Bytes(64, 3));
  RistrettoPoint::Draw(tape);
  EXPECT_EQ(tape.used(), 64u);
}

}  // namespace
}  // namespace partita::crypto::ristretto_test
