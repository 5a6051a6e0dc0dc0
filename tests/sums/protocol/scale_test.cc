// R20 and R22 at full size, on a store in memory: 1e5 registered clients, 20 % of whom drop out.
#include <sys/resource.h>

#include <barrier>
#include <thread>

#include "tests/sums/protocol/dropouts.h"
#include "tests/sums/protocol/rounds.h"

namespace partita::sums::scale_test {
namespace {

// The targets of R20 for one node's memory and for the time of all three.
TEST(ScaleTest, DropoutsOfAHundredThousand) {
  const double seconds = RunDropouts(100000, 100);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%.1f s, %ld MiB\n", seconds, usage.ru_maxrss / 1024);
  EXPECT_LT(seconds, 60);
  EXPECT_LT(usage.ru_maxrss / 1024, 512);
}

// R22: 64 copies at a time, 1e4 times.
TEST(ScaleTest, ConcurrentCopiesCountOnce) {
  constexpr uint32_t kRounds = 10000;
  constexpr int kCopies = 64;
  World world(SmallContract(kRounds, 1, 2), true);
  Nodes nodes(world);
  Clients clients(world);
  for (uint32_t client = 0; client < kRounds; ++client) clients.Upload(client);
  std::barrier start(kCopies);
  std::vector<std::thread> threads;
  for (int copy = 0; copy < kCopies; ++copy) {
    threads.emplace_back([&] {
      for (uint32_t client = 0; client < kRounds; ++client) {
        start.arrive_and_wait();
        nodes[0].Accept(clients.Made(client)[0]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(nodes[0].Count(Verdict::kAccepted), kRounds);
  EXPECT_EQ(nodes[0].Count(Verdict::kRetried), uint64_t{kRounds} * (kCopies - 1));
  EXPECT_EQ(nodes[0].Freeze().size(), kRounds);
}

}  // namespace
}  // namespace partita::sums::scale_test
