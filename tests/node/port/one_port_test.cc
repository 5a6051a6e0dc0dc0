// The one port with real sockets: who gets which connection, and what strangers can do.
#include "node/port/one_port.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/client_hello.h"
#include "tests/node/port/hello_bytes.h"
#include "tests/node/port/port_world.h"

namespace partita::node::one_port_test {
namespace {

using std::chrono::milliseconds;

constexpr char kHost[] = "west.example.org";
const RunTag kTag = {1, 2, 3, 4, 5, 6, 7, 8};

Bytes RunHello(const RunTag& tag = kTag) { return OpenSslHello(RunServerName(tag, kHost)); }

std::shared_ptr<net::SocketSource> Job(PortWorld& world, const RunTag& tag = kTag) {
  auto [port_end, job_end] = MakeSocketPair();
  world.port().Expect(tag, std::move(port_end));
  return PassedSockets(std::move(job_end));
}

TEST(OnePortTest, ARunsConnectionGoesToItsJobUnread) {
  PortWorld world(kHost);
  const auto job = Job(world);
  const Bytes hello = RunHello();
  const net::Socket client = Call(world.address());
  for (const uint8_t byte : hello) SendAll(client, {&byte, 1});
  const net::Arrival arrival = TakePassed(*job);
  EXPECT_EQ(ReceiveAll(arrival.socket.fd(), hello.size()), hello);
  EXPECT_THAT(arrival.remote, testing::StartsWith("127.0.0.1:"));
  EXPECT_FALSE(arrival.known);
  // Both directions are the job's.
  SendAll(arrival.socket, Bytes{42});
  EXPECT_EQ(ReceiveAll(client.fd(), 1), Bytes{42});
  const OnePortCounts counts = world.WaitFor([](const auto& now) { return now.passed == 1; });
  EXPECT_EQ(counts.served, 0u);
  EXPECT_EQ(counts.early, 0u);
}

TEST(OnePortTest, AllElseIsTheNodes) {
  PortWorld world(kHost);
  const auto job = Job(world);
  std::vector<net::Socket> clients;
  for (const std::string name :
       {"", kHost, "run-0102030405060708.east.example.org", "run-01020304050607.west.example.org",
        "RUN-0102030405060708.west.example.org"}) {
    const Bytes hello = OpenSslHello(name);
    clients.push_back(Call(world.address()));
    SendAll(clients.back(), hello);
    const net::Arrival arrival = world.TakeServed();
    EXPECT_EQ(ReceiveAll(arrival.socket.fd(), hello.size()), hello) << name;
  }
  EXPECT_FALSE(job->Next().has_value());
}

// Which of the two got the connection that asks for `name`: the job as 'j', the node as 'n'.
char WhoGets(PortWorld& world, net::SocketSource& job, const std::string& name) {
  const OnePortCounts before = world.WaitFor([](const auto&) { return true; });
  const net::Socket client = Call(world.address());
  SendAll(client, OpenSslHello(name));
  const OnePortCounts after = world.WaitFor([&](const auto& now) {
    return now.passed + now.served + now.refused + now.early >
           before.passed + before.served + before.refused + before.early;
  });
  if (after.served > before.served) {
    world.TakeServed();
    return 'n';
  }
  if (after.passed == before.passed) return '-';
  EXPECT_TRUE(TakePassed(job).socket.valid());
  return 'j';
}

TEST(OnePortTest, StripesAreOfRunsThatAreOnAndHaveThem) {
  PortWorld world(kHost);
  auto [port_end, job_end] = MakeSocketPair();
  const auto name = [](uint32_t stripe, const RunTag& tag = kTag) {
    return StripeServerName({tag, stripe}, kHost);
  };
  net::Socket say(fcntl(job_end.fd(), F_DUPFD_CLOEXEC, 0));
  const auto job = PassedSockets(std::move(job_end));
  EXPECT_EQ(WhoGets(world, *job, name(0)), 'n') << "before the run";
  world.port().Expect(kTag, std::move(port_end));
  EXPECT_EQ(WhoGets(world, *job, RunServerName(kTag, kHost)), 'j');
  EXPECT_EQ(WhoGets(world, *job, name(0)), 'n') << "before the job said that there are stripes";
  TellStripes(say, 3);
  for (const uint32_t stripe : {0u, 2u, 1u, 1u}) {  // twice: which one counts is for the job to say
    EXPECT_EQ(WhoGets(world, *job, name(stripe)), 'j') << stripe;
  }
  for (const uint32_t stripe : {3u, 4u, 4095u, 4294967295u}) {
    EXPECT_EQ(WhoGets(world, *job, name(stripe)), 'n') << stripe;
  }
  EXPECT_EQ(WhoGets(world, *job, name(0, {9})), 'n') << "of another run";
  TellStripes(say, 100);
  EXPECT_EQ(WhoGets(world, *job, name(3)), 'n') << "it was said before";
  world.port().Forget(kTag);
  EXPECT_EQ(WhoGets(world, *job, name(0)), 'n') << "after the run";
}

// A job of a study without stripes says nothing, and gets none.
TEST(OnePortTest, OtherWordsOfAJobAreNoStripes) {
  for (const Bytes& word :
       {Bytes{}, Bytes{2, 3, 0, 0, 0}, Bytes{1, 3, 0, 0}, Bytes{1, 3, 0, 0, 0, 0}}) {
    PortWorld world(kHost);
    auto [port_end, job_end] = MakeSocketPair();
    if (!word.empty()) SendAll(job_end, word);
    const auto job = PassedSockets(std::move(job_end));
    world.port().Expect(kTag, std::move(port_end));
    EXPECT_EQ(WhoGets(world, *job, StripeServerName({kTag, 0}, kHost)), 'n');
  }
}

// They cost a stranger's places as others do: so many of an address, and the oldest goes.
TEST(OnePortTest, AFloodOfStripesHasThePlacesOfAnyOther) {
  GateLimits limits;
  limits.early = 4;
  limits.later_per_address = 3;
  PortWorld world(kHost, limits);
  auto [port_end, job_end] = MakeSocketPair();
  TellStripes(job_end, 4096);
  world.port().Expect(kTag, std::move(port_end));
  std::vector<net::Socket> clients;
  for (uint32_t i = 0; i < 40; ++i) {
    clients.push_back(Call(world.address()));
    SendAll(clients.back(), OpenSslHello(StripeServerName({kTag, i}, kHost)));
    const uint64_t all = clients.size();
    const OnePortCounts counts =
        world.WaitFor([&](const auto& now) { return now.passed + now.crowded + now.early == all; });
    EXPECT_LE(counts.early, 3u);
    EXPECT_EQ(counts.served, 0u);
  }
  EXPECT_GT(world.port().Counts().crowded, 0u);
  const net::Socket other = Call(world.address(), "127.0.0.2");
  SendAll(other, OpenSslHello(""));
  EXPECT_TRUE(world.TakeServed().socket.valid());
}

// Known addresses are marked for the job.
TEST(OnePortTest, TellsTheJobWhoMayBeAPeer) {
  AddressKey loopback;
  loopback.bytes = {127, 0, 0, 1};
  PortWorld world(kHost, {}, {loopback});
  const auto job = Job(world);
  const net::Socket peer = Call(world.address()), stranger = Call(world.address(), "127.0.0.2");
  SendAll(peer, RunHello());
  EXPECT_TRUE(TakePassed(*job).known);
  SendAll(stranger, RunHello());
  EXPECT_FALSE(TakePassed(*job).known);
}

TEST(OnePortTest, ConnectionsWaitForTheirJob) {
  PortWorld world(kHost);
  const RunTag other = {9};
  const net::Socket early = Call(world.address()), another = Call(world.address());
  SendAll(early, RunHello());
  SendAll(another, RunHello(other));
  world.WaitFor([](const auto& now) { return now.early == 2; });
  const auto job = Job(world);
  const net::Arrival arrival = TakePassed(*job);
  SendAll(arrival.socket, Bytes{7});
  EXPECT_EQ(ReceiveAll(early.fd(), 1), Bytes{7});
  EXPECT_FALSE(job->Next().has_value()) << "it got a connection of another run";
  EXPECT_EQ(world.WaitFor([](const auto& now) { return now.passed == 1; }).early, 1u);
}

TEST(OnePortTest, ForgottenRunsGetNothing) {
  PortWorld world(kHost);
  auto job = Job(world);
  world.port().Forget(kTag);
  const net::Socket first = Call(world.address());
  SendAll(first, RunHello());
  world.WaitFor([](const auto& now) { return now.early == 1; });
  EXPECT_FALSE(job->Next().has_value());
  EXPECT_EQ(job->fd(), -1) << "the channel is closed";
  // The same after a job has ended.
  job = Job(world);
  TakePassed(*job);
  job = nullptr;
  const net::Socket second = Call(world.address());
  SendAll(second, RunHello());
  world.WaitFor([](const auto& now) { return now.early == 1 && now.passed == 1; });
}

TEST(OnePortTest, AJobThatDoesNotListenKeepsNobodyElseWaiting) {
  GateLimits limits;
  PortWorld world(kHost, limits);
  auto [port_end, job_end] = MakeSocketPair();
  world.port().Expect(kTag, std::move(port_end));
  std::vector<net::Socket> clients;
  for (int i = 0; i < 30; ++i) {
    clients.push_back(Call(world.address()));
    SendAll(clients.back(), RunHello());
    const uint64_t all = clients.size();
    world.WaitFor([&](const auto& now) { return now.passed + now.early == all; });
  }
  EXPECT_GT(world.port().Counts().early, 0u) << "the channel took them all: the test is no test";
  const net::Socket other = Call(world.address());
  SendAll(other, OpenSslHello(""));
  EXPECT_TRUE(world.TakeServed().socket.valid());
  // Once it listens it gets the rest, in their order.
  const auto job = PassedSockets(std::move(job_end));
  for (const net::Socket& client : clients) {
    const net::Arrival arrival = TakePassed(*job);
    SendAll(arrival.socket, Bytes{5});
    EXPECT_EQ(ReceiveAll(client.fd(), 1), Bytes{5});
  }
}

TEST(OnePortTest, WhatIsNoHelloIsClosed) {
  PortWorld world(kHost);
  uint64_t refused = 0;
  std::vector<Bytes> bad = {Bytes{'G', 'E', 'T', ' ', '/', ' '}, Bytes(5000, 0xff),
                            HelloOfSize(net::kMaxClientHelloBytes + 1, "a.b"),
                            Bytes{22, 3, 1, 0, 1, 1}};
  // Random bytes in a good header, too.
  Bytes garbage = OpenSslHello("");
  for (size_t i = net::kRecordHeaderBytes; i < garbage.size(); ++i) {
    garbage[i] = static_cast<uint8_t>(17 * i * i + 3);
  }
  bad.push_back(garbage);
  for (const Bytes& bytes : bad) {
    const net::Socket client = Call(world.address());
    SendAll(client, bytes);
    EXPECT_TRUE(IsClosed(client));
    ++refused;
  }
  const OnePortCounts counts =
      world.WaitFor([&](const auto& now) { return now.refused == refused; });
  EXPECT_EQ(counts.looked_at, 0u);
  EXPECT_EQ(counts.served, 0u);
}

TEST(OnePortTest, AHelloThatComesTooLateIsClosed) {
  GateLimits limits;
  limits.hello = milliseconds(50);
  PortWorld world(kHost, limits);
  const Bytes hello = OpenSslHello("");
  for (const size_t sent : {size_t{0}, size_t{3}, hello.size() - 1}) {
    const net::Socket client = Call(world.address());
    SendAll(client, ByteView(hello).first(sent));
    EXPECT_TRUE(IsClosed(client));
  }
  EXPECT_EQ(world.WaitFor([](const auto& now) { return now.expired == 3; }).looked_at, 0u);
}

TEST(OnePortTest, WhoWaitsForNoJobIsClosed) {
  GateLimits limits;
  limits.early_wait = milliseconds(50);
  PortWorld world(kHost, limits);
  const net::Socket client = Call(world.address());
  SendAll(client, RunHello());
  EXPECT_TRUE(IsClosed(client));
  EXPECT_EQ(world.WaitFor([](const auto& now) { return now.expired == 1; }).early, 0u);
  // One that gives up while it waits is noticed.
  PortWorld patient(kHost);
  net::Socket leaving = Call(patient.address());
  SendAll(leaving, RunHello());
  patient.WaitFor([](const auto& now) { return now.early == 1; });
  leaving = net::Socket();
  EXPECT_EQ(patient.WaitFor([](const auto& now) { return now.early == 0; }).expired, 0u);
}

// Of 1000 that say nothing, each from an address of its own, as many as there are places stay; who
// comes then with a hello is served at once.
TEST(OnePortTest, AThousandSilentStrangersKeepNobodyOut) {
  PortWorld world(kHost);
  const auto job = Job(world);
  std::vector<net::Socket> strangers;
  for (int i = 0; i < 1000; ++i) {
    strangers.push_back(Call(world.address(), "127." + std::to_string(1 + i / 250) + ".0." +
                                                  std::to_string(1 + i % 250)));
  }
  const OnePortCounts counts =
      world.WaitFor([](const auto& now) { return now.accepted == 1000 && now.crowded == 872; });
  EXPECT_EQ(counts.looked_at, 128u);
  EXPECT_TRUE(IsClosed(strangers[0])) << "the oldest";
  const net::Socket peer = Call(world.address());
  SendAll(peer, RunHello());
  EXPECT_TRUE(TakePassed(*job).socket.valid());
  const net::Socket node = Call(world.address());
  SendAll(node, OpenSslHello(""));
  EXPECT_TRUE(world.TakeServed().socket.valid());
}

// Nor do strangers who come on and on take the place of a known peer that is slow.
TEST(OnePortTest, AKnownPeerKeepsItsPlace) {
  AddressKey loopback;
  loopback.bytes = {127, 0, 0, 1};
  GateLimits limits;
  limits.hello = kPatience;
  PortWorld world(kHost, limits, {loopback});
  const auto job = Job(world);
  const Bytes hello = RunHello();
  const net::Socket peer = Call(world.address());
  SendAll(peer, ByteView(hello).first(100));
  world.WaitFor([](const auto& now) { return now.looked_at == 1; });
  std::vector<net::Socket> strangers;
  for (int i = 0; i < 300; ++i) {
    strangers.push_back(Call(world.address(), "127." + std::to_string(1 + i / 250) + ".0." +
                                                  std::to_string(1 + i % 250)));
  }
  world.WaitFor([](const auto& now) { return now.accepted == 301 && now.crowded == 172; });
  SendAll(peer, ByteView(hello).subspan(100));
  EXPECT_TRUE(TakePassed(*job).known);
}

TEST(OnePortTest, PlacesOfTheNodeAreGivenBackAndTaken) {
  GateLimits limits;
  limits.later_per_address = 3;
  PortWorld world(kHost, limits);
  std::vector<net::Socket> clients;
  std::vector<net::Arrival> arrivals;
  auto call = [&] {
    clients.push_back(Call(world.address()));
    SendAll(clients.back(), OpenSslHello(""));
    arrivals.push_back(world.TakeServed());
  };
  for (int i = 0; i < 3; ++i) call();
  EXPECT_EQ(world.WaitFor([](const auto& now) { return now.served == 3; }).being_served, 3u);
  call();  // the oldest is shut down for it
  EXPECT_TRUE(IsClosed(clients[0]));
  world.WaitFor([](const auto& now) { return now.served == 4 && now.crowded == 1; });
  world.DropPlaces();
  world.WaitFor([](const auto& now) { return now.being_served == 0; });
  for (int i = 0; i < 3; ++i) call();
  EXPECT_EQ(world.WaitFor([](const auto& now) { return now.served == 7; }).crowded, 1u);
}

TEST(PassSocketTest, TakesConnectionsOnly) {
  auto [port_end, job_end] = MakeSocketPair();
  const auto job = PassedSockets(std::move(job_end));
  EXPECT_FALSE(job->Next().has_value());
  net::Listener listener = net::Listen("127.0.0.1", "0");
  const net::Socket client = Call(listener.address);
  std::string remote;
  WaitReadable(listener.socket.fd());
  net::Arrival good;
  good.socket = net::Accept(listener, good.remote);
  const int good_fd = good.socket.fd();
  // A listening socket, a Unix socket, no descriptor, another version, then a connection.
  net::Arrival bad;
  bad.socket = std::move(listener.socket);
  EXPECT_EQ(PassSocket(port_end, bad), Passing::kPassed);
  auto [one, two] = MakeSocketPair();
  bad.socket = std::move(one);
  EXPECT_EQ(PassSocket(port_end, bad), Passing::kPassed);
  SendAll(port_end, Bytes{1, 0, 'x'});
  SendAll(port_end, Bytes{2, 0, 'x'});
  SendAll(port_end, Bytes(300, 1));
  EXPECT_EQ(PassSocket(port_end, good), Passing::kPassed);
  const net::Arrival arrival = TakePassed(*job);
  EXPECT_EQ(arrival.remote, good.remote);
  EXPECT_NE(arrival.socket.fd(), good_fd);
  EXPECT_FALSE(job->Next().has_value());
  port_end = net::Socket();
  EXPECT_FALSE(job->Next().has_value());
  EXPECT_EQ(job->fd(), -1);
}

// A connection to `listener`, as the port has it; the other end is added to `clients`.
net::Arrival ArrivalAt(net::Listener& listener, std::vector<net::Socket>& clients) {
  clients.push_back(Call(listener.address));
  WaitReadable(listener.socket.fd());
  net::Arrival arrival;
  arrival.socket = net::Accept(listener, arrival.remote);
  return arrival;
}

// A pair has places for a few connections that the job has not taken: no more than the parties of a study
// need, and far less than strangers would like to leave there.
TEST(PassSocketTest, APairHoldsFew) {
  auto [port_end, job_end] = MakeSocketPair();
  net::Listener listener = net::Listen("127.0.0.1", "0");
  std::vector<net::Socket> clients;
  size_t passed = 0;
  while (passed < 100 && PassSocket(port_end, ArrivalAt(listener, clients)) == Passing::kPassed)
    ++passed;
  EXPECT_GE(passed, 4u);
  EXPECT_LE(passed, 16u);
  // What was taken makes room again.
  const auto job = PassedSockets(std::move(job_end));
  for (size_t i = 0; i < passed; ++i) EXPECT_TRUE(job->Next().has_value());
  EXPECT_EQ(PassSocket(port_end, ArrivalAt(listener, clients)), Passing::kPassed);
  EXPECT_TRUE(job->Next().has_value());
}

// The port hears the number of stripes when somebody comes to one. If it is gone before, the job still has what
// came to it until then.
TEST(PassSocketTest, AWordThatNobodyReadsLosesNoConnection) {
  auto [port_end, job_end] = MakeSocketPair();
  net::Listener listener = net::Listen("127.0.0.1", "0");
  std::vector<net::Socket> clients;
  TellStripes(job_end, 4);
  const auto job = PassedSockets(std::move(job_end));
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(PassSocket(port_end, ArrivalAt(listener, clients)), Passing::kPassed);
  port_end = net::Socket();
  for (const net::Socket& client : clients) {
    ASSERT_GE(job->fd(), 0);
    const std::optional<net::Arrival> arrival = job->Next();
    ASSERT_TRUE(arrival.has_value());
    SendAll(arrival->socket, Bytes{5});
    EXPECT_EQ(ReceiveAll(client.fd(), 1), Bytes{5});
  }
  EXPECT_FALSE(job->Next().has_value());
  EXPECT_EQ(job->fd(), -1);
}

TEST(PassSocketTest, SaysThatTheJobIsGone) {
  auto [port_end, job_end] = MakeSocketPair();
  job_end = net::Socket();
  net::Listener listener = net::Listen("127.0.0.1", "0");
  const net::Socket client = Call(listener.address);
  WaitReadable(listener.socket.fd());
  net::Arrival arrival;
  arrival.socket = net::Accept(listener, arrival.remote);
  EXPECT_EQ(PassSocket(port_end, arrival), Passing::kGone);
}

}  // namespace
}  // namespace partita::node::one_port_test
