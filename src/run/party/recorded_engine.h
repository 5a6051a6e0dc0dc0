// Of rehearsals on made-up rows: an engine that does what another one does, and keeps what opens.
#pragma once

#include <memory>
#include <vector>

#include "mpc/engine.h"
#include "run/party/outcome.h"

namespace partita::run {

// What is revealed through the result is appended to `openings`, which must outlive it. Bits and
// oracles are not kept.
std::unique_ptr<mpc::Engine> MakeRecordedEngine(mpc::Engine& engine,
                                                std::vector<Opening>& openings);

}  // namespace partita::run
