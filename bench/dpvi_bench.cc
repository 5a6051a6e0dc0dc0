// One iteration of DPVI on the full Adult model (14 features, 148 levels, 2 Beta, K = 20) over TLS
// on loopback, the dealer live: local gradients, noise, protocol and Adam. Made-up rows of that
// shape: the time does not depend on them.
#include <optional>

#include "bench/mpc_processes.h"
#include "crypto/prg.h"
#include "methods/dpvi/adult.h"
#include "methods/dpvi/run.h"

namespace partita::methods::dpvi {
namespace {

namespace mixture = stats::mixture;
using mpc::bench::Processes;

constexpr uint32_t kRows = 30162;
// Of the kernel alone.
constexpr Eigen::Index kComponents = 20, kEntries = 50, kBatch = 100;

mixture::Rows MadeUpRows(const mixture::Layout& layout) {
  crypto::Key key;
  crypto::Prg prg(key);
  stats::blr::Variates variates(prg);
  std::vector<std::vector<double>> values(layout.features.size());
  for (size_t f = 0; f < values.size(); ++f) {
    const mixture::Feature& feature = layout.features[f];
    for (uint32_t n = 0; n < kRows; ++n) {
      values[f].push_back(feature.family == mixture::Family::kCategorical
                              ? static_cast<double>(variates.Below(feature.levels))
                              : 0.001 + 0.998 * variates.Uniform());
    }
  }
  return mixture::MakeRows(layout, values);
}

Processes SettingOf(int64_t engine, size_t parties) {
  if (engine == 0) return {"dealer", parties};
  return {engine == 1 ? "replicated" : "ot", engine == 1 ? size_t{3} : size_t{2}};
}

// Columns in equal parts at `parties` parties, or as in the experiment at two.
mixture::Layout LayoutFor(size_t parties) {
  mixture::Layout layout = ModelLayout(AdultColumns());
  if (parties == 2) return layout;
  std::vector<mixture::Feature> features = layout.features;
  for (size_t f = 0; f < features.size(); ++f) features[f].party = f * parties / features.size();
  return mixture::MakeLayout(features);
}

RunPlan PlanFor(size_t holders, size_t computing, mixture::BatchMode mode, uint64_t steps) {
  RunRequest request;
  request.layout = LayoutFor(holders);
  for (size_t p = 0; p < holders; ++p) request.party_index.push_back(p);
  for (size_t p = 0; p < computing; ++p) request.noise_parties.push_back(p);
  request.num_rows = kRows;
  request.batch_mode = mode;
  request.variational.steps = steps;
  return PlanRun(request);
}

// engine: 0 dealer, 1 replicated, 2 ot. holders: parties with columns. full: all rows every step.
void BM_Iteration(benchmark::State& state) {
  const auto holders = static_cast<size_t>(state.range(1));
  const bool full = state.range(2) != 0;
  const Processes setting = SettingOf(state.range(0), holders);
  const auto iterations = static_cast<uint64_t>(state.max_iterations);
  const RunPlan plan =
      PlanFor(holders, setting.num_parties,
              full ? mixture::BatchMode::kFull : mixture::BatchMode::kPoisson, iterations + 1);
  const mixture::Rows rows = MadeUpRows(plan.request.layout);
  const crypto::Key batch_key, public_key;
  mpc::bench::RunProcesses(setting, [&](mpc::Engine& engine) {
    crypto::SystemRandom random;
    mixture::Rows own;
    RunInputs inputs;
    for (size_t p = 0; p < holders; ++p) {
      if (engine.self() != p) continue;
      own = mixture::PartyRows(plan.request.layout, p, rows);
      inputs.rows = &own;
    }
    inputs.batch_key = &batch_key;
    inputs.public_key = &public_key;
    inputs.random = &random;
    const bool clock = engine.self() == mpc::PartyIndex{0};
    // The first opening also masks the statistics; the clock starts behind it.
    std::optional<decltype(state.begin())> next, end;
    inputs.after_opening = [&](const RunProgress&) {
      if (!clock) return;
      if (next) {
        ++*next;
      } else {
        next.emplace(state.begin());
        end.emplace(state.end());  // starts the clock
      }
      benchmark::DoNotOptimize(*next != *end);  // stops it at the last one
    };
    RunSecureDpvi(engine, plan, inputs);
  });
}

// The secure kernel alone, as peers were measured (research/peers-mpc.md, kernel C): B = 100, K =
// 20, two holders of J = 50 gradient entries each; densities and scores are there when the clock
// starts, the statistics were masked before.
void BM_KernelC(benchmark::State& state) {
  const Processes setting = SettingOf(state.range(0), 2);
  mpc::bench::RunProcesses(setting, [&](mpc::Engine& engine) {
    StepDesign design;
    design.holders = {{0, kEntries}, {1, kEntries}};
    design.num_rows = design.batch_rows = kBatch;
    design.components = kComponents;
    design.noise_parties = {0};
    design.noise_bound = 1;
    const std::vector<StatisticReader> readers(2, [](size_t, size_t num_rows, double* out) {
      std::fill_n(out, num_rows * kEntries, 0.5);
    });
    SecureStep step(engine, design, readers);
    StepParameters parameters;
    parameters.pi = Eigen::ArrayXd::Constant(kComponents, 1.0 / kComponents);
    parameters.slope.assign(2, Eigen::ArrayXXd::Constant(kComponents, kEntries, 0.25));
    parameters.below.assign(2, Eigen::ArrayXXd::Zero(kComponents, kEntries));
    parameters.offset.assign(2, Eigen::ArrayXXd::Constant(kComponents, kEntries, -0.1));
    parameters.batch = mixture::AllRows(kBatch);
    const HolderValues values = {
        Eigen::ArrayXXd::Random(kComponents, kBatch),
        Eigen::ArrayXXd::Constant(kComponents, kBatch, kEntries * 0.025 * 0.025)};
    const std::vector<Int128> noise(design.num_values());
    const auto run = [&] {
      std::optional<HolderValues> own;
      if (engine.self() && *engine.self() < 2) own = values;
      step.Run(parameters, own, noise);
    };
    run();
    if (engine.self() == mpc::PartyIndex{0}) {
      for (auto _ : state) run();
    } else {
      for (size_t i = 0; i < static_cast<size_t>(state.max_iterations); ++i) run();
    }
  });
}

void Settings(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"engine", "holders", "full"});
  benchmark->Args({0, 2, 0})->Args({1, 2, 0})->Args({0, 3, 0})->Args({1, 3, 0})->Args({0, 5, 0});
  benchmark->Iterations(50)->Unit(benchmark::kMillisecond)->UseRealTime();
}
void FullBatch(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"engine", "holders", "full"})->Args({0, 2, 1})->Args({1, 2, 1});
  benchmark->Iterations(3)->Unit(benchmark::kMillisecond)->UseRealTime();
}
BENCHMARK(BM_KernelC)
    ->ArgName("engine")
    ->Arg(0)
    ->Arg(1)
    ->Iterations(50)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK(BM_Iteration)->Apply(Settings);
BENCHMARK(BM_Iteration)->Apply(FullBatch)->Name("BM_FullBatch");

}  // namespace
}  // namespace partita::methods::dpvi

BENCHMARK_MAIN();
