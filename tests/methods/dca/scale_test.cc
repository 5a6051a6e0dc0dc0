// R20 and R22 at full size, on a store in memory: 1e5 registered clients, 20 % of whom drop out.
#include <sys/resource.h>

#include <barrier>
#include <thread>

#include "base/clock.h"
#include "tests/methods/dca/rounds.h"

namespace partita::methods::dca {
namespace {

// 10 % never arrive, 5 % at node 0 only, 5 % everywhere and then are gone for ever; nobody waits
// for them. Clients are made and forgotten in batches, as they would come from the network.
void RunDropouts(uint32_t clients, size_t dimension) {
  Contract contract = SmallContract(clients, dimension, 3);
  contract.max_drop = clients / 5;
  World world(contract, true);
  Nodes nodes(world);
  Splitter splitter(contract);
  std::vector<double> row(dimension);
  std::vector<Int128> expected(dimension);
  Shares shares = splitter.MakeShares();
  uint32_t whole = 0;
  constexpr uint32_t kBatch = 500;
  const auto start = SteadyClock::now();
  for (uint32_t first = 0; first < clients; first += kBatch) {
    std::vector<std::vector<Bytes>> uploads(3);
    for (uint32_t client = first; client < std::min(clients, first + kBatch); ++client) {
      const uint32_t kind = client % 20;
      if (kind < 2) continue;
      for (size_t i = 0; i < dimension; ++i) row[i] = static_cast<double>((client + i) % 50);
      splitter.Split(row, world.random, shares);
      std::vector<Bytes> envelopes = world.Encrypt(client, shares);
      const bool partly = kind == 2;
      for (size_t node = 0; node < (partly ? 1U : 3U); ++node) {
        uploads[node].push_back(std::move(envelopes[node]));
      }
      if (partly) continue;
      ++whole;
      const std::vector<Int128> opened = Open(contract, shares);
      for (size_t i = 0; i < dimension; ++i) expected[i] += opened[i];
    }
    for (uint16_t node = 0; node < 3; ++node) {
      const std::vector<ByteView> views(uploads[node].begin(), uploads[node].end());
      for (const Verdict verdict : nodes[node].Accept(views)) {
        ASSERT_EQ(verdict, Verdict::kAccepted);
      }
    }
  }
  const double accepted_seconds = SecondsSince(start);
  const PrivateSum sum = nodes.Finish();
  const double seconds = SecondsSince(start);
  EXPECT_EQ(sum.accepted, whole);
  EXPECT_EQ(sum.grid, expected);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%u clients, %zu values: %.1f s, of which accepting %.1f s; %ld MiB\n", clients,
              dimension, seconds, accepted_seconds, usage.ru_maxrss / 1024);
  EXPECT_LT(seconds, 60);
  EXPECT_LT(usage.ru_maxrss / 1024, 512);
}

TEST(ScaleTest, DropoutsOfAHundredThousand) { RunDropouts(100000, 100); }

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
}  // namespace partita::methods::dca
