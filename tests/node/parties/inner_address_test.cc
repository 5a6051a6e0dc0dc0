// Which addresses a node connects to because another site says so.
#include "node/parties/inner_address.h"

#include <gtest/gtest.h>

#include "tests/node/parties/sites.h"

namespace partita::node::inner_address_test {
namespace {

net::Endpoint At(const std::string& host) { return net::NumericEndpoints(host, "7400").at(0); }

TEST(InnerAddressTest, KnowsTheRanges) {
  for (const std::string host : {"0.0.0.0",
                                 "0.255.255.255",
                                 "10.0.0.1",
                                 "10.255.255.255",
                                 "100.64.0.0",
                                 "100.127.255.255",
                                 "127.0.0.1",
                                 "127.255.255.254",
                                 "169.254.169.254",
                                 "172.16.0.1",
                                 "172.31.255.255",
                                 "192.0.0.1",
                                 "192.168.0.1",
                                 "192.168.255.255",
                                 "198.18.0.1",
                                 "198.19.255.255",
                                 "224.0.0.1",
                                 "239.1.1.1",
                                 "240.0.0.1",
                                 "255.255.255.255",
                                 "::",
                                 "::1",
                                 "fe80::1",
                                 "febf::1",
                                 "fc00::1",
                                 "fd12:3456::1",
                                 "ff02::1",
                                 "::ffff:10.0.0.1",
                                 "::ffff:127.0.0.1",
                                 "64:ff9b::a00:1",
                                 "2002:a00:1::1",
                                 "2001:db8::1",
                                 "2001::1",
                                 "::10.0.0.1"}) {
    EXPECT_TRUE(IsInnerAddress(At(host))) << host;
  }
  for (const std::string host :
       {"1.1.1.1",      "9.255.255.255",   "11.0.0.0",   "100.63.255.255",
        "100.128.0.0",  "126.255.255.255", "128.0.0.1",  "169.253.255.255",
        "169.255.0.0",  "172.15.255.255",  "172.32.0.0", "192.167.255.255",
        "192.169.0.0",  "198.17.255.255",  "198.20.0.0", "223.255.255.255",
        "2a00:1450::1", "2001:638::1",     "2600::1",    "::ffff:1.1.1.1"}) {
    EXPECT_FALSE(IsInnerAddress(At(host))) << host;
  }
  EXPECT_TRUE(IsInnerAddress(net::Endpoint()));
}

TEST(InnerAddressTest, TheOwnConfigurationMayListHosts) {
  RequireCallable(At("1.1.1.1"), "north.example.org", {});
  EXPECT_EQ(CodeOf([] { RequireCallable(At("10.1.2.3"), "north.example.org", {}); }),
            ErrorCode::kRefused);
  EXPECT_EQ(CodeOf([] { RequireCallable(At("10.1.2.3"), "north.example.org", {"10.1.2.3"}); }),
            ErrorCode::kRefused);
  RequireCallable(At("10.1.2.3"), "north.example.org", {"west", "north.example.org"});
}

}  // namespace
}  // namespace partita::node::inner_address_test
