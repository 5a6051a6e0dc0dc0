// What the ranks of a party do beside rank 0's run: open their own doors, wait for orders, compute.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/progress.h"
#include "net/forwarder.h"
#include "net/socket.h"
#include "run/method/study.h"
#include "run/ranks/ranks.h"

namespace partita::run {

// A study from its text and the name of its file.
using PrepareText =
    std::function<std::unique_ptr<const Study>(const std::string& text, const std::string& name)>;

// At every rank but 0: until rank 0 has nothing more to do. Orders that fail are reported.
void ServeOrders(Ranks& ranks, const PrepareText& prepare, Progress& progress);

// At rank 0, once, when nothing more is asked of the others.
void DismissRanks(Ranks& ranks);

// At rank 0: where the ranks listen for connections that its forwarder hands on.
class RankDoors {
 public:
  // Asks all others.
  RankDoors(Ranks& ranks, Progress& progress);

  // This rank's own, for its own stripes and the run itself; once.
  net::Listener TakeOwn() { return std::move(own_); }
  // By the name of a connection (stripe_port.h).
  net::Forwarder::Route Route() const;

 private:
  net::Listener own_;
  std::vector<net::Endpoint> endpoints_;  // by rank
};

}  // namespace partita::run
