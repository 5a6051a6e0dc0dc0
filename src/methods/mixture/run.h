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
// Stop and resume (R-d). Openings are numbered from 0. Before the shares of a sum leave it, each
// party marks, durably, that this opening may happen (after 1000 of them several at a time: a
// thousandth of those that were made); it stores the state every `checkpoint_every` openings, at
// the end, and when a run ends with an error, and then takes back the marks of openings that it did
// not begin. Attempts to go on begin with the newest state that any party holds, behind the last
// opening that any party marked: an opening in between is lost to the training, counted as
// released, and never made again; its batch is skipped and its noise was never stored. Where one
// party is killed the others hold the state, so that its marks beyond it are lost, one of the first
// 2000 openings and a thousandth of more; where all are at once, also what was opened since the
// last stored state. A plan of T steps and R openings in reserve releases at most T + R sums
// however often it is interrupted, and no two of them share noise or a batch of the stream. A run
// that lost more than the reserve trains fewer than T steps: the caller must say so
// (RunResult::state.step).
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>

#include "crypto/hash.h"
#include "crypto/random.h"
#include "methods/mixture/mixture.h"
#include "net/channel.h"
#include "privacy/sampling/distributed_noise.h"
#include "stats/mixture/batches.h"
#include "stats/mixture/variational.h"

namespace partita::methods::mixture {

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
  // Openings beyond the steps that are charged like them and made only in the place of lost ones.
  uint64_t reserve = 0;

  uint64_t max_openings() const { return variational.steps + reserve; }
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

// The largest noise multiplier that the protocol's numbers hold: its draws are whole numbers of up
// to 100 bits, kGridBits of them behind the point.
double LargestNoise(const RunRequest& request);

// Throws kBadInput as CheckDesign, CheckOptions and Batches do, and for noise above LargestNoise.
RunPlan PlanRun(RunRequest request);

// The one release of a run, for the gate.
mpc::Release GradientRelease(const RunPlan& plan);

// Public, where a run stands.
struct Checkpoint {
  uint64_t openings = 0;                   // so many may have happened
  stats::mixture::VariationalState state;  // at a dealer only its number of steps
};

struct RunProgress {
  uint64_t openings = 0, steps = 0;                         // of all attempts
  const stats::mixture::VariationalState* state = nullptr;  // null at the dealer
  double step_seconds = 0;  // in the secure steps of this attempt so far, waiting included
};

// Of one process.
struct RunInputs {
  // At holders: the rows of the own features, in the agreed order.
  const stats::mixture::Rows* rows = nullptr;
  std::span<const uint8_t> neutral = {};    // by row: 1 where it contributes nothing, or empty
  const crypto::Key* batch_key = nullptr;   // every process
  const crypto::Key* public_key = nullptr;  // computing parties
  crypto::RandomSource* random = nullptr;   // noise parties
  std::optional<Checkpoint> start;          // none: from the beginning
  // So many openings may have happened from now on: more before they do, fewer only at the end of a
  // run. Both durable on return, called at computing parties only, and may be empty in tests.
  std::function<void(uint64_t openings)> mark;
  std::function<void(const Checkpoint&)> store;
  std::function<void(const RunProgress&)> after_opening;  // may be empty
};

struct RunResult {
  stats::mixture::VariationalState state;  // at a dealer only its number of steps
  uint64_t openings = 0;                   // made or counted as made, of all attempts
  uint32_t max_uses = 0;                   // of one record, over all of them
};

RunResult RunSecureDpvi(mpc::Engine& engine, const RunPlan& plan, const RunInputs& inputs);

// The state before the first opening: a function of the plan and the public key.
stats::mixture::VariationalState FirstState(const RunPlan& plan, const crypto::Key& public_key);

// Of all its numbers, to the last bit.
crypto::Digest DigestOf(const stats::mixture::VariationalState& state);

// What a party keeps of a run in a folder of its own, bound to a study: `binding` is a digest of
// whatever must not change between attempts (study file, table, keys).
class CheckpointFiles {
 public:
  CheckpointFiles(std::filesystem::path folder, const crypto::Digest& binding);
  // Durable on return.
  void Store(const Checkpoint& checkpoint) const;
  void Mark(uint64_t openings) const;
  // The stored state, or `first`, behind all openings that were marked; leaves the file of marks,
  // so that HasRunFiles from now on. Throws kBadInput for files that are none of these, kRefused
  // for those of another binding.
  Checkpoint Load(const stats::mixture::VariationalState& first) const;

 private:
  std::filesystem::path folder_;
  crypto::Digest binding_;
};

Bytes EncodeCheckpoint(const Checkpoint& checkpoint, const crypto::Digest& binding);
// Throws kBadInput or kRefused as Load.
Checkpoint DecodeCheckpoint(ByteView bytes, const crypto::Digest& binding);

// Whether the folder holds what keeps a run, of whatever study, from opening anything twice: shares
// of its keys and the file of marks. They are there before anything can open.
bool HasRunFiles(const std::filesystem::path& folder);

// Sent by every computing party to every other process: a digest of the run, openings, steps, and a
// digest of its state.
inline constexpr size_t kStandBytes = 32 + 8 + 8 + 32;

// Before a resume: all processes of the channel tell each other what they hold, one round. The
// newest state of any computing party (the first num_computing processes) holds, behind the largest
// number of openings that any of them counted; if somebody has an older one, the first party with
// the newest sends it, in one more round. run: of what every process, the dealer included, must
// have the same of, the key of the batches above all: products over other rows would open what the
// noise does not hide. own: Load, or the first state; not used at a dealer, which is told steps
// only. Throws kPeerFault if a party's run is another one, if two hold different states of the
// newest step, or for numbers beyond the plan's.
Checkpoint AgreeOnCheckpoint(net::Channel& channel, const RunPlan& plan, size_t num_computing,
                             const Checkpoint& own, const crypto::Digest& run);

}  // namespace partita::methods::mixture
