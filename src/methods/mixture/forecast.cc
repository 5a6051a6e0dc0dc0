#include "methods/mixture/forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "crypto/prg.h"
#include "stats/mixture/dpvi.h"
#include "stats/mixture/predictive.h"
#include "stats/mixture/utility.h"

namespace partita::methods::mixture {

namespace {

using Eigen::ArrayXXd;
using stats::mixture::BatchMode;
using stats::mixture::VariationalState;

constexpr uint32_t kMostForecastRows = 5000;
// Entries of all iterations of a run: per row of a batch, component and parameter; an iteration
// costs as much again as kStepRows rows. About half a second.
constexpr double kMostEntries = 1.5e7, kStepRows = 25;
constexpr size_t kJudgedRows = 5000;
// Of the groups' parameters: levels are up to ten times as frequent in one as in another.
constexpr double kGroupSpread = 1.5;

// What one run of the forecast does.
struct ForecastRun {
  stats::mixture::VariationalOptions options;
  BatchMode mode = BatchMode::kPoisson;
  uint32_t rows = 0, batch = 0;
  size_t components = 0;
  double clip = 1, noise = 0;  // standard deviation of the noise of a sum, clip included
};

ForecastRun RunOf(const RunRequest& request) {
  ForecastRun run;
  run.options = request.variational;
  run.mode = request.batch_mode;
  run.components = request.components;
  run.clip = request.clip;
  run.rows = std::min(request.num_rows,
                      std::max(kMostForecastRows, static_cast<uint32_t>(request.components)));
  const uint32_t batch = run.mode == BatchMode::kFull ? request.num_rows : request.batch_size;
  const double shrunk = static_cast<double>(run.rows) / request.num_rows;
  run.batch = std::clamp(static_cast<uint32_t>(std::lround(batch * shrunk)), 1U, run.rows);
  run.noise = request.noise_multiplier * request.clip * run.batch / batch;
  const double entries = static_cast<double>(run.options.steps) * (run.batch + kStepRows) *
                         static_cast<double>(run.components * (1 + request.layout.num_columns));
  const double fewer = std::max(1.0, entries / kMostEntries);
  run.options.steps =
      static_cast<uint64_t>(std::ceil(static_cast<double>(run.options.steps) / fewer));
  run.options.learning_rate = std::min(1.0, run.options.learning_rate * std::sqrt(fewer));
  run.noise /= std::sqrt(fewer);
  return run;
}

crypto::Prg ForecastStream(size_t seed, std::string_view purpose) {
  ByteWriter writer;
  writer.String("partita mixture forecast");
  writer.U64(seed);
  writer.String(purpose);
  return crypto::Prg(crypto::Key(crypto::Sha256Of(writer.bytes())));
}

// The groups that rows are made up of, and what models are compared with.
struct Truth {
  stats::mixture::Rows train;
  stats::mixture::Rows rows;
  stats::mixture::Values values;  // of the same rows
  double least_pairs = 0;         // the distance of pairs between two tables of its rows
};

Truth MakeTruth(const stats::mixture::Layout& layout, const ForecastRun& run, size_t seed) {
  crypto::Prg stream = ForecastStream(seed, "groups");
  stats::blr::Variates variates(stream);
  stats::mixture::VariationalOptions spread;
  spread.initial_stddev = kGroupSpread;
  const ArrayXXd theta =
      StartState(layout, std::min(kForecastGroups, run.components), spread, variates).mean;
  Truth truth;
  truth.train = MakeRows(layout, DrawRows(layout, theta, run.rows, variates));
  truth.values = DrawRows(layout, theta, kJudgedRows, variates);
  truth.rows = MakeRows(layout, truth.values);
  truth.least_pairs =
      PairDistance(layout, truth.values, DrawRows(layout, theta, kJudgedRows, variates));
  return truth;
}

Closeness JudgeState(const stats::mixture::Layout& layout, const Truth& truth,
                     const VariationalState& state, size_t seed) {
  crypto::Prg stream = ForecastStream(seed, "synthetic rows");
  stats::blr::Variates variates(stream);
  const stats::mixture::Values drawn =
      DrawRows(layout, DrawTheta(state, variates), kJudgedRows, variates);
  Closeness close;
  const auto marginals = CompareMarginals(layout, truth.values, drawn);
  for (const stats::mixture::MarginalDistance& marginal : marginals)
    close.columns += marginal.total_variation / static_cast<double>(marginals.size());
  close.pairs = PairDistance(layout, truth.values, drawn);
  close.log_density = PlugInLogDensity(layout, truth.rows, state);
  return close;
}

// With the same start, batches and eta whatever the noise.
VariationalState TrainMixture(const stats::mixture::Layout& layout, const ForecastRun& run,
                              const Truth& truth, double noise, VariationalState state,
                              size_t seed) {
  crypto::Prg batch_stream = ForecastStream(seed, "batches");
  crypto::Prg eta_stream = ForecastStream(seed, "eta");
  crypto::Prg noise_stream = ForecastStream(seed, "noise");
  stats::mixture::Batches batches(run.mode, run.rows, run.batch, 0, batch_stream);
  stats::blr::Variates eta(eta_stream), noises(noise_stream);
  const auto sum_at = [&](const ArrayXXd& theta, std::span<const uint32_t> batch) {
    ArrayXXd sum = ClippedGradientSum(layout, truth.train, batch, theta, run.clip);
    if (noise > 0) {
      for (Eigen::Index i = 0; i < sum.size(); ++i) sum.data()[i] += noise * noises.Normal();
    }
    return sum;
  };
  RunDpvi(layout, run.options, run.rows, sum_at, batches, eta, {}, state);
  return state;
}

void AddMean(const Closeness& one, Closeness& mean) {
  mean.columns += one.columns / kForecastSeeds;
  mean.pairs += one.pairs / kForecastSeeds;
  mean.log_density += one.log_density / kForecastSeeds;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::string PercentOf(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string RangeText(const std::vector<double>& shares) {
  const auto [least, most] = std::minmax_element(shares.begin(), shares.end());
  return fmt::format("{} ({} to {})", PercentOf(Median(shares)), PercentOf(*least),
                     PercentOf(*most));
}

constexpr char kWhatHelpsMixtures[] =
    "more rows, a larger epsilon, fewer columns or levels, fewer components, or larger batches";

}  // namespace

MixtureForecast ForecastMixture(const RunRequest& request) {
  const stats::mixture::Layout& layout = request.layout;
  const ForecastRun run = RunOf(request);
  MixtureForecast forecast;
  forecast.rows = run.rows;
  forecast.iterations = run.options.steps;
  for (size_t seed = 0; seed < kForecastSeeds; ++seed) {
    const Truth truth = MakeTruth(layout, run, seed);
    crypto::Prg stream = ForecastStream(seed, "start");
    stats::blr::Variates variates(stream);
    const VariationalState start = StartState(layout, run.components, run.options, variates);
    const Closeness before = JudgeState(layout, truth, start, seed);
    const auto trained = [&](double noise) {
      try {
        return JudgeState(layout, truth, TrainMixture(layout, run, truth, noise, start, seed),
                          seed);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::kBadData) throw;
        return before;  // parameters under which rows have no density: nothing was learned
      }
    };
    const Closeness without = trained(0), with = trained(run.noise);
    AddMean(before, forecast.untrained);
    AddMean(without, forecast.without_noise);
    AddMean(with, forecast.with_noise);
    const auto learned = [&](const Closeness& after) {
      const double all = before.pairs - truth.least_pairs;
      return all > 0 ? std::clamp((before.pairs - after.pairs) / all, 0.0, 1.0) : 0.0;
    };
    forecast.learned_without.push_back(learned(without));
    forecast.learned.push_back(learned(with));
  }
  return forecast;
}

double LearnedShare(const MixtureForecast& forecast) { return Median(forecast.learned); }

run::Forecast ForecastTexts(const RunRequest& request, const MixtureForecast& forecast) {
  run::Forecast texts;
  texts.helps = kWhatHelpsMixtures;
  const double learned = LearnedShare(forecast), without = Median(forecast.learned_without);
  texts.notes.push_back(fmt::format(
      "Forecast of usefulness, on made-up rows of {} groups that differ in every column (no data "
      "is read; {} seeds: the median, and from the least to the most): of the way from rows made "
      "without any data to rows like the real ones, synthetic rows go {}, and {} without noise. "
      "Real rows are of no such model, so it may be less.",
      std::min(kForecastGroups, request.components), kForecastSeeds, RangeText(forecast.learned),
      RangeText(forecast.learned_without)));
  const Closeness &before = forecast.untrained, &clear = forecast.without_noise,
                  &noisy = forecast.with_noise;
  texts.notes.push_back(fmt::format(
      "With noise, without it, and before the first iteration: total variation of the shares of "
      "one column {:.3f}, {:.3f}, {:.3f}; of pairs of columns {:.3f}, {:.3f}, {:.3f}; log density "
      "{:.3f}, {:.3f}, {:.3f} nats per row.",
      noisy.columns, clear.columns, before.columns, noisy.pairs, clear.pairs, before.pairs,
      noisy.log_density, clear.log_density, before.log_density));
  if (forecast.iterations < request.variational.steps) {
    texts.notes.push_back(fmt::format(
        "The forecast is made with {} rows and {} iterations, so that it takes seconds; steps and "
        "noise are such that what noise does stays the same.",
        forecast.rows, forecast.iterations));
  }
  const std::string lost = fmt::format(
      "synthetic rows would go {} of the way from rows made without any data to rows "
      "like the real ones, and {} without noise",
      PercentOf(learned), PercentOf(without));
  if (learned < kUselessShare) texts.useless = lost;
  if (without < kUselessShare) {
    texts.helps =
        "more iterations or a larger learning_rate, for even without noise this one "
        "learns too little; then " +
        texts.helps;
  }
  if (learned < kUselessShare || learned < (1 - kWarnLostShare) * without)
    texts.notes.push_back(fmt::format("WARNING: {}. What helps: {}.", lost, texts.helps));
  return texts;
}

}  // namespace partita::methods::mixture
