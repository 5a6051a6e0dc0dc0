#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "crypto/state_file.h"
#include "methods/mixture/run.h"
#include "methods/mixture/run_keys.h"

namespace partita::methods::mixture {

using Eigen::ArrayXXd;
using Eigen::Index;

namespace {

constexpr char kStateFile[] = "checkpoint", kMarksFile[] = "openings";
constexpr uint32_t kMaxSide = 1u << 20;

const crypto::StateKind& Kind() {
  static const crypto::StateKind kind = {
      "partita dpvi checkpoint 1", "a checkpoint",
      "remove the whole folder at every party and run anew, as a new release"};
  return kind;
}

const crypto::StateKind& MarksKind() {
  static const crypto::StateKind kind = {"partita dpvi openings 1", "the count of openings",
                                         Kind().remedy};
  return kind;
}

void Write(ByteWriter& out, const ArrayXXd& matrix) {
  for (Index i = 0; i < matrix.size(); ++i) out.F64(matrix.data()[i]);
}

ArrayXXd ReadMatrix(ByteReader& in, Index rows, Index cols) {
  ArrayXXd matrix(rows, cols);
  for (Index i = 0; i < matrix.size(); ++i) matrix.data()[i] = in.F64();
  return matrix;
}

void WriteState(ByteWriter& out, const stats::mixture::VariationalState& state) {
  out.U64(state.step);
  out.U32(static_cast<uint32_t>(state.mean.rows()));
  out.U32(static_cast<uint32_t>(state.mean.cols()));
  for (const ArrayXXd* matrix :
       {&state.mean, &state.log_scale, &state.of_mean.first, &state.of_mean.second,
        &state.of_log_scale.first, &state.of_log_scale.second}) {
    Write(out, *matrix);
  }
}

uint64_t StateBytes(uint64_t rows, uint64_t cols) { return 6 * rows * cols * sizeof(double); }

// The inverse of WriteState; all that is left of `in`. Throws kPeerFault as ByteReader does, and if
// it is not a state of these sides.
stats::mixture::VariationalState ReadVariational(ByteReader& in) {
  stats::mixture::VariationalState state;
  state.step = in.U64();
  const uint32_t rows = in.U32(), cols = in.U32();
  if (rows > kMaxSide || cols > kMaxSide || in.remaining() != StateBytes(rows, cols)) {
    throw Error(ErrorCode::kPeerFault, "the state of a run is damaged");
  }
  for (ArrayXXd* matrix :
       {&state.mean, &state.log_scale, &state.of_mean.first, &state.of_mean.second,
        &state.of_log_scale.first, &state.of_log_scale.second}) {
    *matrix = ReadMatrix(in, rows, cols);
  }
  return state;
}

// What a party says of itself.
struct Stand {
  uint64_t openings = 0, step = 0;
  Bytes digest;  // of its state
};

// One round. Empty at places of processes that do not compute.
std::vector<Stand> ExchangeStands(net::Channel& channel, const RunPlan& plan, size_t num_computing,
                                  const Checkpoint& own, const crypto::Digest& run) {
  const size_t self = channel.self(), processes = channel.num_parties();
  std::vector<Bytes> said(processes, Bytes(kStandBytes));
  ByteWriter out;
  out.Raw(run);
  out.U64(own.openings);
  out.U64(own.state.step);
  out.Raw(DigestOf(own.state));
  said[self] = out.Take();
  std::vector<net::Send> sends;
  std::vector<net::Receive> receives;
  for (size_t peer = 0; peer < processes; ++peer) {
    if (peer == self) continue;
    if (self < num_computing) sends.push_back({peer, said[self], 0, nullptr});
    if (peer >= num_computing) continue;
    net::Receive receive;
    receive.from = peer;
    receive.into = said[peer];
    receives.push_back(receive);
  }
  channel.Exchange(sends, receives);
  std::vector<Stand> stands(num_computing);
  for (size_t party = 0; party < num_computing; ++party) {
    ByteReader in(said[party]);
    const ByteView theirs = in.Raw(run.size());
    if (!std::equal(theirs.begin(), theirs.end(), run.begin(), run.end())) {
      throw Error(ErrorCode::kPeerFault,
                  fmt::format("party {} has other keys of this run than {}", channel.names()[party],
                              channel.names()[self]),
                  "start the study again at every party; if it stays so, compare versions");
    }
    Stand& stand = stands[party];
    stand.openings = in.U64();
    stand.step = in.U64();
    const ByteView digest = in.Raw(crypto::Digest{}.size());
    stand.digest.assign(digest.begin(), digest.end());
    if (stand.openings > plan.request.max_openings() || stand.step > stand.openings ||
        stand.step > plan.request.variational.steps) {
      throw Error(ErrorCode::kPeerFault,
                  fmt::format("{} says that it is where a run of this plan cannot be",
                              channel.names()[party]));
    }
  }
  return stands;
}

// One round among the computing parties: `sender` gives its state to whoever holds an older one.
void ShareState(net::Channel& channel, const std::vector<Stand>& stands, size_t sender,
                stats::mixture::VariationalState& state) {
  const size_t self = channel.self();
  ByteWriter out;
  WriteState(out, state);
  Bytes body = out.Take();  // as long everywhere
  std::vector<net::Send> sends;
  std::vector<net::Receive> receives;
  for (size_t party = 0; party < stands.size(); ++party) {
    if (stands[party].step == stands[sender].step) continue;
    if (self == sender) sends.push_back({party, body, 0, nullptr});
    if (self != party) continue;
    net::Receive receive;
    receive.from = sender;
    receive.into = body;
    receives.push_back(receive);
  }
  if (sends.empty() && receives.empty()) return;
  channel.Exchange(sends, receives);
  if (receives.empty()) return;
  ByteReader in(body);
  stats::mixture::VariationalState received = ReadVariational(in);
  const crypto::Digest digest = DigestOf(received);
  if (!std::equal(digest.begin(), digest.end(), stands[sender].digest.begin()) ||
      received.mean.rows() != state.mean.rows() || received.mean.cols() != state.mean.cols() ||
      !received.mean.allFinite() || !received.log_scale.allFinite()) {
    throw Error(ErrorCode::kPeerFault,
                fmt::format("{} sent another state than it had announced", channel.names()[sender]),
                "compare versions; start the study anew, as a new release");
  }
  state = std::move(received);
}

}  // namespace

crypto::Digest DigestOf(const stats::mixture::VariationalState& state) {
  ByteWriter out;
  WriteState(out, state);
  return crypto::Sha256Of(out.bytes());
}

Bytes EncodeCheckpoint(const Checkpoint& checkpoint, const crypto::Digest& binding) {
  ByteWriter out;
  out.U64(checkpoint.openings);
  WriteState(out, checkpoint.state);
  return crypto::EncodeState(Kind(), binding, out.bytes());
}

Checkpoint DecodeCheckpoint(ByteView bytes, const crypto::Digest& binding) {
  Checkpoint checkpoint;
  crypto::DecodeState(Kind(), bytes, binding, [&](ByteReader& in) {
    checkpoint.openings = in.U64();
    checkpoint.state = ReadVariational(in);
  });
  return checkpoint;
}

CheckpointFiles::CheckpointFiles(std::filesystem::path folder, const crypto::Digest& binding)
    : folder_(std::move(folder)), binding_(binding) {}

void CheckpointFiles::Store(const Checkpoint& checkpoint) const {
  crypto::WriteState(folder_ / kStateFile, EncodeCheckpoint(checkpoint, binding_));
}

void CheckpointFiles::Mark(uint64_t openings) const {
  crypto::CountFile(MarksKind(), folder_ / kMarksFile, binding_).Set(openings);
}

Checkpoint CheckpointFiles::Load(const stats::mixture::VariationalState& first) const {
  Checkpoint checkpoint{0, first};
  if (const auto bytes = crypto::ReadState(Kind(), folder_ / kStateFile))
    checkpoint = DecodeCheckpoint(bytes->Expose(), binding_);
  crypto::CountFile marks(MarksKind(), folder_ / kMarksFile, binding_);
  checkpoint.openings = std::max(checkpoint.openings, marks.LoadOrMake());
  return checkpoint;
}

bool HasRunFiles(const std::filesystem::path& folder) {
  return !folder.empty() && std::filesystem::exists(folder / kMarksFile) && HasKeyShares(folder);
}

Checkpoint AgreeOnCheckpoint(net::Channel& channel, const RunPlan& plan, size_t num_computing,
                             const Checkpoint& own, const crypto::Digest& run) {
  const std::vector<Stand> stands = ExchangeStands(channel, plan, num_computing, own, run);
  size_t newest = 0;
  Checkpoint agreed = own;
  for (size_t party = 0; party < num_computing; ++party) {
    if (stands[party].step > stands[newest].step) newest = party;
    agreed.openings = std::max(agreed.openings, stands[party].openings);
  }
  bool older = false;
  for (size_t party = 0; party < num_computing; ++party) {
    if (stands[party].step != stands[newest].step) {
      older = true;
    } else if (stands[party].digest != stands[newest].digest) {
      throw Error(ErrorCode::kPeerFault,
                  fmt::format("{} and {} hold different states of step {}", channel.names()[newest],
                              channel.names()[party], stands[party].step),
                  "compare versions; start the study anew, as a new release");
    }
  }
  if (channel.self() >= num_computing) {
    agreed.state.step = stands[newest].step;
  } else if (older) {
    ShareState(channel, stands, newest, agreed.state);
  }
  return agreed;
}

}  // namespace partita::methods::mixture
