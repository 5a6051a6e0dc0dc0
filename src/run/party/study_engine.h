// The engine that a study file names, over a connected channel, and what it costs.
#pragma once

#include <memory>

#include "mpc/cost.h"
#include "mpc/engine.h"
#include "net/channel.h"
#include "run/method/study.h"

namespace partita::run {

// Channel and gate must outlive the engine. The dealer's process gets the dealer's node.
std::unique_ptr<mpc::Engine> MakeStudyEngine(const Study& study, net::Channel& channel,
                                             mpc::ReleaseGate& gate);

// The same engine's costs, for the PlanEngine; without stored correlations.
std::unique_ptr<mpc::CostModel> CostModelOf(const Study& study);

// So many computing parties may pool what they have under engine `shamir`.
size_t ThresholdOf(const Study& study);

}  // namespace partita::run
