#include "run/party/finish.h"

#include <gtest/gtest.h>

#include "tests/net/parties.h"

namespace partita::run::finish_test {
namespace {

const Bytes kResult(32, 7);

TEST(FinishTest, EmptyMessagesEndARun) {
  const auto errors = net::RunChannels(net::MemoryParties(3), [](net::Channel& channel) {
    ConfirmFinish(channel);
    EXPECT_EQ(channel.depth(), 1u);
    EXPECT_EQ(channel.traffic().back().links[(channel.self() + 1) % 3].bytes_sent, 0u);
  });
  EXPECT_EQ(net::Describe(errors), "");
}

// Process 3 is the dealer: it has no result, and is told none.
TEST(FinishTest, EqualResultsEndARun) {
  const auto errors = net::RunChannels(net::MemoryParties(4), [](net::Channel& channel) {
    const size_t self = channel.self();
    ConfirmFinish(channel, 3, self < 3 ? kResult : Bytes(32));
    EXPECT_EQ(channel.depth(), 1u);
    for (size_t peer = 0; peer < 4; ++peer) {
      const size_t bytes = peer != self && peer < 3 && self < 3 ? kResult.size() : 0;
      EXPECT_EQ(channel.traffic().back().links[peer].bytes_sent, bytes);
    }
  });
  EXPECT_EQ(net::Describe(errors), "");
}

TEST(FinishTest, AResultOfItsOwnIsNoticedByEverybodyWithOne) {
  const auto errors = net::RunChannels(net::MemoryParties(4), [](net::Channel& channel) {
    Bytes common = kResult;
    if (channel.self() == 1) common.back() ^= 1;
    ConfirmFinish(channel, 3, common);
  });
  for (size_t party = 0; party < 3; ++party) {
    ASSERT_TRUE(errors[party]) << party;
    EXPECT_EQ(errors[party]->code(), ErrorCode::kPeerFault);
    EXPECT_NE(errors[party]->message().find("another result"), std::string::npos);
  }
  EXPECT_FALSE(errors[3]);
}

}  // namespace
}  // namespace partita::run::finish_test
