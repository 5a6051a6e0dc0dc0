// The join of two lists, both parties as threads of this process over memory, and beside it the group
// operations that it has to do: one hash, two multiplications and two decodings a row at each party.
// The same with a linker, and beside it the pseudonyms of one holder.
#include <benchmark/benchmark.h>

#include <thread>

#include "crypto/prg.h"
#include "crypto/ristretto.h"
#include "match/key_list.h"
#include "match/linked_join.h"
#include "match/linked_join_steps.h"
#include "match/two_party_join.h"
#include "match/two_party_spine.h"
#include "net/memory_transport.h"

namespace partita::match {
namespace {

std::vector<crypto::Digest> Keys(size_t count, size_t first) {
  std::vector<crypto::Digest> keys;
  for (size_t i = 0; i < count; ++i)
    keys.push_back(crypto::Sha256Of(AsBytes("person " + std::to_string(first + i))));
  return keys;
}

// Half of each list is in the other.
void TwoPartyJoins(benchmark::State& state) {
  const auto rows = static_cast<size_t>(state.range(0));
  for (auto _ : state) {
    crypto::SystemRandom random;
    std::vector<std::unique_ptr<net::Transport>> transports =
        net::MakeMemoryTransports({"clinic", "registry"}, random);
    std::vector<std::thread> threads;
    for (size_t self = 0; self < 2; ++self) {
      threads.emplace_back([&, self, transport = std::move(transports[self])]() mutable {
        net::Channel channel(std::move(transport), AsBytes("bench"), 1);
        crypto::SystemRandom own;
        const TwoPartyJoinTask task = {1 - self, rows, rows, 1, {}};
        const TwoPartyJoin join = JoinTwoLists(channel, task, Keys(rows, self * rows / 2), own);
        if (join.count != rows / 2) state.SkipWithError("another number of matches");
      });
    }
    for (std::thread& thread : threads) thread.join();
    const TwoPartyJoinTraffic traffic = TwoPartyJoinTrafficOf({0, rows, rows, 1, {}});
    state.counters["bytes_of_both"] = static_cast<double>(2 * traffic.bytes);
  }
}
BENCHMARK(TwoPartyJoins)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void GroupOperations(benchmark::State& state) {
  const auto rows = static_cast<size_t>(state.range(0));
  const std::vector<crypto::Digest> keys = Keys(rows, 0);
  const auto operate = [&] {
    crypto::SystemRandom random;
    const crypto::RistrettoScalar scalar = crypto::RandomScalar(random);
    for (const crypto::Digest& key : keys) {
      const crypto::RistrettoPoint own = crypto::RistrettoPoint::Hash(key).Times(scalar);
      const auto other = crypto::RistrettoPoint::Decode(own.bytes());
      const crypto::RistrettoPoint raised = other->Times(scalar);
      benchmark::DoNotOptimize(crypto::RistrettoPoint::Decode(raised.bytes()));
    }
  };
  for (auto _ : state) {
    std::thread other(operate);
    operate();
    other.join();
  }
}
BENCHMARK(GroupOperations)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// Positions of two lists of which half is in the other. Each party hashes a row, multiplies five times and
// decodes four times, and once and a half for the union.
void TwoPartySpines(benchmark::State& state) {
  const auto rows = static_cast<size_t>(state.range(0));
  for (auto _ : state) {
    crypto::SystemRandom random;
    std::vector<std::unique_ptr<net::Transport>> transports =
        net::MakeMemoryTransports({"clinic", "registry"}, random);
    std::vector<std::thread> threads;
    for (size_t self = 0; self < 2; ++self) {
      threads.emplace_back([&, self, transport = std::move(transports[self])]() mutable {
        net::Channel channel(std::move(transport), AsBytes("bench"), 1);
        crypto::SystemRandom own;
        const TwoPartySpineTask task = {1 - self, rows, rows, 1, {}};
        const TwoPartySpine spine = AlignTwoLists(channel, task, Keys(rows, self * rows / 2), own);
        if (spine.count != rows / 2) state.SkipWithError("another number of matches");
      });
    }
    for (std::thread& thread : threads) thread.join();
    const TwoPartySpineTraffic traffic = TwoPartySpineTrafficOf({0, rows, rows, 1, {}}, rows / 2);
    state.counters["bytes_of_both"] = static_cast<double>(2 * traffic.bytes);
  }
}
BENCHMARK(TwoPartySpines)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// As many holders as range(1) says, and the linker. Half of each list is in all.
void LinkedJoins(benchmark::State& state) {
  const auto rows = static_cast<size_t>(state.range(0)),
             holders = static_cast<size_t>(state.range(1));
  std::vector<std::string> names;
  LinkedJoinTask task;
  for (size_t holder = 0; holder < holders; ++holder) {
    names.push_back("holder " + std::to_string(holder));
    task.bounds.push_back(rows);
  }
  names.emplace_back("linker");
  std::vector<std::vector<std::vector<KeyedRow>>> passes(holders);
  for (size_t holder = 0; holder < holders; ++holder) {
    std::vector<KeyedRow>& pass = passes[holder].emplace_back();
    const std::vector<crypto::Digest> common = Keys(rows / 2, 0),
                                      own = Keys(rows - rows / 2, (holder + 1) * 10 * rows);
    for (const std::vector<crypto::Digest>* keys : {&common, &own}) {
      for (const crypto::Digest& key : *keys)
        pass.push_back({static_cast<uint32_t>(pass.size()), key});
    }
  }
  for (auto _ : state) {
    crypto::SystemRandom random;
    std::vector<std::unique_ptr<net::Transport>> transports =
        net::MakeMemoryTransports(names, random);
    std::vector<std::thread> threads;
    for (size_t self = 0; self <= holders; ++self) {
      threads.emplace_back([&, self, transport = std::move(transports[self])]() mutable {
        net::Channel channel(std::move(transport), AsBytes("bench"), 1);
        crypto::SystemRandom own;
        const LinkedJoin join = self == holders
                                    ? LinkLists(channel, task, own)
                                    : JoinByLinker(channel, task, passes[self], rows, own);
        CompareLinked(channel, task, join, own);
        if (join.counts != std::vector<uint64_t>{rows / 2})
          state.SkipWithError("another number of matches");
      });
    }
    for (std::thread& thread : threads) thread.join();
    uint64_t bytes = 0;
    for (size_t from = 0; from <= holders; ++from) {
      for (size_t to = 0; to <= holders; ++to) {
        bytes += LinkedJoinTrafficBetween(task, from, to).bytes +
                 CompareLinkedTrafficBetween(task, from, to).bytes;
      }
    }
    state.counters["bytes_of_all"] = static_cast<double>(bytes);
  }
}
BENCHMARK(LinkedJoins)
    ->Args({100'000, 2})
    ->Args({1'000'000, 2})
    ->Args({100'000, 5})
    ->Args({1'000'000, 5})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// What a holder has to hash for it, one after the other.
void Pseudonyms(benchmark::State& state) {
  const auto rows = static_cast<size_t>(state.range(0));
  std::vector<std::vector<KeyedRow>> passes(1);
  for (const crypto::Digest& key : Keys(rows, 0))
    passes[0].push_back({static_cast<uint32_t>(passes[0].size()), key});
  crypto::SystemRandom random;
  for (auto _ : state) {
    crypto::Prg stream(crypto::RandomKey(random));
    PseudonymList list(passes, rows, rows, crypto::RandomKey(random), stream);
    for (size_t i = 0; i < rows; ++i) benchmark::DoNotOptimize(list.Next());
  }
}
BENCHMARK(Pseudonyms)->Arg(1'000'000)->Iterations(1)->Unit(benchmark::kMillisecond);

// A table's keys: folded names and dates, sorted for duplicates.
void KeyLists(benchmark::State& state) {
  const auto rows = static_cast<size_t>(state.range(0));
  KeySpec spec;
  KeyRule date;
  date.kind = KeyRuleKind::kDate;
  date.format = "DD.MM.YYYY";
  spec.columns = {{"name", {}}, {"born", date}};
  spec.passes = {{0, 1}};
  KeyCells cells;
  cells.columns.resize(2);
  for (size_t i = 0; i < rows; ++i) {
    cells.columns[0].push_back("M\u00fcller-L\u00fcdenscheidt " + std::to_string(i));
    cells.columns[1].push_back("03.02.2001");
    cells.lines.push_back(i + 2);
  }
  for (auto _ : state) benchmark::DoNotOptimize(MakeKeyList(spec, cells));
  state.counters["rows"] =
      benchmark::Counter(static_cast<double>(rows), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(KeyLists)->Arg(100'000)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace partita::match

BENCHMARK_MAIN();
