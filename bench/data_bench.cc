// Reading a million rows, putting them in order, and handing them out as ring integers.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "crypto/random.h"
#include "data/csv_reader.h"
#include "data/design.h"
#include "data/holding.h"
#include "data/snapshot.h"
#include "match/row_order.h"

namespace partita::data {
namespace {

constexpr size_t kRows = 1'000'000;
constexpr size_t kColumns = 10;
const RowColumns kRowColumns{.key = "id", .block = {}};

Schema MakeDictionary() {
  Schema schema;
  for (size_t c = 0; c < kColumns; ++c) {
    ColumnSchema column;
    column.name = fmt::format("x{}", c);
    column.lower = -10;
    column.upper = 10;
    schema.columns.push_back(column);
  }
  return schema;
}

Partition MakeTwoHolders() {
  std::vector<std::string> names;
  for (const ColumnSchema& column : MakeDictionary().columns) names.push_back(column.name);
  std::vector<std::string> variables = names;
  variables.push_back("y");
  return MakePartition(variables, {{"all", kRows}},
                       {{"north", 0, names, {"all"}}, {"south", 1, {"y"}, {"all"}}});
}

// A file of kRows shuffled keys and kColumns numbers of eight digits, written once.
const std::filesystem::path& File() {
  static const std::filesystem::path path = [] {
    std::filesystem::path file = std::filesystem::temp_directory_path() / "partita_data_bench.csv";
    std::mt19937_64 random(1);
    std::string text = "id";
    for (const ColumnSchema& column : MakeDictionary().columns) text += "," + column.name;
    text += "\n";
    for (size_t i = 0; i < kRows; ++i) {
      // Multiplying by an odd number permutes the keys.
      text += fmt::format("p{:08}", i * 7654321 % 100000000);
      for (size_t c = 0; c < kColumns; ++c) {
        text += fmt::format(",{:.7f}", static_cast<double>(random() >> 11) * 0x1p-52 * 10 - 10);
      }
      text += "\n";
    }
    std::ofstream(file, std::ios::binary) << text;
    return file;
  }();
  return path;
}

Schema MakeSchema() { return SchemaForParty(MakeDictionary(), MakeTwoHolders(), 0, kRowColumns); }

void BM_ReadCsv(benchmark::State& state) {
  const Schema schema = MakeSchema();
  File();
  for (auto _ : state) benchmark::DoNotOptimize(ReadCsvFile(File(), schema, {}));
  state.SetBytesProcessed(
      static_cast<int64_t>(std::filesystem::file_size(File()) * state.iterations()));
}
BENCHMARK(BM_ReadCsv)->Unit(benchmark::kMillisecond);

void BM_ReadCsvAndCommit(benchmark::State& state) {
  const Schema schema = MakeSchema();
  crypto::SystemRandom random;
  File();
  for (auto _ : state) {
    SnapshotHasher hasher(random);
    benchmark::DoNotOptimize(
        ReadCsvFile(File(), schema, {}, [&](ByteView bytes) { hasher.Update(bytes); }));
    benchmark::DoNotOptimize(hasher.Finish());
  }
}
BENCHMARK(BM_ReadCsvAndCommit)->Unit(benchmark::kMillisecond);

// Sorting by key and permuting all columns.
void BM_MakeHolding(benchmark::State& state) {
  const Partition partition = MakeTwoHolders();
  const Table table = ReadCsvFile(File(), MakeSchema(), {}).table;
  for (auto _ : state) {
    state.PauseTiming();
    Table copy = table;
    state.ResumeTiming();
    benchmark::DoNotOptimize(MakeHolding(std::move(copy), partition, 0, kRowColumns));
  }
}
BENCHMARK(BM_MakeHolding)->Unit(benchmark::kMillisecond);

void BM_RowOrderDigest(benchmark::State& state) {
  const Partition partition = MakeTwoHolders();
  const Holding holding =
      MakeHolding(ReadCsvFile(File(), MakeSchema(), {}).table, partition, 0, kRowColumns);
  for (auto _ : state) benchmark::DoNotOptimize(match::RowOrderDigests(partition, holding));
}
BENCHMARK(BM_RowOrderDigest)->Unit(benchmark::kMillisecond);

void BM_ScaledRows(benchmark::State& state) {
  const Partition partition = MakeTwoHolders();
  const Holding holding =
      MakeHolding(ReadCsvFile(File(), MakeSchema(), {}).table, partition, 0, kRowColumns);
  const RowReader reader =
      ScaledRows(holding, 0, partition.holders[0].columns, MomentFractionBits(kRows));
  constexpr size_t kBlock = 1000;
  std::vector<Int128> out(kBlock * kColumns);
  for (auto _ : state) {
    for (size_t row = 0; row < kRows; row += kBlock) {
      reader(row, kBlock, out.data());
      benchmark::DoNotOptimize(out.data());
    }
  }
}
BENCHMARK(BM_ScaledRows)->Unit(benchmark::kMillisecond);

// A spline of five columns, a polynomial of three and a cut of three of one variable.
void BM_AddDesignColumns(benchmark::State& state) {
  const Schema dictionary = MakeDictionary();
  std::vector<DerivedVariable> derived(3);
  derived[0].name = "s";
  derived[0].kind = TransformKind::kNs;
  derived[0].knots = {-5, -2, 2, 5};
  derived[0].boundary_lower = -9;
  derived[0].boundary_upper = 9;
  derived[1].name = "p";
  derived[1].kind = TransformKind::kPoly;
  derived[1].scale = 10;
  derived[1].degree = 3;
  derived[2].name = "c";
  derived[2].kind = TransformKind::kCut;
  derived[2].points = {-5, 0, 5};
  derived[2].labels = {"a", "b", "c", "d"};
  for (DerivedVariable& variable : derived) variable.from = "x0";
  const Table table = ReadCsvFile(File(), MakeSchema(), {}).table;
  for (auto _ : state) {
    state.PauseTiming();
    Table copy = table;
    state.ResumeTiming();
    AddDesignColumns(copy, dictionary, derived);
    benchmark::DoNotOptimize(copy.columns.data());
  }
}
BENCHMARK(BM_AddDesignColumns)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace partita::data

BENCHMARK_MAIN();
