#include "net/joint_draw.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "crypto/hash.h"

namespace partita::net {
namespace {

constexpr size_t kKeyBytes = 32;
static_assert(kCommitmentBytes == sizeof(crypto::Digest));
static_assert(kOpeningBytes == 3 * kKeyBytes);

// What a process says of one key in the second round: share, nonce, digest of all commitments.
using Opening = std::array<uint8_t, kOpeningBytes>;

crypto::Digest CommitmentTo(const JointKey& key, ByteView run, size_t party, ByteView opening) {
  crypto::Sha256 hash;
  hash.Field("partita joint draw").Field(run).Field(key.purpose).U64(party);
  return hash.Field(opening.first(2 * kKeyBytes)).Finish();
}

// By key and drawing process.
template <typename Said>
using ByParty = std::vector<std::vector<Said>>;

// One round: every drawing process sends its own entry of each key to those who may know it.
template <typename Said>
void Tell(Channel& channel, size_t num_drawing, std::span<const JointKey> keys,
          ByParty<Said>& said) {
  constexpr size_t kBytes = sizeof(Said);
  const size_t self = channel.self(), processes = channel.num_parties();
  const auto keys_of = [&](size_t process) {
    return static_cast<size_t>(std::count_if(
        keys.begin(), keys.end(), [&](const JointKey& key) { return process < key.known_to; }));
  };
  std::vector<Bytes> out(processes), in(num_drawing);
  std::vector<Send> sends;
  std::vector<Receive> receives;
  for (size_t peer = 0; peer < processes; ++peer) {
    if (peer == self) continue;
    if (self < num_drawing && keys_of(peer) > 0) {
      for (size_t k = 0; k < keys.size(); ++k) {
        const Said& own = said[k][self];
        if (peer < keys[k].known_to) out[peer].insert(out[peer].end(), own.begin(), own.end());
      }
      sends.push_back({peer, out[peer], 0, nullptr});
    }
    if (peer >= num_drawing || keys_of(self) == 0) continue;
    in[peer].resize(kBytes * keys_of(self));
    Receive receive;
    receive.from = peer;
    receive.into = in[peer];
    receives.push_back(receive);
  }
  if (!sends.empty() || !receives.empty()) channel.Exchange(sends, receives);
  for (size_t peer = 0; peer < num_drawing; ++peer) {
    if (peer == self || in[peer].empty()) continue;
    auto at = in[peer].begin();
    for (size_t k = 0; k < keys.size(); ++k) {
      if (self >= keys[k].known_to) continue;
      std::copy_n(at, kBytes, said[k][peer].begin());
      at += kBytes;
    }
    Wipe(in[peer].data(), in[peer].size());
  }
  for (Bytes& message : out) Wipe(message.data(), message.size());
}

[[noreturn]] void FailParty(const Channel& channel, size_t party, const char* what) {
  throw Error(ErrorCode::kPeerFault, fmt::format("party {} {}", channel.names()[party], what),
              "a party departed from the protocol: compare versions before you start again");
}

}  // namespace

std::vector<crypto::Key> DrawTogether(Channel& channel, size_t num_drawing,
                                      std::span<const JointKey> keys,
                                      std::span<const crypto::Key> shares, ByteView run,
                                      crypto::RandomSource* random) {
  const size_t self = channel.self();
  const bool draws = self < num_drawing;
  if (shares.size() != (draws ? keys.size() : 0) || (draws && random == nullptr)) {
    throw Error(ErrorCode::kUsage, "a process that draws keys brings a share of each, others none");
  }
  ByParty<crypto::Digest> commitments(keys.size(), std::vector<crypto::Digest>(num_drawing));
  ByParty<Opening> openings(keys.size(), std::vector<Opening>(num_drawing));
  for (size_t k = 0; draws && k < keys.size(); ++k) {
    Opening& own = openings[k][self];
    std::copy_n(shares[k].Expose().begin(), kKeyBytes, own.begin());
    random->Fill(std::span(own).subspan(kKeyBytes, kKeyBytes));
    commitments[k][self] = CommitmentTo(keys[k], run, self, own);
  }
  Tell(channel, num_drawing, keys, commitments);

  std::vector<crypto::Digest> seen(keys.size());
  for (size_t k = 0; k < keys.size(); ++k) {
    crypto::Sha256 hash;
    for (const crypto::Digest& commitment : commitments[k]) hash.Update(commitment);
    seen[k] = hash.Finish();
    if (draws) std::copy(seen[k].begin(), seen[k].end(), openings[k][self].begin() + 2 * kKeyBytes);
  }
  Tell(channel, num_drawing, keys, openings);

  std::vector<crypto::Key> drawn(keys.size());
  for (size_t k = 0; k < keys.size(); ++k) {
    if (self >= keys[k].known_to) continue;
    for (size_t party = 0; party < num_drawing; ++party) {
      Opening& opening = openings[k][party];
      if (CommitmentTo(keys[k], run, party, opening) != commitments[k][party])
        FailParty(channel, party, "opened another share of a common key than it committed to");
      if (!std::equal(seen[k].begin(), seen[k].end(), opening.begin() + 2 * kKeyBytes))
        FailParty(channel, party, "saw other commitments to the shares of a common key");
      for (size_t i = 0; i < kKeyBytes; ++i) drawn[k].Expose()[i] ^= opening[i];
      Wipe(opening.data(), opening.size());
    }
  }
  return drawn;
}

}  // namespace partita::net
