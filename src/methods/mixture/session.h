// What the processes of a run tell each other before it begins: their keys, and where to go on.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "methods/mixture/run.h"
#include "methods/mixture/run_keys.h"

namespace partita::methods::mixture {

struct SessionInput {
  size_t num_computing = 0;
  crypto::Digest study{};  // the same at every process
  crypto::Digest own{};    // of the study and this party's rows: what its files are bound to
  // Where this party keeps its key shares and checkpoints; empty: nothing is kept.
  std::filesystem::path folder;
  crypto::RandomSource* random = nullptr;  // computing parties
  std::string run;                         // public, of this run alone
};

struct Session {
  RunKeys keys;
  Checkpoint start;                      // openings 0: from the beginning
  std::optional<CheckpointFiles> files;  // computing parties that keep them
};

// Phase kKeysPhase, four rounds: who has kept its shares, the keys (two rounds; run_keys.h), then
// what every computing party holds (kStandBytes to every other process); a fifth where a party
// lacks the newest state. Throws kPeerFault if the keys of an earlier attempt do not come out
// again; as LoadShares, CheckpointFiles::Load and AgreeOnCheckpoint.
Session BeginSession(net::Channel& channel, const RunPlan& plan, const SessionInput& input);

}  // namespace partita::methods::mixture
