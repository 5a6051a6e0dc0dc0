// Sums that a database forms of rows of 10 doubles: n, 10 sums and 55 products on a grid of 30 bits, with the checks of
// cells and the self-test of the engine. Arguments: rows; of PostgreSQL also parallel workers beside the one that
// leads. Beside them the same rows read as CSV, which is what freezing them begins with.
//
//   pushed_sums_bench                 makes a PostgreSQL server of its own, in memory where it can
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>

#include "data/source/open_table.h"
#include "data/source/sum_source.h"
#include "tests/sums/protocol/postgres_server.h"

namespace partita::data {
namespace {

constexpr size_t kColumns = 10;

SumQuery Query() {
  SumQuery query;
  for (size_t c = 0; c < kColumns; ++c) {
    ColumnSchema& column = query.columns.emplace_back();
    column.name = fmt::format("x{}", c);
    column.lower = -8;
    column.upper = 8;
    query.variables.push_back({c, ScaleOf(column), {}});
  }
  query.cells = {{}};
  query.sets = {{}, {}, {}};
  return query;
}

class Folder {
 public:
  Folder() {
    std::string name = "/dev/shm/partita_sums_bench.XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder in /dev/shm");
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

std::string SourceText(const std::string& source, const std::string& table, bool only_sums) {
  return fmt::format("source = \"{}\"\ntable = \"{}\"\n{}", source, table,
                     only_sums ? "mode = \"push-down\"\n" : "");
}

void Ask(benchmark::State& state, const SourceFile& source) {
  const SumQuery query = Query();
  for (auto _ : state) {
    const SumAnswer answer = OpenSums(source)->Ask(query);
    if (answer.rows != state.range(0)) throw std::runtime_error("rows are missing");
    benchmark::DoNotOptimize(answer);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void Read(benchmark::State& state, const std::string& file) {
  Bytes block(1 << 16);
  for (auto _ : state) {
    const OpenedTable table = OpenTable(file);
    while (table.bytes(block) == block.size()) benchmark::DoNotOptimize(block.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// t.toml, whose rows may be read, and s.toml, which gives sums.
struct Sqlite {
  explicit Sqlite(int64_t rows) {
    sqlite3* connection = nullptr;
    sqlite3_open((folder / "t.db").c_str(), &connection);
    std::string columns, places;
    for (size_t c = 0; c < kColumns; ++c) {
      columns += fmt::format("{}x{} REAL", c == 0 ? "" : ", ", c);
      places += c == 0 ? "?" : ", ?";
    }
    sqlite3_exec(connection, ("CREATE TABLE t (" + columns + "); BEGIN").c_str(), nullptr, nullptr,
                 nullptr);
    sqlite3_stmt* insert = nullptr;
    sqlite3_prepare_v2(connection, ("INSERT INTO t VALUES (" + places + ")").c_str(), -1, &insert,
                       nullptr);
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> uniform(-8, 8);
    for (int64_t r = 0; r < rows; ++r) {
      for (size_t c = 0; c < kColumns; ++c)
        sqlite3_bind_double(insert, static_cast<int>(c) + 1, uniform(random));
      sqlite3_step(insert);
      sqlite3_reset(insert);
    }
    sqlite3_finalize(insert);
    sqlite3_exec(connection, "COMMIT", nullptr, nullptr, nullptr);
    sqlite3_close(connection);
    std::ofstream(folder / "t.toml") << SourceText("sqlite:t.db", "t", false);
    std::ofstream(folder / "s.toml") << SourceText("sqlite:t.db", "t", true);
  }
  Folder folder;
};

struct Postgres {
  explicit Postgres(int64_t rows) : database(sums::SharedServer().MakeDatabase()) {
    std::string columns;
    for (size_t c = 0; c < kColumns; ++c)
      columns += fmt::format("{}16 * random() - 8 AS x{}", c == 0 ? "" : ", ", c);
    Administer(
        fmt::format("CREATE SCHEMA b; CREATE ROLE bench_reader LOGIN; GRANT USAGE ON SCHEMA b TO "
                    "bench_reader; CREATE TABLE b.t AS SELECT {} FROM generate_series(1, {})",
                    columns, rows));
    Administer("GRANT SELECT ON b.t TO bench_reader; ANALYZE b.t");
    const std::string source = fmt::format("postgresql://bench_reader@/{}?host={}", database,
                                           sums::SharedServer().folder().string());
    std::ofstream(folder / "t.toml") << SourceText(source, "b.t", false);
    std::ofstream(folder / "s.toml") << SourceText(source, "b.t", true);
  }
  ~Postgres() { Administer("DROP SCHEMA b CASCADE; DROP ROLE bench_reader"); }
  void Administer(const std::string& sql) const { sums::SharedServer().Administer(database, sql); }
  std::string database;
  Folder folder;
};

void BM_SumsInSqlite(benchmark::State& state) {
  const Sqlite table(state.range(0));
  Ask(state, ReadSourceFile(table.folder / "s.toml"));
}

void BM_RowsOfSqlite(benchmark::State& state) {
  const Sqlite table(state.range(0));
  Read(state, table.folder / "t.toml");
}

void BM_SumsInPostgres(benchmark::State& state) {
  const Postgres table(state.range(0));
  table.Administer(fmt::format("ALTER ROLE bench_reader SET max_parallel_workers_per_gather = {}",
                               state.range(1)));
  Ask(state, ReadSourceFile(table.folder / "s.toml"));
}

void BM_RowsOfPostgres(benchmark::State& state) {
  const Postgres table(state.range(0));
  Read(state, table.folder / "t.toml");
}

constexpr int64_t kRows = 1'000'000;
BENCHMARK(BM_SumsInPostgres)
    ->ArgNames({"rows", "workers"})
    ->ArgsProduct({{kRows}, {0, 1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_RowsOfPostgres)->Arg(kRows)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_SumsInSqlite)->Arg(kRows)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_RowsOfSqlite)->Arg(kRows)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace partita::data

BENCHMARK_MAIN();
