// Uploads per second into a compute node's store. Arguments: bytes of a share, rows per
// transaction, front ends (threads, each with a connection of its own; the embedded store has one
// front end by design).
//
//   dca_spool_bench                                      makes a PostgreSQL server of its own
//   PARTITA_BENCH_FOLDER=/dev/shm dca_spool_bench        without the disk: what the rest costs
//
// The stores lie in the temporary folder, on its disk, or in PARTITA_BENCH_FOLDER. CPU is that of
// this process, without PostgreSQL's.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "crypto/prg.h"
#include "sums/spool/postgres_spool.h"
#include "sums/spool/sqlite_spool.h"
#include "tests/sums/protocol/postgres_server.h"

namespace partita::sums {
namespace {

std::filesystem::path Folder() {
  const char* folder = std::getenv("PARTITA_BENCH_FOLDER");
  return folder == nullptr ? std::filesystem::temp_directory_path() : folder;
}

// Batches of new clients with random names, as they come.
class Batches {
 public:
  Batches(size_t bytes, size_t rows) : random_(MakeRandom()), shares_(rows) {
    for (StoredShare& share : shares_) {
      share.share.resize(bytes);
      random_.Fill(share.share);
    }
  }
  std::span<const StoredShare> Next() {
    for (StoredShare& share : shares_) random_.Fill(share.client);
    return shares_;
  }

 private:
  static crypto::Prg MakeRandom() {
    crypto::SystemRandom system;
    return crypto::Prg(crypto::RandomKey(system));
  }
  crypto::Prg random_;
  std::vector<StoredShare> shares_;
};

void Sizes(benchmark::internal::Benchmark* benchmark, const std::vector<int64_t>& front_ends) {
  benchmark->ArgNames({"bytes", "batch", "front_ends"})
      ->ArgsProduct({{1024, 8192}, {1, 16, 256, 4096}, front_ends})
      ->UseRealTime()
      ->MeasureProcessCPUTime()
      ->MinTime(0.4);
}

void Finish(benchmark::State& state, int64_t rows) {
  state.SetItemsProcessed(rows);
  state.SetBytesProcessed(rows * state.range(0));
}

void Sqlite(benchmark::State& state) {
  const std::filesystem::path file = Folder() / "partita_dca_spool_bench.sqlite";
  std::filesystem::remove(file);
  SqliteSpool spool(file, {}, 1);
  Batches batches(static_cast<size_t>(state.range(0)), static_cast<size_t>(state.range(1)));
  for (auto _ : state) spool.Put(batches.Next());
  Finish(state, static_cast<int64_t>(state.iterations()) * state.range(1));
  std::filesystem::remove(file);
}
BENCHMARK(Sqlite)->Apply([](benchmark::internal::Benchmark* b) { Sizes(b, {1}); });

// The server's own defaults, but with room for a checkpoint.
PostgresServer& Server() {
  static PostgresServer server({{"max_wal_size", "2GB"},
                                {"shared_buffers", "512MB"},
                                {"synchronous_commit", "on"},
                                {"wal_writer_delay", "200ms"},
                                {"autovacuum", "on"}},
                               Folder());
  return server;
}

void Postgres(benchmark::State& state) {
  const std::string database = Server().MakeDatabase();
  const PostgresSettings settings = Server().Settings(database);
  const auto front_ends = static_cast<size_t>(state.range(2));
  std::vector<std::unique_ptr<PostgresSpool>> spools;
  std::vector<std::unique_ptr<Batches>> batches;
  for (size_t i = 0; i < front_ends; ++i) {
    spools.push_back(std::make_unique<PostgresSpool>(settings, StudyHash{}, 1));
    batches.push_back(std::make_unique<Batches>(static_cast<size_t>(state.range(0)),
                                                static_cast<size_t>(state.range(1))));
  }
  // One iteration: every front end puts some batches.
  const int64_t puts = state.range(1) >= 256 ? 2 : 16;
  for (auto _ : state) {
    std::vector<std::thread> threads;
    for (size_t i = 0; i < front_ends; ++i) {
      threads.emplace_back([&, i] {
        for (int64_t put = 0; put < puts; ++put) spools[i]->Put(batches[i]->Next());
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  Finish(state, static_cast<int64_t>(state.iterations() * front_ends) * puts * state.range(1));
  spools.clear();
  Server().Administer("postgres", "DROP DATABASE " + database);
}
BENCHMARK(Postgres)->Apply([](benchmark::internal::Benchmark* b) { Sizes(b, {1, 2, 4}); });

}  // namespace
}  // namespace partita::sums

BENCHMARK_MAIN();
