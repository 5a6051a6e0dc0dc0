// What an mle study file means for the protocol: who holds what, the model, the task, the releases.
// All of it is public and follows from the study file alone, so every party derives the same.
#pragma once

#include <string>
#include <vector>

#include "data/holding.h"
#include "data/partition.h"
#include "match/row_order.h"
#include "methods/mle/analysis.h"
#include "methods/mle/pooled_moments.h"
#include "mpc/release_gate.h"
#include "study/study_file.h"

namespace partita::runtime {

// Rows assumed at most in a block that declares no count; bounds the sums on the wire.
inline constexpr uint64_t kMaxUndeclaredRows = uint64_t{1} << 20;

struct MleStudy {
  study::StudyFile file;
  // The parties as the channel numbers them: computing parties in roster order, then the dealer if
  // there is one. Indices of the partition, the task and the engine are channel indices.
  std::vector<study::Party> parties;
  size_t num_computing = 0;
  size_t receiver = 0;

  data::Partition partition;
  data::RowColumns row_columns;
  methods::mle::MleAnalysis analysis;
  methods::mle::MomentsTask task;
  std::vector<match::SharedBlock> shared_blocks;
  std::vector<mpc::Release> releases;
};

// Checks everything that can be checked before data is read: the tiling, the model and its
// variables, the engine's number of parties, fewer declared rows than parameters. Throws kBadInput.
MleStudy PrepareMleStudy(study::StudyFile file);

// "north", "south", "dealer": by channel index.
std::vector<std::string> PartyNames(const MleStudy& study);
// Channel index. Throws kBadInput with "did you mean" if there is none.
size_t PartyByName(const MleStudy& study, const std::string& name);

}  // namespace partita::runtime
