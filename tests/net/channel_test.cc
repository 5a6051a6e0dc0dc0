// Exchange over every transport: contents, pieces, counters, depth, phases, keys.
#include "net/channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "net/delayed_transport.h"
#include "net/frame.h"
#include "net/stop.h"
#include "tests/net/parties.h"
#include "tests/net/tls_parties.h"

namespace partita::net::channel_test {
namespace {

struct Kind {
  std::string name;
  Transports (*make)(size_t parties);
};

Transports DelayedParties(size_t parties) {
  Transports transports = MemoryParties(parties);
  for (auto& transport : transports) {
    transport = DelayTransport(std::move(transport), {.latency = std::chrono::microseconds(300)});
  }
  return transports;
}

Transports TightParties(size_t parties) {  // every message is cut into many small writes
  crypto::Prg random = TestRandom(1);
  return MakeMemoryTransports(PartyNames(parties), random, 1000);
}

class ChannelTest : public testing::TestWithParam<Kind> {};

INSTANTIATE_TEST_SUITE_P(Transports, ChannelTest,
                         testing::Values(Kind{"Memory", MemoryParties}, Kind{"Tight", TightParties},
                                         Kind{"Delayed", DelayedParties},
                                         Kind{"Tls", [](size_t n) { return TlsParties(n); }},
                                         // new traffic keys every 7 records
                                         Kind{"TlsRekey",
                                              [](size_t n) { return TlsParties(n, 7); }}),
                         [](const auto& kind) { return kind.param.name; });

// Sends every peer messages of `sizes` and checks what comes back.
void ExchangeSizes(Channel& channel, const std::vector<size_t>& sizes) {
  const PartyIndex self = channel.self();
  std::vector<Bytes> out, in;
  std::vector<PartyIndex> peers;
  for (PartyIndex peer = 0; peer < channel.num_parties(); ++peer) {
    for (size_t k = 0; peer != self && k < sizes.size(); ++k) {
      peers.push_back(peer);
      out.push_back(Pattern(self, peer, k, sizes[k]));
      in.emplace_back(sizes[k]);
    }
  }
  std::vector<Send> sends;
  std::vector<Receive> receives;
  for (size_t i = 0; i < peers.size(); ++i) {
    sends.push_back({peers[i], out[i], 0, {}});
    receives.push_back({peers[i], in[i], 0, {}, nullptr, 0});
  }
  channel.Exchange(sends, receives);
  for (size_t i = 0; i < peers.size(); ++i) {
    const size_t k = i % sizes.size();
    EXPECT_EQ(in[i], Pattern(peers[i], self, k, sizes[k])) << peers[i] << " " << k;
  }
}

TEST_P(ChannelTest, EverySizeArrivesFromEveryPeer) {
  auto errors = RunChannels(GetParam().make(4), [](Channel& channel) {
    ExchangeSizes(channel, {0, 1, 63, 0, 16320, 16321, 16384, 65536, 65537, 200'001});
    ExchangeSizes(channel, {5});
    ExchangeSizes(channel, {});
  });
  EXPECT_EQ(Describe(errors), "");
}

TEST_P(ChannelTest, ManyMessagesKeepTheirOrder) {
  auto errors = RunChannels(GetParam().make(3), [](Channel& channel) {
    std::vector<size_t> sizes(200);
    for (size_t k = 0; k < sizes.size(); ++k) sizes[k] = (k * 37) % 100;
    ExchangeSizes(channel, sizes);
  });
  EXPECT_EQ(Describe(errors), "");
}

TEST_P(ChannelTest, StreamsComeInFixedPiecesAndBodiesFitTheirLimit) {
  const size_t size = 3 * kStreamPieceBytes + 17;
  auto errors = RunChannels(GetParam().make(2), [&](Channel& channel) {
    const PartyIndex self = channel.self(), peer = 1 - self;
    const Bytes stream = Pattern(self, peer, 0, size), body = Pattern(self, peer, 1, 1000);
    uint64_t produced = 0, consumed = 0;
    Bytes received, received_body, empty_body = {1, 2};
    const Send sends[] = {
        {peer,
         {},
         size,
         [&](uint64_t offset, std::span<uint8_t> out) {
           EXPECT_EQ(offset, produced);
           EXPECT_TRUE(out.size() == kStreamPieceBytes || offset + out.size() == size);
           std::copy_n(stream.begin() + static_cast<ptrdiff_t>(offset), out.size(), out.begin());
           produced += out.size();
         }},
        {peer, body, 0, {}},
        {peer, {}, 0, {}}};
    const Receive receives[] = {
        {peer,
         {},
         size,
         [&](uint64_t offset, ByteView in) {
           EXPECT_EQ(offset, consumed);
           EXPECT_TRUE(in.size() == kStreamPieceBytes || offset + in.size() == size);
           received.insert(received.end(), in.begin(), in.end());
           consumed += in.size();
         },
         nullptr,
         0},
        {peer, {}, 0, {}, &received_body, 1000},
        {peer, {}, 0, {}, &empty_body, 1000}};
    channel.Exchange(sends, receives);
    EXPECT_EQ(produced, size);
    EXPECT_EQ(received, Pattern(peer, self, 0, size));
    EXPECT_EQ(received_body, Pattern(peer, self, 1, 1000));
    EXPECT_EQ(empty_body, Bytes());
  });
  EXPECT_EQ(Describe(errors), "");
}

// A stream of no bytes asks nobody for bytes.
TEST_P(ChannelTest, EmptyStream) {
  auto errors = RunChannels(GetParam().make(2), [&](Channel& channel) {
    const PartyIndex peer = 1 - channel.self();
    int calls = 0;
    const Send send{peer, {}, 0, [&](uint64_t, std::span<uint8_t>) { ++calls; }};
    const Receive receive{peer, {}, 0, [&](uint64_t, ByteView) { ++calls; }, nullptr, 0};
    channel.Exchange({&send, 1}, {&receive, 1});
    EXPECT_EQ(calls, 0);
    EXPECT_EQ(channel.depth(), 1u);
  });
  EXPECT_EQ(Describe(errors), "");
}

// All to all, far more than any stream holds, before anybody has read anything; unequal sizes.
TEST_P(ChannelTest, BigMessagesBothWaysDoNotDeadlock) {
  const bool tls = GetParam().name.substr(0, 3) == "Tls";
  const size_t parties = tls ? 5 : 3;
  const size_t total = kSanitized ? size_t{4} << 20 : tls ? size_t{64} << 20 : size_t{8} << 20;
  auto errors = RunChannels(GetParam().make(parties), [&](Channel& channel) {
    const PartyIndex self = channel.self();
    auto size = [&](PartyIndex from) { return total / (parties - 1) * (from + 1) / parties; };
    std::vector<Bytes> out(parties), in(parties);
    std::vector<Send> sends;
    std::vector<Receive> receives;
    for (PartyIndex peer = 0; peer < parties; ++peer) {
      if (peer == self) continue;
      out[peer] = Pattern(self, peer, 0, size(self));
      in[peer].resize(size(peer));
      sends.push_back({peer, out[peer], 0, {}});
      receives.push_back({peer, in[peer], 0, {}, nullptr, 0});
    }
    channel.Exchange(sends, receives);
    for (PartyIndex peer = 0; peer < parties; ++peer) {
      if (peer != self) {
        EXPECT_TRUE(in[peer] == Pattern(peer, self, 0, size(peer)));
      }
    }
  });
  EXPECT_EQ(Describe(errors), "");
}

void SendOne(Channel& channel, PartyIndex to, size_t size = 1) {
  const Bytes bytes(size, 1);
  const Send send{to, bytes, 0, {}};
  channel.Exchange({&send, 1}, {});
}
void ReceiveOne(Channel& channel, PartyIndex from, size_t size = 1) {
  Bytes bytes(size);
  const Receive receive{from, bytes, 0, {}, nullptr, 0};
  channel.Exchange({}, {&receive, 1});
}

// north -> south -> east -> south, then south <-> north in one exchange.
// Two sets of connections between the same parties: a channel beside the first begins where that one
// stands, and counts in it as if its messages had gone there meanwhile.
TEST_P(ChannelTest, ChannelsBesideAreJoined) {
  Transports beside = GetParam().make(2), other = GetParam().make(2);
  auto errors = RunChannels(GetParam().make(2), [&](Channel& channel) {
    channel.BeginPhase("work");
    ExchangeSizes(channel, {1});
    const ChannelFork fork = channel.Fork();
    EXPECT_EQ(fork.depth, 1u);
    EXPECT_EQ(fork.phase, "work");
    ExchangeSizes(channel, {1});
    const PartyIndex peer = 1 - channel.self();
    std::set<std::array<uint8_t, 32>> keys = {channel.PairwiseKey(peer, "test", 0).Expose()};
    for (uint64_t number = 0; number < 2; ++number) {
      Channel own(std::move((number == 0 ? beside : other)[channel.self()]), fork, "stripe",
                  number);
      EXPECT_EQ(own.depth(), 1u);
      for (int i = 0; i < 3; ++i) ExchangeSizes(own, {10, 20});
      keys.insert(own.PairwiseKey(peer, "test", 0).Expose());
      EXPECT_EQ(own.Total().depth, 4u);
      channel.Join(own.Total());
    }
    EXPECT_EQ(channel.depth(), 4u) << "they ran beside each other";
    const PhaseTraffic phase = channel.traffic().back();
    EXPECT_EQ(phase.rounds, 4u);
    EXPECT_EQ(phase.links[peer].messages_sent, 2u + 2 * 6);
    EXPECT_EQ(phase.links[peer].bytes_sent, 2u + 2 * 90);
    EXPECT_EQ(phase.links[peer].messages_received, 2u + 2 * 6);
    const LinkTraffic& link = phase.links[peer];
    EXPECT_TRUE(link.wire_sent == 0 || link.wire_sent > link.bytes_sent);
  });
  EXPECT_EQ(Describe(errors), "");
}

// Nothing of one is taken for something of another one, whatever connection it comes over.
TEST(ChannelBesideTest, FramesAndKeysAreOfOneNumberPurposeAndRun) {
  const auto keys = [](ChannelFork fork, const std::string& purpose, uint64_t number) {
    Transports transports = MemoryParties(2);
    Channel channel(std::move(transports[0]), fork, purpose, number);
    return channel.PairwiseKey(1, "test", 0).Expose();
  };
  const ChannelFork fork{kTestRun, 1, 0, "work"}, run{{1, 2, 4}, 1, 0, "work"},
      attempt{kTestRun, 2, 0, "work"};
  const std::set<std::array<uint8_t, 32>> all = {keys(fork, "stripe", 0), keys(fork, "stripe", 1),
                                                 keys(fork, "other", 0), keys(run, "stripe", 0),
                                                 keys(attempt, "stripe", 0)};
  EXPECT_EQ(all.size(), 5u);
  EXPECT_EQ(keys(fork, "stripe", 0), keys(fork, "stripe", 0))
      << "these connections have one secret";
  const auto errors = RunTransports(MemoryParties(2), [&](std::unique_ptr<Transport> transport) {
    const PartyIndex self = transport->self();
    Channel channel(std::move(transport), fork, "stripe", self);
    ExchangeSizes(channel, {10});
  });
  for (const auto& error : errors) {
    ASSERT_TRUE(error);
    EXPECT_TRUE(error->code() == ErrorCode::kPeerFault || error->code() == ErrorCode::kPeerLost);
  }
}

// Whoever waits elsewhere learns who left and why, and nothing of peers that are there.
TEST_P(ChannelTest, RequirePeersTellsWhoLeftAndWhy) {
  Transports transports = GetParam().make(3);
  std::vector<std::unique_ptr<Channel>> channels;
  for (auto& transport : transports)
    channels.push_back(std::make_unique<Channel>(std::move(transport), kTestRun, 1));
  channels[0]->RequirePeers();
  channels[1]->Abort(Error(ErrorCode::kCancelled, "own words"));
  channels[1] = nullptr;
  try {
    const Deadline deadline = Deadline::After(std::chrono::seconds(60));
    while (!deadline.passed()) channels[0]->RequirePeers();
    ADD_FAILURE() << "nobody left";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kPeerLost);
    EXPECT_THAT(error.message(), testing::HasSubstr("south"));
    EXPECT_THAT(error.message(),
                testing::HasSubstr(std::string(ReasonText(StopReason::kCancelled))));
    EXPECT_THAT(error.message(), testing::Not(testing::HasSubstr("own words")));
  }
  EXPECT_THROW(channels[0]->Exchange({}, {}), Error) << "it was given up";
}

TEST_P(ChannelTest, DepthIsTheLongestChain) {
  std::vector<uint64_t> depths(3);
  auto errors = RunChannels(GetParam().make(3), [&](Channel& channel) {
    if (channel.self() == 0) {
      SendOne(channel, 1);
      EXPECT_EQ(channel.depth(), 0u);
      SendOne(channel, 1);  // sending more makes nothing deeper
    } else if (channel.self() == 1) {
      ReceiveOne(channel, 0);
      EXPECT_EQ(channel.depth(), 1u);
      ReceiveOne(channel, 0);
      EXPECT_EQ(channel.depth(), 1u);
      SendOne(channel, 2);
      ReceiveOne(channel, 2);
      EXPECT_EQ(channel.depth(), 3u);
    } else {
      ReceiveOne(channel, 1);
      SendOne(channel, 1);
    }
    if (channel.self() < 2) {  // both ways at once: one round, from the deeper of the two
      const Bytes out(1);
      Bytes in(1);
      const Send send{1 - channel.self(), out, 0, {}};
      const Receive receive{1 - channel.self(), in, 0, {}, nullptr, 0};
      channel.Exchange({&send, 1}, {&receive, 1});
    }
    depths[channel.self()] = channel.depth();
  });
  EXPECT_EQ(Describe(errors), "");
  EXPECT_EQ(depths, (std::vector<uint64_t>{4, 3, 2}));
}

TEST_P(ChannelTest, CountersAreExactPerLinkAndPhase) {
  auto errors = RunChannels(GetParam().make(3), [&](Channel& channel) {
    const PartyIndex self = channel.self();
    channel.BeginPhase("one");
    if (self == 0) SendOne(channel, 1, 100'000), SendOne(channel, 1, 0), SendOne(channel, 2, 7);
    if (self == 1) ReceiveOne(channel, 0, 100'000), ReceiveOne(channel, 0, 0);
    if (self == 2) ReceiveOne(channel, 0, 7);
    channel.BeginPhase("two");
    if (self == 1) SendOne(channel, 0, 5);
    if (self == 0) ReceiveOne(channel, 1, 5);
    const std::vector<PhaseTraffic> phases = channel.traffic();
    ASSERT_EQ(phases.size(), 2u);  // nothing crossed before the first phase
    EXPECT_EQ(phases[0].phase, "one");
    EXPECT_EQ(phases[1].phase, "two");
    auto row = [&](size_t phase, PartyIndex peer) {
      const LinkTraffic& link = phases[phase].links[peer];
      return std::vector<uint64_t>{link.messages_sent, link.bytes_sent, link.messages_received,
                                   link.bytes_received};
    };
    using Row = std::vector<uint64_t>;
    if (self == 0) {
      EXPECT_EQ(row(0, 1), (Row{2, 100'000, 0, 0}));
      EXPECT_EQ(row(0, 2), (Row{1, 7, 0, 0}));
      EXPECT_EQ(row(1, 1), (Row{0, 0, 1, 5}));
      EXPECT_EQ(phases[0].rounds, 0u);
      EXPECT_EQ(phases[1].rounds, 2u);
    } else if (self == 1) {
      EXPECT_EQ(row(0, 0), (Row{0, 0, 2, 100'000}));
      EXPECT_EQ(row(1, 0), (Row{1, 5, 0, 0}));
      EXPECT_EQ(phases[0].rounds, 1u);
      EXPECT_EQ(phases[1].rounds, 0u);
    } else {
      EXPECT_EQ(row(0, 0), (Row{0, 0, 1, 7}));
      EXPECT_EQ(row(1, 0), (Row{0, 0, 0, 0}));
    }
    EXPECT_GE(phases[0].seconds, 0);
  });
  EXPECT_EQ(Describe(errors), "");
}

TEST_P(ChannelTest, PairwiseKeysAgreeAndSeparate) {
  std::mutex mutex;
  std::set<std::array<uint8_t, 32>> all;
  std::map<std::pair<PartyIndex, PartyIndex>, std::array<uint8_t, 32>> by_pair;
  auto errors = RunTransports(GetParam().make(3), [&](std::unique_ptr<Transport> transport) {
    Channel channel(std::move(transport), kTestRun, 1);
    std::lock_guard lock(mutex);
    for (PartyIndex peer = 0; peer < 3; ++peer) {
      if (peer == channel.self()) continue;
      const auto key = channel.PairwiseKey(peer, "masks", 1).Expose();
      const auto pair = std::minmax({peer, channel.self()});
      const auto [known, fresh] = by_pair.emplace(pair, key);
      EXPECT_EQ(known->second, key);  // both ends agree
      all.insert(key);
      all.insert(channel.PairwiseKey(peer, "masks", 2).Expose());
      all.insert(channel.PairwiseKey(peer, "mask", 1).Expose());
    }
    EXPECT_THROW(channel.PairwiseKey(channel.self(), "masks", 1), Error);
    EXPECT_THROW(channel.PairwiseKey(3, "masks", 1), Error);
  });
  EXPECT_EQ(Describe(errors), "");
  EXPECT_EQ(all.size(), 9u);  // 3 pairs, 3 keys each, no two alike
}

// The same secret under another run id or attempt gives other keys.
TEST(PairwiseKeyTest, DependsOnRunAndAttempt) {
  auto key = [](const Bytes& run, uint32_t attempt) {
    return Channel(std::move(MemoryParties(2)[0]), run, attempt).PairwiseKey(1, "p", 0).Expose();
  };
  EXPECT_EQ(key({1}, 1), key({1}, 1));
  const std::set<std::array<uint8_t, 32>> keys = {key({1}, 1), key({1}, 2), key({2}, 1)};
  EXPECT_EQ(keys.size(), 3u);
}

TEST(PairwiseKeyTest, EveryTlsConnectionHasItsOwn) {
  TlsWorld world(2);
  std::set<std::array<uint8_t, 32>> keys;
  for (int i = 0; i < 2; ++i) {
    for (Listener& listener : world.listeners) listener = Listen("127.0.0.1", "0");
    world.roster[0].address = world.listeners[0].address;
    std::vector<TlsOptions> options;
    options.push_back(world.Options(0));
    options.push_back(world.Options(1));
    Transports transports;
    EXPECT_EQ(Describe(ConnectAll(std::move(options), std::chrono::seconds(60), transports)), "");
    EXPECT_EQ(transports[0]->PairwiseSecret(1).Expose(), transports[1]->PairwiseSecret(0).Expose());
    keys.insert(transports[0]->PairwiseSecret(1).Expose());
  }
  EXPECT_EQ(keys.size(), 2u);
}

TEST(ChannelMisuseTest, IsRefusedAtOnce) {
  auto fresh = [] { return Channel(std::move(MemoryParties(2)[0]), kTestRun, 1); };
  const Bytes byte(1);
  for (PartyIndex to : {PartyIndex{0}, PartyIndex{2}}) {
    Channel channel = fresh();
    const Send send{to, byte, 0, {}};
    EXPECT_THROW(channel.Exchange({&send, 1}, {}), Error);
    const Receive receive{to, {}, 0, {}, nullptr, 0};
    Channel other = fresh();
    EXPECT_THROW(other.Exchange({}, {&receive, 1}), Error);
  }
  Channel channel = fresh();
  EXPECT_THROW(channel.BeginPhase(""), Error);
  EXPECT_THROW(channel.BeginPhase(std::string(65, 'a')), Error);
  EXPECT_NO_THROW(channel.BeginPhase(std::string(64, 'a')));
}

}  // namespace
}  // namespace partita::net::channel_test
