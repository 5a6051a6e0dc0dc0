#include "node/parties/inner_address.h"

#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.h"

namespace partita::node {
namespace {

struct Ipv4Range {
  std::array<uint8_t, 4> from;
  int bits;
};

// RFC 6890 and RFC 1112: what is not for the open network.
constexpr std::array<Ipv4Range, 13> kInnerIpv4 = {{{{0, 0, 0, 0}, 8},
                                                   {{10, 0, 0, 0}, 8},
                                                   {{100, 64, 0, 0}, 10},
                                                   {{127, 0, 0, 0}, 8},
                                                   {{169, 254, 0, 0}, 16},
                                                   {{172, 16, 0, 0}, 12},
                                                   {{192, 0, 0, 0}, 24},
                                                   {{192, 88, 99, 0}, 24},
                                                   {{192, 168, 0, 0}, 16},
                                                   {{198, 18, 0, 0}, 15},
                                                   {{224, 0, 0, 0}, 4},
                                                   {{240, 0, 0, 0}, 4},
                                                   {{255, 255, 255, 255}, 32}}};

bool IsInRange(const uint8_t* address, const uint8_t* from, int bits) {
  const auto whole = static_cast<size_t>(bits / 8);
  if (std::memcmp(address, from, whole) != 0) return false;
  const int rest = bits % 8;
  return rest == 0 || (address[whole] ^ from[whole]) >> (8 - rest) == 0;
}

bool IsInnerIpv4(const uint8_t* address) {
  return std::any_of(kInnerIpv4.begin(), kInnerIpv4.end(), [&](const Ipv4Range& range) {
    return IsInRange(address, range.from.data(), range.bits);
  });
}

// Only 2000::/3 is given out. There, ranges that stand for an IPv4 address (6to4) or that are of tunnels
// and examples are inner, too.
bool IsInnerIpv6(const uint8_t* address) {
  static constexpr std::array<uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (std::equal(kMapped.begin(), kMapped.end(), address)) return IsInnerIpv4(address + 12);
  if (address[0] >> 5 != 1) return true;
  const bool is_6to4 = address[0] == 0x20 && address[1] == 0x02;
  const bool is_special = address[0] == 0x20 && address[1] == 0x01 && address[2] < 0x02;
  const bool is_example =
      address[0] == 0x20 && address[1] == 0x01 && address[2] == 0x0d && address[3] == 0xb8;
  return is_6to4 || is_special || is_example;
}

}  // namespace

bool IsInnerAddress(const net::Endpoint& endpoint) {
  if (endpoint.address.ss_family == AF_INET) {
    sockaddr_in ipv4{};
    std::memcpy(&ipv4, &endpoint.address, sizeof ipv4);
    return IsInnerIpv4(reinterpret_cast<const uint8_t*>(&ipv4.sin_addr));
  }
  if (endpoint.address.ss_family == AF_INET6) {
    sockaddr_in6 ipv6{};
    std::memcpy(&ipv6, &endpoint.address, sizeof ipv6);
    return IsInnerIpv6(ipv6.sin6_addr.s6_addr);
  }
  return true;
}

void RequireCallable(const net::Endpoint& endpoint, std::string_view host,
                     const std::vector<std::string>& allowed_hosts) {
  if (!IsInnerAddress(endpoint)) return;
  if (std::find(allowed_hosts.begin(), allowed_hosts.end(), host) != allowed_hosts.end()) return;
  throw Error(ErrorCode::kRefused,
              fmt::format("{} is an address inside of a network, which this node does not connect "
                          "to because another site says so",
                          host),
              "If that site is in this network, list its host in node.toml.");
}

}  // namespace partita::node
