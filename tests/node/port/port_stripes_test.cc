// Stripes of a run between nodes that have one port each: connections ask for their stripe, and what strangers
// and parties that are done do is nobody's loss.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <set>
#include <thread>

#include "methods/prepare_study.h"
#include "run/method/study.h"
#include "run/party/stripe_port.h"
#include "tests/net/tls_parties.h"
#include "tests/node/port/hello_bytes.h"
#include "tests/node/port/port_world.h"

namespace partita::node::port_stripes_test {
namespace {

using std::chrono::milliseconds;

constexpr size_t kParties = 3, kStripes = 3;
const RunTag kTag = {0xb1, 2, 3, 4, 5, 6, 7, 8};
// Of the first stripe for its parties: only a failure waits for it, and no longer, since the study has the
// shortest timeout that there is.
constexpr std::chrono::seconds kStripeWait{20};

std::unique_ptr<const run::Study> StripedStudy() {
  std::string toml = "partita = 1\nname = \"striped\"\n";
  for (const std::string name : {"n", "e", "s"}) {
    toml += fmt::format(
        "[[party]]\nname = \"{0}\"\nroles = [\"holder\"{1}]\ncolumns = [\"{0}\"]\nrows = "
        "[\"all\"]\n",
        name, name == "n" ? ", \"receiver\"" : "");
  }
  toml +=
      fmt::format("[[rows]]\nname = \"all\"\ncount = {}\n[table]\nkey = \"id\"\n", 1024 * kStripes);
  for (const std::string name : {"n", "e", "s"}) {
    toml += fmt::format("[[variable]]\nname = \"{}\"\ntype = \"numeric\"\nlower = -5\nupper = 5\n",
                        name);
  }
  return methods::PrepareStudy(methods::ParseStudyFile(
      toml + fmt::format("[design]\nsite = \"ignore\"\nmissing = \"refuse\"\n"
                         "[network]\ntimeout_seconds = 1\n[engine]\n"
                         "name = \"replicated\"\nstripes = {}\n[[analysis]]\nmethod = \"mle\"\n"
                         "protocol = \"pooled-moments\"\nrelease = [\"moments\"]\n"
                         "function = \"sem\"\nmodel = \"n ~ e + s\"\n",
                         kStripes),
      "study.toml"));
}

// Three nodes, each with a port, a key of the run, and its job's options.
struct StripedNodes {
  std::unique_ptr<const run::Study> study = StripedStudy();
  std::vector<std::string> names = net::PartyNames(kParties);
  std::vector<std::unique_ptr<PortWorld>> ports;
  std::vector<net::TlsOptions> tls;
  std::vector<std::optional<run::StripePort>> stripes{kParties};
  std::vector<std::unique_ptr<net::Transport>> transports{kParties};
  std::vector<std::string> errors{kParties};

  StripedNodes() {
    net::Roster roster;
    std::vector<crypto::Identity> keys;
    for (const std::string& name : names) {
      ports.push_back(std::make_unique<PortWorld>(HostOf(name)));
      keys.push_back(crypto::MakeIdentity({.name = name}));
      roster.push_back(
          {name, ports.back()->address(), crypto::Fingerprint(*keys.back().certificate)});
    }
    for (net::PartyIndex self = 0; self < kParties; ++self) {
      net::TlsOptions& options = tls.emplace_back();
      options.identity = keys[self];
      options.roster = roster;
      options.self = self;
      options.max_handshakes = 16;
      for (const std::string& name : names)
        options.server_names.push_back(RunServerName(kTag, HostOf(name)));
      auto [port_end, job_end] = MakeSocketPair();
      ports[self]->port().Expect(kTag, std::move(port_end));
      TellStripes(job_end, kStripes);
      options.arrivals = PassedSockets(std::move(job_end));
    }
  }

  static std::string HostOf(const std::string& name) { return name + ".example.org"; }
  std::string NameOf(size_t party, size_t stripe) const {
    return StripeServerName({kTag, static_cast<uint32_t>(stripe)}, HostOf(names[party]));
  }

  // As the job of this party; from then on tls has the run's connections.
  void Begin(size_t party) {
    stripes[party].emplace(*study, tls[party], kStripeWait,
                           [this](size_t peer, size_t stripe) { return NameOf(peer, stripe); });
  }
  std::unique_ptr<net::Transport> Connect(size_t party, size_t stripe) {
    SilentProgress progress;
    return stripes[party]->Connector()(stripe, "", progress);
  }
  // In a thread of the party: what it does, and with what error it ended.
  template <class Act>
  std::thread As(size_t party, Act act) {
    return std::thread([this, party, act] {
      try {
        act();
      } catch (const Error& error) {
        errors[party] = error.message();
      }
    });
  }
  // Run and stripes of all parties; the keys between the first two, in the order of time.
  std::vector<std::array<uint8_t, 32>> RunAll() {
    std::vector<std::array<uint8_t, 32>> keys;
    std::vector<std::thread> threads;
    for (size_t party = 0; party < kParties; ++party) {
      Begin(party);
      threads.push_back(As(party, [this, party, &keys] {
        transports[party] = net::ConnectTls(std::move(tls[party]), Deadline::After(kPatience));
        if (party == 0) keys.push_back(transports[0]->PairwiseSecret(1).Expose());
        for (size_t stripe = 0; stripe < kStripes; ++stripe) {
          const auto own = Connect(party, stripe);
          if (party == 0) keys.push_back(own->PairwiseSecret(1).Expose());
        }
      }));
    }
    for (std::thread& thread : threads) thread.join();
    return keys;
  }
};

// A connection that says whom it is for and nothing else.
net::Socket SilentCall(const std::string& address, const std::string& from,
                       const std::string& name) {
  net::Socket socket = Call(address, from);
  SendAll(socket, OpenSslHello(name));
  return socket;
}

TEST(PortStripesTest, EveryStripeHasItsConnections) {
  StripedNodes nodes;
  const auto keys = nodes.RunAll();
  EXPECT_THAT(nodes.errors, testing::Each(""));
  ASSERT_EQ(keys.size(), 1 + kStripes);
  EXPECT_EQ((std::set<std::array<uint8_t, 32>>(keys.begin(), keys.end()).size()), keys.size());
  // Two calls come to the first party for the run and for each stripe.
  const OnePortCounts counts =
      nodes.ports[0]->WaitFor([](const auto& now) { return now.passed == 2 * (1 + kStripes); });
  EXPECT_EQ(counts.served, 0u);
  // After the last stripe nobody comes to the job, which is still there.
  const net::Socket late = SilentCall(nodes.ports[0]->address(), "127.0.0.1", nodes.NameOf(0, 0));
  EXPECT_TRUE(nodes.ports[0]->TakeServed().socket.valid());
  EXPECT_EQ(nodes.ports[0]->port().Counts().passed, counts.passed);
}

// A party that has nothing to wait for in a stripe, as a dealer has not, is done with it and gone before the
// others have found each other: nobody waits for it again.
TEST(PortStripesTest, WhoIsDoneIsNotAwaitedAgain) {
  StripedNodes nodes;
  std::promise<void> left;
  nodes.tls[1].roster[0].address =
      StripedNodes::HostOf("north") + ":" + net::ParseAddress(nodes.ports[0]->address()).port;
  nodes.tls[1].look_up = [gone = left.get_future().share(), real = nodes.ports[0]->address()](
                             const std::string&, const std::string& port, std::string&) {
    gone.wait();
    return net::NumericEndpoints(net::ParseAddress(real).host, port);
  };
  std::vector<std::thread> threads;
  for (size_t party = 0; party < kParties; ++party) {
    nodes.Begin(party);
    threads.push_back(nodes.As(party, [&, party] {
      try {
        nodes.transports[party] = nodes.Connect(party, 0);
      } catch (const Error&) {
        if (party == 2) left.set_value();
        throw;
      }
      if (party != 2) return;
      nodes.transports[party] = nullptr;
      left.set_value();
    }));
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(nodes.errors, testing::Each(""));
  EXPECT_TRUE(nodes.transports[0] && nodes.transports[1]);
}

// Who calls for a stripe and is silent then is not given the time that a party may be busy.
TEST(PortStripesTest, SilentCallersOfAStripeGoSoon) {
  StripedNodes nodes;
  nodes.tls[0].handshake_timeout = milliseconds(50);
  for (size_t party = 0; party < kParties; ++party) nodes.Begin(party);
  std::vector<std::thread> threads;
  threads.push_back(nodes.As(0, [&] { nodes.transports[0] = nodes.Connect(0, 0); }));
  const net::Socket silent = SilentCall(nodes.ports[0]->address(), "127.0.0.2", nodes.NameOf(0, 0));
  // The job's answer, then the end.
  Bytes answer(65'536);
  ssize_t size = 0;
  while ((size = recv(silent.fd(), answer.data(), answer.size(), 0)) > 0) continue;
  EXPECT_TRUE(size == 0 || errno == ECONNRESET) << "it keeps its place";
  for (const size_t party : {1, 2}) {
    threads.push_back(
        nodes.As(party, [&, party] { nodes.transports[party] = nodes.Connect(party, 0); }));
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(nodes.errors, testing::Each(""));
}

// Whoever has TAG and calls for all stripes from many addresses ends no attempt.
TEST(PortStripesTest, AFloodOfSilentCallersEndsNoRun) {
  StripedNodes nodes;
  std::vector<net::Socket> silent;
  for (size_t i = 0; i < 300; ++i) {
    const size_t party = i % 2;
    silent.push_back(SilentCall(nodes.ports[party]->address(),
                                fmt::format("127.{}.0.{}", 1 + i / 250, 1 + i % 250),
                                nodes.NameOf(party, (i / 2) % kStripes)));
  }
  EXPECT_EQ(nodes.RunAll().size(), 1 + kStripes);
  EXPECT_THAT(nodes.errors, testing::Each(""));
}

}  // namespace
}  // namespace partita::node::port_stripes_test
