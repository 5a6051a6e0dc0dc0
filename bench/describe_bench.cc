// A Table 1 of 30 variables by two groups, three parties with a third of a million rows each, over
// TLS on loopback: a holder's counting, and everything on shares. Made-up rows: the time on shares
// does not depend on them.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <numeric>

#include "bench/mpc_processes.h"
#include "crypto/prg.h"
#include "methods/describe/protocol.h"
#include "stats/blr/variates.h"

namespace partita::methods::describe {
namespace {

using mpc::bench::Processes;

constexpr size_t kParties = 3, kRows = 1'000'000 / kParties, kNumbers = 15, kFactors = 15;

data::ColumnSchema Schema(const std::string& name, bool number) {
  data::ColumnSchema schema;
  schema.name = name;
  schema.type = number ? data::ColumnType::kNumeric : data::ColumnType::kFactor;
  schema.upper = number ? 1 : 0;
  if (!number) schema.levels = {"one", "two", "three"};
  return schema;
}

Spec ThirtyVariables() {
  Spec spec;
  for (size_t v = 0; v < kNumbers + kFactors; ++v)
    spec.variables.push_back({Schema(fmt::format("v{}", v), v < kNumbers), ""});
  spec.group = Variable{Schema("group", false), ""};
  spec.group->schema.levels.pop_back();
  spec.quantiles = {250, 500, 750};
  return spec;
}

data::Table MadeUpTable(const Spec& spec) {
  crypto::Key key;
  crypto::Prg prg(key);
  stats::blr::Variates variates(prg);
  data::Table table;
  table.num_rows = kRows;
  std::vector<data::ColumnSchema> schemas = {spec.group->schema};
  for (const Variable& variable : spec.variables) schemas.push_back(variable.schema);
  for (const data::ColumnSchema& schema : schemas) {
    data::Column column;
    column.schema = schema;
    for (size_t r = 0; r < kRows; ++r) {
      const double uniform = variates.Uniform();
      if (schema.levels.empty()) {
        column.numbers.push_back(uniform);
      } else {
        column.codes.push_back(
            static_cast<int32_t>(uniform * static_cast<double>(schema.levels.size())));
      }
    }
    table.columns.push_back(std::move(column));
  }
  return table;
}

void BM_CountOwn(benchmark::State& state) {
  const Spec spec = ThirtyVariables();
  const data::Table table = MadeUpTable(spec);
  std::vector<size_t> rows(kRows);
  std::iota(rows.begin(), rows.end(), size_t{0});
  for (auto _ : state) benchmark::DoNotOptimize(CountOwn(spec, table, rows));
}
BENCHMARK(BM_CountOwn)->Unit(benchmark::kMillisecond);

// engine: 0 dealer, 1 replicated, 2 shamir. ranks: whether rank statistics open as well.
void BM_Table(benchmark::State& state) {
  static const char* const kEngines[] = {"dealer", "replicated", "shamir"};
  Processes setting = {kEngines[state.range(0)], kParties};
  for (const char* name : {kDisclosureRelease, kTableRelease})
    setting.releases.push_back({name, "", "all", "exact", 1000});
  Task task;
  task.spec = ThirtyVariables();
  task.spec.compared.ranks = state.range(1) != 0;
  task.grid_bits = 6;
  for (size_t p = 0; p < kParties; ++p) task.holders.push_back({{p, kRows}});
  const OwnNumbers own = NoNumbers(task.spec);
  mpc::bench::RunProcesses(setting, [&](mpc::Engine& engine) {
    const auto table = [&] {
      benchmark::DoNotOptimize(OpenTable(engine, task, ShareTable(engine, task, own), 5));
    };
    table();
    if (engine.self() == mpc::PartyIndex{0}) {
      for (auto _ : state) table();
    } else {
      for (size_t i = 0; i < static_cast<size_t>(state.max_iterations); ++i) table();
    }
  });
  state.counters["numbers"] = static_cast<double>(NumOpened(task));
}
BENCHMARK(BM_Table)
    ->ArgNames({"engine", "ranks"})
    ->ArgsProduct({{0, 1, 2}, {0, 1}})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace partita::methods::describe

BENCHMARK_MAIN();
