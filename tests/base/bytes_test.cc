#include "base/bytes.h"

#include <gtest/gtest.h>

#include "base/hex.h"
#include "base/int128.h"

namespace partita::bytes_test {
namespace {

TEST(BytesTest, ReadsBackWhatWasWritten) {
  ByteWriter writer;
  writer.U8(7);
  writer.U16(0xBEEF);
  writer.U32(0xDEADBEEF);
  writer.U64(0x0123456789ABCDEF);
  writer.F64(-1.5);
  writer.String("partita");
  ByteReader reader(writer.bytes());
  EXPECT_EQ(reader.U8(), 7);
  EXPECT_EQ(reader.U16(), 0xBEEF);
  EXPECT_EQ(reader.U32(), 0xDEADBEEF);
  EXPECT_EQ(reader.U64(), 0x0123456789ABCDEFu);
  EXPECT_EQ(reader.F64(), -1.5);
  EXPECT_EQ(reader.String(100), "partita");
  reader.ExpectEnd();
}

TEST(BytesTest, EveryTruncationIsRefused) {
  ByteWriter writer;
  writer.U32(5);
  writer.String("abc");
  const Bytes& whole = writer.bytes();
  for (size_t size = 0; size < whole.size(); ++size) {
    ByteReader reader(ByteView(whole).first(size));
    EXPECT_THROW(
        {
          reader.U32();
          reader.String(100);
        },
        Error)
        << size;
  }
}

TEST(BytesTest, LengthIsCheckedBeforeAllocation) {
  ByteWriter writer;
  writer.U64(uint64_t{1} << 60);
  EXPECT_THROW(ByteReader(writer.bytes()).Blob(uint64_t{1} << 61),
               Error);  // longer than the message
  ByteWriter small;
  small.String("abcdef");
  EXPECT_THROW(ByteReader(small.bytes()).Blob(5), Error);  // longer than allowed
}

TEST(BytesTest, HexRoundTripAndErrors) {
  Bytes bytes = {0x00, 0x7f, 0xff};
  EXPECT_EQ(ToHex(bytes), "007fff");
  EXPECT_EQ(FromHex("007FfF"), bytes);
  EXPECT_THROW(FromHex("0"), Error);
  EXPECT_THROW(FromHex("0g"), Error);
  std::array<uint8_t, 3> three{};
  EXPECT_TRUE(FromHex("007fff", three));
  EXPECT_EQ(Bytes(three.begin(), three.end()), bytes);
  for (const char* other : {"007fFf", "007ff", "007fff0", "007fff00", "007ffg", ""})
    EXPECT_FALSE(FromHex(other, three)) << other;
}

TEST(Int128Test, Decimal) {
  EXPECT_EQ(ToString(Int128{0}), "0");
  EXPECT_EQ(ToString(Int128{-12}), "-12");
  EXPECT_EQ(ToString(static_cast<Int128>(UInt128{1} << 127)),
            "-170141183460469231731687303715884105728");
}

}  // namespace
}  // namespace partita::bytes_test
