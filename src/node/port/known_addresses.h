// From where parties of the own list may call the one port: the addresses of the hosts at which they are called.
//
// A party that leaves its site by another address is a stranger to the port, and whoever shares an address
// with a party is none. So this is who keeps a place, never who is trusted.
#pragma once

#include <map>
#include <set>
#include <string>

#include "net/resolver.h"
#include "node/port/gate.h"

namespace partita::node {

class KnownAddresses {
 public:
  // A name stands for so many addresses at most, as the resolver orders them: places of their own are for few.
  static constexpr size_t kMaxOfHost = 4;
  // A name is asked for in turn 0, 600, 1200, ... and has eight turns to be answered; what comes later counts at
  // the next time. With two turns a second that is every five minutes.
  static constexpr uint64_t kTurns = 600, kAskTurns = 8;

  explicit KnownAddresses(net::LookUp look_up = net::SystemLookUp) : look_up_(std::move(look_up)) {}

  // A turn: the addresses of these hosts that are known by now. Never waits.
  std::set<AddressKey> Turn(const std::set<std::string>& hosts);

 private:
  struct Host {
    net::Resolver resolver;
    uint64_t turns = 0;
  };

  net::LookUp look_up_;
  std::map<std::string, Host> hosts_;
};

}  // namespace partita::node
