// Where the connections of a party's stripes come from.
//
// On a network every stripe has TLS connections of its own between the addresses of the roster, as the run
// has; their hello asks for the name `stripe-S-TAG`, S the stripe and TAG of the run (StripeTag), by which
// the accepting side knows them apart (net/named_arrivals.h); at nodes they are as the port of nodes says
// (node/port/route.h). Whoever watches the network sees these names.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/delayed_transport.h"
#include "net/named_arrivals.h"
#include "net/tls_transport.h"
#include "run/party/stripes.h"
#include "run/ranks/order.h"

namespace partita::run {

inline constexpr char kStripePrefix[] = "stripe-";
std::string StripeName(size_t stripe, const std::string& tag);
// Of which stripe a name is; none: of nobody's.
std::optional<size_t> StripeOfName(std::string_view name);

// The name that connections of a stripe to a party ask for.
using StripeNames = std::function<std::string(size_t party, size_t stripe)>;

class StripePort {
 public:
  // Takes the listening socket of `tls`, or opens it, and gives tls the connections of the run itself
  // instead. A stripe waits for the others `wait`, and 20 timeouts of the study for each that may come
  // before it; so long may one whom this party has called be busy elsewhere. Whoever calls has no longer for its
  // handshake than in the run. After the last stripe nobody comes in any more.
  StripePort(const Study& study, net::TlsOptions& tls, std::chrono::milliseconds wait,
             net::LinkModel link);

  // Where another process accepts: takes the source tls.arrivals, and gives tls that of the run itself, by the
  // name that tls.server_names has for this party.
  StripePort(const Study& study, net::TlsOptions& tls, std::chrono::milliseconds wait,
             StripeNames names);

  // Of another rank of the party: door is where the forwarder of rank 0 hands on what is for it; none at a
  // party that accepts nobody.
  StripePort(const Study& study, const RankSetup& setup, std::optional<net::Listener> door);

  StripeConnector Connector();

 private:
  crypto::Identity identity_;
  net::Roster roster_;
  size_t self_;
  std::chrono::milliseconds wait_, before_, handshake_timeout_;
  size_t stripes_;
  net::LookUp look_up_ = net::SystemLookUp;
  net::LinkModel link_;
  size_t max_handshakes_;
  StripeNames names_;                             // none: those of StripeName
  std::shared_ptr<net::NamedArrivals> arrivals_;  // none at a party that accepts nobody
};

// Of parties that are threads of one process.
class StripesInMemory {
 public:
  // random must outlive it; it is used by one thread at a time.
  StripesInMemory(std::vector<std::string> names, crypto::RandomSource& random)
      : names_(std::move(names)), random_(random) {}

  StripeConnector Connector(size_t party, net::LinkModel link);

 private:
  std::vector<std::string> names_;
  crypto::RandomSource& random_;
  std::mutex mutex_;
  std::vector<std::vector<std::unique_ptr<net::Transport>>> stripes_;  // by stripe and party
};

}  // namespace partita::run
