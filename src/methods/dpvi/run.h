// The whole of DPVI-VPD under secure computation: the loop of stats/mixture/dpvi.h around the
// secure step, the same code at every process.
//
// Public at all parties: parameters, variational state, eta, batches, the opened noisy sums; the
// dealer sees shapes and batches. Adam runs in the clear on the opened sums: post-processing.
//
// What is drawn where (R-a, R-b). Noise: each noise party, from the operating system, afresh for
// every opening. Batches: a stream under `batch_key`, which the parties make together and the
// analyst never sees. eta and the starting point: a stream under `public_key`.
//
// Stop and resume (R-d). Openings are numbered from 0. Before the first opening of a block of
// `checkpoint_every`, each party stores that the whole block may have happened, together with the
// state. A run that stops inside a block resumes from that state behind the block: the openings in
// between are lost to the optimisation, counted as released, and never made again; their batches
// are skipped and their noise was never stored. So a plan of T openings releases at most T sums
// however often it is interrupted, and no two openings share noise or a batch of the stream.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>

#include "crypto/hash.h"
#include "crypto/random.h"
#include "methods/dpvi/mixture.h"
#include "net/channel.h"
#include "privacy/sampling/distributed_noise.h"
#include "stats/mixture/batches.h"
#include "stats/mixture/variational.h"

namespace partita::methods::dpvi {

// What a study file says, and what follows from the schemas.
struct RunRequest {
  stats::mixture::Layout layout;
  std::vector<mpc::PartyIndex> party_index;  // of the layout's parties among the engine's
  uint32_t num_rows = 0;
  size_t components = 20;
  Formulation formulation = Formulation::kSums;
  stats::mixture::VariationalOptions variational;  // steps: openings in all
  stats::mixture::BatchMode batch_mode = stats::mixture::BatchMode::kPoisson;
  uint32_t batch_size = 100;
  double clip = 1;
  double noise_multiplier = 2.042;  // of all shares together, in units of the clipping norm
  std::vector<mpc::PartyIndex> noise_parties;
  double max_square = 1000;  // StepDesign
  // Poisson batches larger than the padded size are drawn again; the probability that any is. Goes
  // into delta.
  double redraw_probability = 1e-9;
  uint64_t checkpoint_every = 100;
};

// Public, the same at every process.
struct RunPlan {
  RunRequest request;
  std::vector<HolderModel> holders;
  StepDesign step;
  double sampling_rate = 1;
  uint32_t max_batch = 0;           // rows of every step, padded
  privacy::DistributedNoise noise;  // of every opening, on the grid of kGridBits
};

// Throws kBadInput as CheckDesign, CheckOptions and Batches do; kUsage for noise out of range.
RunPlan PlanRun(RunRequest request);

// The one release of a run, for the gate.
mpc::Release GradientRelease(const RunPlan& plan);

// Public, where a run stands.
struct Checkpoint {
  uint64_t openings = 0;  // so many may have happened
  stats::mixture::VariationalState state;
};

struct RunProgress {
  uint64_t openings = 0;
  const stats::mixture::VariationalState* state = nullptr;  // null at the dealer
  double step_seconds = 0;  // in the secure steps of this attempt so far, waiting included
};

// Of one process.
struct RunInputs {
  // At holders: the rows of the own features, in the agreed order.
  const stats::mixture::Rows* rows = nullptr;
  std::span<const uint8_t> neutral = {};         // by row: 1 where it contributes nothing, or empty
  const crypto::Key* batch_key = nullptr;        // every process
  const crypto::Key* public_key = nullptr;       // computing parties
  crypto::RandomSource* random = nullptr;        // noise parties
  std::optional<Checkpoint> start;               // none: from the beginning
  std::function<void(const Checkpoint&)> store;  // durable on return; may be empty in tests
  std::function<void(const RunProgress&)> after_opening;  // may be empty
};

struct RunResult {
  stats::mixture::VariationalState state;  // computing parties
  uint64_t openings = 0;                   // made or counted as made, of all attempts
  uint32_t max_uses = 0;                   // of one record, over all of them
};

RunResult RunSecureDpvi(mpc::Engine& engine, const RunPlan& plan, const RunInputs& inputs);

// The state before the first opening: a function of the plan and the public key.
stats::mixture::VariationalState FirstState(const RunPlan& plan, const crypto::Key& public_key);

// Of all its numbers, to the last bit.
crypto::Digest DigestOf(const stats::mixture::VariationalState& state);

// Two generations of a party's checkpoints in a folder of its own, bound to a study: `binding` is a
// digest of whatever must not change between attempts (study file, table snapshots, plan).
class CheckpointFiles {
 public:
  CheckpointFiles(std::filesystem::path folder, const crypto::Digest& binding);
  // Durable on return.
  void Store(const Checkpoint& checkpoint);
  // The newest first. Throws kBadInput for a file that is not a checkpoint, kRefused for one of
  // another binding.
  std::vector<Checkpoint> Load() const;

 private:
  std::filesystem::path folder_;
  crypto::Digest binding_;
};

Bytes EncodeCheckpoint(const Checkpoint& checkpoint, const crypto::Digest& binding);
// Throws kBadInput or kRefused as Load.
Checkpoint DecodeCheckpoint(ByteView bytes, const crypto::Digest& binding);

// Whether the folder holds a checkpoint, of whatever run, with which sums were opened for certain:
// its first block was over.
bool HasCheckpoint(const std::filesystem::path& folder);

// Sent by every computing party to every other process: a digest of the run, openings, and for two
// generations whether it is there, its step and its digest.
inline constexpr size_t kStandBytes = 32 + 8 + 2 * (1 + 8 + 32);

// Before a resume: all processes of the channel tell each other what they hold, one round, and
// agree on the newest state that every computing party (the first num_computing processes) holds,
// or the first one, and on the largest number of openings that any of them counted. run: of what
// every process, the dealer included, must have the same of, the key of the batches above all:
// products over other rows would open what the noise does not hide. Throws kPeerFault if a party's
// run is another one, or if no common state is left because two hold different ones of the same
// step. first: FirstState; empty at a dealer.
Checkpoint AgreeOnCheckpoint(net::Channel& channel, size_t num_computing,
                             const std::vector<Checkpoint>& own, const Checkpoint& first,
                             const crypto::Digest& run);

}  // namespace partita::methods::dpvi
