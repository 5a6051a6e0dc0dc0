// A decorator that makes any transport slower: what a study costs between cities, measured on one
// machine.
#pragma once

#include <chrono>
#include <memory>

#include "net/transport.h"

namespace partita::net {

// Of every directed link.
struct LinkModel {
  std::chrono::nanoseconds latency{0};  // one way
  double bytes_per_second = 0;          // 0: no cap
};

// Bytes reach the peer no earlier than the time of sending + size / bandwidth + latency. Every
// party must decorate. The stamps are of CLOCK_MONOTONIC, so the parties may be processes, but of
// one host. Adds 12 bytes per Write to the inner stream; the Channel's counters do not see them.
std::unique_ptr<Transport> DelayTransport(std::unique_ptr<Transport> inner, LinkModel link);

}  // namespace partita::net
