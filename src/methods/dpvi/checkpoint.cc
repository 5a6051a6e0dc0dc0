#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "crypto/state_file.h"
#include "methods/dpvi/run.h"

namespace partita::methods::dpvi {

using Eigen::ArrayXXd;
using Eigen::Index;
namespace mixture = stats::mixture;

namespace {

constexpr char kNewest[] = "checkpoint", kBefore[] = "checkpoint.before";
constexpr uint32_t kMaxSide = 1u << 20;

const crypto::StateKind& Kind() {
  static const crypto::StateKind kind = {
      "partita dpvi checkpoint 1", "a checkpoint",
      "remove the whole folder at every party and run anew, as a new release"};
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

void WriteState(ByteWriter& out, const mixture::VariationalState& state) {
  out.U64(state.step);
  out.U32(static_cast<uint32_t>(state.mean.rows()));
  out.U32(static_cast<uint32_t>(state.mean.cols()));
  for (const ArrayXXd* matrix :
       {&state.mean, &state.log_scale, &state.of_mean.first, &state.of_mean.second,
        &state.of_log_scale.first, &state.of_log_scale.second}) {
    Write(out, *matrix);
  }
}

}  // namespace

crypto::Digest DigestOf(const mixture::VariationalState& state) {
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
    mixture::VariationalState& state = checkpoint.state;
    state.step = in.U64();
    const uint32_t rows = in.U32(), cols = in.U32();
    if (rows > kMaxSide || cols > kMaxSide ||
        in.remaining() != uint64_t{6} * rows * cols * sizeof(double)) {
      throw crypto::DamagedState(Kind());
    }
    for (ArrayXXd* matrix :
         {&state.mean, &state.log_scale, &state.of_mean.first, &state.of_mean.second,
          &state.of_log_scale.first, &state.of_log_scale.second}) {
      *matrix = ReadMatrix(in, rows, cols);
    }
  });
  return checkpoint;
}

CheckpointFiles::CheckpointFiles(std::filesystem::path folder, const crypto::Digest& binding)
    : folder_(std::move(folder)), binding_(binding) {}

void CheckpointFiles::Store(const Checkpoint& checkpoint) {
  // A peer may not have come as far: the generation before is kept.
  if (const auto newest = crypto::ReadState(Kind(), folder_ / kNewest)) {
    crypto::WriteState(folder_ / kBefore, *newest);
  }
  crypto::WriteState(folder_ / kNewest, EncodeCheckpoint(checkpoint, binding_));
}

bool HasCheckpoint(const std::filesystem::path& folder) {
  if (folder.empty()) return false;
  try {
    const auto bytes = crypto::ReadState(Kind(), folder / kNewest);
    if (!bytes) return false;
    ByteReader in(*bytes);
    in.String(Kind().magic.size());
    in.Raw(crypto::Digest{}.size());
    in.U64();
    return in.U64() > 0;
  } catch (const Error&) {
    return false;  // Load says what is wrong with it
  }
}

std::vector<Checkpoint> CheckpointFiles::Load() const {
  std::vector<Checkpoint> checkpoints;
  for (const char* name : {kNewest, kBefore}) {
    if (const auto bytes = crypto::ReadState(Kind(), folder_ / name)) {
      checkpoints.push_back(DecodeCheckpoint(*bytes, binding_));
    }
  }
  return checkpoints;
}

Checkpoint AgreeOnCheckpoint(net::Channel& channel, size_t num_computing,
                             const std::vector<Checkpoint>& own, const Checkpoint& first,
                             const crypto::Digest& run) {
  constexpr size_t kGenerations = 2;
  ByteWriter out;
  uint64_t openings = 0;
  for (const Checkpoint& checkpoint : own) openings = std::max(openings, checkpoint.openings);
  out.Raw(run);
  out.U64(openings);
  for (size_t g = 0; g < kGenerations; ++g) {
    const bool there = g < own.size();
    out.U8(there ? 1 : 0);
    out.U64(there ? own[g].state.step : 0);
    out.Raw(there ? DigestOf(own[g].state) : crypto::Digest{});
  }
  const size_t self = channel.self(), processes = channel.num_parties();
  std::vector<Bytes> said(processes, Bytes(kStandBytes));
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

  struct Held {
    uint64_t step = 0;
    Bytes digest;
  };
  std::vector<std::vector<Held>> held(num_computing);
  Checkpoint agreed = first;
  for (size_t party = 0; party < num_computing; ++party) {
    ByteReader in(said[party]);
    const ByteView theirs = in.Raw(32);
    if (!std::equal(theirs.begin(), theirs.end(), run.begin(), run.end())) {
      throw Error(ErrorCode::kPeerFault,
                  fmt::format("party {} has other keys of this run than {}", channel.names()[party],
                              channel.names()[self]),
                  "start the study again at every party; if it stays so, compare versions");
    }
    agreed.openings = std::max(agreed.openings, in.U64());
    for (size_t g = 0; g < kGenerations; ++g) {
      const bool there = in.U8() == 1;
      Held one{in.U64(), {}};
      const ByteView digest = in.Raw(32);
      one.digest.assign(digest.begin(), digest.end());
      if (there) held[party].push_back(std::move(one));
    }
  }
  // The newest step that everybody holds.
  const auto find = [&](size_t party, uint64_t step) -> const Held* {
    for (const Held& one : held[party]) {
      if (one.step == step) return &one;
    }
    return nullptr;
  };
  const Held* best = nullptr;
  std::optional<Error> differ;
  for (const Held& candidate : held[0]) {
    bool everybody = best == nullptr || candidate.step > best->step;
    for (size_t party = 1; everybody && party < num_computing; ++party) {
      const Held* other = find(party, candidate.step);
      everybody = other != nullptr && other->digest == candidate.digest;
      if (other != nullptr && !everybody) {
        differ = Error(ErrorCode::kPeerFault,
                       fmt::format("{} and {} hold different states of step {}", channel.names()[0],
                                   channel.names()[party], candidate.step),
                       "compare versions; start the study anew, as a new release");
      }
    }
    if (everybody) best = &candidate;
  }
  if (best == nullptr && differ) throw Error(*differ);
  if (best == nullptr) return agreed;
  for (const Checkpoint& checkpoint : own) {
    if (checkpoint.state.step == best->step) agreed.state = checkpoint.state;
  }
  return agreed;
}

}  // namespace partita::methods::dpvi
