// DPVI on shares, all processes on this machine over TLS on loopback, a dealer live and included:
// iterations on the full Adult model (14 features, 148 levels, 2 Beta, K = 20, 100 expected rows of
// 30162, or all of them), with local gradients, noise, protocol and Adam; and the secure kernel
// alone, as peers were measured. Made-up rows of that shape: the time does not depend on them.
//
// Time is the median at party 0. Counters, in milliseconds: `best`; where an iteration's median
// goes: `own` (outside the secure step: parameters, densities, scores, noise, Adam), `tapes` (party
// 0 expands its masks), `tls` (what the same takes less over plain TCP) and `protocol` (the rest:
// arithmetic on shares, messages, waiting, and the dealer if it is the slower one); `dealer_tapes`
// (the dealer does, beside the parties); `cpu` (all processes together). `plain` is an iteration in
// the clear, by the same code for everything but the sum.
//
//   dpvi_bench [--latency=MS]     MS more on every link, one way
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "bench/mpc_processes.h"
#include "crypto/prg.h"
#include "methods/mixture/adult.h"
#include "methods/mixture/run.h"
#include "stats/mixture/dpvi.h"

namespace partita::methods::mixture {
namespace {

using mpc::bench::Processes;
using mpc::bench::ProcessorMilliseconds;
using mpc::bench::SharedNumbers;

constexpr uint32_t kRows = 30162;
// Of the kernel alone.
constexpr Eigen::Index kComponents = 20, kEntries = 50, kBatch = 100;
// Milliseconds of the peers' kernel (research/peers-mpc.md, kernel C): CrypTen with a dealer;
// MP-SPDZ in its best formulation, with a dealer and for three parties.
constexpr double kCrypTen = 526, kMpSpdzDealer = 34, kMpSpdzReplicated = 22;

stats::mixture::Rows MadeUpRows(const stats::mixture::Layout& layout) {
  crypto::Key key;
  crypto::Prg prg(key);
  stats::blr::Variates variates(prg);
  std::vector<std::vector<double>> values(layout.features.size());
  for (size_t f = 0; f < values.size(); ++f) {
    const stats::mixture::Feature& feature = layout.features[f];
    for (uint32_t n = 0; n < kRows; ++n) {
      values[f].push_back(feature.family == stats::mixture::Family::kCategorical
                              ? static_cast<double>(variates.Below(feature.levels))
                              : 0.001 + 0.998 * variates.Uniform());
    }
  }
  return stats::mixture::MakeRows(layout, values);
}

// Columns in equal parts at `holders` parties, or as in the experiment at two.
stats::mixture::Layout LayoutFor(size_t holders) {
  stats::mixture::Layout layout = ModelLayout(AdultColumns());
  if (holders == 2) return layout;
  std::vector<stats::mixture::Feature> features = layout.features;
  for (size_t f = 0; f < features.size(); ++f) features[f].party = f * holders / features.size();
  return stats::mixture::MakeLayout(features);
}

struct Row {
  std::string engine;
  size_t parties = 2;  // that compute
  size_t holders = 2;  // of columns
  stats::mixture::BatchMode mode = stats::mixture::BatchMode::kPoisson;
  uint64_t iterations = 50;
};

RunPlan PlanFor(const Row& row) {
  RunRequest request;
  request.layout = LayoutFor(row.holders);
  for (size_t p = 0; p < row.holders; ++p) request.party_index.push_back(p);
  for (size_t p = 0; p < row.parties; ++p) request.noise_parties.push_back(p);
  request.num_rows = kRows;
  request.batch_mode = row.mode;
  request.variational.steps = row.iterations + 1;
  return PlanRun(request);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Milliseconds of an iteration at party 0; `tapes` by process; `cpu` of all processes together.
struct Times {
  double median = 0, best = 0, own = 0, tapes = 0, dealer_tapes = 0, cpu = 0;
};

// Of one process: what its iterations took, from the second on (the first one masks all
// statistics).
class Clock {
 public:
  Clock(double& tape_ms, double& cpu_ms) : tape_ms_(tape_ms), cpu_ms_(cpu_ms) {}

  void Opened(const RunProgress& progress) {
    const auto now = SteadyClock::now();
    if (progress.openings == 1) {
      tape_ms_ = 0;
      cpu_ms_ = -ProcessorMilliseconds();
    } else {
      whole_.push_back(1e3 * std::chrono::duration<double>(now - last_).count());
      own_.push_back(whole_.back() - 1e3 * (progress.step_seconds - step_seconds_));
    }
    step_seconds_ = progress.step_seconds;
    last_ = now;
  }
  void Stop() { cpu_ms_ += ProcessorMilliseconds(); }
  Times Summary() const {
    Times times;
    times.median = Median(whole_);
    times.best = *std::min_element(whole_.begin(), whole_.end());
    times.own = Median(own_);
    return times;
  }

 private:
  double &tape_ms_, &cpu_ms_;
  std::vector<double> whole_, own_;
  double step_seconds_ = 0;
  SteadyClock::time_point last_;
};

Times TimeIterations(Processes processes, const Row& row) {
  const RunPlan plan = PlanFor(row);
  const stats::mixture::Rows rows = MadeUpRows(plan.request.layout);
  const crypto::Key batch_key, public_key;
  SharedNumbers tapes, cpu;
  processes.tape_ms = &tapes;
  Times times;
  mpc::bench::RunProcesses(processes, [&](mpc::Engine& engine) {
    const size_t self = engine.self().value_or(row.parties);
    crypto::SystemRandom random;
    stats::mixture::Rows own;
    RunInputs inputs;
    if (self < row.holders) {
      own = stats::mixture::PartyRows(plan.request.layout, self, rows);
      inputs.rows = &own;
    }
    inputs.batch_key = &batch_key;
    inputs.public_key = &public_key;
    inputs.random = &random;
    Clock clock(tapes[self], cpu[self]);
    inputs.after_opening = [&](const RunProgress& progress) { clock.Opened(progress); };
    RunSecureDpvi(engine, plan, inputs);
    clock.Stop();
    if (self == 0) times = clock.Summary();
  });
  const auto count = static_cast<double>(row.iterations);
  times.tapes = tapes[0] / count;
  times.dealer_tapes = row.engine == "dealer" ? tapes[row.parties] / count : 0;
  times.cpu = cpu.Sum() / count;
  return times;
}

// Of an iteration in the clear, all rows in one place.
double PlainMilliseconds(stats::mixture::BatchMode mode) {
  const stats::mixture::Layout layout = LayoutFor(2);
  const stats::mixture::Rows rows = MadeUpRows(layout);
  crypto::SystemRandom random;
  const crypto::Key key;
  crypto::Prg batch_prg(key), eta_prg(key);
  stats::mixture::Batches batches(mode, kRows, 100, 0, batch_prg);
  stats::blr::Variates variates(eta_prg);
  stats::mixture::VariationalOptions options;
  options.steps = mode == stats::mixture::BatchMode::kFull ? 5 : 200;
  stats::mixture::VariationalState state =
      stats::mixture::StartState(layout, kComponents, options, variates);
  const stats::mixture::GradientSum sum =
      stats::mixture::PlainGradientSum(layout, rows, {1, 2.042, 30}, random);
  std::vector<double> milliseconds;
  auto last = SteadyClock::now();
  const auto after_step = [&](const stats::mixture::VariationalState& at) {
    if (at.step > 0) milliseconds.push_back(1e3 * SecondsSince(last));
    last = SteadyClock::now();
  };
  stats::mixture::RunDpvi(layout, options, kRows, sum, batches, variates, after_step, state);
  return Median(milliseconds);
}

void BM_Iteration(benchmark::State& state, const net::LinkModel& link, const Row& row) {
  for (auto _ : state) {
    Processes processes{row.engine, row.parties, false, link};
    const double over_tcp = TimeIterations(processes, row).median;
    processes.tls = true;
    const Times times = TimeIterations(processes, row);
    const double tls = times.median - over_tcp, plain = PlainMilliseconds(row.mode);
    state.SetIterationTime(1e-3 * times.median);
    state.counters["best"] = times.best;
    state.counters["own"] = times.own;
    state.counters["tls"] = tls;
    if (row.engine != "ot") state.counters["tapes"] = times.tapes;
    if (row.engine == "dealer") state.counters["dealer_tapes"] = times.dealer_tapes;
    state.counters["protocol"] = times.median - times.own - times.tapes - tls;
    state.counters["cpu"] = times.cpu;
    state.counters["plain"] = plain;
    state.counters["over_plain"] = times.median / plain;
  }
}

// Milliseconds of each run of the kernel at party 0, after one that masks the statistics: B = 100,
// K = 20, two holders of J = 50 gradient entries each; densities and scores are there when the
// clock starts.
std::vector<double> TimeKernel(const Processes& processes, size_t runs) {
  std::vector<double> milliseconds;
  mpc::bench::RunProcesses(processes, [&](mpc::Engine& engine) {
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
    parameters.batch = stats::mixture::AllRows(kBatch);
    const HolderValues values = {
        Eigen::ArrayXXd::Random(kComponents, kBatch),
        Eigen::ArrayXXd::Constant(kComponents, kBatch, kEntries * 0.025 * 0.025)};
    const std::vector<Int128> noise(design.num_values());
    std::optional<HolderValues> own;
    if (engine.self() && *engine.self() < 2) own = values;
    step.Run(parameters, own, noise);
    for (size_t i = 0; i < runs; ++i) {
      const auto begin = SteadyClock::now();
      step.Run(parameters, own, noise);
      milliseconds.push_back(1e3 * SecondsSince(begin));
    }
  });
  return milliseconds;
}

void BM_KernelC(benchmark::State& state, const Processes& processes) {
  for (auto _ : state) {
    const std::vector<double> milliseconds = TimeKernel(processes, 50);
    const double median = Median(milliseconds);
    state.SetIterationTime(1e-3 * median);
    state.counters["best"] = *std::min_element(milliseconds.begin(), milliseconds.end());
    const bool dealer = processes.kind == "dealer";
    if (dealer) state.counters["x_crypten"] = kCrypTen / median;
    state.counters["x_mp_spdz"] = (dealer ? kMpSpdzDealer : kMpSpdzReplicated) / median;
  }
}

template <typename Run>
void Register(const std::string& name, const Run& run) {
  benchmark::RegisterBenchmark(name.c_str(), run)
      ->Iterations(1)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

void RegisterAll(const net::LinkModel& link) {
  for (const char* kind : {"dealer", "replicated"}) {
    const Processes processes{kind, kind[0] == 'd' ? size_t{2} : 3, true, link};
    Register(std::string("kernel_c/") + kind,
             [=](benchmark::State& state) { BM_KernelC(state, processes); });
  }
  const stats::mixture::BatchMode mode = stats::mixture::BatchMode::kPoisson;
  const std::vector<Row> rows = {{"dealer", 2, 2, mode, 200},
                                 {"dealer", 3, 3},
                                 {"dealer", 5, 5},
                                 {"replicated", 3, 2, mode, 200},
                                 {"replicated", 3, 3, mode, 200},
                                 {"ot", 2, 2, mode, 2}};
  for (const Row& row : rows) {
    Register("iteration/" + row.engine + "/holders:" + std::to_string(row.holders),
             [=](benchmark::State& state) { BM_Iteration(state, link, row); });
  }
  for (const char* kind : {"dealer", "replicated"}) {
    const Row row{kind, kind[0] == 'd' ? size_t{2} : 3, 2, stats::mixture::BatchMode::kFull, 3};
    Register(std::string("full_batch/") + kind,
             [=](benchmark::State& state) { BM_Iteration(state, link, row); });
  }
}

// Takes --latency=MS off the arguments.
net::LinkModel TakeLatency(int& argc, char** argv) {
  constexpr std::string_view kOption = "--latency=";
  net::LinkModel link;
  char** end = std::remove_if(argv + 1, argv + argc, [&](const char* argument) {
    if (!std::string_view(argument).starts_with(kOption)) return false;
    const double milliseconds = std::strtod(argument + kOption.size(), nullptr);
    link.latency = std::chrono::nanoseconds(static_cast<int64_t>(1e6 * milliseconds));
    return true;
  });
  argc = static_cast<int>(end - argv);
  return link;
}

}  // namespace
}  // namespace partita::methods::mixture

int main(int argc, char** argv) {
  using namespace partita::methods::mixture;  // NOLINT: all that there is
  RegisterAll(TakeLatency(argc, argv));
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
