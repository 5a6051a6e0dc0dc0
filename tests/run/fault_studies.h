// Small studies of every private method on every engine, and of exact releases, with their tables:
// for runs in which something fails.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/run/fault_run.h"

namespace partita::testing {

struct FaultScenario {
  std::string method;  // "mle moments", "classify dp-sgd", ...
  std::string engine;  // "dealer", "shamir 5", "ot stored", ...
  // Writes tables (and correlations) into a new folder, which is the caller's to remove.
  std::function<FaultStudy()> make;
};

// All of them, in order of methods.
std::vector<FaultScenario> FaultScenarios();

}  // namespace partita::testing
