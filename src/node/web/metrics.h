// The server's counts for Prometheus (text format 0.0.4): numbers alone, no names of studies, parties or
// people.
#pragma once

#include <cstdint>
#include <string>

#include "net/https_server.h"
#include "node/web/site.h"

namespace partita::node::web {

struct WebCounts {
  net::HttpsServerCounts server;
  uint64_t logins = 0, logins_failed = 0;
  size_t sessions = 0;
};

// Asks the node; where it does not answer, partita_node_up is 0 and its numbers are left out.
std::string MetricsText(const Site& site, const WebCounts& counts);

}  // namespace partita::node::web
