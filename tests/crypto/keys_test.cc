// Hash, key derivation and key stream against published vectors, and the properties callers rely
// on.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "crypto/buffered_hash.h"
#include "crypto/hash.h"
#include "crypto/kdf.h"
#include "crypto/prg.h"

namespace partita::crypto::keys_test {
namespace {

TEST(Sha256Test, PublishedVectors) {  // FIPS 180-4 examples
  EXPECT_EQ(ToHex(Sha256Of({})),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(ToHex(Sha256Of(AsBytes("abc"))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256Test, PiecesAndReuse) {
  Sha256 hash;
  hash.Update(AsBytes("a")).Update(AsBytes("bc"));
  EXPECT_EQ(hash.Finish(), Sha256Of(AsBytes("abc")));
  EXPECT_EQ(hash.Finish(), Sha256Of({}));  // starts again
}

TEST(Sha256Test, FieldsDoNotRunIntoEachOther) {
  std::set<Digest> seen;
  Sha256 hash;
  seen.insert(hash.Field("ab").Field("c").Finish());
  seen.insert(hash.Field("a").Field("bc").Finish());
  seen.insert(hash.Field("abc").Finish());
  seen.insert(hash.Field("abc").Field("").Finish());
  EXPECT_EQ(seen.size(), 4u);
  // The encoding is fixed: 64-bit little-endian length, then the bytes.
  EXPECT_EQ(hash.Field("a").Finish(), Sha256Of(FromHex("010000000000000061")));
  EXPECT_EQ(hash.U64(0x0102030405060708).Finish(), Sha256Of(FromHex("0807060504030201")));
}

// A million times "a" (FIPS 180-4's long example), in pieces around what the class puts together: the
// digest does not depend on how a message is cut.
TEST(BufferedSha256Test, AnyPiecesOfOneMessage) {
  const std::string message(1'000'000, 'a');
  for (const std::vector<size_t>& sizes : std::vector<std::vector<size_t>>{{1'000'000},
                                                                           {1, 255, 256, 257, 0, 3},
                                                                           {250, 6},
                                                                           {250, 7, 1},
                                                                           {256},
                                                                           {257},
                                                                           {4096, 8, 1}}) {
    BufferedSha256 hash;
    for (size_t at = 0, i = 0; at < message.size(); ++i) {
      const size_t size = std::min(sizes[i % sizes.size()], message.size() - at);
      hash.Update(AsBytes(std::string_view(message).substr(at, size)));
      at += size;
    }
    EXPECT_EQ(ToHex(hash.Finish()),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  }
  // Bytes that differ, so that an order of pieces is an order of bytes.
  Bytes counting(2000);
  for (size_t i = 0; i < counting.size(); ++i) counting[i] = static_cast<uint8_t>(i * 7 + i / 256);
  const Digest whole = Sha256Of(counting);
  for (size_t cut = 0; cut <= 600; ++cut) {
    BufferedSha256 hash;
    hash.Update(ByteView(counting).first(cut)).Update(ByteView(counting).subspan(cut));
    EXPECT_EQ(hash.Finish(), whole) << cut;
  }
}

TEST(BufferedSha256Test, FieldsAreThoseOfSha256) {
  BufferedSha256 buffered;
  Sha256 plain;
  const std::string longer(300, 'x');
  for (int time = 0; time < 2; ++time) {  // it starts again
    buffered.Field("ab").U64(7).Field("").Field(longer).Update(AsBytes("c"));
    plain.Field("ab").U64(7).Field("").Field(longer).Update(AsBytes("c"));
    EXPECT_EQ(buffered.Finish(), plain.Finish());
  }
  EXPECT_EQ(buffered.Finish(), Sha256Of({}));
}

TEST(HkdfTest, Rfc5869) {
  Bytes out(42);
  Hkdf(Bytes(22, 0x0b), FromHex("000102030405060708090a0b0c"), FromHex("f0f1f2f3f4f5f6f7f8f9"),
       out);  // test case 1
  EXPECT_EQ(ToHex(out),
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
  Hkdf(Bytes(22, 0x0b), {}, {}, out);  // test case 3
  EXPECT_EQ(ToHex(out),
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8");
}

TEST(DeriveKeyTest, EveryInputCounts) {
  Key secret, other;
  other.Expose()[31] = 1;
  const Bytes ab = {1, 2}, a = {1}, b = {2};
  std::set<std::array<uint8_t, 32>> keys;
  keys.insert(DeriveKey(secret, "p").Expose());
  keys.insert(DeriveKey(other, "p").Expose());
  keys.insert(DeriveKey(secret, "q").Expose());
  keys.insert(DeriveKey(secret, "p", {ab}).Expose());
  keys.insert(DeriveKey(secret, "p", {a, b}).Expose());
  keys.insert(DeriveKey(secret, "p", {b, a}).Expose());
  keys.insert(DeriveKey(secret, "p", {ByteView()}).Expose());
  EXPECT_EQ(keys.size(), 7u);
  EXPECT_EQ(DeriveKey(secret, "p", {a, b}).Expose(), DeriveKey(secret, "p", {a, b}).Expose());
}

// AES-256 under the zero key of the counters 0, 1 and 2: the hash key, the tag of test case 13 and
// the ciphertext of test case 14 of the GCM specification (McGrew and Viega 2005).
TEST(PrgTest, PublishedVectors) {
  Prg prg{Key()};
  Bytes out(48);
  prg.Fill(out);
  EXPECT_EQ(ToHex(out),
            "dc95c078a2408989ad48a21492842087"
            "530f8afbc74536b9a963b4f1c4cb738b"
            "cea7403d4d606b6e074ec5d3baf39d18");
}

TEST(PrgTest, StreamDoesNotDependOnPieces) {
  Key key;
  key.Expose()[5] = 9;
  Bytes whole(200'000);
  Prg(key).Fill(whole);
  Prg prg(key);
  Bytes pieces;
  for (size_t size = 0; pieces.size() < whole.size(); size = (3 * size + 1) % 5003) {
    Bytes piece(std::min(size, whole.size() - pieces.size()));
    prg.Fill(piece);
    pieces.insert(pieces.end(), piece.begin(), piece.end());
    EXPECT_EQ(prg.offset(), pieces.size());
  }
  EXPECT_EQ(pieces, whole);
}

TEST(PrgTest, SeeksToAnyByte) {
  Key key;
  key.Expose()[0] = 1;
  Bytes whole(5000);
  Prg(key).Fill(whole);
  Prg prg(key);
  for (size_t at : {4999, 0, 1, 15, 16, 17, 1023, 1024, 1025, 4000, 31}) {
    prg.Seek(at);
    EXPECT_EQ(prg.offset(), at);
    Bytes out(std::min<size_t>(2000, whole.size() - at));
    prg.Fill(out);
    EXPECT_TRUE(std::equal(out.begin(), out.end(), whole.begin() + static_cast<ptrdiff_t>(at)))
        << at;
  }
}

// Counters are 128 bits: no wrap where 32-bit or 64-bit byte positions would.
TEST(PrgTest, FarOffsetsDiffer) {
  std::set<Bytes> seen;
  Prg prg{Key()};
  for (int bit = 4; bit < 64; ++bit) {
    prg.Seek(uint64_t{1} << bit);
    Bytes out(16);
    prg.Fill(out);
    seen.insert(out);
  }
  EXPECT_EQ(seen.size(), 60u);
}

TEST(SystemRandomTest, FillsEverythingAndDoesNotRepeat) {
  SystemRandom random;
  std::set<Bytes> seen;
  Bytes any(64, 0);
  for (int i = 0; i < 64; ++i) {
    Bytes out(64);
    random.Fill(out);
    for (size_t k = 0; k < out.size(); ++k) any[k] |= out[k];
    seen.insert(out);
  }
  EXPECT_EQ(seen.size(), 64u);
  // A byte that is never written stays zero: 64 draws of 0 have probability 2^-512 per byte.
  EXPECT_EQ(std::count(any.begin(), any.end(), 0), 0);
  random.Fill({});
  EXPECT_NE(RandomKey(random).Expose(), RandomKey(random).Expose());
}

TEST(SystemRandomTest, FillsLargeBuffers) {
  SystemRandom random;
  // Older kernels give at most 2^25 - 1 bytes at once, and 256 whatever happens.
  Bytes out((size_t{1} << 25) + 64, 0);
  random.Fill(out);
  EXPECT_LT(std::count(out.end() - 64, out.end(), 0), 64);  // by chance: probability 2^-512
}

}  // namespace
}  // namespace partita::crypto::keys_test
