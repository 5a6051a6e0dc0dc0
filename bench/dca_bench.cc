// Private sums: the paper's Table 1 (M = 10) without and with encryption, the parts. Stores:
// dca_spool_bench.
//
//   dca_bench --benchmark_filter=TableA    masks and exact noise, no encryption, two threads
//   dca_bench --benchmark_filter=TableB    with encryption, registered and sealed
//
// `aes_limit` and `memory_limit` are the fractions of the processor time that the expanded streams
// would take at this machine's rate of AES-256-CTR, and the traffic of the rows at its rate of
// adding vectors that do not fit the cache, both measured first.
#include <benchmark/benchmark.h>

#include <ctime>

#include "crypto/prg.h"
#include "privacy/sampling/discrete_gaussian.h"
#include "sums/protocol/client.h"
#include "sums/protocol/masked_sum.h"
#include "sums/protocol/simulate.h"

namespace partita::sums {
namespace {

constexpr unsigned kThreads = 2;
constexpr uint16_t kNodes = 10;

Contract ContractOf(uint32_t clients, size_t dimension) {
  Contract contract;
  contract.dimension = dimension;
  contract.nodes = kNodes;
  contract.clients = clients;
  contract.max_drop = clients / 10;
  contract.max_collude = clients / 10;
  contract.clip = {privacy::Norm::kL2, 1.0, 32};
  contract.variance = privacy::VarianceOfStddev(0x1.8p35);
  return contract;
}

void Row(uint32_t client, std::span<double> row) {
  const double value = 1.0 / (4.0 + client % 1024);
  for (size_t i = 0; i < row.size(); ++i) row[i] = i % 2 == 0 ? value : -value;
}

// Processor time of this thread: unlike wall time it says what the work costs on a busy machine.
double ThreadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Bytes per second of one thread.
double AesRate() {
  static const double rate = [] {
    constexpr int kRounds = 1 << 15;
    crypto::KeyStream stream;
    stream.Start(crypto::Key());
    std::array<uint8_t, crypto::KeyStream::kMaxBytes> chunk;
    const double start = ThreadSeconds();
    for (int i = 0; i < kRounds; ++i) {
      stream.Next(chunk);
      benchmark::DoNotOptimize(chunk.data());
    }
    return double{kRounds} * crypto::KeyStream::kMaxBytes / (ThreadSeconds() - start);
  }();
  return rate;
}

double MemoryRate() {
  static const double rate = [] {
    constexpr size_t kWords = size_t{1} << 24;
    constexpr int kRounds = 8;
    const Bytes vector(kWords * 8, 1);
    MaskedSum sum(RingBits::k64, kWords);
    const double start = ThreadSeconds();
    for (int i = 0; i < kRounds; ++i) sum.AddWords(vector);
    // Two reads and one write per word.
    return 3.0 * kRounds * kWords * 8 / (ThreadSeconds() - start);
  }();
  return rate;
}

void Table(benchmark::State& state, SimulatedTransport transport) {
  Simulation simulation;
  simulation.contract =
      ContractOf(static_cast<uint32_t>(state.range(0)), static_cast<size_t>(state.range(1)));
  simulation.transport = transport;
  simulation.threads = kThreads;
  simulation.row = Row;
  crypto::SystemRandom random;
  SimulationResult result;
  for (auto _ : state) result = Simulate(simulation, random);
  const Contract& contract = simulation.contract;
  // A client's vector is written, read and added once.
  const double vector_bytes = 4.0 * contract.clients * static_cast<double>(contract.dimension) * 8;
  const double cpu_seconds = result.client_seconds + result.node_seconds;
  state.counters["client_cpu_s"] = result.client_seconds;
  state.counters["node_cpu_s"] = result.node_seconds;
  state.counters["cpu_us_per_client_and_node"] =
      1e6 * cpu_seconds / contract.clients / contract.nodes;
  state.counters["aes_limit"] = static_cast<double>(result.stream_bytes) / AesRate() / cpu_seconds;
  state.counters["memory_limit"] = vector_bytes / MemoryRate() / cpu_seconds;
  state.counters["upload_bytes"] = static_cast<double>(result.upload_bytes);
}

void TableA(benchmark::State& state) { Table(state, SimulatedTransport::kNone); }
BENCHMARK(TableA)
    ->ArgNames({"N", "d"})
    ->ArgsProduct({{100, 1000, 10000, 100000}, {10, 100, 1000, 10000}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->Iterations(1);

void TableBRegistered(benchmark::State& state) { Table(state, SimulatedTransport::kRegistered); }
BENCHMARK(TableBRegistered)
    ->ArgNames({"N", "d"})
    ->ArgsProduct({{1000, 100000}, {10, 100, 1000}})
    ->Args({10000, 10000})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->Iterations(1);

void TableBSealed(benchmark::State& state) { Table(state, SimulatedTransport::kSealed); }
BENCHMARK(TableBSealed)
    ->ArgNames({"N", "d"})
    ->Args({1000, 10})
    ->Args({10000, 100})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->Iterations(1);

// --- The parts, one thread ----------------------------------------------------------------------

void ExpandAndAdd(benchmark::State& state) {
  const auto dimension = static_cast<size_t>(state.range(0));
  MaskedSum sum(RingBits::k64, dimension);
  std::vector<crypto::Key> seeds(64);
  for (auto _ : state) sum.AddStreams(seeds);
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * 64 * dimension * 8));
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * 64);
}
BENCHMARK(ExpandAndAdd)->Arg(10)->Arg(100)->Arg(1000)->Arg(10000)->Arg(1000000);

void ClipRow(benchmark::State& state) {
  const auto dimension = static_cast<size_t>(state.range(0));
  const Contract contract = ContractOf(1000, dimension);
  std::vector<double> row(dimension);
  std::vector<Int128> grid(dimension);
  Row(1, row);
  for (auto _ : state) privacy::ClipToGrid(row, contract.clip, grid);
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * dimension));
}
BENCHMARK(ClipRow)->Arg(1000);

void NoiseOfClient(benchmark::State& state) {
  const privacy::DiscreteGaussian noise(ShareVariance(ContractOf(100000, 1000)));
  crypto::SystemRandom system;
  crypto::Prg random(crypto::RandomKey(system));
  std::vector<Int128> out(1000);
  for (auto _ : state) noise.Sample(random, out);
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * 1000);
}
BENCHMARK(NoiseOfClient);

// Once per client and node, ever.
void Registration(benchmark::State& state) {
  crypto::SystemRandom random;
  const crypto::BoxKeyPair client = crypto::MakeBoxKeyPair(random);
  const crypto::BoxKeyPair node = crypto::MakeBoxKeyPair(random);
  for (auto _ : state) RegisteredKey(client, node.public_key, {}, {}, 1);
}
BENCHMARK(Registration)->Unit(benchmark::kMicrosecond);

void SealAndOpen(benchmark::State& state) {
  crypto::SystemRandom random;
  const crypto::BoxKeyPair node = crypto::MakeBoxKeyPair(random);
  const Bytes message(400);
  for (auto _ : state) crypto::OpenSealed(crypto::Seal(message, node.public_key), node);
}
BENCHMARK(SealAndOpen)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace partita::sums

BENCHMARK_MAIN();
