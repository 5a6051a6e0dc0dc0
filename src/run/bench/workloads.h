// The operations that `partita bench mpc` times.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "mpc/engine.h"

namespace partita::run {

// One operation on an array of `shape`, values between `low` and `high`.
struct MpcWorkload {
  std::string name;
  mpc::Shape shape;
  double low = 0, high = 0;
  uint64_t entries = 0;  // of the result
  std::function<void(mpc::Engine&, const mpc::Shared&)> run;
  bool needs_help = false;  // only where a dealer or a third party makes it cheap
};

// With so many times the usual number of entries, in the order of the table.
std::vector<MpcWorkload> MpcWorkloads(double scale);

// Values of party 0 with 40 fraction bits, spread over [low, high].
mpc::Shared WorkloadValues(mpc::Engine& engine, const MpcWorkload& workload);

// What the workloads open.
std::vector<mpc::Release> WorkloadReleases();

}  // namespace partita::run
