#include "runtime/mpc_bench.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "crypto/certificate.h"
#include "crypto/random.h"
#include "mpc/compare.h"
#include "mpc/dealer_engine.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/definite.h"
#include "mpc/functions/division.h"
#include "mpc/functions/exponential.h"
#include "mpc/functions/extremes.h"
#include "mpc/functions/logarithm.h"
#include "mpc/functions/norm.h"
#include "mpc/functions/order.h"
#include "mpc/functions/reciprocal.h"
#include "mpc/functions/shuffle.h"
#include "mpc/functions/sigmoid.h"
#include "mpc/functions/softmax.h"
#include "mpc/functions/variates.h"
#include "mpc/ot/ot_engine.h"
#include "mpc/plan_engine.h"
#include "mpc/replicated_engine.h"
#include "mpc/shamir_engine.h"
#include "net/delayed_transport.h"
#include "net/tls_transport.h"

namespace partita::runtime {
namespace {

using mpc::Engine;
using mpc::Shape;
using mpc::Shared;

constexpr int kFractionBits = 40;
constexpr char kRelease[] = "bench";
constexpr char kDealer[] = "dealer", kReplicated[] = "replicated", kTransfers[] = "ot";
constexpr std::chrono::seconds kConnectTime(30);

// One operation on arrays of `shape`, values between `low` and `high`.
struct Workload {
  std::string name;
  Shape shape;
  double low, high;
  uint64_t entries;  // of the result
  std::function<void(Engine&, const Shared&)> run;
  bool needs_help = false;  // only where a dealer or a third party makes it cheap
};

void Multiplication(Engine& engine, const Shared& x, mpc::Product::Kind kind) {
  const mpc::Product product{kind, x, x};
  engine.Rescale(engine.Multiply({&product, 1}), kFractionBits);
}

mpc::PositiveValue Positive(const Shared& x, double smallest) { return {x, smallest}; }

// I + x.
mpc::DefiniteMatrix NearIdentity(Engine& engine, const Shared& x) {
  mpc::PublicMatrix identity;
  identity.fraction_bits = kFractionBits;
  identity.values.shape = x.shape;
  identity.values.values.resize(x.shape.rows * x.shape.cols);
  for (size_t i = 0; i < x.shape.rows; ++i)
    identity.values.values[i * (x.shape.cols + 1)] = Int128{1} << kFractionBits;
  return {engine.Add(engine.Public(identity), x)};
}

Shape Scaled(Shape shape, double scale) {
  const double rows = std::ceil(static_cast<double>(shape.rows) * scale);
  return {std::max<size_t>(1, static_cast<size_t>(rows)), shape.cols};
}

std::vector<Workload> Workloads(double scale) {
  const Shape million = Scaled({1'000'000, 1}, scale), many = Scaled({100'000, 1}, scale);
  const Shape thousand = Scaled({1'000, 1}, scale), table = Scaled({1'000, 20}, scale);
  // Stay square.
  const auto side = static_cast<size_t>(std::ceil(100 * std::sqrt(scale)));
  const Shape square{side, side};
  using Kind = mpc::Product::Kind;
  std::vector<Workload> all;
  all.push_back({"multiply", million, -1, 1, million.rows, [](Engine& engine, const Shared& x) {
                   Multiplication(engine, x, Kind::kElementwise);
                 }});
  all.push_back({"matrix product", square, -1, 1, side * side, [](Engine& engine, const Shared& x) {
                   Multiplication(engine, x, Kind::kMatrix);
                 }});
  const auto large_side = static_cast<size_t>(std::ceil(1000 * std::sqrt(scale)));
  const Shape large{large_side, large_side};
  all.push_back({"matrix product", large, -1, 1, large_side * large_side,
                 [](Engine& engine, const Shared& x) { Multiplication(engine, x, Kind::kMatrix); },
                 true});
  all.push_back({"truncate", many, -1, 1, many.rows, [](Engine& engine, const Shared& x) {
                   engine.Rescale({&x, 1}, kFractionBits / 2);
                 }});
  all.push_back({"open", many, -1, 1, many.rows, [](Engine& engine, const Shared& x) {
                   engine.Reveal(kRelease, {&x, 1}, mpc::kEverybody);
                 }});
  all.push_back({"compare", many, -1000, 1000, many.rows, [](Engine& engine, const Shared& x) {
                   mpc::IsNegative(engine, {&x, 1});
                 }});
  all.push_back({"equal", many, -1000, 1000, many.rows, [](Engine& engine, const Shared& x) {
                   mpc::IsZero(engine, {&x, 1});
                 }});
  all.push_back(
      {"less than a public number", many, -1000, 1000, many.rows,
       [](Engine& engine, const Shared& x) {
         const mpc::Comparison comparison = {x, mpc::ConstantLike(engine, x, 100, kFractionBits)};
         mpc::LessThan(engine, {&comparison, 1});
       }});
  all.push_back({"select", many, -1000, 1000, many.rows, [](Engine& engine, const Shared& x) {
                   // A condition that costs nothing: what is timed is the selection.
                   const mpc::SharedBits condition = engine.PublicBits(mpc::MakeBits(x.shape, 1));
                   const mpc::Selection selection = {condition, x, x};
                   mpc::Select(engine, {&selection, 1});
                 }});
  all.push_back({"row maximum", table, -50, 50, table.rows, [](Engine& engine, const Shared& x) {
                   mpc::RowMax(engine, {&x, 1});
                 }});
  all.push_back(
      {"column of row maximum", table, -50, 50, table.rows, [](Engine& engine, const Shared& x) {
         mpc::RowArgMax(engine, {&x, 1});
       }});
  all.push_back({"divide", thousand, 0.05, 50, thousand.rows, [](Engine& engine, const Shared& x) {
                   const mpc::Quotient value = {x, Positive(x, 0.05), 1000};
                   mpc::Divide(engine, {&value, 1}, kFractionBits);
                 }});
  for (const Shape& shape : {thousand, many}) {
    all.push_back({"reciprocal", shape, 0.05, 50, shape.rows, [](Engine& engine, const Shared& x) {
                     const mpc::PositiveValue value = Positive(x, 0.05);
                     mpc::Reciprocal(engine, {&value, 1}, kFractionBits);
                   }});
  }
  all.push_back({"inverse square root", thousand, 0.05, 50, thousand.rows,
                 [](Engine& engine, const Shared& x) {
                   const mpc::PositiveValue value = Positive(x, 0.05);
                   mpc::InverseRoot(engine, {&value, 1}, kFractionBits);
                 }});
  all.push_back(
      {"square root", thousand, 0.05, 50, thousand.rows, [](Engine& engine, const Shared& x) {
         const mpc::PositiveValue value = Positive(x, 0.05);
         mpc::Root(engine, {&value, 1}, kFractionBits);
       }});
  all.push_back({"exponential", many, -50, 0, many.rows, [](Engine& engine, const Shared& x) {
                   const mpc::BoundedAbove value = {x, 0};
                   mpc::Exponential(engine, {&value, 1}, kFractionBits);
                 }});
  all.push_back(
      {"logarithm", thousand, 0.05, 50, thousand.rows, [](Engine& engine, const Shared& x) {
         const mpc::PositiveValue value = Positive(x, 0.05);
         mpc::Log(engine, {&value, 1}, kFractionBits);
       }});
  all.push_back(
      {"logistic function", thousand, -50, 50, thousand.rows, [](Engine& engine, const Shared& x) {
         mpc::Sigmoid(engine, {&x, 1}, kFractionBits);
       }});
  all.push_back(
      {"row softmax", table, -50, 50, table.rows * table.cols, [](Engine& engine, const Shared& x) {
         mpc::RowSoftmax(engine, {&x, 1}, kFractionBits);
       }});
  all.push_back(
      {"row log-sum-exp", table, -50, 50, table.rows, [](Engine& engine, const Shared& x) {
         mpc::RowLogSumExp(engine, {&x, 1});
       }});
  all.push_back({"row norm", table, 0.05, 1, table.rows, [](Engine& engine, const Shared& x) {
                   const mpc::RowsWithNorm rows = {x, 0.1};
                   mpc::RowNorm(engine, {&rows, 1}, kFractionBits);
                 }});
  all.push_back(
      {"row clipping", table, -1, 1, table.rows * table.cols, [](Engine& engine, const Shared& x) {
         const mpc::RowsWithNorm rows = {x, 1};
         mpc::ClipRows(engine, {&rows, 1});
       }});
  const Shape twenty{20, 20};
  all.push_back({"factor", twenty, -0.01, 0.01, 400, [](Engine& engine, const Shared& x) {
                   const mpc::DefiniteMatrix matrix = NearIdentity(engine, x);
                   mpc::FactorDefinite(engine, {&matrix, 1});
                 }});
  all.push_back({"inverse", twenty, -0.01, 0.01, 400, [](Engine& engine, const Shared& x) {
                   const mpc::DefiniteMatrix matrix = NearIdentity(engine, x);
                   mpc::InvertDefinite(engine, {&matrix, 1}, kFractionBits);
                 }});
  all.push_back({"log-determinant", twenty, -0.01, 0.01, 1, [](Engine& engine, const Shared& x) {
                   const mpc::DefiniteMatrix matrix = NearIdentity(engine, x);
                   const mpc::Pivots pivots = {mpc::FactorDefinite(engine, {&matrix, 1})[0].pivots};
                   mpc::LogDeterminant(engine, {&pivots, 1}, kFractionBits);
                 }});
  all.push_back(
      {"solve", twenty, -0.01, 0.01, 20, [](Engine& engine, const Shared& x) {
         const mpc::DefiniteMatrix matrix = NearIdentity(engine, x);
         const Shared inverse = mpc::InvertDefinite(engine, {&matrix, 1}, kFractionBits)[0].inverse;
         const mpc::LinearSystem system = {inverse, engine.Slice(x, 0, 0, {20, 1}), 1};
         mpc::Solve(engine, {&system, 1}, kFractionBits);
       }});
  all.push_back({"cumulative sums", many, -1, 1, many.rows,
                 [](Engine& engine, const Shared& x) { mpc::CumulativeSums(engine, x); }});
  all.push_back({"random bits", many, -1, 1, many.rows, [](Engine& engine, const Shared& x) {
                   crypto::SystemRandom own;
                   engine.RandomBits(x.shape, 1, own);
                 }});
  all.push_back(
      {"uniform variates", thousand, -1, 1, thousand.rows, [](Engine& engine, const Shared& x) {
         crypto::SystemRandom own;
         mpc::UniformVariates(engine, x.shape, own);
       }});
  all.push_back(
      {"exponential variates", thousand, -1, 1, thousand.rows, [](Engine& engine, const Shared& x) {
         crypto::SystemRandom own;
         mpc::ExponentialVariates(engine, x.shape, own, kFractionBits);
       }});
  all.push_back(
      {"logistic variates", thousand, -1, 1, thousand.rows, [](Engine& engine, const Shared& x) {
         crypto::SystemRandom own;
         mpc::LogisticVariates(engine, x.shape, own, kFractionBits);
       }});
  const Shape rows{std::max<size_t>(2, thousand.rows), 1};  // one row is in any order
  all.push_back({"shuffle", rows, -1, 1, rows.rows, [](Engine& engine, const Shared& x) {
                   crypto::SystemRandom own;
                   mpc::ShuffleRows(engine, x, own);
                 }});
  return all;
}

std::vector<Workload> Chosen(const MpcBenchOptions& options) {
  std::vector<Workload> all = Workloads(options.scale);
  if (options.operations.empty()) return all;
  std::vector<Workload> chosen;
  for (const std::string& name : options.operations) {
    const size_t before = chosen.size();
    std::copy_if(all.begin(), all.end(), std::back_inserter(chosen),
                 [&](const Workload& workload) { return workload.name == name; });
    if (chosen.size() == before) {
      throw Error(ErrorCode::kUsage, fmt::format("there is no operation '{}' to measure", name),
                  fmt::format("one of: {}", fmt::join(BenchOperationNames(), ", ")));
    }
  }
  return chosen;
}

// Values of party 0, spread over [low, high].
Shared Values(Engine& engine, const Workload& workload) {
  const double bound = std::max(std::abs(workload.low), std::abs(workload.high));
  mpc::PrivateMatrix input{0, workload.shape, kFractionBits, bound, nullptr};
  if (engine.self() == mpc::PartyIndex{0}) {
    input.read = [&workload](size_t first, size_t count, Int128* out) {
      const size_t cols = workload.shape.cols;
      for (size_t i = 0; i < count * cols; ++i) {
        const uint64_t spread = (first * cols + i) * 0x9E3779B97F4A7C15u >> 11;
        const double unit = std::ldexp(static_cast<double>(spread), -53);
        out[i] =
            mpc::EncodeFixed(workload.low + (workload.high - workload.low) * unit, kFractionBits);
      }
    };
  }
  return engine.Input({&input, 1})[0];
}

std::vector<mpc::Release> Releases() {
  return {{kRelease, "numbers of a benchmark", "all", "exact", uint64_t{1} << 40}};
}

// Kills and collects what is left of them.
class Children {
 public:
  ~Children() {
    for (pid_t child : pids_) ::kill(child, SIGKILL);
    for (pid_t child : pids_) ::waitpid(child, nullptr, 0);
  }
  void Add(pid_t pid) { pids_.push_back(pid); }

 private:
  std::vector<pid_t> pids_;
};

struct Host {
  std::vector<crypto::Identity> identities;
  std::vector<net::Listener> listeners;
  net::Roster roster;
};

Host MakeHost(const BenchEngine& engine) {
  Host host;
  const size_t count = engine.num_parties + (engine.name == kDealer ? 1 : 0);
  for (size_t i = 0; i < count; ++i) {
    const std::string name = i < engine.num_parties ? fmt::format("party{}", i) : kDealer;
    host.identities.push_back(crypto::MakeIdentity({name}));
    host.listeners.push_back(net::Listen("127.0.0.1", "0"));
    host.roster.push_back({name, host.listeners.back().address,
                           crypto::Fingerprint(*host.identities.back().certificate)});
  }
  return host;
}

std::unique_ptr<Engine> MakeEngine(const BenchEngine& kind, net::Channel& channel,
                                   mpc::ReleaseGate& gate) {
  if (kind.name == kDealer) return mpc::MakeDealerEngine(channel, gate);
  if (kind.name == kReplicated) return mpc::MakeReplicatedEngine(channel, gate);
  if (kind.name == kTransfers) return mpc::MakeOtEngine(channel, gate);
  return mpc::MakeShamirEngine(channel, gate);
}

// Everything that one process does; `seconds` of every workload and repetition.
std::vector<std::vector<double>> RunProcess(const BenchEngine& kind, Host& host, size_t self,
                                            const std::vector<Workload>& workloads,
                                            const MpcBenchOptions& options,
                                            std::chrono::microseconds latency, Progress& progress) {
  net::TlsOptions tls;
  tls.identity = host.identities[self];
  tls.roster = host.roster;
  tls.self = self;
  tls.listener = std::move(host.listeners[self]);
  std::unique_ptr<net::Transport> transport =
      net::ConnectTls(std::move(tls), Deadline::After(kConnectTime), &progress);
  if (latency.count() > 0) transport = net::DelayTransport(std::move(transport), {latency, 0});
  net::Channel channel(std::move(transport), Bytes{1}, 1);
  channel.SetProgress(&progress);
  mpc::CountingReleaseGate gate;
  gate.Reserve(Releases());
  const std::unique_ptr<Engine> engine = MakeEngine(kind, channel, gate);
  std::vector<std::vector<double>> seconds(workloads.size());
  for (size_t w = 0; w < workloads.size(); ++w) {
    const Shared x = Values(*engine, workloads[w]);
    workloads[w].run(*engine, x);  // warms caches and connections
    for (size_t r = 0; r < options.repetitions; ++r) {
      const SteadyClock::time_point start = SteadyClock::now();
      workloads[w].run(*engine, x);
      seconds[w].push_back(SecondsSince(start));
    }
    progress.Step(w + 1, workloads.size());
  }
  return seconds;
}

std::vector<std::vector<double>> Measure(const BenchEngine& kind,
                                         const std::vector<Workload>& workloads,
                                         const MpcBenchOptions& options,
                                         std::chrono::microseconds latency, Progress& progress) {
  Host host = MakeHost(kind);
  Children children;
  for (size_t self = 1; self < host.roster.size(); ++self) {
    const pid_t child = ::fork();
    if (child < 0) throw Error(ErrorCode::kUsage, "cannot start another process");
    if (child > 0) {
      children.Add(child);
      continue;
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    int exit_code = 0;
    try {
      SilentProgress silent;
      RunProcess(kind, host, self, workloads, options, latency, silent);
    } catch (...) {  // party 0 sees that this process is gone
      exit_code = 1;
    }
    ::_exit(exit_code);
  }
  return RunProcess(kind, host, 0, workloads, options, latency, progress);
}

mpc::PhaseCost CostOf(const BenchEngine& kind, const Workload& workload) {
  mpc::CountingReleaseGate gate;
  gate.Reserve(Releases());
  mpc::PlanEngine engine(kind.name, kind.num_parties, &gate);
  const Shared x = Values(engine, workload);
  workload.run(engine, x);
  engine.BeginPhase("measured");
  workload.run(engine, x);
  return engine.phases().back();
}

uint64_t BytesFrom(const mpc::PhaseCost& cost, size_t first, size_t end) {
  uint64_t bytes = 0;
  for (size_t from = first; from < std::min(end, cost.links.size()); ++from) {
    for (const mpc::LinkCost& link : cost.links[from]) bytes += link.bytes;
  }
  return bytes;
}

// What one execution costs, from the engine's own description of its messages. With transfers the
// two parties do what a dealer would do, and then what they would do beside it.
void AddCosts(const BenchEngine& kind, const Workload& workload, MpcBenchRow& row) {
  const mpc::PhaseCost cost = CostOf(kind, workload);
  row.rounds = *std::max_element(cost.rounds.begin(), cost.rounds.end());
  row.online_bytes = BytesFrom(cost, 0, kind.num_parties);
  row.offline_bytes = BytesFrom(cost, kind.num_parties, cost.links.size());
  if (kind.name != kTransfers) return;
  const uint64_t all = row.online_bytes;
  row.online_bytes = BytesFrom(CostOf({kDealer, kind.num_parties}, workload), 0, kind.num_parties);
  row.offline_bytes = all - std::min(all, row.online_bytes);
}

// Some engines have too narrow a ring for some operations, which they say when they plan.
bool Supports(const BenchEngine& kind, const Workload& workload) {
  if (workload.needs_help && kind.name != kDealer && kind.name != kReplicated) return false;
  try {
    CostOf(kind, workload);
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kBadInput) throw;
    return false;
  }
}

std::string SizeText(Shape shape) {
  return shape.cols == 1 ? std::to_string(shape.rows)
                         : fmt::format("{} x {}", shape.rows, shape.cols);
}

void RequireOptions(const MpcBenchOptions& options) {
  if (options.repetitions == 0 || options.repetitions > 10'000) {
    throw Error(ErrorCode::kUsage, "the number of repetitions must be 1 to 10000");
  }
  if (!(options.scale > 0 && options.scale <= 1)) {
    throw Error(ErrorCode::kUsage, "the scale must be above 0 and at most 1");
  }
  if (options.latencies.empty() || options.engines.empty()) {
    throw Error(ErrorCode::kUsage, "nothing to measure: name at least one engine and one latency");
  }
}

}  // namespace

std::vector<BenchEngine> BenchEngines() {
  return {{kDealer, 2}, {kReplicated, 3}, {kTransfers, 2}, {"shamir", 3}};
}

std::vector<std::string> BenchOperationNames() {
  std::vector<std::string> names;
  for (const Workload& workload : Workloads(1)) {
    if (names.empty() || names.back() != workload.name) names.push_back(workload.name);
  }
  return names;
}

std::vector<MpcBenchRow> BenchMpc(const MpcBenchOptions& options, Progress& progress) {
  RequireOptions(options);
  const std::vector<Workload> chosen = Chosen(options);
  std::vector<MpcBenchRow> rows;
  for (const BenchEngine& kind : options.engines) {
    std::vector<Workload> workloads;
    std::copy_if(chosen.begin(), chosen.end(), std::back_inserter(workloads),
                 [&](const Workload& workload) { return Supports(kind, workload); });
    if (workloads.empty()) continue;
    for (std::chrono::microseconds latency : options.latencies) {
      progress.Phase(latency.count() == 0
                         ? fmt::format("{}, loopback", kind.name)
                         : fmt::format("{}, {} ms one way", kind.name,
                                       std::chrono::duration<double, std::milli>(latency).count()));
      std::vector<std::vector<double>> seconds =
          Measure(kind, workloads, options, latency, progress);
      for (size_t w = 0; w < workloads.size(); ++w) {
        MpcBenchRow row;
        row.engine = kind.name;
        row.operation = workloads[w].name;
        row.num_parties = kind.num_parties;
        row.latency = latency;
        row.size = SizeText(workloads[w].shape);
        row.entries = workloads[w].entries;
        std::sort(seconds[w].begin(), seconds[w].end());
        row.seconds = seconds[w][seconds[w].size() / 2];
        row.best_seconds = seconds[w].front();
        AddCosts(kind, workloads[w], row);
        rows.push_back(std::move(row));
      }
    }
  }
  return rows;
}

double LoadAverage() {
  double load = 0;
  return ::getloadavg(&load, 1) == 1 ? load : 0;
}

}  // namespace partita::runtime
