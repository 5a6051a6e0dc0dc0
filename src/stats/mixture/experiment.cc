#include "stats/mixture/experiment.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

#include "crypto/kdf.h"
#include "crypto/prg.h"
#include "stats/mixture/predictive.h"

namespace partita::stats::mixture {
namespace {

constexpr uint64_t kStepsPerReport = 100;

crypto::Prg Stream(const crypto::Key& key, std::string_view purpose, size_t repeat) {
  const auto number = static_cast<uint64_t>(repeat);
  const ByteView bytes(reinterpret_cast<const uint8_t*>(&number), sizeof number);
  return crypto::Prg(crypto::DeriveKey(key, purpose, {bytes}));
}

// The steps at which log densities are taken.
std::set<uint64_t> ReportSteps(const ExperimentOptions& options, double sampling_rate) {
  std::set<uint64_t> steps = {0, options.variational.steps};
  for (const double epochs : options.epochs) {
    const double step = std::round(epochs / sampling_rate);
    if (step >= 0 && step < static_cast<double>(options.variational.steps))
      steps.insert(static_cast<uint64_t>(step));
  }
  return steps;
}

}  // namespace

ExperimentRun RunExperiment(const Layout& layout, size_t num_rows, const Rows& test, const Arm& arm,
                            const ExperimentOptions& options, const crypto::Key& key, size_t repeat,
                            Progress& progress) {
  crypto::Prg public_stream = Stream(key, "dpvi experiment public", repeat);
  crypto::Prg batch_stream = Stream(key, "dpvi experiment batches", repeat);
  crypto::Prg noise_stream = Stream(key, "dpvi experiment noise", repeat);
  crypto::Prg draw_stream = Stream(key, "dpvi experiment draws", repeat);
  blr::Variates variates(public_stream), draws(draw_stream);
  const auto rows = static_cast<uint32_t>(num_rows);
  Batches batches(options.batch_mode, rows, options.batch_size, options.max_batch, batch_stream);
  const double rate = batches.sampling_rate();
  const std::set<uint64_t> report = ReportSteps(options, rate);
  const GradientSum sum = arm.make(options.noise, noise_stream);

  using Clock = std::chrono::steady_clock;
  ExperimentRun run;
  run.arm = arm.name;
  run.repeat = repeat;
  Clock::duration reporting{};
  const auto after_step = [&](const VariationalState& state) {
    if (state.step % kStepsPerReport == 0) {
      progress.Step(state.step, options.variational.steps);
      progress.CheckCancelled();
    }
    if (report.count(state.step) == 0) return;
    const auto begin = Clock::now();
    run.trace.push_back({state.step, static_cast<double>(state.step) * rate,
                         PlugInLogDensity(layout, test, state)});
    reporting += Clock::now() - begin;
  };
  VariationalState state = StartState(layout, options.components, options.variational, variates);
  const auto start = Clock::now();
  RunDpvi(layout, options.variational, rows, sum, batches, variates, after_step, state);
  run.seconds = std::chrono::duration<double>(Clock::now() - start - reporting).count();
  run.predictive = PredictiveLogDensity(layout, test, state, options.predictive_draws, draws);
  run.active_components = ActiveComponents(state);
  run.weights = SortedWeights(state);
  run.max_uses = batches.max_uses();
  run.state = std::move(state);
  return run;
}

}  // namespace partita::stats::mixture
