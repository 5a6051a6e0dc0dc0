#include "methods/mixture/run_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/error.h"
#include "crypto/kdf.h"
#include "crypto/state_file.h"
#include "net/joint_draw.h"

namespace partita::methods::mixture {
namespace {

constexpr char kFileName[] = "key-shares";
constexpr size_t kKeyBytes = 32;

crypto::Key ReadKey(ByteReader& in) {
  crypto::Key key;
  const ByteView bytes = in.Raw(kKeyBytes);
  std::copy(bytes.begin(), bytes.end(), key.Expose().begin());
  return key;
}

crypto::StateKind KindOf(const std::filesystem::path& file) {
  return {"partita dpvi key shares 4", "the file of key shares",
          fmt::format("remove its folder, {}: the run starts anew, as a new release",
                      file.parent_path().string())};
}

}  // namespace

KeyShares DrawKeyShares(crypto::RandomSource& random) {
  return {crypto::RandomKey(random), crypto::RandomKey(random)};
}

std::optional<KeptShares> LoadShares(const std::filesystem::path& folder,
                                     const crypto::Digest& binding) {
  const std::filesystem::path file = folder / kFileName;
  const crypto::StateKind kind = KindOf(file);
  const std::optional<SecretBytes> bytes = crypto::ReadState(kind, file);
  if (!bytes) return {};
  KeptShares kept;
  crypto::DecodeState(kind, bytes->Expose(), binding, [&](ByteReader& content) {
    kept.shares = {ReadKey(content), ReadKey(content)};
    for (crypto::Digest* digest : {&kept.keys, &kept.run}) {
      const ByteView bytes_of_it = content.Raw(digest->size());
      std::copy(bytes_of_it.begin(), bytes_of_it.end(), digest->begin());
    }
  });
  return kept;
}

bool HasKeyShares(const std::filesystem::path& folder) {
  return std::filesystem::exists(folder / kFileName);
}

void KeepShares(const std::filesystem::path& folder, const crypto::Digest& binding,
                const KeptShares& kept) {
  const std::filesystem::path file = folder / kFileName;
  ByteWriter content;
  content.Raw(kept.shares.batch.Expose());
  content.Raw(kept.shares.public_key.Expose());
  content.Raw(kept.keys);
  content.Raw(kept.run);
  crypto::WriteState(file, crypto::EncodeState(KindOf(file), binding, content.bytes()));
}

std::optional<bool> AllKeptTheSame(net::Channel& channel, size_t num_computing,
                                   const std::optional<KeptShares>& kept) {
  const size_t self = channel.self();
  if (self >= num_computing) return {};
  std::vector<Bytes> said(num_computing, Bytes(kKeptBytes));
  if (kept) {
    said[self][0] = 1;
    std::copy(kept->run.begin(), kept->run.end(), said[self].begin() + 1);
  }
  std::vector<net::Send> sends;
  std::vector<net::Receive> receives;
  for (size_t peer = 0; peer < num_computing; ++peer) {
    if (peer == self) continue;
    sends.push_back({peer, said[self], 0, nullptr});
    net::Receive receive;
    receive.from = peer;
    receive.into = said[peer];
    receives.push_back(receive);
  }
  channel.Exchange(sends, receives);
  return kept &&
         std::all_of(said.begin(), said.end(), [&](const Bytes& one) { return one == said[self]; });
}

RunKeys AgreeOnKeys(net::Channel& channel, size_t num_computing, const KeyShares* own,
                    const crypto::Digest& binding, ByteView run, crypto::RandomSource* random) {
  const std::array<net::JointKey, 2> keys = {
      {{"dpvi batch key", channel.num_parties()}, {"dpvi public key", num_computing}}};
  std::vector<crypto::Key> shares;
  if (own != nullptr) shares = {own->batch, own->public_key};
  const std::vector<crypto::Key> drawn =
      net::DrawTogether(channel, num_computing, keys, shares, run, random);
  RunKeys agreed;
  agreed.batch = crypto::DeriveKey(drawn[0], keys[0].purpose, {binding});
  if (own != nullptr) agreed.public_key = crypto::DeriveKey(drawn[1], keys[1].purpose, {binding});
  return agreed;
}

crypto::Digest CheckpointBinding(const RunKeys& keys, const crypto::Digest& binding) {
  ByteWriter out;
  out.Raw(binding);
  for (const crypto::Key* key : {&keys.batch, &keys.public_key})
    out.Raw(crypto::DeriveKey(*key, "dpvi checkpoints", {binding}).Expose());
  return crypto::Sha256Of(out.bytes());
}

}  // namespace partita::methods::mixture
