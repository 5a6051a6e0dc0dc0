// N clients and M compute nodes in one process, without a network and without a store: what the
// arithmetic and the encryption of a private sum cost, and a check that the sum comes out.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/int128.h"
#include "crypto/random.h"
#include "sums/protocol/contract.h"

namespace partita::sums {

enum class SimulatedTransport {
  kNone,        // shares pass from clients to nodes as they are
  kRegistered,  // encrypted under the epoch keys of registered clients, and opened
  kSealed,      // in sealed boxes, and opened
};

struct Simulation {
  Contract contract;
  uint32_t arrived = 0;  // clients that upload; 0: all that are planned
  SimulatedTransport transport = SimulatedTransport::kNone;
  unsigned threads = 2;
  // Writes the row of a client (length d); called by several threads.
  std::function<void(uint32_t client, std::span<double> row)> row;
};

struct SimulationResult {
  std::vector<Int128> sum;    // what the nodes' sums add up to
  double wall_seconds = 0;    // of everything
  double client_seconds = 0;  // processor time of all clients: clip, noise, masks, encryption
  double node_seconds = 0;    // processor time of all nodes: decryption, expansion, addition
  uint64_t stream_bytes = 0;  // expanded from seeds, by clients and nodes together
  uint64_t upload_bytes = 0;  // sent by all clients to all nodes; 0 without transport
};

// Every client that arrives is in the sum, and the noise of the contract's source. `random` is
// asked for the keys of the threads' own streams; keys of clients and nodes are drawn before the
// clock starts. Memory: per thread M + 2 vectors, and with registered clients 32 bytes per client
// and node. Throws as CheckContract.
SimulationResult Simulate(const Simulation& simulation, crypto::RandomSource& random);

}  // namespace partita::sums
