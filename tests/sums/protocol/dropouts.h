// R20: many registered clients, 20 % of whom drop out.
#pragma once

#include <algorithm>

#include "base/clock.h"
#include "tests/sums/protocol/world.h"

namespace partita::sums {

// 10 % never arrive, 5 % at node 0 only, 5 % everywhere and then are gone for ever; nobody waits
// for them: the sum is exactly that of the others. Returns seconds. Clients are made and forgotten
// in batches, as they would come from the network.
inline double RunDropouts(uint32_t clients, size_t dimension) {
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
        EXPECT_EQ(verdict, Verdict::kAccepted);
      }
    }
  }
  const PrivateSum sum = nodes.Finish();
  EXPECT_EQ(sum.accepted, whole);
  EXPECT_EQ(sum.grid, expected);
  return SecondsSince(start);
}

}  // namespace partita::sums
