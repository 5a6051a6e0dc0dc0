#include "methods/dpvi/session.h"

#include "base/error.h"
#include "crypto/hash.h"

namespace partita::methods::dpvi {
namespace {

// Everybody has the key of the batches, so a hash of it tells nobody anything.
crypto::Digest DigestOf(const RunKeys& keys, const SessionInput& input) {
  crypto::Sha256 hash;
  hash.Field("partita dpvi run").Field(input.study).Field(keys.batch.Expose());
  return hash.Finish();
}

}  // namespace

Session BeginSession(net::Channel& channel, const RunPlan& plan, const SessionInput& input) {
  const bool computes = channel.self() < input.num_computing;
  const bool keeps = computes && !input.folder.empty();
  std::optional<KeyShares> shares;
  if (keeps) {
    std::filesystem::create_directories(input.folder);
    shares = KeptKeyShares(input.folder, input.own, *input.random);
  } else if (computes) {
    shares = DrawKeyShares(*input.random);
  }
  Session session;
  session.keys =
      AgreeOnKeys(channel, input.num_computing, shares ? &*shares : nullptr, input.study);
  Checkpoint held;
  if (computes) held.state = FirstState(plan, session.keys.public_key);
  if (keeps) {
    session.files.emplace(input.folder, CheckpointBinding(session.keys, input.own));
    held = session.files->Load(held.state);
  }
  session.start =
      AgreeOnCheckpoint(channel, plan, input.num_computing, held, DigestOf(session.keys, input));
  return session;
}

}  // namespace partita::methods::dpvi
