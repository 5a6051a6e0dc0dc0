// Addresses inside of a site's own network. An invitation and an introduction bring addresses from
// outside; a node that connects to whatever they say would let strangers look around behind its firewall.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "net/resolver.h"

namespace partita::node {

// Loopback, link-local, private, shared, multicast and reserved addresses of IPv4 and IPv6, also where
// an IPv6 address stands for an IPv4 one; and whatever is neither.
bool IsInnerAddress(const net::Endpoint& endpoint);

// Throws kRefused unless a node may connect to `endpoint` because a peer said so: it is no inner
// address, or its host is written exactly so in the list of the own configuration. endpoint: the one
// that is connected to, after the name was looked up.
void RequireCallable(const net::Endpoint& endpoint, std::string_view host,
                     const std::vector<std::string>& allowed_hosts);

}  // namespace partita::node
