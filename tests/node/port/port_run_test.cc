// Runs between nodes that have one port each: the sockets come through the port, TLS ends in the job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "net/https_client.h"
#include "net/https_server.h"
#include "tests/net/tls_parties.h"
#include "tests/node/port/hello_bytes.h"
#include "tests/node/port/port_world.h"

namespace partita::node::port_run_test {
namespace {

using std::chrono::seconds;

const RunTag kTag = {0xa1, 2, 3, 4, 5, 6, 7, 8};

// Three nodes, each with a port and a key of the run.
struct Nodes {
  std::vector<std::string> names = net::PartyNames(3);
  std::vector<std::unique_ptr<PortWorld>> ports;
  std::vector<crypto::Identity> run_keys;
  net::Roster roster;

  Nodes() {
    for (const std::string& name : names) {
      ports.push_back(std::make_unique<PortWorld>(HostOf(name)));
      run_keys.push_back(crypto::MakeIdentity({.name = name}));
      roster.push_back(
          {name, ports.back()->address(), crypto::Fingerprint(*run_keys.back().certificate)});
    }
  }

  static std::string HostOf(const std::string& name) { return name + ".example.org"; }

  // Of the job of one party: its connections come through the port, and it asks for the run at the
  // others'.
  net::TlsOptions Options(net::PartyIndex self) {
    net::TlsOptions options;
    options.identity = run_keys[self];
    options.roster = roster;
    options.self = self;
    options.max_handshakes = 16;
    for (const std::string& name : names) {
      options.server_names.push_back(RunServerName(kTag, HostOf(name)));
    }
    auto [port_end, job_end] = MakeSocketPair();
    ports[self]->port().Expect(kTag, std::move(port_end));
    options.arrivals = PassedSockets(std::move(job_end));
    return options;
  }

  std::vector<net::TlsOptions> AllOptions() {
    std::vector<net::TlsOptions> options;
    for (net::PartyIndex i = 0; i < 3; ++i) options.push_back(Options(i));
    return options;
  }
};

// Everybody tells everybody else something, twice.
void ExpectTalk(net::Transports transports) {
  const auto errors = net::RunChannels(std::move(transports), [](net::Channel& channel) {
    for (size_t round = 0; round < 2; ++round) {
      std::vector<Bytes> out(3), in(3, Bytes(1000));
      std::vector<net::Send> sends;
      std::vector<net::Receive> receives;
      for (net::PartyIndex peer = 0; peer < 3; ++peer) {
        if (peer == channel.self()) continue;
        out[peer] = net::Pattern(channel.self(), peer, round, 1000);
        net::Send send;
        send.to = peer;
        send.bytes = out[peer];
        sends.push_back(send);
        net::Receive receive;
        receive.from = peer;
        receive.into = in[peer];
        receives.push_back(receive);
      }
      channel.Exchange(sends, receives);
      for (net::PartyIndex peer = 0; peer < 3; ++peer) {
        if (peer == channel.self()) continue;
        EXPECT_EQ(in[peer], net::Pattern(peer, channel.self(), round, 1000));
      }
    }
  });
  EXPECT_EQ(net::Describe(errors), "");
}

TEST(PortRunTest, ThreeNodesRunThroughTheirPorts) {
  Nodes nodes;
  net::Transports transports;
  const auto errors = net::ConnectAll(nodes.AllOptions(), kPatience, transports);
  ASSERT_EQ(net::Describe(errors), "");
  // Two connections to the first, one to the second, none to the third, which calls.
  for (const size_t i : {0, 1, 2}) {
    const uint64_t expected = 2 - i;
    if (expected == 0) continue;
    EXPECT_EQ(
        nodes.ports[i]->WaitFor([&](const auto& now) { return now.passed == expected; }).served,
        0u);
  }
  ExpectTalk(std::move(transports));
}

// The others are there first: their connections wait at the port for the job.
TEST(PortRunTest, JobsMayStartLate) {
  Nodes nodes;
  std::vector<net::TlsOptions> options;
  for (net::PartyIndex i : {1, 2}) options.push_back(nodes.Options(i));
  net::Transports transports(3);
  std::vector<std::thread> threads;
  for (size_t i : {0, 1}) {
    threads.emplace_back([&, i] {
      transports[i + 1] = net::ConnectTls(std::move(options[i]), Deadline::After(kPatience));
    });
  }
  nodes.ports[0]->WaitFor([](const auto& now) { return now.early == 2; });
  transports[0] = net::ConnectTls(nodes.Options(0), Deadline::After(kPatience));
  for (std::thread& thread : threads) thread.join();
  ExpectTalk(std::move(transports));
}

// A stranger who knows the tag gets as far as a handshake that fails.
TEST(PortRunTest, StrangersWithTheTagAreHarmless) {
  Nodes nodes;
  std::vector<net::Socket> silent;
  const std::string name = RunServerName(kTag, Nodes::HostOf("north"));
  for (int i = 0; i < 60; ++i) {
    silent.push_back(Call(nodes.roster[0].address, "127.9.0." + std::to_string(1 + i)));
    SendAll(silent.back(), OpenSslHello(name));
  }
  nodes.ports[0]->WaitFor([](const auto& now) { return now.early == 60; });
  net::Transports transports(3);
  std::vector<std::optional<Error>> errors(3);
  std::vector<std::thread> threads;
  auto start = [&](size_t i) {
    threads.emplace_back([&, i, options = nodes.Options(i)]() mutable {
      try {
        transports[i] = net::ConnectTls(std::move(options), Deadline::After(kPatience));
      } catch (const Error& error) {
        errors[i] = error;
      }
    });
  };
  start(0);
  // One with a certificate of its own, made out to a party.
  const crypto::Identity stranger = crypto::MakeIdentity({.name = "south"});
  net::TlsOptions posing;
  posing.identity = stranger;
  posing.roster = {nodes.roster[0], nodes.roster[1]};
  posing.roster[1].fingerprint = crypto::Fingerprint(*stranger.certificate);
  posing.self = 1;
  posing.server_names = {name, ""};
  std::optional<Error> refused;
  try {
    net::ConnectTls(std::move(posing), Deadline::After(kPatience));
  } catch (const Error& error) {
    refused = error;
  }
  EXPECT_TRUE(refused.has_value()) << "a stranger took part";
  if (refused) {
    EXPECT_EQ(refused->code(), ErrorCode::kUntrusted) << refused->message();
  }
  start(1);
  start(2);
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(net::Describe(errors), "");
  ExpectTalk(std::move(transports));
}

// The same port answers HTTPS, with the key of the node.
TEST(PortRunTest, TheNodeAnswersHttpsOnTheSamePort) {
  const crypto::Identity node_key = crypto::MakeIdentity({.name = "north"});
  net::HttpsServer server(net::Listener(), node_key, {}, 1,
                          [](net::HttpRequest request, const net::HttpReply& reply) {
                            reply(net::TextResponse(200, "you asked for " + request.target));
                          });
  OnePortOptions options;
  options.listener = net::Listen("127.0.0.1", "0");
  options.host = Nodes::HostOf("north");
  options.serve = [&](net::Arrival arrival, std::shared_ptr<const void> place) {
    server.Take(std::move(arrival.socket), std::move(place));
  };
  std::mutex mutex;
  std::condition_variable changed;
  OnePortCounts counts;
  options.changed = [&](const OnePortCounts& now) {
    const std::lock_guard lock(mutex);
    counts = now;
    changed.notify_all();
  };
  OnePort port(std::move(options));
  {
    net::HttpsClient client({"north", port.address(), crypto::Fingerprint(*node_key.certificate)},
                            {});
    SilentProgress progress;
    net::HttpRequest request;
    request.method = "GET";
    request.target = "/healthz";
    for (int i = 0; i < 2; ++i) {  // the connection is kept
      const net::HttpResponse answer = client.Send(request, kPatience, 1000, progress);
      EXPECT_EQ(net::BodyText(answer), "you asked for /healthz");
    }
    EXPECT_EQ(port.Counts().accepted, 1u);
  }
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, kPatience, [&] {
    return counts.served == 1 && counts.being_served == 0;
  })) << "the place was not given back";
}

}  // namespace
}  // namespace partita::node::port_run_test
