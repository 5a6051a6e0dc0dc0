// How long the messages of a plan take on a network.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/text_table.h"
#include "study/plan/plan.h"

namespace partita::study {
namespace {

// Bytes on the directed link that carries most of a phase.
uint64_t BusiestLink(const PlanPhase& phase) {
  std::map<std::pair<std::string_view, std::string_view>, uint64_t> bytes;
  uint64_t most = 0;
  for (const PlanLink& link : phase.links) {
    uint64_t& sum = bytes[{link.from, link.to}];
    sum += link.bytes;
    most = std::max(most, sum);
  }
  return most;
}

}  // namespace

std::vector<NetworkModel> DefaultNetworks() {
  return {{"local network, 0.1 ms, 1 Gbit/s", 1e-4, 1.25e8},
          {"between cities, 20 ms, 100 Mbit/s", 2e-2, 1.25e7}};
}

double EstimateSeconds(const PlanPhase& phase, const NetworkModel& network) {
  return static_cast<double>(phase.rounds) * network.latency_seconds +
         static_cast<double>(BusiestLink(phase)) / network.bytes_per_second;
}

double EstimateSeconds(const Plan& plan, const NetworkModel& network) {
  double seconds = 0;
  for (const PlanPhase& phase : plan.phases) seconds += EstimateSeconds(phase, network);
  return seconds;
}

double EstimateSeconds(const PlanAlternative& alternative, const NetworkModel& network) {
  return static_cast<double>(alternative.rounds) * network.latency_seconds +
         static_cast<double>(alternative.busiest_bytes) / network.bytes_per_second;
}

PlanAlternative AlternativeOf(const Plan& plan, std::string schedule, std::string result) {
  PlanAlternative alternative;
  alternative.schedule = std::move(schedule);
  alternative.result = std::move(result);
  const PlanTotals totals = Totals(plan);
  alternative.rounds = totals.rounds;
  alternative.bytes = totals.bytes;
  for (const PlanPhase& phase : plan.phases) alternative.busiest_bytes += BusiestLink(phase);
  return alternative;
}

std::string SlowestPhase(const Plan& plan, const NetworkModel& network) {
  const auto slowest = std::max_element(
      plan.phases.begin(), plan.phases.end(), [&](const PlanPhase& a, const PlanPhase& b) {
        return EstimateSeconds(a, network) < EstimateSeconds(b, network);
      });
  const double whole = EstimateSeconds(plan, network);
  if (slowest == plan.phases.end() || whole <= 0) return "";
  const double seconds = EstimateSeconds(*slowest, network);
  const double waiting = static_cast<double>(slowest->rounds) * network.latency_seconds;
  const auto percent = [](double part, double of) {
    return std::to_string(static_cast<int>(std::lround(100 * part / of))) + " %";
  };
  return network.name + ": " + percent(seconds, whole) + " is the phase '" + slowest->name +
         "', and " +
         (2 * waiting >= seconds
              ? percent(waiting, seconds) + " of that is the way of " +
                    FormatCount(slowest->rounds) + " rounds of messages, one after the other."
              : percent(seconds - waiting, seconds) + " of that is sending " +
                    FormatCount(BusiestLink(*slowest)) + " bytes over the busiest link.");
}

}  // namespace partita::study
