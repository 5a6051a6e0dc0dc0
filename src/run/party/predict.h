// How long a study takes and how much the network carries, before it runs. Never part of what is
// approved; the report compares it with what was counted.
#pragma once

#include <vector>

#include "run/method/study.h"
#include "study/plan/plan.h"

namespace partita::run {

// A place to run: the parties as processes of one machine, or each on its own host.
struct MachineModel {
  std::string name;               // "this machine"
  double latency_seconds = 0;     // of one message, one way, waking the receiver included
  double bytes_per_second = 0;    // of one directed link, encryption included
  double processes_per_core = 0;  // 0: one host per party, so that nothing is shared
};

// "this machine (simulation)" with two cores, then DefaultNetworks() of study/plan/plan.h.
std::vector<MachineModel> DefaultMachines(size_t num_processes);

// Bytes on all links: payload, frame headers, TLS records and handshakes.
uint64_t PredictWireBytes(const study::Plan& plan);

// From the receiver's first step to its last: connecting, reading, sharing, products, comparisons,
// network and fits. Rows of blocks that declare no count are taken as kAssumedRows each.
inline constexpr uint64_t kAssumedRows = 1000;
double ExpectedRows(const Study& study, size_t block);
double PredictSeconds(const Study& study, const study::Plan& plan, const MachineModel& machine);

std::vector<study::PlanPrediction> Predictions(const Study& study, const study::Plan& plan);

}  // namespace partita::run
