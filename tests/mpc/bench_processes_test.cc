// Processes of a benchmark: a dealer that has nothing to do is done before the computing parties have found
// each other, also after another engine in the same process.
#include <gtest/gtest.h>

#include "bench/mpc_processes.h"

namespace partita::mpc::bench_processes_test {
namespace {

TEST(BenchProcesses, ADealerThatIsDoneDoesNotLeaveBeforeAllAreConnected) {
  for (const char* kind : {"dealer", "shamir", "dealer", "replicated", "dealer"}) {
    SCOPED_TRACE(kind);
    Int128 opened = 0;
    bench::RunProcesses({.kind = kind, .num_parties = 3}, [&](Engine& engine) {
      const std::vector<Shared> known = {engine.Public({IntMatrix{{1, 1}, {Int128{3}}}, 0})};
      const std::vector<IntMatrix> values = engine.Reveal("out", known, kEverybody);
      if (engine.self() == PartyIndex{0}) opened = values.front().values.front();
    });
    EXPECT_EQ(opened, 3);
  }
}

TEST(BenchProcesses, AProcessThatFailsIsNoticed) {
  EXPECT_THROW(bench::RunProcesses({.kind = "replicated", .num_parties = 3},
                                   [](Engine& engine) {
                                     if (engine.self() == PartyIndex{2})
                                       throw std::runtime_error("as asked for");
                                   }),
               std::runtime_error);
}

}  // namespace
}  // namespace partita::mpc::bench_processes_test
