#include "mpc/ot/base_ot.h"

#include <fmt/format.h>

#include <algorithm>

#include "crypto/hash.h"

namespace partita::mpc::ot {
namespace {

using crypto::RistrettoPoint;

constexpr size_t kPoint = crypto::kRistrettoBytes;

[[noreturn]] void ThrowBadPoint(const std::string& peer) {
  throw Error(ErrorCode::kPeerFault,
              fmt::format("party {} began oblivious transfers with bytes that are no valid element "
                          "of the group",
                          peer),
              "compare versions and run the study again");
}

RistrettoPoint DecodeFrom(ByteView bytes, const std::string& peer) {
  const auto point = RistrettoPoint::Decode(bytes);
  if (!point) ThrowBadPoint(peer);
  return *point;
}

// H_j(r) of transfer i.
RistrettoPoint HashPoint(ByteView session, uint64_t i, uint8_t j, ByteView r) {
  ByteWriter writer;
  writer.String("partita base ot");
  writer.Blob(session);
  writer.U64(i);
  writer.U8(j);
  writer.Raw(r);
  return RistrettoPoint::Hash(writer.bytes());
}

// `chosen` as element number `choice` of two, `other` as the other one: no branch and no address
// depends on the choice.
void PutPair(ByteView chosen, ByteView other, uint8_t choice, uint8_t* out) {
  const auto swap = static_cast<uint8_t>(-choice);
  for (size_t k = 0; k < kPoint; ++k) {
    const auto differ = static_cast<uint8_t>((chosen[k] ^ other[k]) & swap);
    out[k] = chosen[k] ^ differ;
    out[kPoint + k] = other[k] ^ differ;
  }
}

// Bound to the whole of both messages that concern transfer i.
crypto::Key KeyOf(ByteView session, uint64_t i, ByteView sender, ByteView receiver,
                  const RistrettoPoint& shared) {
  crypto::Sha256 hash;
  hash.Field("partita base ot key").Field(session).U64(i).Field(sender).Field(receiver);
  return crypto::Key(hash.Field(shared.bytes()).Finish());
}

}  // namespace

BaseOtReceiver::BaseOtReceiver(ByteView session, std::string peer, const std::vector<bool>& choices,
                               crypto::RandomSource& random)
    : session_(session.begin(), session.end()),
      peer_(std::move(peer)),
      message_(choices.size() * kBaseReceiverBytes) {
  for (size_t i = 0; i < choices.size(); ++i) {
    const uint8_t choice = choices[i] ? 1 : 0;
    // The difference is the identity with probability 2^-252: then once more.
    for (;;) {
      crypto::RistrettoScalar scalar = crypto::RandomScalar(random);
      const RistrettoPoint other = RistrettoPoint::Draw(random);
      const auto chosen =
          RistrettoPoint::Generate(scalar).Minus(HashPoint(session_, i, choice, other.bytes()));
      if (!chosen) continue;
      scalars_.push_back(scalar);
      PutPair(chosen->bytes(), other.bytes(), choice, &message_[i * kBaseReceiverBytes]);
      break;
    }
  }
}

std::vector<crypto::Key> BaseOtReceiver::Finish(ByteView sender_message) const {
  const RistrettoPoint sender = DecodeFrom(sender_message, peer_);
  std::vector<crypto::Key> keys;
  for (size_t i = 0; i < scalars_.size(); ++i) {
    keys.push_back(KeyOf(session_, i, sender_message,
                         ByteView(message_).subspan(i * kBaseReceiverBytes, kBaseReceiverBytes),
                         sender.Times(scalars_[i])));
  }
  return keys;
}

BaseOtSender::BaseOtSender(ByteView session, std::string peer, crypto::RandomSource& random)
    : session_(session.begin(), session.end()),
      peer_(std::move(peer)),
      scalar_(crypto::RandomScalar(random)) {
  const RistrettoPoint point = RistrettoPoint::Generate(scalar_);
  message_.assign(point.bytes().begin(), point.bytes().end());
}

std::vector<BaseOtKeys> BaseOtSender::Finish(ByteView receiver_message, size_t transfers) const {
  if (receiver_message.size() != transfers * kBaseReceiverBytes) ThrowBadPoint(peer_);
  std::vector<BaseOtKeys> keys;
  for (size_t i = 0; i < transfers; ++i) {
    const ByteView pair = receiver_message.subspan(i * kBaseReceiverBytes, kBaseReceiverBytes);
    auto key = [&](uint8_t j) {
      const ByteView own = pair.subspan(j * kPoint, kPoint);
      const ByteView other = pair.subspan((1 - j) * kPoint, kPoint);
      const RistrettoPoint r = DecodeFrom(own, peer_);
      const auto m = r.Plus(HashPoint(session_, i, j, DecodeFrom(other, peer_).bytes()));
      if (!m) ThrowBadPoint(peer_);
      return KeyOf(session_, i, message_, pair, m->Times(scalar_));
    };
    keys.push_back({key(0), key(1)});
  }
  return keys;
}

}  // namespace partita::mpc::ot
