// Runs one piece of protocol code at every process of an engine, in threads over memory transports,
// and on the PlanEngine, and compares what was counted.
#pragma once

#include <exception>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "mpc/engine.h"
#include "mpc/plan_engine.h"
#include "net/channel.h"
#include "net/transport.h"

namespace partita::mpc::testing {

// Protocol code, the same at every process; `process` is the channel index (num_processes on the
// PlanEngine).
using Body = std::function<void(Engine& engine, size_t process)>;
using EngineMaker =
    std::function<std::unique_ptr<Engine>(net::Channel& channel, ReleaseGate& gate)>;

struct RunOptions {
  std::string kind = "dealer";
  size_t num_parties = 2;  // computing
  EngineMaker make = {};   // default: what `kind` names
  // Releases declared at every gate; by default any id that the body of the tests uses.
  std::vector<Release> releases = {{"out", "test output", "all", "exact", 1000}};
  bool agrees = false;  // the gate is that of a run, so the body has an AgreeToOpen
  std::function<std::unique_ptr<CostModel>(size_t num_parties)> plan = {};  // default: `kind`'s
  // Puts a decorator around a process's transport.
  std::function<std::unique_ptr<net::Transport>(std::unique_ptr<net::Transport>)> wrap = {};
  // Called before the body, e.g. to close or delay a channel.
  std::function<void(net::Channel&)> prepare = {};
};

struct RunResult {
  std::vector<std::vector<net::PhaseTraffic>> traffic;  // by process
  std::vector<uint64_t> depth;                          // by process
  std::vector<std::exception_ptr> errors;               // by process; null: none

  // Rethrows the first error that is not a consequence of another process's end.
  void ThrowIfFailed() const;
};

RunResult RunAll(const RunOptions& options, const Body& body);

// As RunAll, and expects every phase's messages, bytes, and rounds at every process to be exactly
// what the PlanEngine says.
RunResult RunAndComparePlan(const RunOptions& options, const Body& body);

// The plan of the online phase alone: as the kind's, but the correlations of `ot` are there
// already.
PlanEngine OnlinePlan(const std::string& kind, size_t num_parties);

// A private matrix that reads from `values` at its owner only, as a real study's does.
PrivateMatrix Private(const Engine& engine, PartyIndex owner, const IntMatrix& values, double bound,
                      int fraction_bits = 0);

// Uniform in [-magnitude, magnitude].
IntMatrix RandomMatrix(std::mt19937_64& random, Shape shape, int64_t magnitude);

// Plaintext integer arithmetic modulo 2^128, the truth that engines must meet exactly.
IntMatrix PlainProduct(Product::Kind kind, const IntMatrix& left, const IntMatrix& right);

bool operator==(const IntMatrix& a, const IntMatrix& b);

}  // namespace partita::mpc::testing
