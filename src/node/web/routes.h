// Everything that the server answers, in one table: openapi.json says the same, and a test compares them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "node/web/role.h"
#include "node/web/site.h"

namespace partita::node::web {

// What an answer costs, and so who makes it. Each has threads of its own: reading never holds up deciding, and
// nothing holds up an emergency stop.
enum class Effort {
  kAtOnce,     // the server's own threads
  kAsks,       // asks the node, which waits for its own thread, or connects
  kPassword,   // 64 MiB and some tenths of a second
  kHeavy,      // has a plan made, by a child or the signer, to be looked at
  kDecides,    // signs, or takes back
  kStops,      // the emergency stop
  kStrangers,  // asks the node, for somebody without a session
  kWaits,      // a long poll, of one study where the path names one
  kMetrics,    // the server's own counts
};

struct Route {
  std::string_view method;
  std::string_view path;  // "/api/v1/studies/{study}": {} stands for one part of the path
  Roles roles;            // kAnyone: no session
  Effort effort;
  size_t body_bytes;  // at most; 0 for GET
  // The query may have these.
  std::string_view query;
  // Null: kWaits and kMetrics.
  net::HttpResponse (*answer)(Site& site, const Call& call);
};

std::span<const Route> Routes();

struct Match {
  const Route* route = nullptr;
  std::vector<std::string> parts;
};

// The route of a path, if one has this method. is_there: whether any has the path. Parts hold letters,
// digits, '.', '-' and '_' alone: nothing is decoded.
std::optional<Match> FindRoute(std::string_view method, std::string_view path, bool& is_there);

// "after=x&wait=5": none if it holds anything else than letters, digits, '.', '-' and '_', a name that is not in
// `allowed` ("after wait"), or a name twice.
std::optional<std::map<std::string, std::string>> ReadQuery(std::string_view query,
                                                            std::string_view allowed);

}  // namespace partita::node::web
