#include "net/swap.h"

#include <gtest/gtest.h>

#include "tests/net/parties.h"

namespace partita::net::swap_test {
namespace {

TEST(SwapTest, EverybodyHasWhatTheOthersMeantForThem) {
  constexpr size_t kParties = 4, kSize = 33;
  const auto errors = RunChannels(MemoryParties(kParties), [](Channel& channel) {
    const PartyIndex self = channel.self();
    std::vector<Bytes> own;
    for (PartyIndex peer = 0; peer < kParties; ++peer) {
      own.push_back(Pattern(self, peer, 0, kSize));
    }
    const std::vector<Bytes> seen = Swap(channel, own, kSize);
    for (PartyIndex peer = 0; peer < kParties; ++peer) {
      EXPECT_EQ(seen[peer], peer == self ? Bytes(kSize) : Pattern(peer, self, 0, kSize));
    }
    EXPECT_EQ(channel.depth(), 1u);
    for (PartyIndex peer = 0; peer < kParties; ++peer) {
      EXPECT_EQ(channel.traffic().back().links[peer].bytes_sent, peer == self ? 0 : kSize);
    }
  });
  EXPECT_EQ(Describe(errors), "");
}

TEST(SwapTest, TheSameMessageToAllIsKeptToo) {
  const auto errors = RunChannels(MemoryParties(3), [](Channel& channel) {
    const std::vector<Bytes> seen = Swap(channel, Pattern(channel.self(), 0, 0, 5));
    for (PartyIndex peer = 0; peer < 3; ++peer) EXPECT_EQ(seen[peer], Pattern(peer, 0, 0, 5));
  });
  EXPECT_EQ(Describe(errors), "");
}

TEST(SwapTest, AnotherSizeIsAFaultOfThePeer) {
  const auto errors = RunChannels(MemoryParties(2), [](Channel& channel) {
    Swap(channel, Bytes(channel.self() == 0 ? 4 : 5));
  });
  // One of them sees the wrong size first; the other may only see it leave.
  EXPECT_TRUE(errors[0] && errors[1]);
  EXPECT_TRUE((errors[0] && errors[0]->code() == ErrorCode::kPeerFault) ||
              (errors[1] && errors[1]->code() == ErrorCode::kPeerFault))
      << Describe(errors);
}

}  // namespace
}  // namespace partita::net::swap_test
