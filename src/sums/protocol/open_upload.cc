#include "sums/protocol/open_upload.h"

#include <array>

#include "base/error.h"
#include "sums/protocol/client.h"

namespace partita::sums {
namespace {

// What can be told without a key.
Verdict JudgeHeader(const UploadHeader& header, const NodeRound& round) {
  if (header.study != round.contract.study) return Verdict::kWrongStudy;
  if (header.node != round.node) return Verdict::kWrongNode;
  if (header.epoch < round.epoch) return Verdict::kReplay;
  if (header.epoch > round.epoch) return Verdict::kEarly;
  return Verdict::kAccepted;
}

// The prefix is the associated data as it came: an envelope has one encoding.
std::optional<Bytes> OpenRegistered(ByteView bytes, const Envelope& envelope,
                                    const crypto::Key& registered) {
  return crypto::Decrypt(EpochKey(registered, envelope.header.epoch), envelope.body,
                         bytes.first(kPrefixBytes));
}

// The content, if what is inside agrees with itself and with the outside.
std::optional<Bytes> OpenSealedBody(const Envelope& envelope, const NodeRound& round) {
  const std::optional<Bytes> opened = crypto::OpenSealed(envelope.body, round.box);
  if (!opened) return std::nullopt;
  const SealedContent inside = ParseSealedContent(*opened, round.contract, round.node);
  if (inside.header != envelope.header) return std::nullopt;
  if (Commit(inside.opening, inside.content) != inside.commitments[round.node]) return std::nullopt;
  if (SealedUploadId(inside.header, inside.commitments) != inside.header.upload) {
    return std::nullopt;
  }
  return Bytes(inside.content.begin(), inside.content.end());
}

OpenedUpload Open(ByteView bytes, const NodeRound& round, const ClientDirectory& clients) {
  const Envelope envelope = ParseEnvelope(bytes);
  const Verdict verdict = JudgeHeader(envelope.header, round);
  if (verdict != Verdict::kAccepted) return {verdict, {}, {}};
  const auto client = clients.find(envelope.header.client);
  if (client == clients.end()) return {Verdict::kUnknownClient, {}, {}};
  if (envelope.body.size() != BodyBytes(round.contract, envelope.mode, round.node)) {
    return {Verdict::kMalformed, {}, {}};
  }
  const bool registered = envelope.mode == UploadMode::kRegistered;
  if (registered != client->second.has_value()) return {Verdict::kUnauthentic, {}, {}};
  std::optional<Bytes> content = registered ? OpenRegistered(bytes, envelope, *client->second)
                                            : OpenSealedBody(envelope, round);
  if (!content) return {Verdict::kUnauthentic, {}, {}};
  return {Verdict::kAccepted, envelope.header, std::move(*content)};
}

}  // namespace

std::string_view VerdictName(Verdict verdict) {
  static constexpr std::array<std::string_view, kVerdicts> kNames = {
      "accepted", "retried", "malformed",      "oversized",   "wrong-study", "wrong-node",
      "replay",   "early",   "unknown-client", "unauthentic", "duplicate",   "late"};
  return kNames[static_cast<size_t>(verdict)];
}

OpenedUpload OpenUpload(ByteView bytes, const NodeRound& round, const ClientDirectory& clients) {
  if (bytes.size() > MaxEnvelopeBytes(round.contract, round.node)) {
    return {Verdict::kOversized, {}, {}};
  }
  try {
    return Open(bytes, round, clients);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kPeerFault) throw;
    return {Verdict::kMalformed, {}, {}};
  }
}

}  // namespace partita::sums
