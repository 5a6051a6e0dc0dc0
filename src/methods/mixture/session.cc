#include "methods/mixture/session.h"

#include "base/error.h"
#include "crypto/hash.h"

namespace partita::methods::mixture {
namespace {

// Everybody has the key of the batches, so a hash of it tells nobody anything.
crypto::Digest DigestOf(const RunKeys& keys, const SessionInput& input) {
  crypto::Sha256 hash;
  hash.Field("partita dpvi run").Field(input.study).Field(keys.batch.Expose());
  return hash.Finish();
}

// Before anything can open under the keys.
void Keep(const SessionInput& input, const std::optional<KeptShares>& before,
          const KeyShares& shares, const RunKeys& keys) {
  const crypto::Digest binding = CheckpointBinding(keys, input.own);
  if (!before) {
    KeepShares(input.folder, input.own, {shares, binding, DigestOf(keys, input)});
  } else if (before->keys != binding) {
    throw Error(ErrorCode::kPeerFault,
                "the keys of this run came out other than in its earlier attempt",
                "a party sent another share than before: start the study anew, as a new release");
  }
}

}  // namespace

Session BeginSession(net::Channel& channel, const RunPlan& plan, const SessionInput& input) {
  const bool computes = channel.self() < input.num_computing;
  const bool keeps = computes && !input.folder.empty();
  std::optional<KeptShares> kept;
  if (keeps) {
    std::filesystem::create_directories(input.folder);
    kept = LoadShares(input.folder, input.own);
  }
  channel.BeginPhase(kKeysPhase);
  const bool again = AllKeptTheSame(channel, input.num_computing, kept).value_or(false);
  std::optional<KeyShares> shares;
  if (computes) shares = again ? kept->shares : DrawKeyShares(*input.random);
  Session session;
  session.keys = AgreeOnKeys(channel, input.num_computing, shares ? &*shares : nullptr, input.study,
                             AsBytes(input.run), input.random);
  Checkpoint held;
  if (computes) held.state = FirstState(plan, session.keys.public_key);
  if (keeps) {
    session.files.emplace(input.folder, CheckpointBinding(session.keys, input.own));
    // Of other keys they are refused, before the shares of those are replaced.
    held = session.files->Load(held.state);
    Keep(input, again ? kept : std::nullopt, *shares, session.keys);
  }
  session.start =
      AgreeOnCheckpoint(channel, plan, input.num_computing, held, DigestOf(session.keys, input));
  return session;
}

}  // namespace partita::methods::mixture
