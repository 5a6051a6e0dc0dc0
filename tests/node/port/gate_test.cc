// The limits of the one port, over a clock that the test sets.
#include "node/port/gate.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cstring>
#include <string>

namespace partita::node::gate_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

AddressKey Key(const std::string& text) {
  sockaddr_storage address{};
  sockaddr_in ipv4{};
  sockaddr_in6 ipv6{};
  if (inet_pton(AF_INET, text.c_str(), &ipv4.sin_addr) == 1) {
    ipv4.sin_family = AF_INET;
    std::memcpy(&address, &ipv4, sizeof ipv4);
  } else if (inet_pton(AF_INET6, text.c_str(), &ipv6.sin6_addr) == 1) {
    ipv6.sin6_family = AF_INET6;
    std::memcpy(&address, &ipv6, sizeof ipv6);
  }
  return KeyOfAddress(address);
}

// The nth stranger's address.
AddressKey Stranger(size_t n) {
  return Key("10." + std::to_string(n / 65536 % 256) + "." + std::to_string(n / 256 % 256) + "." +
             std::to_string(n % 256));
}

const Gate::Time kStart = Gate::Time() + std::chrono::hours(1);

struct GateTest : testing::Test {
  Gate gate{GateLimits()};
  Gate::Ids closed;

  Gate::Id Arrive(const AddressKey& address, milliseconds after = {}) {
    closed.clear();
    return gate.Arrive(address, kStart + after, closed);
  }
};

TEST(AddressKeyTest, CountsAnIpv6NetworkAsOne) {
  EXPECT_EQ(Key("2001:db8:1:2::1"), Key("2001:db8:1:2:ffff::9"));
  EXPECT_NE(Key("2001:db8:1:2::1"), Key("2001:db8:1:3::1"));
  EXPECT_EQ(Key("::ffff:10.1.2.3"), Key("10.1.2.3"));
  EXPECT_NE(Key("10.1.2.3"), Key("10.1.2.4"));
  EXPECT_NE(Key("::1"), Key("0.0.0.0"));
  EXPECT_NE(Key("a01:203::1"), Key("10.1.2.3"));
}

TEST_F(GateTest, TheOldestStrangerGoesFirst) {
  std::vector<Gate::Id> ids;
  for (size_t i = 0; i < 128; ++i) {
    ids.push_back(Arrive(Stranger(i)));
    EXPECT_THAT(closed, IsEmpty());
  }
  EXPECT_EQ(gate.looked_at(), 128u);
  Arrive(Stranger(200));
  EXPECT_THAT(closed, ElementsAre(ids[0]));
  gate.Leave(ids[1]);
  Arrive(Stranger(201));
  EXPECT_THAT(closed, IsEmpty());
  Arrive(Stranger(202));
  EXPECT_THAT(closed, ElementsAre(ids[2]));
  EXPECT_EQ(gate.looked_at(), 128u);
}

TEST_F(GateTest, AnAddressHasEightAndItsOldestGoes) {
  const Gate::Id other = Arrive(Stranger(1));
  std::vector<Gate::Id> ids;
  for (int i = 0; i < 8; ++i) ids.push_back(Arrive(Key("2001:db8::" + std::to_string(i))));
  EXPECT_THAT(closed, IsEmpty());
  Arrive(Key("2001:db8::ffff"));
  EXPECT_THAT(closed, ElementsAre(ids[0]));
  EXPECT_EQ(gate.looked_at(), 9u);
  gate.Leave(other);
  EXPECT_EQ(gate.looked_at(), 8u);
}

TEST_F(GateTest, KnownAddressesHavePlacesOfTheirOwn) {
  gate.SetKnown({Key("192.0.2.1"), Key("192.0.2.2")});
  std::vector<Gate::Id> peers;
  for (int i = 0; i < 8; ++i) peers.push_back(Arrive(Key("192.0.2.1")));
  for (size_t i = 0; i < 1000; ++i) {
    Arrive(Stranger(i));
    for (const Gate::Id peer : peers) EXPECT_THAT(closed, testing::Not(testing::Contains(peer)));
  }
  EXPECT_EQ(gate.looked_at(), 128u + 8u);
  // Nor does a peer take a stranger's place, nor another peer's.
  Arrive(Key("192.0.2.2"));
  EXPECT_THAT(closed, IsEmpty());
  Arrive(Key("192.0.2.1"));
  EXPECT_THAT(closed, ElementsAre(peers[0]));
}

TEST_F(GateTest, SixtyFourWaitForJobsForThirtySeconds) {
  std::vector<Gate::Id> ids;
  for (size_t i = 0; i < 65; ++i) {
    ids.push_back(Arrive(Stranger(i)));
    gate.WaitForJob(ids.back(), kStart + milliseconds(i), closed);
  }
  EXPECT_THAT(closed, ElementsAre(ids[0]));
  EXPECT_EQ(gate.early(), 64u);
  EXPECT_EQ(gate.looked_at(), 0u);
  EXPECT_THAT(gate.Expire(kStart + seconds(30)), IsEmpty());
  EXPECT_EQ(gate.NextExpiry(), kStart + seconds(30) + milliseconds(1));
  EXPECT_THAT(gate.Expire(kStart + seconds(30) + milliseconds(2)), ElementsAre(ids[1], ids[2]));
  EXPECT_EQ(gate.early(), 62u);
}

TEST_F(GateTest, AHelloHasFiveSeconds) {
  EXPECT_EQ(gate.NextExpiry(), std::nullopt);
  const Gate::Id first = Arrive(Stranger(1));
  Arrive(Stranger(2), seconds(1));
  EXPECT_EQ(gate.NextExpiry(), kStart + seconds(5));
  EXPECT_THAT(gate.Expire(kStart + milliseconds(4999)), IsEmpty());
  EXPECT_THAT(gate.Expire(kStart + seconds(5)), ElementsAre(first));
  EXPECT_EQ(gate.looked_at(), 1u);
}

TEST_F(GateTest, AnAddressHasThirtyTwoLater) {
  std::vector<Gate::Id> ids;
  for (int i = 0; i < 32; ++i) {
    ids.push_back(Arrive(Stranger(7)));
    i % 2 == 0 ? gate.Serve(ids.back(), kStart, closed)
               : gate.WaitForJob(ids.back(), kStart, closed);
    EXPECT_THAT(closed, IsEmpty());
  }
  const Gate::Id more = Arrive(Stranger(7));
  gate.Serve(more, kStart, closed);
  EXPECT_THAT(closed, ElementsAre(ids[0]));
  EXPECT_EQ(gate.served() + gate.early(), 32u);
}

// An address that is full of served ones does not get past a full stage by dropping them.
TEST_F(GateTest, AFullAddressGetsNoPlaceInAFullStage) {
  for (size_t i = 0; i < 64; ++i) gate.WaitForJob(Arrive(Stranger(100 + i)), kStart, closed);
  for (int i = 0; i < 32; ++i) gate.Serve(Arrive(Stranger(7)), kStart, closed);
  ASSERT_THAT(closed, IsEmpty());
  for (int i = 0; i < 32; ++i) {
    gate.WaitForJob(Arrive(Stranger(7)), kStart, closed);
    EXPECT_EQ(gate.early(), 64u);
    EXPECT_EQ(gate.served(), static_cast<size_t>(31 - i));
  }
}

TEST_F(GateTest, ServedStrangersMakeRoomAndDoNotExpire) {
  GateLimits limits;
  limits.served = 3;
  gate = Gate(limits);
  gate.SetKnown({Key("192.0.2.1")});
  const Gate::Id peer = Arrive(Key("192.0.2.1"));
  gate.Serve(peer, kStart, closed);
  std::vector<Gate::Id> ids;
  for (size_t i = 0; i < 4; ++i) {
    ids.push_back(Arrive(Stranger(i)));
    gate.Serve(ids.back(), kStart, closed);
  }
  EXPECT_THAT(closed, ElementsAre(ids[0]));
  EXPECT_THAT(gate.Expire(kStart + std::chrono::hours(9)), IsEmpty());
  EXPECT_EQ(gate.served(), 4u);
  gate.Leave(peer);
  EXPECT_EQ(gate.served(), 3u);
}

TEST_F(GateTest, WhereTheSystemIsFullStrangersGoBeforePeers) {
  gate.SetKnown({Key("192.0.2.1")});
  const Gate::Id peer = Arrive(Key("192.0.2.1"));
  const Gate::Id first = Arrive(Stranger(1));
  const Gate::Id second = Arrive(Stranger(2));
  gate.Serve(first, kStart, closed);
  EXPECT_TRUE(gate.DropOldest(closed));
  EXPECT_TRUE(gate.DropOldest(closed));
  EXPECT_THAT(closed, ElementsAre(second, peer));
  EXPECT_FALSE(gate.DropOldest(closed)) << "one that is served was dropped";
}

TEST_F(GateTest, WhoLeftStaysOut) {
  const Gate::Id id = Arrive(Stranger(1));
  gate.Leave(id);
  gate.Serve(id, kStart, closed);
  gate.WaitForJob(id, kStart, closed);
  gate.Leave(id);
  EXPECT_EQ(gate.served() + gate.early() + gate.looked_at(), 0u);
}

}  // namespace
}  // namespace partita::node::gate_test
