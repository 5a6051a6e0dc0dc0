#include "run/party/predict.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <thread>

#include "net/channel.h"

namespace partita::run {
namespace {

// TLS 1.3 with AES-GCM: header, content type and tag of a record of at most 2^14 bytes.
constexpr uint64_t kRecordOverhead = 22;
constexpr uint64_t kRecordBytes = 16384;
// Both directions of one handshake with mutual Ed25519 certificates; names change it by a few
// bytes.
constexpr uint64_t kHandshakeBytes = 1447;

// Measured on two slow cores, the first and the last two of these (docs/benchmarks.md, "Predictions").
constexpr double kStartSeconds = 36e-3;       // of a process: loading, plan, keys, certificates
constexpr double kHandshakeSeconds = 0.7e-3;  // of one connection at one end
constexpr double kCellSeconds = 70e-9;        // one cell read, checked and hashed
constexpr double kMessageSeconds = 25e-6;     // computed, sealed, sent and taken in
constexpr double kWakeSeconds = 125e-6;       // of a round, where the parties share a machine

// What computing on shares takes for each byte that a party sends or takes in: streams of masks, and
// sums, products and carries of what they cover. Bytes follow the operations, whatever the method.
double ByteSeconds(const std::string& engine) {
  if (engine == "shamir") return 13e-9;
  return 4e-9;
}

// Of one holder, by block; the slowest holder counts.
double ReadSeconds(const Study& study) {
  double slowest = 0;
  for (const data::Holder& holder : study.partition.holders) {
    double cells = 0;
    for (size_t b : study.partition.BlocksOf(holder.party))
      cells += ExpectedRows(study, b) * static_cast<double>(holder.columns.size() + 1);
    slowest = std::max(slowest, cells * kCellSeconds);
  }
  return slowest;
}

uint64_t BusiestLink(const study::PlanPhase& phase) {
  std::map<std::pair<std::string, std::string>, uint64_t> bytes;
  uint64_t most = 0;
  for (const study::PlanLink& link : phase.links)
    most = std::max(most, bytes[{link.from, link.to}] += link.bytes);
  return most;
}

// Of messages or bytes, those of the party that has most of them in a phase: sent and taken in, halved,
// since what they cost is counted at both ends.
double Busiest(const study::PlanPhase& phase, uint64_t study::PlanLink::*of) {
  std::map<std::string, double> counts;
  double most = 0;
  for (const study::PlanLink& link : phase.links) {
    for (const std::string& party : {link.from, link.to})
      most = std::max(most, counts[party] += static_cast<double>(link.*of) / 2);
  }
  return most;
}

// The dealer of stored correlations has done its part before the run.
uint64_t NumOnline(const study::Plan& plan) {
  uint64_t online = 0;
  for (const study::PlanParty& party : plan.parties) {
    const bool dealer =
        std::find(party.roles.begin(), party.roles.end(), "dealer") != party.roles.end();
    online += plan.preparation.empty() || !dealer ? 1 : 0;
  }
  return online;
}

}  // namespace

double ExpectedRows(const Study& study, size_t block) {
  return static_cast<double>(study.partition.blocks[block].count.value_or(kAssumedRows));
}

std::vector<MachineModel> DefaultMachines(size_t num_processes) {
  const double cores = std::max(1U, std::thread::hardware_concurrency());
  std::vector<MachineModel> machines = {
      {"this machine (simulation)", kWakeSeconds, 6e8, static_cast<double>(num_processes) / cores}};
  for (const study::NetworkModel& network : study::DefaultNetworks())
    machines.push_back({network.name, network.latency_seconds, network.bytes_per_second, 0});
  return machines;
}

uint64_t PredictWireBytes(const study::Plan& plan) {
  const uint64_t parties = NumOnline(plan);
  uint64_t bytes = parties * (parties - 1) / 2 * kHandshakeBytes;
  for (const study::PlanPhase& phase : plan.phases) {
    for (const study::PlanLink& link : phase.links) {
      const uint64_t framed = link.bytes + link.messages * net::kFrameHeaderBytes;
      bytes += framed + kRecordOverhead * (link.messages + framed / kRecordBytes);
    }
  }
  return bytes;
}

double PredictSeconds(const Study& study, const study::Plan& plan, const MachineModel& machine) {
  const double sharing = std::max(1.0, machine.processes_per_core);
  const auto peers = static_cast<double>(NumOnline(plan) - 1);
  const ComputeSeconds compute = study.Compute();
  // A method that says what its rows take (mle, marginals, mixture, sealed glm) has its arithmetic in there.
  const double byte_seconds = compute.everybody > 0 ? 0 : ByteSeconds(plan.engine);
  // A dealer works while the others wait.
  const double computing =
      std::max(1.0, machine.processes_per_core * static_cast<double>(study.num_computing) /
                        static_cast<double>(NumOnline(plan)));
  double seconds = sharing * (kStartSeconds + peers * kHandshakeSeconds + ReadSeconds(study) +
                              compute.everybody) +
                   2 * machine.latency_seconds + compute.receiver;
  for (const study::PlanPhase& phase : plan.phases) {
    seconds += computing * (static_cast<double>(phase.rounds) * machine.latency_seconds +
                            Busiest(phase, &study::PlanLink::messages) * kMessageSeconds +
                            Busiest(phase, &study::PlanLink::bytes) * byte_seconds) +
               static_cast<double>(BusiestLink(phase)) / machine.bytes_per_second;
  }
  return seconds;
}

std::vector<study::PlanPrediction> Predictions(const Study& study, const study::Plan& plan) {
  std::vector<study::PlanPrediction> predictions;
  for (const MachineModel& machine : DefaultMachines(NumOnline(plan))) {
    predictions.push_back(
        {machine.name, PredictSeconds(study, plan, machine), PredictWireBytes(plan)});
  }
  return predictions;
}

}  // namespace partita::run
