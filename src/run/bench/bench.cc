#include "run/bench/bench.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "crypto/certificate.h"
#include "crypto/random.h"
#include "mpc/ahead.h"
#include "mpc/dealer_engine.h"
#include "mpc/ot/ot_engine.h"
#include "mpc/plan_engine.h"
#include "mpc/replicated_engine.h"
#include "mpc/shamir_engine.h"
#include "net/delayed_transport.h"
#include "net/tls_transport.h"
#include "run/bench/workloads.h"

namespace partita::run {
namespace {

using mpc::Engine;
using mpc::PartyIndex;
using mpc::Shape;
using mpc::Shared;

constexpr char kDealer[] = "dealer", kReplicated[] = "replicated", kTransfers[] = "ot";
constexpr std::chrono::seconds kConnectTime(30);

std::vector<MpcWorkload> ChosenWorkloads(const MpcBenchOptions& options) {
  std::vector<MpcWorkload> all = MpcWorkloads(options.scale);
  if (options.operations.empty()) return all;
  std::vector<MpcWorkload> chosen;
  for (const std::string& name : options.operations) {
    const size_t before = chosen.size();
    std::copy_if(all.begin(), all.end(), std::back_inserter(chosen),
                 [&](const MpcWorkload& workload) { return workload.name == name; });
    if (chosen.size() == before) {
      throw Error(ErrorCode::kUsage, fmt::format("there is no operation '{}' to measure", name),
                  fmt::format("one of: {}", fmt::join(BenchOperationNames(), ", ")));
    }
  }
  return chosen;
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

Host MakeHost(const std::vector<std::string>& names) {
  Host host;
  for (const std::string& name : names) {
    host.identities.push_back(crypto::MakeIdentity({name}));
    host.listeners.push_back(net::Listen("127.0.0.1", "0"));
    host.roster.push_back({name, host.listeners.back().address,
                           crypto::Fingerprint(*host.identities.back().certificate)});
  }
  return host;
}

// What the processes of one engine have before they are forked.
struct Hosts {
  Host all;
  Host computing;  // where a dealer leaves, those that stay
};

Hosts MakeHosts(const BenchEngine& engine) {
  std::vector<std::string> names;
  for (size_t i = 0; i < engine.num_parties; ++i) names.push_back(fmt::format("party{}", i));
  Hosts hosts;
  if (engine.name == kDealer) hosts.computing = MakeHost(names);
  if (engine.name == kDealer) names.emplace_back(kDealer);
  hosts.all = MakeHost(names);
  return hosts;
}

std::unique_ptr<Engine> MakeBenchEngine(const BenchEngine& kind, net::Channel& channel,
                                        mpc::ReleaseGate& gate) {
  if (kind.name == kDealer) return mpc::MakeDealerEngine(channel, gate);
  if (kind.name == kReplicated) return mpc::MakeReplicatedEngine(channel, gate);
  if (kind.name == kTransfers) return mpc::MakeOtEngine(channel, gate);
  return mpc::MakeShamirEngine(channel, gate);
}

net::Channel Connect(Host& host, size_t self, std::chrono::microseconds latency,
                     Progress& progress) {
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
  return channel;
}

// Returns when every process of the channel has called it.
void Meet(net::Channel& channel) {
  const uint8_t mine = 0;
  Bytes theirs(channel.num_parties());
  std::vector<net::Send> sends;
  std::vector<net::Receive> receives;
  for (PartyIndex peer = 0; peer < channel.num_parties(); ++peer) {
    if (peer == channel.self()) continue;
    net::Send& send = sends.emplace_back();
    send.to = peer;
    send.bytes = ByteView(&mine, 1);
    net::Receive& receive = receives.emplace_back();
    receive.from = peer;
    receive.into = std::span(theirs).subspan(peer, 1);
  }
  channel.Exchange(sends, receives);
}

// Seconds of every execution of one workload, sorted at the end.
struct Timing {
  std::vector<double> together;         // correlations are made while it runs
  std::vector<double> offline, online;  // made before, and used; empty where nothing can be
};

// One process of an engine while it is measured.
class BenchProcess {
 public:
  BenchProcess(const BenchEngine& kind, Hosts& hosts, size_t self,
               std::chrono::microseconds latency, const MpcBenchOptions& options,
               Progress& progress)
      : kind_(kind),
        options_(options),
        computes_(self < kind.num_parties),
        all_(Connect(hosts.all, self, latency, progress)) {
    gate_.Reserve(WorkloadReleases());
    engine_ = MakeBenchEngine(kind_, all_, gate_);
    if (kind_.name == kDealer && computes_) {
      computing_.emplace(Connect(hosts.computing, self, latency, progress));
    }
  }

  Timing Run(const MpcWorkload& workload) {
    Timing timing;
    const Shared x = WorkloadValues(*engine_, workload);
    workload.run(*engine_, x);  // warms caches and connections
    for (size_t r = 0; r < options_.repetitions; ++r) {
      const SteadyClock::time_point start = SteadyClock::now();
      workload.run(*engine_, x);
      timing.together.push_back(SecondsSince(start));
    }
    if (kind_.name != kDealer && kind_.name != kTransfers) return timing;
    RunApart(workload, timing);
    for (size_t r = 0; r < options_.repetitions; ++r) RunApart(workload, timing);
    // The first warms, as above.
    timing.offline.erase(timing.offline.begin());
    if (computes_) timing.online.erase(timing.online.begin());
    return timing;
  }

 private:
  // Correlations for one execution, from when all begin until all have theirs; then with them.
  void RunApart(const MpcWorkload& workload, Timing& timing) {
    const auto body = [&](Engine& engine) {
      workload.run(engine, WorkloadValues(engine, workload));
    };
    Meet(all_);
    const SteadyClock::time_point prepare = SteadyClock::now();
    mpc::AheadPackage package;
    if (!computes_) {
      mpc::DealAhead<mpc::Ring128>(all_, body);
    } else if (kind_.name == kDealer) {
      package = mpc::ReceiveFromDealer<mpc::Ring128>(all_, body);
    } else {
      package = mpc::MakeByTransfers<mpc::Ring128>(all_, random_, body);
    }
    Meet(all_);
    timing.offline.push_back(SecondsSince(prepare));
    if (!computes_) return;
    net::Channel& channel = computing_ ? *computing_ : all_;
    const std::unique_ptr<Engine> engine =
        computing_ ? mpc::MakeDealerEngineAhead(channel, gate_, std::move(package))
                   : mpc::MakeOtEngineAhead(channel, gate_, std::move(package));
    const Shared x = WorkloadValues(*engine, workload);
    Meet(channel);
    const SteadyClock::time_point start = SteadyClock::now();
    workload.run(*engine, x);
    timing.online.push_back(SecondsSince(start));
  }

  const BenchEngine& kind_;
  const MpcBenchOptions& options_;
  bool computes_;
  crypto::SystemRandom random_;
  net::Channel all_;
  std::optional<net::Channel> computing_;
  mpc::CountingReleaseGate gate_;
  std::unique_ptr<Engine> engine_;
};

std::vector<Timing> RunProcess(const BenchEngine& kind, Hosts& hosts, size_t self,
                               const std::vector<MpcWorkload>& workloads,
                               const MpcBenchOptions& options, std::chrono::microseconds latency,
                               Progress& progress) {
  BenchProcess process(kind, hosts, self, latency, options, progress);
  std::vector<Timing> timings;
  for (const MpcWorkload& workload : workloads) {
    timings.push_back(process.Run(workload));
    progress.Step(timings.size(), workloads.size());
  }
  return timings;
}

std::vector<Timing> Measure(const BenchEngine& kind, const std::vector<MpcWorkload>& workloads,
                            const MpcBenchOptions& options, std::chrono::microseconds latency,
                            Progress& progress) {
  Hosts hosts = MakeHosts(kind);
  Children children;
  for (size_t self = 1; self < hosts.all.roster.size(); ++self) {
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
      RunProcess(kind, hosts, self, workloads, options, latency, silent);
    } catch (...) {  // party 0 sees that this process is gone
      exit_code = 1;
    }
    ::_exit(exit_code);
  }
  return RunProcess(kind, hosts, 0, workloads, options, latency, progress);
}

mpc::PhaseCost CostOf(const BenchEngine& kind, const MpcWorkload& workload) {
  mpc::CountingReleaseGate gate;
  gate.Reserve(WorkloadReleases());
  mpc::PlanEngine engine(kind.name, kind.num_parties, &gate);
  const Shared x = WorkloadValues(engine, workload);
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
void AddCosts(const BenchEngine& kind, const MpcWorkload& workload, MpcBenchRow& row) {
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
bool Supports(const BenchEngine& kind, const MpcWorkload& workload) {
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

double MedianOf(std::vector<double>& seconds) {
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

void AddTimes(Timing timing, MpcBenchRow& row) {
  row.seconds = MedianOf(timing.together);
  row.best_seconds = timing.together.front();
  row.online_seconds = row.seconds;
  if (timing.online.empty()) return;
  row.offline_seconds = MedianOf(timing.offline);
  row.online_seconds = MedianOf(timing.online);
}

}  // namespace

std::vector<BenchEngine> BenchEngines() {
  return {{kDealer, 2}, {kReplicated, 3}, {kTransfers, 2}, {"shamir", 3}};
}

std::vector<std::string> BenchOperationNames() {
  std::vector<std::string> names;
  for (const MpcWorkload& workload : MpcWorkloads(1)) {
    if (names.empty() || names.back() != workload.name) names.push_back(workload.name);
  }
  return names;
}

std::vector<MpcBenchRow> BenchMpc(const MpcBenchOptions& options, Progress& progress) {
  RequireOptions(options);
  const std::vector<MpcWorkload> chosen = ChosenWorkloads(options);
  std::vector<MpcBenchRow> rows;
  for (const BenchEngine& kind : options.engines) {
    std::vector<MpcWorkload> workloads;
    std::copy_if(chosen.begin(), chosen.end(), std::back_inserter(workloads),
                 [&](const MpcWorkload& workload) { return Supports(kind, workload); });
    if (workloads.empty()) continue;
    for (std::chrono::microseconds latency : options.latencies) {
      progress.Phase(latency.count() == 0
                         ? fmt::format("{}, loopback", kind.name)
                         : fmt::format("{}, {} ms one way", kind.name,
                                       std::chrono::duration<double, std::milli>(latency).count()));
      const std::vector<Timing> timings = Measure(kind, workloads, options, latency, progress);
      for (size_t w = 0; w < workloads.size(); ++w) {
        MpcBenchRow row;
        row.engine = kind.name;
        row.operation = workloads[w].name;
        row.num_parties = kind.num_parties;
        row.latency = latency;
        row.size = SizeText(workloads[w].shape);
        row.entries = workloads[w].entries;
        AddTimes(timings[w], row);
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

}  // namespace partita::run
