// What each party of a study of hidden rows ends with and sees.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "run/simulate/simulate.h"

namespace partita::run::hidden_lists {

inline const PartyEnd& EndOf(const std::vector<PartyEnd>& ends, const std::string& party) {
  for (const PartyEnd& end : ends) {
    if (end.party == party) return end;
  }
  throw Error(ErrorCode::kInternal, "no party " + party);
}

// All that a party is told, sends and receives.
inline std::string ViewOf(const PartyEnd& end) {
  if (end.error) return end.error->message();
  std::string view;
  for (const Opening& opening : end.outcome->openings) {
    view += opening.release_id + ":";
    for (const mpc::IntMatrix& matrix : opening.values) {
      for (const Int128 value : matrix.values)
        view += fmt::format(" {}", static_cast<int64_t>(value));
    }
    view += "\n";
  }
  for (const CheckOutcome& check : end.outcome->checks)
    view += fmt::format("{} {} {}\n", check.variable, check.rule, check.passed);
  for (const net::PhaseTraffic& phase : end.outcome->traffic) {
    view += fmt::format("{} {}:", phase.phase, phase.rounds);
    for (const net::LinkTraffic& link : phase.links)
      view += fmt::format(" {}/{}/{}/{}", link.messages_sent, link.bytes_sent,
                          link.messages_received, link.bytes_received);
    view += "\n";
  }
  return view +
         fmt::format("used {} result {}", end.outcome->used.size(), end.outcome->result != nullptr);
}

}  // namespace partita::run::hidden_lists
