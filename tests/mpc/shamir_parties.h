// What the tests of the engine `shamir` share: parties of every number and threshold, inputs and
// kinds of errors.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <vector>

#include "base/error.h"
#include "mpc/shamir_engine.h"
#include "tests/mpc/harness.h"

namespace partita::mpc::testing {

inline ErrorCode CodeOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& e) {
    EXPECT_FALSE(e.hint().empty());
    return e.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorCode::kInternal;
}
inline ErrorCode CodeOf(const std::exception_ptr& error) {
  if (!error) {
    ADD_FAILURE() << "nothing was thrown";
    return ErrorCode::kInternal;
  }
  return CodeOf([&] { std::rethrow_exception(error); });
}

inline RunOptions Among(size_t num_parties) {
  return {.kind = "shamir", .num_parties = num_parties, .make = MakeShamirEngine};
}

inline RunOptions Among(size_t num_parties, size_t threshold) {
  RunOptions options = Among(num_parties);
  options.make = [threshold](net::Channel& channel, ReleaseGate& gate) {
    return MakeShamirEngineFor(threshold, channel, gate);
  };
  options.plan = [threshold](size_t n) { return shamir::MakeShamirCostModel(n, 127, threshold); };
  return options;
}

// Every number of parties with every threshold that it admits.
struct Structure {
  size_t parties, threshold;
};
inline std::vector<Structure> Structures() {
  std::vector<Structure> all;
  for (size_t n = 3; n <= 7; ++n) {
    for (size_t t = 1; t <= ShamirThreshold(n); ++t) all.push_back({n, t});
  }
  return all;
}

}  // namespace partita::mpc::testing
