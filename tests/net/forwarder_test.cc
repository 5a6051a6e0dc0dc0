// Connections handed on by a process in between: whole, in both directions, and with their ends.
#include "net/forwarder.h"

#include <gtest/gtest.h>

#include "tests/net/tls_parties.h"

namespace partita::net::forwarder_test {
namespace {

constexpr std::chrono::seconds kPatience{60};

Endpoint EndpointOf(const Listener& listener) {
  const Address address = ParseAddress(listener.address);
  return NumericEndpoints(address.host, address.port).at(0);
}

// Party 0 listens behind a forwarder at its address.
struct ForwardedWorld {
  TlsWorld world{2};
  Listener inside = Listen("127.0.0.1", "0");
  Endpoint endpoint = EndpointOf(inside);
  std::vector<TlsOptions> options;
  std::unique_ptr<Forwarder> forwarder;

  explicit ForwardedWorld(const std::string& name = {}, const std::string& wanted = {}) {
    for (size_t i = 0; i < 2; ++i) options.push_back(world.Options(i));
    Listener outside = std::move(*options[0].listener);
    options[0].listener = std::move(inside);
    options[1].listener.reset();
    if (!name.empty()) options[1].server_names.assign(2, name);
    forwarder = std::make_unique<Forwarder>(
        std::move(outside), [this, wanted](const std::string& seen) -> std::optional<Endpoint> {
          if (seen != wanted) return std::nullopt;
          return endpoint;
        });
  }
};

TEST(ForwarderTest, BytesGoBothWaysAndEndsFollow) {
  ForwardedWorld forwarded;
  Transports transports;
  ASSERT_EQ(Describe(ConnectAll(std::move(forwarded.options), kPatience, transports)), "");
  // More than all buffers on the way hold, in both directions at once.
  const size_t size = size_t{8} << 20;
  const auto errors = RunChannels(std::move(transports), [&](Channel& channel) {
    const PartyIndex peer = 1 - channel.self();
    const Bytes out = Pattern(channel.self(), peer, 0, size);
    Bytes in(size);
    const Send send{peer, out, 0, {}};
    const Receive receive{peer, in, 0, {}, nullptr, 0};
    channel.Exchange({&send, 1}, {&receive, 1});
    EXPECT_EQ(in, Pattern(peer, channel.self(), 0, size));
    if (channel.self() == 0) {
      channel.Abort(Error(ErrorCode::kCancelled, "stop"));
      return;
    }
    const Deadline deadline = Deadline::After(kPatience);
    while (!deadline.passed()) channel.RequirePeers();
    ADD_FAILURE() << "the end of the peer does not show";
  });
  EXPECT_FALSE(errors[0]);
  ASSERT_TRUE(errors[1]);
  EXPECT_EQ(errors[1]->code(), ErrorCode::kPeerLost);
}

TEST(ForwarderTest, NamesSayWhereTo) {
  ForwardedWorld forwarded("stripe-3-run", "stripe-3-run");
  Transports transports;
  EXPECT_EQ(Describe(ConnectAll(std::move(forwarded.options), kPatience, transports)), "");
}

TEST(ForwarderTest, WhatGoesNowhereIsClosed) {
  ForwardedWorld forwarded("stripe-3-run", "stripe-4-run");
  Transports transports;
  const auto errors =
      ConnectAll(std::move(forwarded.options), std::chrono::milliseconds(300), transports);
  ASSERT_TRUE(errors[1]);
  EXPECT_EQ(errors[1]->code(), ErrorCode::kUnreachable);
}

// A party that has said all it had to closes its connection, and then the forwarder.
TEST(ForwarderTest, LastWordsArriveAfterItsEnd) {
  for (int i = 0; i < 20; ++i) {
    ForwardedWorld forwarded;
    Transports transports;
    ASSERT_EQ(Describe(ConnectAll(std::move(forwarded.options), kPatience, transports)), "");
    const size_t size = size_t{4} << 20;
    const auto errors =
        RunTransports(std::move(transports), [&](std::unique_ptr<Transport> transport) {
          auto channel = std::make_unique<Channel>(std::move(transport), kTestRun, 1);
          if (channel->self() == 0) {
            const Bytes out = Pattern(0, 1, 0, size);
            const Send send{1, out, 0, {}};
            channel->Exchange({&send, 1}, {});
            channel = nullptr;
            forwarded.forwarder = nullptr;
            return;
          }
          Bytes in(size);
          const Receive receive{0, in, 0, {}, nullptr, 0};
          channel->Exchange({}, {&receive, 1});
          EXPECT_EQ(in, Pattern(0, 1, 0, size));
        });
    ASSERT_EQ(Describe(errors), "");
  }
}

TEST(ForwarderTest, StrangersAndTheEndDisturbNobody) {
  ForwardedWorld forwarded;
  std::vector<Socket> strangers;
  for (int i = 0; i < 3; ++i) strangers.push_back(ConnectTo(forwarded.world.roster[0].address));
  strangers[0] = Socket();
  Transports transports;
  EXPECT_EQ(Describe(ConnectAll(std::move(forwarded.options), kPatience, transports)), "");
  transports.clear();
  forwarded.forwarder = nullptr;  // with strangers whose hello has not come
}

}  // namespace
}  // namespace partita::net::forwarder_test
