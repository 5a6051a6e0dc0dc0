#include "node/port/known_addresses.h"

#include <algorithm>

namespace partita::node {

std::set<AddressKey> KnownAddresses::Turn(const std::set<std::string>& hosts) {
  std::erase_if(hosts_, [&](const auto& entry) { return !hosts.contains(entry.first); });
  std::set<AddressKey> known;
  for (const std::string& name : hosts) {
    Host& host = hosts_.try_emplace(name, Host{net::Resolver(name, "0", look_up_)}).first->second;
    if (host.turns++ % kTurns < kAskTurns) host.resolver.Update();
    const std::vector<net::Endpoint>& found = host.resolver.endpoints();
    for (size_t i = 0; i < std::min(found.size(), kMaxOfHost); ++i)
      known.insert(KeyOfAddress(found[i].address));
  }
  return known;
}

}  // namespace partita::node
