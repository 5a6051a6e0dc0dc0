// From a host's name to its addresses, without ever making the caller wait.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"

namespace partita::net {

// One address and port of a host, ready for bind or connect.
struct Endpoint {
  sockaddr_storage address{};
  socklen_t size = 0;
};

// Blocking; called in a thread of its own. Empty with a reason on failure.
using LookUp = std::function<std::vector<Endpoint>(const std::string& host, const std::string& port,
                                                   std::string& reason)>;

// What the host's text says itself, without asking anybody; empty if it is a name.
std::vector<Endpoint> NumericEndpoints(const std::string& host, const std::string& port);
// Asks the system's resolver, whose order it keeps. Blocks for as long as that takes.
std::vector<Endpoint> SystemLookUp(const std::string& host, const std::string& port,
                                   std::string& reason);

// The addresses of one host. A numeric address is known at once and never looked up. A name is
// looked up in the background, at most every five seconds, since a party's address may change while
// others wait for it. A look-up that hangs outlives this object and delays nobody.
class Resolver {
 public:
  Resolver(std::string host, std::string port, LookUp look_up);

  // Takes in what was found and begins a look-up if one is due. `endpoints` keeps the last good
  // answer.
  void Update();
  const std::vector<Endpoint>& endpoints() const { return endpoints_; }
  // Why there are none.
  const std::string& reason() const { return reason_; }

 private:
  struct Pending;

  void Begin();

  std::string host_, port_;
  LookUp look_up_;
  std::vector<Endpoint> endpoints_;
  std::string reason_;
  bool numeric_ = false;
  std::shared_ptr<Pending> pending_;  // shared with the thread that looks up
  SteadyClock::time_point next_{};
};

}  // namespace partita::net
