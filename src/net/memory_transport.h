// Parties as threads of one process, for tests and `simulate --in-process`.
#pragma once

#include "net/transport.h"

namespace partita::net {

// One transport per name, connected all to all; hand each to its own thread. Pairwise secrets come
// from `random`. Each directed stream holds at most `capacity` bytes that were not read yet, so
// that a sender can outrun its receiver no further than on a real network.
std::vector<std::unique_ptr<Transport>> MakeMemoryTransports(const std::vector<std::string>& names,
                                                             crypto::RandomSource& random,
                                                             size_t capacity = size_t{4} << 20);

}  // namespace partita::net
