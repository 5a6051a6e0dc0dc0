#include "methods/dpvi/run_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "crypto/kdf.h"
#include "crypto/state_file.h"

namespace partita::methods::dpvi {
namespace {

constexpr char kFileName[] = "key-shares";
constexpr size_t kKeyBytes = 32;
static_assert(kKeySharesBytes == 2 * kKeyBytes && kBatchShareBytes == kKeyBytes);

void AddInto(crypto::Key& key, ByteView share) {
  for (size_t i = 0; i < kKeyBytes; ++i) key.Expose()[i] ^= share[i];
}

crypto::Key ReadKey(ByteReader& in) {
  crypto::Key key;
  const ByteView bytes = in.Raw(kKeyBytes);
  std::copy(bytes.begin(), bytes.end(), key.Expose().begin());
  return key;
}

crypto::StateKind KindOf(const std::filesystem::path& file) {
  return {"partita dpvi key shares 2", fmt::format("the file of key shares {}", file.string()),
          "remove its folder: the run starts anew, as a new release"};
}

}  // namespace

KeyShares DrawKeyShares(crypto::RandomSource& random) {
  return {crypto::RandomKey(random), crypto::RandomKey(random)};
}

KeyShares KeptKeyShares(const std::filesystem::path& folder, const crypto::Digest& binding,
                        crypto::RandomSource& random) {
  const std::filesystem::path file = folder / kFileName;
  const crypto::StateKind kind = KindOf(file);
  KeyShares shares;
  if (const std::optional<Bytes> kept = crypto::ReadState(kind, file)) {
    crypto::DecodeState(kind, *kept, binding, [&](ByteReader& content) {
      shares = {ReadKey(content), ReadKey(content)};
    });
    return shares;
  }
  shares = DrawKeyShares(random);
  ByteWriter content;
  content.Raw(shares.batch.Expose());
  content.Raw(shares.public_key.Expose());
  crypto::WriteState(file, crypto::EncodeState(kind, binding, content.bytes()));
  return shares;
}

bool HasKeyShares(const std::filesystem::path& folder) {
  return std::filesystem::exists(folder / kFileName);
}

RunKeys AgreeOnKeys(net::Channel& channel, size_t num_computing, const KeyShares* own,
                    const crypto::Digest& binding) {
  channel.BeginPhase(kKeysPhase);
  const size_t self = channel.self();
  const bool computes = self < num_computing;
  if (computes != (own != nullptr)) {
    throw Error(ErrorCode::kUsage, "a computing party brings shares of the keys, a dealer none");
  }
  Secret<std::array<uint8_t, kKeySharesBytes>> sent;
  if (computes) {
    const auto middle = sent.Expose().begin() + kKeyBytes;
    std::copy_n(own->batch.Expose().begin(), kKeyBytes, sent.Expose().begin());
    std::copy_n(own->public_key.Expose().begin(), kKeyBytes, middle);
  }
  const size_t size = computes ? kKeySharesBytes : kBatchShareBytes;
  std::vector<Bytes> received(num_computing, Bytes(size));
  std::vector<net::Send> sends;
  std::vector<net::Receive> receives;
  for (size_t peer = 0; peer < channel.num_parties(); ++peer) {
    if (peer == self) continue;
    if (computes) {
      const size_t to_peer = peer < num_computing ? kKeySharesBytes : kBatchShareBytes;
      sends.push_back({peer, ByteView(sent.Expose()).first(to_peer), 0, nullptr});
    }
    if (peer >= num_computing) continue;
    net::Receive receive;
    receive.from = peer;
    receive.into = received[peer];
    receives.push_back(receive);
  }
  channel.Exchange(sends, receives);

  KeyShares sum;
  for (size_t party = 0; party < num_computing; ++party) {
    const ByteView shares = party == self ? ByteView(sent.Expose()) : ByteView(received[party]);
    AddInto(sum.batch, shares.first(kKeyBytes));
    if (computes) AddInto(sum.public_key, shares.subspan(kKeyBytes, kKeyBytes));
    Wipe(received[party].data(), received[party].size());
  }
  RunKeys keys;
  keys.batch = crypto::DeriveKey(sum.batch, "dpvi batch key", {binding});
  if (computes) keys.public_key = crypto::DeriveKey(sum.public_key, "dpvi public key", {binding});
  return keys;
}

crypto::Digest CheckpointBinding(const RunKeys& keys, const crypto::Digest& binding) {
  ByteWriter out;
  out.Raw(binding);
  for (const crypto::Key* key : {&keys.batch, &keys.public_key})
    out.Raw(crypto::DeriveKey(*key, "dpvi checkpoints", {binding}).Expose());
  return crypto::Sha256Of(out.bytes());
}

}  // namespace partita::methods::dpvi
