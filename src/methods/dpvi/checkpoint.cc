#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/atomic_file.h"
#include "base/error.h"
#include "methods/dpvi/run.h"

namespace partita::methods::dpvi {

using Eigen::ArrayXXd;
using Eigen::Index;
namespace mixture = stats::mixture;

namespace {

constexpr std::string_view kMagic = "partita dpvi checkpoint 1";
constexpr char kNewest[] = "checkpoint", kBefore[] = "checkpoint.before";
constexpr uint32_t kMaxSide = 1u << 20;
constexpr uint64_t kMaxFileBytes = uint64_t{1} << 32;

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

crypto::Digest DigestOf(const mixture::VariationalState& state) {
  ByteWriter out;
  WriteState(out, state);
  return crypto::Sha256Of(out.bytes());
}

std::optional<Bytes> ReadIfThere(const std::filesystem::path& file) {
  std::error_code none;
  const auto size = std::filesystem::file_size(file, none);
  if (none) return {};
  if (size > kMaxFileBytes) {
    throw Error(ErrorCode::kBadInput, fmt::format("{} is too large", file.string()),
                "it is not a checkpoint of this run");
  }
  std::ifstream in(file, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(in), {});
}

}  // namespace

Bytes EncodeCheckpoint(const Checkpoint& checkpoint, const crypto::Digest& binding) {
  ByteWriter out;
  out.String(kMagic);
  out.Raw(binding);
  out.U64(checkpoint.openings);
  WriteState(out, checkpoint.state);
  const crypto::Digest digest = crypto::Sha256Of(out.bytes());
  out.Raw(digest);
  return out.Take();
}

Checkpoint DecodeCheckpoint(ByteView bytes, const crypto::Digest& binding) {
  const Error damaged(ErrorCode::kBadInput, "a checkpoint is damaged",
                      "remove the whole folder at every party and run anew, as a new release");
  try {
    crypto::Digest digest{};
    if (bytes.size() < digest.size()) throw Error(damaged);
    const ByteView content = bytes.first(bytes.size() - digest.size());
    digest = crypto::Sha256Of(content);
    if (!std::equal(digest.begin(), digest.end(), bytes.end() - digest.size()))
      throw Error(damaged);
    ByteReader in(content);
    if (in.String(kMagic.size()) != kMagic) throw Error(damaged);
    const ByteView bound_to = in.Raw(binding.size());
    if (!std::equal(binding.begin(), binding.end(), bound_to.begin())) {
      throw Error(ErrorCode::kRefused, "a checkpoint belongs to another study, plan or table",
                  "resume the study that made it, with the same tables");
    }
    Checkpoint checkpoint;
    checkpoint.openings = in.U64();
    mixture::VariationalState& state = checkpoint.state;
    state.step = in.U64();
    const uint32_t rows = in.U32(), cols = in.U32();
    if (rows > kMaxSide || cols > kMaxSide ||
        in.remaining() != uint64_t{6} * rows * cols * sizeof(double)) {
      throw Error(damaged);
    }
    for (ArrayXXd* matrix :
         {&state.mean, &state.log_scale, &state.of_mean.first, &state.of_mean.second,
          &state.of_log_scale.first, &state.of_log_scale.second}) {
      *matrix = ReadMatrix(in, rows, cols);
    }
    in.ExpectEnd();
    return checkpoint;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kPeerFault) throw Error(damaged);
    throw;
  }
}

CheckpointFiles::CheckpointFiles(std::filesystem::path folder, const crypto::Digest& binding)
    : folder_(std::move(folder)), binding_(binding) {}

void CheckpointFiles::Store(const Checkpoint& checkpoint) {
  const auto write = [](const std::filesystem::path& file, const Bytes& bytes) {
    WriteFileAtomically(file.string(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  };
  // A peer may not have come as far: the generation before is kept.
  if (const auto newest = ReadIfThere(folder_ / kNewest)) write(folder_ / kBefore, *newest);
  write(folder_ / kNewest, EncodeCheckpoint(checkpoint, binding_));
}

bool HasCheckpoint(const std::filesystem::path& folder) {
  if (folder.empty()) return false;
  try {
    const auto bytes = ReadIfThere(folder / kNewest);
    if (!bytes) return false;
    ByteReader in(*bytes);
    in.String(kMagic.size());
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
    if (const auto bytes = ReadIfThere(folder_ / name)) {
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
