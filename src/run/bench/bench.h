// What the operations of the engines cost on this machine: every process of an engine really runs,
// over TLS 1.3 on loopback, the dealer (where there is one) live and included.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/progress.h"

namespace partita::run {

// An engine as it is measured.
struct BenchEngine {
  std::string name;        // "dealer"
  size_t num_parties = 2;  // computing parties
};
// "dealer" and "ot", two parties; "replicated" and "shamir", three.
std::vector<BenchEngine> BenchEngines();

// Names of the operations, in the order of the table: "multiply", "compare", ...
std::vector<std::string> BenchOperationNames();

struct MpcBenchOptions {
  std::vector<BenchEngine> engines = BenchEngines();
  std::vector<std::string> operations;  // empty: all
  // Added one-way latency of every link.
  std::vector<std::chrono::microseconds> latencies = {
      std::chrono::microseconds(0), std::chrono::milliseconds(1), std::chrono::milliseconds(20)};
  size_t repetitions = 11;
  double scale = 1;  // of the number of entries, to make a quick run of it
};

struct MpcBenchRow {
  std::string engine, operation;
  size_t num_parties = 0;
  std::chrono::microseconds latency{0};
  std::string size;      // "100000", "100 x 100"
  uint64_t entries = 0;  // of the result
  // Wall clock at party 0, all correlations included, made while they are used: median and smallest
  // of the repetitions.
  double seconds = 0, best_seconds = 0;
  // Medians of the same in two parts: correlations for one execution made ahead (mpc/ahead.h) until
  // every process has its own, with `ot` from the base transfers on; and an execution that finds
  // them there. `replicated` and `shamir` make nothing ahead: 0, and all seconds again.
  double offline_seconds = 0, online_seconds = 0;
  uint64_t rounds = 0;  // the longest chain of dependent messages
  // Payload over all links of one execution: what could be sent before the inputs are there, and
  // the rest.
  uint64_t offline_bytes = 0, online_bytes = 0;
};

// Leaves out what an engine cannot do. Throws kUsage for an operation that there is not, for no
// repetition, or for a scale outside (0, 1]; kCancelled; what engines and channels throw. Progress:
// one phase for each engine and latency.
std::vector<MpcBenchRow> BenchMpc(const MpcBenchOptions& options, Progress& progress);

// Runnable processes waiting for a processor, averaged over the last minute: a loaded machine
// measures itself.
double LoadAverage();

}  // namespace partita::run
