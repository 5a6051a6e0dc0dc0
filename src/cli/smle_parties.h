// All parties of a protocol as threads of this process, over channels in memory that count.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "net/channel.h"

namespace partita::cli {

struct PartyTraffic {
  uint64_t bytes = 0;                     // of all messages, without headers
  uint64_t rounds = 0;                    // longest chain of messages
  std::vector<net::PhaseTraffic> phases;  // of one party: seconds
};

// Runs body(channel) for every party, each in a thread of its own. watched: whose phases are
// returned. Throws what failed first of its own, rather than for the loss of another.
PartyTraffic RunInThreads(size_t parties, net::PartyIndex watched,
                          const std::function<void(net::Channel&)>& body);

}  // namespace partita::cli
