#include "net/delayed_transport.h"

#include <gtest/gtest.h>

#include "net/channel.h"
#include "tests/net/parties.h"
#include "tests/net/tls_parties.h"

namespace partita::net::delayed_transport_test {
namespace {

using std::chrono::milliseconds;

Transports Delayed(Transports transports, LinkModel link) {
  for (auto& transport : transports) transport = DelayTransport(std::move(transport), link);
  return transports;
}

// Seconds that `rounds` exchanges of `size` bytes both ways take.
double Measure(Transports transports, int rounds, size_t size) {
  const auto start = SteadyClock::now();
  const auto errors = RunChannels(std::move(transports), [&](Channel& channel) {
    for (int i = 0; i < rounds; ++i) {
      const PartyIndex peer = 1 - channel.self();
      const Bytes out = Pattern(channel.self(), peer, 0, size);
      Bytes in(size);
      const Send send{peer, out, 0, {}};
      const Receive receive{peer, in, 0, {}, nullptr, 0};
      channel.Exchange({&send, 1}, {&receive, 1});
      EXPECT_EQ(in, Pattern(peer, channel.self(), 0, size));
    }
  });
  EXPECT_EQ(Describe(errors), "");
  return SecondsSince(start);
}

// Never earlier than the model says. (Later is the machine's business.)
TEST(DelayedTransportTest, LatencyPerRound) {
  const LinkModel link{.latency = milliseconds(5)};
  EXPECT_GE(Measure(Delayed(MemoryParties(2), link), 10, 100), 0.050);
  EXPECT_GE(Measure(Delayed(TlsParties(2), link), 10, 100), 0.050);
}

TEST(DelayedTransportTest, BandwidthPerDirection) {
  const LinkModel link{.latency = milliseconds(1), .bytes_per_second = 1e7};
  EXPECT_GE(Measure(Delayed(MemoryParties(2), link), 1, 500'000), 0.050 + 0.001);
  EXPECT_GE(Measure(Delayed(TlsParties(2), link), 1, 500'000), 0.050 + 0.001);
}

// Latency delays a stream once, not every packet of it: 100 packets, 20 ms each would be 2 s.
TEST(DelayedTransportTest, LatencyIsPipelined) {
  const LinkModel link{.latency = milliseconds(20)};
  const double seconds = Measure(Delayed(MemoryParties(2), link), 1, 100 * (size_t{1} << 14));
  EXPECT_GE(seconds, 0.020);
  EXPECT_LT(seconds, 1.0);
}

TEST(DelayedTransportTest, ClosedPeerIsNoticedAfterItsLastWords) {
  auto errors =
      RunChannels(Delayed(MemoryParties(2), {.latency = milliseconds(5)}), [](Channel& channel) {
        const Bytes out(3);
        Bytes in(3);
        const Send send{0, out, 0, {}};
        const Receive receive{1, in, 0, {}, nullptr, 0};
        if (channel.self() == 1) return channel.Exchange({&send, 1}, {});
        channel.Exchange({}, {&receive, 1});
        EXPECT_THROW(channel.Exchange({}, {&receive, 1}), Error);
      });
  EXPECT_EQ(Describe(errors), "");
}

}  // namespace
}  // namespace partita::net::delayed_transport_test
