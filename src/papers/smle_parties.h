// All parties of a protocol as threads of this process.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "net/channel.h"

namespace partita::papers {

struct PartyTraffic {
  uint64_t bytes = 0;                     // of all messages, without headers
  uint64_t rounds = 0;                    // longest chain of messages
  std::vector<net::PhaseTraffic> phases;  // of one party: seconds
};

// Runs body(party) for the party of every channel, each in a thread of its own; one that fails aborts
// its channel. Throws what failed first of its own, rather than for the loss of another.
void RunTogether(const std::vector<net::Channel*>& channels,
                 const std::function<void(size_t)>& body);

// The same over channels in memory that are made for it. watched: whose phases are returned.
PartyTraffic RunInThreads(size_t parties, net::PartyIndex watched,
                          const std::function<void(net::Channel&)>& body);

}  // namespace partita::papers
