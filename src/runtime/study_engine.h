// The engine that a study file names, over a connected channel.
#pragma once

#include <memory>

#include "mpc/engine.h"
#include "net/channel.h"
#include "runtime/study.h"

namespace partita::runtime {

// Channel and gate must outlive the engine. The dealer's process gets the dealer's node.
std::unique_ptr<mpc::Engine> MakeStudyEngine(const Study& study, net::Channel& channel,
                                             mpc::ReleaseGate& gate);

}  // namespace partita::runtime
