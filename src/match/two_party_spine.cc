#include "match/two_party_spine.h"

#include <fmt/format.h>

#include "crypto/prg.h"
#include "match/element_stream.h"
#include "match/two_party_spine_steps.h"

namespace partita::match {
namespace {

constexpr size_t kSpineNonceBytes = 32;
constexpr uint64_t kMostSpineElements = uint64_t{1} << 31;

using RistrettoSteps = SpineSteps<Ristretto>;
using Named = Encoded<Ristretto>;

crypto::Digest SpineSalt(net::Channel& channel, const TwoPartySpineTask& task,
                         crypto::RandomSource& random) {
  crypto::Digest own{}, peer{};
  static_assert(sizeof(own) == kSpineNonceBytes);
  random.Fill(own);
  ExchangeBytes(channel, task.peer, own, peer);
  const bool first = channel.self() < task.peer;
  const std::vector<std::string>& names = channel.names();
  crypto::Sha256 hash;
  hash.Field("partita two-party spine v1").Update(task.session);
  hash.Field(names[first ? channel.self() : task.peer]);
  hash.Field(names[first ? task.peer : channel.self()]);
  hash.Update(first ? own : peer).Update(first ? peer : own);
  return hash.Finish();
}

crypto::Digest HashOf(const std::string& sender, const crypto::Digest& salt,
                      const EncodedList<Ristretto>& result) {
  crypto::Sha256 hash;
  hash.Field("partita two-party spine result v1").Update(salt).Field(sender);
  for (const Named& element : result) hash.Update(element);
  return hash.Finish();
}

void SayPhase(Progress* progress, std::string_view phase) {
  if (progress != nullptr) progress->Phase(phase);
}

// Round 2.
void ExchangeLists(net::Channel& channel, const TwoPartySpineTask& task, const crypto::Digest& salt,
                   RistrettoSteps& steps) {
  uint64_t sent = 0, taken = 0;
  ListProgress progress(task.progress, "lists", 2 * (task.own_bound + task.peer_bound));
  ExchangeElements(
      channel, task.peer, 2 * task.own_bound, 2 * task.peer_bound,
      [&] {
        progress.Next();
        return sent++ < task.own_bound ? steps.NextListed(salt) : steps.NextNamed();
      },
      [&](const Named& element) {
        progress.Next();
        taken++ < task.peer_bound ? steps.TakeListed(element) : steps.TakeNamed(element);
      });
  SayPhase(task.progress, "compare lists");
  steps.CheckLists();
}

// Rounds 3 and 4.
void ExchangeResults(net::Channel& channel, const TwoPartySpineTask& task,
                     const crypto::Digest& salt, RistrettoSteps& steps) {
  const std::string& peer_name = channel.names()[task.peer];
  const crypto::Digest own_hash = HashOf(channel.names()[channel.self()], salt, steps.raised());
  crypto::Digest peer_hash{};
  ExchangeBytes(channel, task.peer, own_hash, peer_hash);
  uint64_t sent = 0, taken = 0;
  ListProgress progress(task.progress, "results", 2 * (task.own_bound + task.peer_bound));
  ExchangeElements(
      channel, task.peer, 2 * task.peer_bound, 2 * task.own_bound,
      [&] {
        progress.Next();
        const uint64_t at = sent++;
        return at < task.peer_bound ? steps.raised()[at] : steps.named()[at - task.peer_bound];
      },
      [&](const Named& element) {
        progress.Next();
        taken++ < task.own_bound ? steps.TakeReturned(element) : steps.TakeOwnName(element);
      });
  SayPhase(task.progress, "compare lists");
  if (HashOf(peer_name, salt, steps.returned()) != peer_hash)
    JoinFault(peer_name, "returned something other than what it had hashed");
  steps.CheckReturned();
}

// Rounds 5 and 6.
void ExchangeNames(net::Channel& channel, const TwoPartySpineTask& task, RistrettoSteps& steps) {
  const uint64_t positions = steps.positions();
  ListProgress progress(task.progress, "names", 2 * positions);
  const bool first = channel.self() < task.peer;
  const auto nothing = [](const Named&) {};
  if (first) {
    ExchangeElements(
        channel, task.peer, positions, 0,
        [&] {
          progress.Next();
          return steps.NextConverted();
        },
        nothing);
    ExchangeElements(
        channel, task.peer, 0, positions, [] { return Named{}; },
        [&](const Named& element) {
          progress.Next();
          steps.TakeName(element);
        });
    return;
  }
  ExchangeElements(
      channel, task.peer, 0, positions, [] { return Named{}; },
      [&](const Named& element) {
        progress.Next();
        steps.TakeConverted(element);
      });
  size_t sent = 0;
  ExchangeElements(
      channel, task.peer, positions, 0,
      [&] {
        progress.Next();
        return steps.names()[sent++];
      },
      nothing);
}

}  // namespace

TwoPartySpineTraffic TwoPartySpineTrafficOf(const TwoPartySpineTask& task, uint64_t matches) {
  const uint64_t places = task.own_bound + task.peer_bound;
  TwoPartySpineTraffic traffic = {
      4, 4, kSpineNonceBytes + 2 * places * sizeof(Named) + sizeof(crypto::Digest)};
  if (matches < task.minimum) return traffic;
  traffic.rounds += 2;
  traffic.messages += 1;
  traffic.bytes += (places - matches) * sizeof(Named);
  return traffic;
}

TwoPartySpine AlignTwoLists(net::Channel& channel, const TwoPartySpineTask& task,
                            std::span<const crypto::Digest> keys, crypto::RandomSource& random) {
  const uint64_t longest = std::max(task.own_bound, task.peer_bound);
  if (keys.size() > task.own_bound || longest > kMostSpineElements || task.minimum == 0) {
    throw Error(ErrorCode::kInternal, "a list is longer than its bound, or the bound too large",
                "");
  }
  const crypto::Digest salt = SpineSalt(channel, task, random);
  crypto::Prg stream(crypto::RandomKey(random));
  RistrettoSteps steps(task, channel.names()[task.peer], keys, stream);
  ExchangeLists(channel, task, salt, steps);
  ExchangeResults(channel, task, salt, steps);
  TwoPartySpine spine;
  spine.count = steps.Unite();
  if (task.counted) task.counted(spine.count);
  crypto::Sha256 common;
  common.Field("partita two-party spine common v1").U64(spine.count);
  spine.linked = spine.count >= task.minimum;
  if (spine.linked) {
    ExchangeNames(channel, task, steps);
    spine.keys = steps.Keys();
    for (const Named& name : steps.names()) common.Update(name);
  }
  spine.common = common.Finish();
  return spine;
}

}  // namespace partita::match
