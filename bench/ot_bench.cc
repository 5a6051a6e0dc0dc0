// The engine `ot`: oblivious transfers per second, and what the operations cost with correlations
// made right before their use. Both parties run on this machine, as two processes over TLS on
// loopback, or, for transfers alone, one after the other in one thread.
#include <benchmark/benchmark.h>

#include <cmath>

#include "bench/mpc_processes.h"
#include "mpc/ot/bit_transpose.h"
#include "mpc/ot/extension.h"

namespace partita::mpc::bench {
namespace {

struct Ends {
  std::unique_ptr<ot::CotReceiver> receiver;
  std::unique_ptr<ot::CotSender> sender;
};

Ends MakeEnds() {
  crypto::SystemRandom random;
  const crypto::Block difference = (crypto::Block{0x0123456789abcdef} << 64) | 0xfedcba9876543210;
  const ot::BaseOtReceiver base_receiver(AsBytes("bench"), "b", ot::BaseChoices(difference),
                                         random);
  const ot::BaseOtSender base_sender(AsBytes("bench"), "a", random);
  Ends ends;
  ends.receiver = std::make_unique<ot::CotReceiver>(
      base_sender.Finish(base_receiver.message(), ot::kBaseTransfers), random);
  ends.sender = std::make_unique<ot::CotSender>(
      difference, base_receiver.Finish(base_sender.message()), ends.receiver->setup());
  return ends;
}

void BaseTransfers(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(MakeEnds());
  state.SetLabel("128 base transfers and the trees, both ends in one thread");
}
BENCHMARK(BaseTransfers)->Unit(benchmark::kMillisecond)->UseRealTime();

void CorrelatedTransfers(benchmark::State& state) {
  const size_t count = size_t{1} << 18;
  const Ends ends = MakeEnds();
  std::vector<uint64_t> choices(count / 64, 0x123456789abcdef);
  std::vector<crypto::Block> t(count), q(count);
  Bytes message(ot::ExtensionBytes(count));
  for (auto _ : state) {
    ends.receiver->Extend(choices, message, t);
    if (state.range(0) == 2) ends.sender->Extend(message, q);
  }
  state.counters["transfers"] =
      benchmark::Counter(static_cast<double>(count), benchmark::Counter::kIsIterationInvariantRate);
  state.SetLabel(state.range(0) == 2 ? "both ends in one thread" : "the receiver alone");
}
BENCHMARK(CorrelatedTransfers)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();

void Transpose(benchmark::State& state) {
  const size_t count = 8192;
  std::vector<uint8_t> columns(ot::kColumns * count / 8, 0x5a);
  std::vector<crypto::Block> rows(count);
  for (auto _ : state) {
    ot::RowsOfColumns(columns.data(), count / 8, rows);
    benchmark::DoNotOptimize(rows.data());
  }
  state.counters["rows"] =
      benchmark::Counter(static_cast<double>(count), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(Transpose)->UseRealTime();

// Runs `operation` at both parties, at party 0 under the benchmark's clock; `items` per second.
void Measure(benchmark::State& state, const char* items, double count,
             const std::function<void(Engine&)>& operation) {
  constexpr int kRuns = 3;
  RunProcesses({"ot", 2}, [&](Engine& engine) {
    operation(engine);  // the base transfers, and memory
    if (engine.self() == 0) {
      for (auto _ : state) operation(engine);
    } else {
      for (int i = 0; i < kRuns; ++i) operation(engine);
    }
  });
  state.counters[items] = benchmark::Counter(count, benchmark::Counter::kIsIterationInvariantRate);
}

Shared Input(Engine& engine, PartyIndex owner, Shape shape, double bound, int fraction_bits) {
  PrivateMatrix matrix{owner, shape, fraction_bits, bound, nullptr};
  if (engine.self() == owner) {
    matrix.read = [shape](size_t, size_t count, Int128* out) {
      std::fill_n(out, count * shape.cols, Int128{1} << 30);
    };
  }
  return engine.Input({&matrix, 1})[0];
}

void Triples(benchmark::State& state) {
  const auto n = static_cast<size_t>(state.range(0));
  Measure(state, "triples", static_cast<double>(n), [n](Engine& engine) {
    const Product product{Product::Kind::kElementwise, Input(engine, 0, {n, 1}, 1, 40),
                          Input(engine, 1, {n, 1}, 1, 40)};
    engine.Multiply({&product, 1});
  });
}
BENCHMARK(Triples)->Arg(100'000)->Iterations(3)->Unit(benchmark::kMillisecond)->UseRealTime();

// side x side times side x side: side^3 scalar products.
void MatrixTriple(benchmark::State& state) {
  const auto side = static_cast<size_t>(state.range(0));
  Measure(state, "products", std::pow(side, 3), [side](Engine& engine) {
    const Product product{Product::Kind::kMatrix, Input(engine, 0, {side, side}, 1, 40),
                          Input(engine, 1, {side, side}, 1, 40)};
    engine.Multiply({&product, 1});
  });
}
BENCHMARK(MatrixTriple)
    ->Arg(10)
    ->Arg(50)
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// rows x 5 of one party with rows x 5 of the other, both private: 25 rows scalar products.
void PrivateCrossProduct(benchmark::State& state) {
  const auto rows = static_cast<size_t>(state.range(0));
  Measure(state, "products", 25.0 * static_cast<double>(rows), [rows](Engine& engine) {
    auto one = [&](PartyIndex owner) {
      PrivateMatrix matrix{owner, {rows, 5}, 40, 1, nullptr};
      if (engine.self() == owner) {
        matrix.read = [](size_t, size_t count, Int128* out) {
          std::fill_n(out, count * 5, Int128{1} << 30);
        };
      }
      return matrix;
    };
    const Product product{Product::Kind::kGram, one(0), one(1)};
    engine.Multiply({&product, 1});
  });
}
BENCHMARK(PrivateCrossProduct)
    ->Arg(10'000)
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void Truncations(benchmark::State& state) {
  const auto n = static_cast<size_t>(state.range(0));
  Measure(state, "truncations", static_cast<double>(n), [n](Engine& engine) {
    const Shared value = Input(engine, 0, {n, 1}, 1, 80);
    engine.Rescale({&value, 1}, 40);
  });
}
BENCHMARK(Truncations)->Arg(100'000)->Iterations(3)->Unit(benchmark::kMillisecond)->UseRealTime();

void BitTriples(benchmark::State& state) {
  const auto n = static_cast<size_t>(state.range(0));
  Measure(state, "ands", static_cast<double>(n), [n](Engine& engine) {
    crypto::SystemRandom random;
    const SharedBits a = engine.RandomBits({n, 1}, 1, random);
    const SharedBits b = engine.RandomBits({n, 1}, 1, random);
    const BitProduct product{a, b};
    engine.And({&product, 1});
  });
}
BENCHMARK(BitTriples)->Arg(2'000'000)->Iterations(3)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace partita::mpc::bench

BENCHMARK_MAIN();
