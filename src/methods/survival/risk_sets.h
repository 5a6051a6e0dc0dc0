// Who is at risk in every cell of time, on shares: sums of what holders count, all of them local.
//
// Cost      One input; nothing else communicates.
// Revealed  Nothing.
#pragma once

#include <vector>

#include "methods/survival/own_counts.h"
#include "methods/survival/task.h"
#include "mpc/engine.h"

namespace partita::methods::survival {

// cells x groups each.
struct RiskSets {
  // By holder, of this cell and those before it: rows with the event, and all that left.
  std::vector<mpc::Shared> events_until, left_until;
  // Of all holders.
  mpc::Shared events;   // d, in this cell
  mpc::Shared at_risk;  // n: who has not left before this cell
  mpc::Shared after;    // n - d
};

// own: at a holder; not used elsewhere.
RiskSets ShareRiskSets(mpc::Engine& engine, const Task& task, const OwnCounts& own);

// Local: row c of the result is row c - 1, the first one of zeros.
mpc::Shared Before(mpc::Engine& engine, const mpc::Shared& value);
mpc::Shared LastRow(mpc::Engine& engine, const mpc::Shared& value);

}  // namespace partita::methods::survival
