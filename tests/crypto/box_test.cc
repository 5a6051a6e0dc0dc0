// Encryption to public keys and between pairs, and streams of many keys: published vectors and the
// properties callers rely on.
#include "crypto/box.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "crypto/kdf.h"
#include "crypto/key_stream.h"
#include "crypto/prg.h"

namespace partita::crypto::box_test {
namespace {

Key KeyOf(std::string_view hex) {
  Key key;
  std::ranges::copy(FromHex(hex), key.Expose().begin());
  return key;
}

// Gives these bytes.
class Tape : public RandomSource {
 public:
  explicit Tape(std::string_view hex) : bytes_(FromHex(hex)) {}
  void Fill(std::span<uint8_t> out) override {
    ASSERT_LE(read_ + out.size(), bytes_.size());
    std::copy_n(bytes_.begin() + static_cast<ptrdiff_t>(read_), out.size(), out.begin());
    read_ += out.size();
  }

 private:
  Bytes bytes_;
  size_t read_ = 0;
};

// draft-irtf-cfrg-xchacha-03, A.3.1.
TEST(EncryptTest, PublishedVector) {
  const Key key = KeyOf("808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f");
  const std::string nonce = "404142434445464748494a4b4c4d4e4f5051525354555657";
  const Bytes associated = FromHex("50515253c0c1c2c3c4c5c6c7");
  Tape tape(nonce);
  const std::string_view text =
      "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
      "sunscreen would be it.";
  const Bytes encrypted = Encrypt(key, AsBytes(text), associated, tape);
  EXPECT_EQ(ToHex(encrypted),
            nonce +
                "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa6440b"
                "f3a82f4eda7e39ae64c6708c54c216cb96b72e1213b4522f8c9ba40db5d945b11b69b982c1bb9e3f3f"
                "ac2bc369488f76b2383565d3fff921f9664c97637da9768812f615c68b13b52e"
                "c0875924c1c7987947deafd8780acf49");
  EXPECT_TRUE(std::ranges::equal(Decrypt(key, encrypted, associated).value(), AsBytes(text)));
}

TEST(EncryptTest, AnyChangeIsNoticed) {
  SystemRandom random;
  const Key key = RandomKey(random);
  const Bytes message = {1, 2, 3};
  const Bytes associated = {4, 5};
  const Bytes encrypted = Encrypt(key, message, associated, random);
  ASSERT_EQ(encrypted.size(), message.size() + kAeadBytes);
  EXPECT_EQ(Decrypt(key, encrypted, associated), message);
  for (size_t bit = 0; bit < 8 * encrypted.size(); ++bit) {
    Bytes changed = encrypted;
    changed[bit / 8] ^= static_cast<uint8_t>(1U << (bit % 8));
    EXPECT_FALSE(Decrypt(key, changed, associated));
  }
  for (size_t size = 0; size < encrypted.size(); ++size) {
    EXPECT_FALSE(Decrypt(key, ByteView(encrypted).first(size), associated));
  }
  EXPECT_FALSE(Decrypt(key, encrypted, {}));
  EXPECT_FALSE(Decrypt(RandomKey(random), encrypted, associated));
  EXPECT_NE(Encrypt(key, message, associated, random), encrypted);
}

// RFC 7748, 6.1, and the derivation from the shared secret by other means.
TEST(PairKeyTest, PublishedVector) {
  Tape tape("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb");
  const BoxKeyPair own = MakeBoxKeyPair(tape);
  EXPECT_EQ(ToHex(own.public_key),
            "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
  BoxPublicKey peer{};
  std::ranges::copy(FromHex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"),
                    peer.begin());
  const Key shared = KeyOf("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
  const Bytes context = {9};
  const Key key = PairKey(own, peer, "purpose", context);
  EXPECT_EQ(key.Expose(), DeriveKey(shared, "purpose", {peer, own.public_key, context}).Expose());
  EXPECT_NE(key.Expose(), PairKey(own, peer, "another purpose", context).Expose());
  EXPECT_NE(key.Expose(), PairKey(own, peer, "purpose", {}).Expose());
}

TEST(PairKeyTest, BothSidesAgree) {
  SystemRandom random;
  for (int i = 0; i < 20; ++i) {  // both orders of the public keys
    const BoxKeyPair one = MakeBoxKeyPair(random);
    const BoxKeyPair two = MakeBoxKeyPair(random);
    EXPECT_EQ(PairKey(one, two.public_key, "p", {}).Expose(),
              PairKey(two, one.public_key, "p", {}).Expose());
  }
  EXPECT_THROW(PairKey(MakeBoxKeyPair(random), BoxPublicKey{}, "p", {}), Error);
}

TEST(SealTest, OpensForItsKeyOnly) {
  SystemRandom random;
  const BoxKeyPair receiver = MakeBoxKeyPair(random);
  const BoxKeyPair other = MakeBoxKeyPair(random);
  const Bytes message = {1, 2, 3};
  Bytes sealed = Seal(message, receiver.public_key);
  ASSERT_EQ(sealed.size(), message.size() + kSealBytes);
  EXPECT_EQ(OpenSealed(sealed, receiver), message);
  EXPECT_FALSE(OpenSealed(sealed, other));
  EXPECT_FALSE(OpenSealed(ByteView(sealed).first(kSealBytes - 1), receiver));
  sealed[40] ^= 1;
  EXPECT_FALSE(OpenSealed(sealed, receiver));
  EXPECT_THROW(Seal(message, BoxPublicKey{}), Error);
}

TEST(NumberedKeyTest, NumbersLabelsAndParentsGiveOtherKeys) {
  const Key parent = KeyOf("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
  const auto key = NumberedKey(parent, 1, "testtest").Expose();
  EXPECT_EQ(NumberedKey(parent, 1, "testtest").Expose(), key);
  EXPECT_NE(NumberedKey(parent, 2, "testtest").Expose(), key);
  EXPECT_NE(NumberedKey(parent, 1ULL << 63, "testtest").Expose(), key);
  EXPECT_NE(NumberedKey(parent, 1, "testtesu").Expose(), key);
  EXPECT_NE(NumberedKey(Key(), 1, "testtest").Expose(), key);
}

TEST(KeyStreamTest, IsTheStreamOfPrg) {
  SystemRandom random;
  KeyStream stream;
  for (const uint64_t block : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 34}) {
    const Key key = RandomKey(random);
    Prg prg(key);
    prg.Seek(16 * block);
    stream.Start(key, block);
    for (const size_t size : {size_t{16}, KeyStream::kMaxBytes, size_t{48}, size_t{5}}) {
      Bytes expected(size);
      Bytes actual(size);
      prg.Fill(expected);
      stream.Next(actual);
      EXPECT_EQ(actual, expected);
    }
  }
  Bytes too_long(KeyStream::kMaxBytes + 1);
  EXPECT_THROW(stream.Next(too_long), Error);
}

}  // namespace
}  // namespace partita::crypto::box_test
