#include "net/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace partita::net::frame_test {
namespace {

using testing::HasSubstr;

FrameHeader Example() {
  FrameHeader header;
  header.run_tag = MakeRunTag(Bytes{1, 2, 3}, 1);
  header.phase_tag = MakePhaseTag("moments", 2);
  header.sequence = 0x0102030405060708;
  header.depth = 77;
  header.length = 1000;
  header.from = 3;
  header.to = 258;
  return header;
}

FrameExpectation Expecting(const FrameHeader& header) {
  return {header, header.length, header.length};
}

TEST(FrameTest, LayoutIsFixed) {
  FrameHeader header = Example();
  header.run_tag.fill(0xaa);
  header.phase_tag.fill(0xbb);
  EXPECT_EQ(ToHex(EncodeHeader(header)),
            "50545441"
            "0200"
            "0100"
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
            "bbbbbbbbbbbbbbbb"
            "0807060504030201"
            "4d00000000000000"
            "e803000000000000"
            "03000201"
            "00000000");
}

TEST(FrameTest, RoundTrip) {
  for (FrameType type : {FrameType::kData, FrameType::kAbort, FrameType::kHello,
                         FrameType::kHelloAck, FrameType::kKeepAlive}) {
    FrameHeader header = Example();
    header.type = type;
    EXPECT_EQ(DecodeHeader(EncodeHeader(header), "south"), header);
    EXPECT_NO_THROW(CheckHeader(header, Expecting(header), "south", "moments"));
  }
}

// Whatever single bit is flipped, decoding or checking says so; only the depth is free to vary.
TEST(FrameTest, EveryFlippedBitIsNoticed) {
  const FrameHeader header = Example();
  const HeaderBytes good = EncodeHeader(header);
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    HeaderBytes bad = good;
    bad[bit / 8] = static_cast<uint8_t>(bad[bit / 8] ^ (1 << (bit % 8)));
    const bool is_depth = bit / 8 >= 40 && bit / 8 < 48;
    bool noticed = false;
    try {
      CheckHeader(DecodeHeader(bad, "south"), Expecting(header), "south", "moments");
    } catch (const Error& error) {
      noticed = true;
      EXPECT_EQ(error.code(), ErrorCode::kPeerFault);
      EXPECT_THAT(error.message(), HasSubstr("party south"));
    }
    const bool small_depth = is_depth && bit / 8 < 46;  // up to 2^48
    EXPECT_EQ(noticed, !small_depth) << "bit " << bit;
  }
}

// So that the receiver's depth, one more, is one that it may send on.
TEST(FrameTest, DepthStaysBelowItsBound) {
  FrameHeader header = Example();
  header.depth = kMaxDepth - 1;
  EXPECT_EQ(DecodeHeader(EncodeHeader(header), "south").depth, kMaxDepth - 1);
  for (uint64_t depth : {kMaxDepth, kMaxDepth + 1, ~uint64_t{0}}) {
    header.depth = depth;
    EXPECT_THROW(DecodeHeader(EncodeHeader(header), "south"), Error);
  }
}

TEST(FrameTest, UnknownTypesAreRefused) {
  FrameHeader header = Example();
  for (int type : {0, 7, 256}) {
    header.type = static_cast<FrameType>(type);
    EXPECT_THROW(DecodeHeader(EncodeHeader(header), "south"), Error);
  }
}

TEST(FrameTest, LengthLimits) {
  FrameHeader header = Example();
  FrameExpectation expected = Expecting(header);
  expected.min_length = 0;
  for (uint64_t length : {uint64_t{0}, uint64_t{1000}}) {
    header.length = length;
    EXPECT_NO_THROW(CheckHeader(header, expected, "south", "moments"));
  }
  for (uint64_t length : {uint64_t{1001}, ~uint64_t{0}}) {
    header.length = length;
    try {
      CheckHeader(header, expected, "south", "moments");
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_THAT(error.message(), HasSubstr("at most 1000"));
      EXPECT_THAT(error.message(), HasSubstr("'moments'"));
    }
  }
}

TEST(FrameTest, TagsSeparateRunsAttemptsAndPhases) {
  std::set<RunTag> runs = {MakeRunTag(Bytes{1}, 1), MakeRunTag(Bytes{1}, 2),
                           MakeRunTag(Bytes{2}, 1), MakeRunTag(Bytes{}, 1)};
  EXPECT_EQ(runs.size(), 4u);
  std::set<PhaseTag> phases = {MakePhaseTag("a", 0), MakePhaseTag("a", 1), MakePhaseTag("b", 0)};
  EXPECT_EQ(phases.size(), 3u);
}

}  // namespace
}  // namespace partita::net::frame_test
