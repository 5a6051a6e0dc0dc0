#include "match/two_party_join.h"

#include <fmt/format.h>

#include "crypto/prg.h"
#include "match/element_stream.h"
#include "match/two_party_join_steps.h"

namespace partita::match {
namespace {

constexpr size_t kNonceBytes = 32;
constexpr size_t kPlaceBytes = 4;
constexpr uint64_t kMostElements = uint64_t{1} << 31;

using Steps = JoinSteps<Ristretto>;
using Element = Encoded<Ristretto>;

ByteView BytesOf(const EncodedList<Ristretto>& list) {
  return {reinterpret_cast<const uint8_t*>(list.data()), list.size() * sizeof(Element)};
}

crypto::Digest ExchangeNonces(net::Channel& channel, const TwoPartyJoinTask& task,
                              crypto::RandomSource& random) {
  crypto::Digest own{}, peer{};
  static_assert(sizeof(own) == kNonceBytes);
  random.Fill(own);
  ExchangeBytes(channel, task.peer, own, peer);
  return JoinSalt(task, channel.names(), channel.self(), own, peer);
}

std::vector<uint32_t> ExchangePlaces(net::Channel& channel, const TwoPartyJoinTask& task,
                                     const Steps& steps) {
  ByteWriter writer;
  for (const uint32_t place : steps.raised_order()) writer.U32(place);
  Bytes in(task.own_bound * kPlaceBytes);
  ExchangeBytes(channel, task.peer, writer.bytes(), in);
  ByteReader reader(in);
  std::vector<uint32_t> places(task.own_bound);
  for (uint32_t& place : places) place = reader.U32();
  return places;
}

void TellComparison(Progress* progress) {
  if (progress != nullptr) progress->Phase("compare lists");
}

}  // namespace

void JoinFault(const std::string& peer, const std::string& what) {
  throw Error(ErrorCode::kPeerFault, fmt::format("'{}' {}", peer, what),
              "its software departs from the protocol: do not match with it");
}

crypto::Digest JoinSalt(const TwoPartyJoinTask& task, const std::vector<std::string>& names,
                        net::PartyIndex self, const crypto::Digest& own_nonce,
                        const crypto::Digest& peer_nonce) {
  const bool first = self < task.peer;
  crypto::Sha256 hash;
  hash.Field("partita two-party join v1").Update(task.session);
  hash.Field(names[first ? self : task.peer]).Field(names[first ? task.peer : self]);
  hash.Update(first ? own_nonce : peer_nonce).Update(first ? peer_nonce : own_nonce);
  return hash.Finish();
}

crypto::Digest ResultHash(const std::string& sender, const crypto::Digest& salt, ByteView result) {
  crypto::Sha256 hash;
  hash.Field("partita two-party join result v1").Update(salt).Field(sender).Field(result);
  return hash.Finish();
}

TwoPartyJoinTraffic TwoPartyJoinTrafficOf(const TwoPartyJoinTask& task) {
  const uint64_t elements = task.own_bound + task.peer_bound;
  return {6, 6,
          kNonceBytes + elements * sizeof(Element) + sizeof(crypto::Digest) + 1 +
              task.peer_bound * kPlaceBytes};
}

TwoPartyJoin JoinTwoLists(net::Channel& channel, const TwoPartyJoinTask& task,
                          std::span<const crypto::Digest> keys, crypto::RandomSource& random) {
  if (keys.size() > task.own_bound || std::max(task.own_bound, task.peer_bound) > kMostElements)
    throw Error(ErrorCode::kInternal, "a list is longer than its bound, or the bound too large",
                "");
  const std::string& own_name = channel.names()[channel.self()];
  const std::string& peer_name = channel.names()[task.peer];
  const crypto::Digest salt = ExchangeNonces(channel, task, random);

  crypto::Prg stream(crypto::RandomKey(random));
  Steps steps(task, peer_name, keys, stream);
  const uint64_t elements = task.own_bound + task.peer_bound;
  ListProgress lists(task.progress, "lists", elements);
  ExchangeElements(
      channel, task.peer, task.own_bound, task.peer_bound,
      [&]() -> Element {
        lists.Next();
        return steps.NextOwn(salt);
      },
      [&](const Element& element) {
        lists.Next();
        steps.TakePeers(element);
      });
  TellComparison(task.progress);
  steps.CheckLists();

  const crypto::Digest own_hash = ResultHash(own_name, salt, BytesOf(steps.raised()));
  crypto::Digest peer_hash{};
  ExchangeBytes(channel, task.peer, own_hash, peer_hash);

  size_t next = 0;
  ListProgress results(task.progress, "results", elements);
  ExchangeElements(
      channel, task.peer, task.peer_bound, task.own_bound,
      [&]() -> Element {
        results.Next();
        return steps.raised()[next++];
      },
      [&](const Element& element) {
        results.Next();
        steps.TakeReturned(element);
      });
  TellComparison(task.progress);
  if (ResultHash(peer_name, salt, BytesOf(steps.returned())) != peer_hash)
    JoinFault(peer_name, "returned something other than what it had hashed");
  steps.CheckReturned();

  const std::vector<uint32_t> common = steps.Common();
  TwoPartyJoin join;
  join.count = common.size();
  crypto::Sha256 hash;
  hash.Field("partita two-party join common v1").U64(common.size());
  for (const uint32_t position : common) hash.Update(steps.returned()[position]);
  join.common = hash.Finish();
  if (task.counted) task.counted(join.count);
  const std::array<uint8_t, 1> own_bit = {common.size() >= task.minimum ? uint8_t{1} : uint8_t{0}};
  std::array<uint8_t, 1> peer_bit{};
  ExchangeBytes(channel, task.peer, own_bit, peer_bit);
  if (peer_bit[0] > 1) JoinFault(peer_name, "sent no bit");
  if (own_bit[0] + peer_bit[0] < 2) return join;
  join.linked = true;
  join.rows = steps.Link(common, ExchangePlaces(channel, task, steps));
  return join;
}

}  // namespace partita::match
