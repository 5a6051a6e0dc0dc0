// Protocol `likelihood` over TLS on loopback: all parties and the dealer as processes, this one is
// the centre.
//
// BM_Evaluation: one evaluation as the optimiser makes it: weights from theta, their rounding, the
// request and the replies. BM_Fit: whole fits, with the optimiser and the count of the rank.
#include <benchmark/benchmark.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>

#include "methods/mle/likelihood/likelihood.h"
#include "methods/mle/likelihood/oracle_weights.h"
#include "methods/mle/moments/public_scale.h"
#include "mpc/dealer_engine.h"
#include "mpc/fixed_point.h"
#include "net/tls_transport.h"

namespace partita::methods::mle {
namespace {

constexpr int kIterations = 200;
constexpr int kFits = 3;

// p variables on factors of five (three at p = 9), with means.
struct Model {
  MleAnalysis analysis;
  LikelihoodTask task;
  double n = 0;
  Eigen::VectorXd mean;        // of z
  Eigen::MatrixXd covariance;  // of z
};

Model MakeModel(int p, double n) {
  const int per_factor = p == 9 ? 3 : 5;
  std::string syntax;
  for (int v = 0; v < p; ++v) {
    syntax += v % per_factor == 0 ? "\nf" + std::to_string(v / per_factor) + " =~ " : " + ";
    syntax += "x" + std::to_string(v);
  }
  Model model;
  stats::SemModelOptions options;
  options.family = stats::SemFamily::kCfa;
  options.meanstructure = true;
  model.analysis.options.name = "bench";
  model.analysis.options.function = "cfa";
  model.analysis.table = stats::BuildParameterTable(syntax, options);
  model.n = n;
  model.task.name = "bench";
  model.task.max_rows = static_cast<size_t>(n);
  model.task.max_values = model.task.max_gradients = 5 * kIterations;
  model.mean = Eigen::VectorXd::Constant(p, 0.1);
  model.covariance = Eigen::MatrixXd(p, p);
  for (int i = 0; i < p; ++i) {
    data::DesignColumn column;
    column.schema.name = model.analysis.table.observed[static_cast<size_t>(i)];
    column.schema.lower = -5;
    column.schema.upper = 5;
    model.analysis.variables.push_back(column);
    for (int j = 0; j < p; ++j) {
      const double shared = i / per_factor == j / per_factor ? 0.02 : 0.008;
      model.covariance(i, j) = i == j ? 0.04 : shared * (1 + 0.001 * (i + j));
    }
  }
  return model;
}

// Everything from party 0; sharing is not what is measured.
LikelihoodMoments Share(mpc::Engine& engine, const Model& model) {
  const auto p = static_cast<size_t>(model.mean.size());
  const int bits = model.task.fraction_bits;
  std::vector<Int128> count = {static_cast<Int128>(model.n)}, sums, cross;
  for (Eigen::Index i = 0; i < model.mean.size(); ++i) {
    sums.push_back(mpc::EncodeFixed(model.n * model.mean[i], bits));
    for (Eigen::Index j = 0; j < model.mean.size(); ++j) {
      cross.push_back(mpc::EncodeFixed(
          model.n * (model.covariance(i, j) + model.mean[i] * model.mean[j]), 2 * bits));
    }
  }
  const auto input = [&](const std::vector<Int128>& values, mpc::Shape shape, int fraction_bits) {
    mpc::PrivateMatrix matrix{0, shape, fraction_bits, model.n, nullptr};
    if (engine.self() == mpc::PartyIndex{0}) {
      matrix.read = [&values, cols = shape.cols](size_t first, size_t rows, Int128* out) {
        std::copy_n(values.begin() + static_cast<ptrdiff_t>(first * cols), rows * cols, out);
      };
    }
    return engine.Input({&matrix, 1}).front();
  };
  LikelihoodMoments out;
  for (size_t v = 0; v < p; ++v) out.variables.push_back(v);
  out.groups.push_back(
      {input(count, {1, 1}, 0), input(sums, {1, p}, bits), input(cross, {p, p}, 2 * bits)});
  return out;
}

// `num_parties` and the dealer as processes; this one is party 0.
void RunProcesses(size_t num_parties, const std::vector<mpc::Release>& releases,
                  const std::function<void(mpc::Engine&)>& body) {
  std::vector<crypto::Identity> identities;
  std::vector<net::Listener> listeners;
  net::Roster roster;
  for (size_t i = 0; i <= num_parties; ++i) {
    const std::string name = "process" + std::to_string(i);
    identities.push_back(crypto::MakeIdentity({name}));
    listeners.push_back(net::Listen("127.0.0.1", "0"));
    roster.push_back(
        {name, listeners.back().address, crypto::Fingerprint(*identities.back().certificate)});
  }
  std::vector<pid_t> children;
  for (size_t i = num_parties + 1; i-- > 0;) {
    const pid_t child = i == 0 ? 0 : fork();
    if (child != 0) {
      children.push_back(child);
      continue;
    }
    net::TlsOptions options;
    options.identity = identities[i];
    options.roster = roster;
    options.self = i;
    options.listener = std::move(listeners[i]);
    net::Channel channel(
        net::ConnectTls(std::move(options), Deadline::After(std::chrono::seconds(20))), Bytes{1},
        1);
    mpc::CountingReleaseGate gate;
    gate.Reserve(releases);
    const auto engine = mpc::MakeDealerEngine(channel, gate);
    body(*engine);
    if (i != 0) _exit(0);
  }
  for (const pid_t child : children) waitpid(child, nullptr, 0);
}

// range: p, parties, n, 1 with gradient.
void BM_Evaluation(benchmark::State& state) {
  const Model model =
      MakeModel(static_cast<int>(state.range(0)), static_cast<double>(state.range(2)));
  const bool gradient = state.range(3) != 0;
  const stats::StatisticsScale scale = PublicScale(model.analysis);
  const stats::RamModel ram = stats::PublicModel(model.analysis.table, scale);
  const auto d = static_cast<size_t>(stats::LayoutOf(ram).size());
  const auto rows = static_cast<size_t>(1 + ram.num_parameters);
  Eigen::VectorXd x = Eigen::VectorXd::Constant(ram.num_parameters, 0.5);
  mpc::OracleTask oracle{0,
                         WeightFractionBits(model.task),
                         kWeightSum,
                         {{"value", 1, 5000}, {"gradient", rows, 5000}}};
  RunProcesses(static_cast<size_t>(state.range(1)),
               {{"value", "", "centre", "exact", 5000}, {"gradient", "", "centre", "exact", 5000}},
               [&](mpc::Engine& engine) {
                 const mpc::Shape shape{d, 1};
                 mpc::PrivateMatrix column{0, shape, 60, model.n, nullptr};
                 if (engine.self() == mpc::PartyIndex{0}) {
                   column.read = [](size_t, size_t count, Int128* out) {
                     std::fill_n(out, count, Int128{1} << 50);
                   };
                 }
                 const mpc::Shared statistics = engine.Input({&column, 1}).front();
                 engine.RunOracle(statistics, oracle, [&](const mpc::OracleEvaluate& evaluate) {
                   const stats::LinearOracle ask =
                       RoundedOracle(evaluate, oracle.weight_fraction_bits, 60,
                                     Eigen::VectorXd::Ones(static_cast<Eigen::Index>(d)));
                   for (auto _ : state) {
                     const stats::LinearRows weights =
                         stats::LikelihoodRows(ram, scale, {model.n}, x, gradient);
                     benchmark::DoNotOptimize(ask(weights.weights));
                   }
                 });
               });
  state.counters["statistics"] = static_cast<double>(d);
  state.counters["rows"] = static_cast<double>(gradient ? rows : 1);
}
BENCHMARK(BM_Evaluation)
    ->ArgNames({"p", "parties", "n", "gradient"})
    ->Args({9, 2, 1'000, 0})
    ->Args({9, 2, 1'000, 1})
    ->Args({9, 5, 1'000, 0})
    ->Args({9, 5, 1'000, 1})
    ->Args({9, 5, 1'000'000, 1})
    ->Args({25, 5, 1'000, 0})
    ->Args({25, 5, 1'000, 1})
    ->Args({25, 5, 1'000'000, 1})
    ->Iterations(kIterations)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// range: p, parties, n.
void BM_Fit(benchmark::State& state) {
  const Model model =
      MakeModel(static_cast<int>(state.range(0)), static_cast<double>(state.range(2)));
  std::vector<mpc::Release> releases = LikelihoodReleases(model.analysis, model.task, "centre");
  for (mpc::Release& release : releases) release.max_count *= kFits;
  double evaluations = 0;
  RunProcesses(static_cast<size_t>(state.range(1)), releases, [&](mpc::Engine& engine) {
    SilentProgress progress;
    const auto fit = [&] {
      return FitByLikelihood(engine, model.analysis, model.task, Share(engine, model), progress);
    };
    if (engine.self() != mpc::PartyIndex{0}) {
      for (int i = 0; i < kFits; ++i) fit();
      return;
    }
    for (auto _ : state) {
      const std::optional<MleResult> result = fit();
      if (!result->fit.converged) state.SkipWithError("did not converge");
      evaluations += result->likelihood->usage.values + result->likelihood->usage.gradients;
    }
  });
  state.counters["evaluations"] = evaluations / kFits;
}
BENCHMARK(BM_Fit)
    ->ArgNames({"p", "parties", "n"})
    ->Args({9, 5, 1'000})
    ->Args({9, 5, 1'000'000})
    ->Args({25, 5, 1'000})
    ->Args({25, 5, 1'000'000})
    ->Iterations(kFits)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace partita::methods::mle

BENCHMARK_MAIN();
