// Hands connections on, unread: whoever listens at the one address of a party on behalf of its processes on
// several machines. For whom a connection is says the server name of its TLS hello; bytes go both ways until
// both ends have closed. TLS begins and ends behind it: it sees what anybody on the way sees.
//
// Limits    As of named_arrivals.h: kMaxUnseen connections whose hello has not come, ten seconds for it. At
//           most kMaxForwarded are forwarded at a time; more are closed, and an honest peer tries again.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "net/resolver.h"
#include "net/socket.h"

namespace partita::net {

class Forwarder {
 public:
  static constexpr size_t kMaxUnseen = 64, kMaxForwarded = 1024;

  // Where a name lives; none: the connection is closed. Called by the forwarder's thread.
  using Route = std::function<std::optional<Endpoint>(const std::string& server_name)>;

  // Begins; a thread of its own. The destructor accepts nobody any more, and waits until both ends of every
  // connection have closed and have all that was sent, five seconds at most.
  Forwarder(Listener listener, Route route);
  ~Forwarder();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace partita::net
