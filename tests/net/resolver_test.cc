#include "net/resolver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <thread>

#include "net/socket.h"

namespace partita::net::resolver_test {
namespace {

using testing::HasSubstr;

TEST(ResolverTest, NumericAddressesAskNobody) {
  for (const char* host : {"127.0.0.1", "::1"}) {
    Resolver resolver(host, "7400", [](auto&...) -> std::vector<Endpoint> {
      ADD_FAILURE() << "looked up";
      return {};
    });
    resolver.Update();
    ASSERT_EQ(resolver.endpoints().size(), 1u);
    EXPECT_EQ(resolver.endpoints()[0].address.ss_family, host[0] == ':' ? AF_INET6 : AF_INET);
  }
  EXPECT_TRUE(NumericEndpoints("localhost", "1").empty());
}

void UpdateUntil(Resolver& resolver, const std::function<bool()>& done) {
  const Deadline deadline = Deadline::After(std::chrono::seconds(60));
  while (!done() && !deadline.passed()) {
    resolver.Update();
    std::this_thread::yield();
  }
}

TEST(ResolverTest, NamesAreFoundInTheBackgroundAndNotAgainAtOnce) {
  std::atomic<int> calls = 0;
  std::promise<void> release;
  Resolver resolver("north", "7400",
                    [&, until = release.get_future().share()](
                        const std::string& host, const std::string& port, std::string&) {
                      ++calls;
                      until.wait();
                      EXPECT_EQ(host, "north");
                      std::vector<Endpoint> found = NumericEndpoints("::1", port);
                      found.push_back(NumericEndpoints("127.0.0.1", port).at(0));
                      return found;
                    });
  for (int i = 0; i < 100; ++i) resolver.Update();  // does not wait
  EXPECT_TRUE(resolver.endpoints().empty());
  EXPECT_THAT(resolver.reason(), HasSubstr("'north'"));
  release.set_value();
  UpdateUntil(resolver, [&] { return !resolver.endpoints().empty(); });
  ASSERT_EQ(resolver.endpoints().size(), 2u);
  EXPECT_EQ(resolver.endpoints()[1].address.ss_family, AF_INET);
  for (int i = 0; i < 100; ++i) resolver.Update();
  EXPECT_EQ(calls, 1);
}

TEST(ResolverTest, FailuresAreExplained) {
  const std::pair<LookUp, std::string> cases[] = {
      {[](auto&, auto&, std::string& reason) {
         reason = "no such host";
         return std::vector<Endpoint>();
       },
       "no such host"},
      {[](auto&...) -> std::vector<Endpoint> { throw std::bad_alloc(); }, "bad_alloc"},
  };
  for (const auto& [look_up, reason] : cases) {
    Resolver resolver("north", "7400", look_up);
    UpdateUntil(resolver,
                [&] { return resolver.reason().find("cannot be resolved") != std::string::npos; });
    EXPECT_THAT(resolver.reason(), HasSubstr(reason));
    EXPECT_THAT(resolver.reason(), HasSubstr("'north'"));
  }
}

TEST(ResolverTest, MayGoBeforeItsLookUp) {
  std::promise<void> release, finished;
  {
    Resolver resolver("north", "7400", [&, until = release.get_future().share()](auto&...) {
      until.wait();
      finished.set_value();
      return std::vector<Endpoint>(1);
    });
    resolver.Update();
  }
  release.set_value();
  finished.get_future().wait();
}

// --- sockets ------------------------------------------------------------------------------------

bool Reaches(const std::string& host, const Listener& listener, std::string& remote) {
  const std::string port = listener.address.substr(listener.address.rfind(':') + 1);
  std::string reason;
  const Socket client = StartConnect(NumericEndpoints(host, port).at(0), reason);
  if (!client.valid()) return false;
  pollfd entry{client.fd(), POLLOUT, 0};
  poll(&entry, 1, 10'000);
  if (!ConnectFailure(client).empty()) return false;
  pollfd waiting{listener.socket.fd(), POLLIN, 0};
  return poll(&waiting, 1, 10'000) == 1 && Accept(listener, remote).valid();
}

// Whether this host has the address ::1: containers often do not.
bool HasIpv6() {
  const int descriptor = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return false;
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  const bool bound =
      ::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(descriptor);
  return bound;
}

TEST(ListenTest, EveryAddressMeansBothFamilies) {
  std::string remote;
  const bool has_ipv6 = HasIpv6();
  for (const char* any : {"", "0.0.0.0", "::"}) {
    const Listener listener = Listen(any, "0");
    EXPECT_TRUE(Reaches("127.0.0.1", listener, remote)) << any;
    EXPECT_THAT(remote, testing::StartsWith("127.0.0.1:"));
    if (!has_ipv6) continue;
    EXPECT_TRUE(Reaches("::1", listener, remote)) << any;
    EXPECT_THAT(remote, testing::StartsWith("[::1]:"));
  }
}

TEST(ListenTest, OneAddressMeansThatOne) {
  std::string remote;
  const Listener listener = Listen("127.0.0.1", "0");
  EXPECT_TRUE(Reaches("127.0.0.1", listener, remote));
  EXPECT_FALSE(Reaches("127.0.0.2", listener, remote));
  EXPECT_FALSE(Reaches("::1", listener, remote));
}

}  // namespace
}  // namespace partita::net::resolver_test
