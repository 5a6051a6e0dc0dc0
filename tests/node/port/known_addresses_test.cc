// From where parties may call: numbers at once, names as they are found, and nobody waits for them.
#include "node/port/known_addresses.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

namespace partita::node::known_addresses_test {
namespace {

AddressKey KeyOf(const std::string& address) {
  return KeyOfAddress(net::NumericEndpoints(address, "0").at(0).address);
}

TEST(KnownAddressesTest, NumbersAreKnownAtOnce) {
  KnownAddresses known([](auto&...) -> std::vector<net::Endpoint> {
    ADD_FAILURE() << "a number was looked up";
    return {};
  });
  EXPECT_EQ(known.Turn({"192.0.2.1", "2001:db8:1:2::7"}),
            (std::set<AddressKey>{KeyOf("192.0.2.1"), KeyOf("2001:db8:1:2:ffff::")}));
  EXPECT_EQ(known.Turn({"192.0.2.1"}), std::set<AddressKey>{KeyOf("192.0.2.1")});
  EXPECT_TRUE(known.Turn({}).empty());
}

TEST(KnownAddressesTest, NamesAreKnownOnceTheyAreFound) {
  auto found = std::make_shared<std::promise<void>>();
  auto asked = std::make_shared<std::atomic<int>>(0);
  KnownAddresses known([asked, until = found->get_future().share()](
                           const std::string& host, const std::string&, std::string&) {
    ++*asked;
    until.wait();
    std::vector<net::Endpoint> many;
    for (int i = 1; host == "west.example.org" && i <= 9; ++i)
      many.push_back(net::NumericEndpoints("192.0.2." + std::to_string(i), "0").at(0));
    return many;
  });
  const std::set<std::string> hosts = {"west.example.org", "nowhere.example.org", "198.51.100.1"};
  EXPECT_EQ(known.Turn(hosts), std::set<AddressKey>{KeyOf("198.51.100.1")}) << "and does not wait";
  while (*asked < 2) std::this_thread::yield();
  found->set_value();
  // Look-ups end when they do; a name has eight turns for it and then the next six hundred.
  std::set<AddressKey> all;
  while (all.size() < 1 + KnownAddresses::kMaxOfHost) all = known.Turn(hosts);
  EXPECT_EQ(all,
            (std::set<AddressKey>{KeyOf("198.51.100.1"), KeyOf("192.0.2.1"), KeyOf("192.0.2.2"),
                                  KeyOf("192.0.2.3"), KeyOf("192.0.2.4")}));
  EXPECT_EQ(known.Turn({"west.example.org"}).size(), KnownAddresses::kMaxOfHost);
}

}  // namespace
}  // namespace partita::node::known_addresses_test
