// Planned and counted messages of a rehearsal: see rehearsal.h.
#include <algorithm>
#include <map>
#include <tuple>

#include "run/rehearse/rehearsal.h"

namespace partita::run {
namespace {

struct LinkCost {
  uint64_t messages = 0, bytes = 0;
  bool operator==(const LinkCost&) const = default;
};

// What was sent, by phase, sender and receiver.
using Links = std::map<std::tuple<std::string, std::string, std::string>, LinkCost>;

void AddLink(const std::string& phase, const std::string& from, const std::string& to,
             const LinkCost& cost, Links& links) {
  if (cost.messages == 0) return;
  LinkCost& link = links[{phase, from, to}];
  link.messages += cost.messages;
  link.bytes += cost.bytes;
}

Links PlannedLinks(const study::Plan& plan) {
  Links links;
  for (const study::PlanPhase& phase : plan.phases) {
    for (const study::PlanLink& link : phase.links)
      AddLink(phase.name, link.from, link.to, {link.messages, link.bytes}, links);
  }
  return links;
}

Links CountedLinks(const std::vector<PartyEnd>& ends) {
  Links links;
  for (const PartyEnd& end : ends) {
    for (const net::PhaseTraffic& phase : end.outcome->traffic) {
      for (size_t peer = 0; peer < phase.links.size(); ++peer) {
        const net::LinkTraffic& link = phase.links[peer];
        AddLink(phase.phase, end.party, ends[peer].party, {link.messages_sent, link.bytes_sent},
                links);
      }
    }
  }
  return links;
}

CostTotals SumOfLinks(const Links& links, uint64_t rounds) {
  CostTotals totals{rounds, 0, 0};
  for (const auto& [link, cost] : links) {
    totals.messages += cost.messages;
    totals.bytes += cost.bytes;
  }
  return totals;
}

uint64_t DeepestRounds(const std::vector<PartyEnd>& ends) {
  uint64_t deepest = 0;
  for (const PartyEnd& end : ends) {
    uint64_t rounds = 0;
    for (const net::PhaseTraffic& phase : end.outcome->traffic) rounds += phase.rounds;
    deepest = std::max(deepest, rounds);
  }
  return deepest;
}

// Every link that was used is planned, with as many messages and bytes at least.
bool Within(const Links& counted, const Links& planned) {
  return std::all_of(counted.begin(), counted.end(), [&](const auto& link) {
    const auto plan = planned.find(link.first);
    return plan != planned.end() && link.second.messages <= plan->second.messages &&
           link.second.bytes <= plan->second.bytes;
  });
}

}  // namespace

CostAgreement CompareCosts(const Study& study, const std::vector<PartyEnd>& ends) {
  const study::Plan& plan = ends.front().outcome->plan;
  const Links planned = PlannedLinks(plan), counted = CountedLinks(ends);
  CostAgreement costs;
  costs.planned = SumOfLinks(planned, study::Totals(plan).rounds);
  costs.counted = SumOfLinks(counted, DeepestRounds(ends));
  costs.plan = study.Messages();
  switch (costs.plan) {
    case MessagesPlanned::kExactly:
      costs.agree = planned == counted && costs.planned.rounds == costs.counted.rounds;
      break;
    case MessagesPlanned::kAtMost:
      costs.agree = Within(counted, planned) && costs.counted.rounds <= costs.planned.rounds;
      break;
    case MessagesPlanned::kNot:
      costs.agree = true;
      break;
  }
  return costs;
}

}  // namespace partita::run
