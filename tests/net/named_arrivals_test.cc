// Connections for several, sorted by the name that their hello asks for.
#include "net/named_arrivals.h"

#include <gtest/gtest.h>

#include "tests/net/parties.h"
#include "tests/net/tls_parties.h"

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

}  // namespace
}  // namespace partita::net::named_arrivals_test
