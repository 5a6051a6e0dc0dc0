// Connections for several, sorted by the name that their hello asks for.
#include "net/named_arrivals.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "tests/net/parties.h"
#include "tests/net/tls_parties.h"
#include "tests/node/port/hello_bytes.h"

namespace partita::net::named_arrivals_test {
namespace {

constexpr std::chrono::seconds kPatience{60};

// Options of party i for the connections called `name`; party 0 takes them from `arrivals`.
TlsOptions NamedOptions(TlsWorld& world, size_t i, NamedArrivals& arrivals,
                        const std::string& name) {
  TlsOptions options = world.Options(i);
  options.listener.reset();
  if (i == 0) options.arrivals = arrivals.For(name);
  if (!name.empty()) options.server_names.assign(options.roster.size(), name);
  return options;
}

Transports ConnectNamed(TlsWorld& world, NamedArrivals& arrivals, const std::string& name) {
  std::vector<TlsOptions> options;
  for (size_t i = 0; i < 2; ++i) options.push_back(NamedOptions(world, i, arrivals, name));
  Transports transports;
  const auto errors = ConnectAll(std::move(options), kPatience, transports);
  EXPECT_EQ(Describe(errors), "");
  return transports;
}

NamedArrivals ArrivalsOf(TlsWorld& world) {
  return NamedArrivals(std::move(*world.Options(0).listener), "stripe-");
}

TEST(NamedArrivalsTest, EachGoesToWhomItIsFor) {
  TlsWorld world(2);
  NamedArrivals arrivals = ArrivalsOf(world);
  for (const std::string name : {"", "stripe-1.run", "stripe-0.run"}) {
    Transports transports = ConnectNamed(world, arrivals, name);
    ASSERT_EQ(transports.size(), 2u);
    ASSERT_TRUE(transports[0] && transports[1]) << name;
    EXPECT_EQ(transports[0]->PairwiseSecret(1).Expose(), transports[1]->PairwiseSecret(0).Expose());
  }
}

// Whoever calls early for a later name is there when that is asked for, and disturbs no earlier one.
TEST(NamedArrivalsTest, LaterNamesWaitUntilTheyAreAskedFor) {
  TlsWorld world(2);
  NamedArrivals arrivals = ArrivalsOf(world);
  std::unique_ptr<Transport> early;
  TlsOptions later = NamedOptions(world, 1, arrivals, "stripe-1.run");
  std::thread caller([&] { early = ConnectTls(std::move(later), Deadline::After(kPatience)); });
  Transports first = ConnectNamed(world, arrivals, "stripe-0.run");
  ASSERT_TRUE(first[0] && first[1]);
  const auto own =
      ConnectTls(NamedOptions(world, 0, arrivals, "stripe-1.run"), Deadline::After(kPatience));
  caller.join();
  ASSERT_TRUE(early);
  EXPECT_EQ(early->PairwiseSecret(0).Expose(), own->PairwiseSecret(1).Expose());
}

// A closed one, one that says nothing like a hello, and one of another kind are nobody's.
TEST(NamedArrivalsTest, StrangersAreDropped) {
  TlsWorld world(2);
  Listener listener = std::move(*world.Options(0).listener);
  const std::string address = listener.address;
  NamedArrivals arrivals(std::move(listener), "stripe-");
  std::vector<Socket> strangers;
  for (int i = 0; i < 3; ++i) strangers.push_back(ConnectTo(address));
  strangers[0] = Socket();
  TlsOptions options = NamedOptions(world, 1, arrivals, "other.run");
  std::thread posing([&] {
    EXPECT_THROW(ConnectTls(std::move(options), Deadline::After(std::chrono::milliseconds(300))),
                 Error);
  });
  Transports transports = ConnectNamed(world, arrivals, "stripe-0.run");
  EXPECT_TRUE(transports[0] && transports[1]);
  posing.join();
  EXPECT_FALSE(arrivals.For("other.run")->Next());
}

// Connections that a test hands on.
class Handed : public SocketSource {
 public:
  int fd() const override { return wake.fd(); }
  std::optional<Arrival> Next() override {
    if (waiting.empty()) return std::nullopt;
    Arrival first = std::move(waiting.front());
    waiting.erase(waiting.begin());
    return first;
  }
  Socket wake{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  std::vector<Arrival> waiting;
};

// A connection of which the hello has come; keeps the other end in `clients`.
Arrival ArrivalFor(Listener& listener, const std::string& name, bool known,
                   std::vector<Socket>& clients) {
  clients.push_back(ConnectTo(listener.address));
  pollfd comes{listener.socket.fd(), POLLIN, 0};
  EXPECT_EQ(poll(&comes, 1, 60'000), 1);
  Arrival arrival;
  arrival.socket = Accept(listener, arrival.remote);
  arrival.known = known;
  const Bytes hello = node::OpenSslHello(name);
  EXPECT_EQ(send(clients.back().fd(), hello.data(), hello.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(hello.size()));
  pollfd reads{arrival.socket.fd(), POLLIN, 0};
  EXPECT_EQ(poll(&reads, 1, 60'000), 1);
  return arrival;
}

// A source, and those that come by it.
struct SourceWorld {
  Listener listener = Listen("127.0.0.1", "0");
  std::shared_ptr<Handed> source = std::make_shared<Handed>();
  NamedArrivals arrivals{source, ""};
  std::vector<Socket> clients;

  SourceWorld() { SetNonBlocking(listener.socket); }
  // The number of the new one's other end in `clients`.
  size_t Come(const std::string& name, bool known = false) {
    source->waiting.push_back(ArrivalFor(listener, name, known, clients));
    return clients.size() - 1;
  }
  bool IsClosed(size_t client) const {
    pollfd entry{clients[client].fd(), POLLRDHUP, 0};
    return poll(&entry, 1, 0) > 0;
  }
};

// Of another process's connections: sorted as one's own are; strangers make room, not peers; and each name
// has its end once nobody comes any more.
TEST(NamedArrivalsTest, OfASourceStrangersGoFirst) {
  SourceWorld world;
  const auto first = world.arrivals.For("run-1-0.a"), other = world.arrivals.For("run-1-1.a");
  world.Come("run-1-1.a", true);
  EXPECT_FALSE(first->Next());
  for (size_t i = 0; i < NamedArrivals::kMaxOfName + 10; ++i) {
    world.Come("run-1-1.a");
    EXPECT_FALSE(first->Next());
  }
  world.Come("run-1-0.a");
  EXPECT_TRUE(first->Next());
  EXPECT_GE(first->fd(), 0);
  world.source->wake = Socket();
  EXPECT_EQ(first->fd(), -1);
  EXPECT_GE(other->fd(), 0);
  size_t strangers = 0, peers = 0;
  while (const std::optional<Arrival> arrival = other->Next())
    ++(arrival->known ? peers : strangers);
  EXPECT_EQ(peers, 1u) << "strangers took the place of one who may be a peer";
  EXPECT_EQ(strangers, NamedArrivals::kMaxOfName - 1) << "a name has so many places";
  EXPECT_EQ(other->fd(), -1);
}

// Whoever comes for few names, and often, takes no place of those that come for another one.
TEST(NamedArrivalsTest, NamesOfWhichManyComeMakeRoom) {
  SourceWorld world;
  const auto asked = world.arrivals.For("run-1-0.a"), late = world.arrivals.For("run-1-9.a");
  const size_t peer = world.Come("run-1-9.a");
  for (size_t i = 0; i < 2 * NamedArrivals::kMaxSorted; ++i) {
    world.Come("run-1-" + std::to_string(1 + i % 5) + ".a");
    EXPECT_FALSE(asked->Next());
  }
  EXPECT_FALSE(world.IsClosed(peer)) << "it was dropped for others";
  size_t kept = 0;
  for (size_t i = 0; i < world.clients.size(); ++i) kept += world.IsClosed(i) ? 0 : 1;
  EXPECT_EQ(kept, NamedArrivals::kMaxSorted);
  EXPECT_TRUE(late->Next());
}

// A stripe that is over holds no places: what waits for it goes, and nobody else waits for it.
TEST(NamedArrivalsTest, NothingWaitsForANameThatIsOver) {
  SourceWorld world;
  auto over = world.arrivals.For("run-1-0.a");
  const auto next = world.arrivals.For("run-1-1.a");
  std::vector<size_t> waiting;
  for (int i = 0; i < 3; ++i) waiting.push_back(world.Come("run-1-0.a", i == 0));
  EXPECT_FALSE(next->Next());
  for (const size_t client : waiting) EXPECT_FALSE(world.IsClosed(client));
  over = nullptr;
  for (const size_t client : waiting) EXPECT_TRUE(world.IsClosed(client));
  const size_t late = world.Come("run-1-0.a"), good = world.Come("run-1-1.a");
  const std::optional<Arrival> taken = next->Next();
  EXPECT_TRUE(taken.has_value());
  EXPECT_TRUE(world.IsClosed(late));
  EXPECT_FALSE(world.IsClosed(good));
  // Who asks for a name again has those that come from then on.
  over = world.arrivals.For("run-1-0.a");
  world.Come("run-1-0.a");
  EXPECT_TRUE(over->Next());
}

// From where more come than anybody takes in: each turn ends.
TEST(NamedArrivalsTest, ATurnTakesSoManyIn) {
  class Endless : public Handed {
   public:
    std::optional<Arrival> Next() override {
      if (++given > 10'000) return std::nullopt;
      return Arrival{Socket(open("/dev/null", O_RDONLY | O_CLOEXEC)), "nowhere", false};
    }
    size_t given = 0;
  };
  const auto source = std::make_shared<Endless>();
  NamedArrivals arrivals(source, "");
  const auto asked = arrivals.For("run-1-0.a");
  for (size_t turn = 1; turn <= 3; ++turn) {
    EXPECT_FALSE(asked->Next());
    EXPECT_EQ(source->given, turn * NamedArrivals::kMaxTurn);
  }
}

}  // namespace
}  // namespace partita::net::named_arrivals_test
