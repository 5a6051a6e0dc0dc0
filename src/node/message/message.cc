#include "node/message/message.h"

#include <algorithm>

#include "base/error.h"
#include "base/utc_time.h"
#include "crypto/certificate.h"
#include "crypto/signature.h"

namespace partita::node {
namespace {

constexpr uint16_t kFormat = 1;
constexpr char kIdDomain[] = "partita node study 1";

enum class BodyForm : uint8_t { kInline = 0, kFetched = 1 };

[[noreturn]] void Fault(const std::string& what) {
  throw Error(ErrorCode::kPeerFault, "a message of another node " + what,
              "Install the same release of Partita at every node.");
}

Bytes FieldsOf(const Message& message) {
  ByteWriter writer;
  writer.U16(message.version);
  writer.U16(static_cast<uint16_t>(message.kind));
  writer.String(message.from);
  writer.String(message.to);
  writer.Raw(message.study);
  writer.Raw(message.incarnation);
  writer.U64(message.number);
  writer.U64(static_cast<uint64_t>(message.time));
  if (message.fetched.has_value()) {
    writer.U8(static_cast<uint8_t>(BodyForm::kFetched));
    writer.Raw(message.fetched->digest);
    writer.U64(message.fetched->size);
  } else {
    writer.U8(static_cast<uint8_t>(BodyForm::kInline));
    writer.Blob(message.body);
  }
  return writer.Take();
}

template <size_t kSize>
void ReadRaw(ByteReader& reader, std::array<uint8_t, kSize>& out) {
  const ByteView raw = reader.Raw(kSize);
  std::copy(raw.begin(), raw.end(), out.begin());
}

std::string ReadParty(ByteReader& reader) {
  std::string name = reader.String(crypto::kMaxPartyName);
  if (!crypto::IsPartyName(name)) Fault("names no party");
  return name;
}

void ReadBody(ByteReader& reader, Message& message) {
  const uint8_t form = reader.U8();
  if (form == static_cast<uint8_t>(BodyForm::kInline)) {
    message.body = reader.Blob(kMaxInlineBytes);
    return;
  }
  if (form != static_cast<uint8_t>(BodyForm::kFetched)) Fault("has a body of an unknown form");
  BodyDigest& fetched = message.fetched.emplace();
  ReadRaw(reader, fetched.digest);
  fetched.size = reader.U64();
  if (fetched.size <= kMaxInlineBytes || fetched.size > kMaxBodyBytes)
    Fault("has a body of a size that is not allowed");
}

Message ReadFields(ByteView fields) {
  ByteReader reader(fields);
  Message message;
  message.version = reader.U16();
  message.kind = static_cast<Kind>(reader.U16());
  message.from = ReadParty(reader);
  message.to = ReadParty(reader);
  ReadRaw(reader, message.study);
  ReadRaw(reader, message.incarnation);
  message.number = reader.U64();
  const uint64_t time = reader.U64();
  if (time > static_cast<uint64_t>(kMaxUtc)) Fault("was written at a time that does not exist");
  message.time = static_cast<int64_t>(time);
  ReadBody(reader, message);
  reader.ExpectEnd();
  return message;
}

}  // namespace

std::string KindName(Kind kind) {
  switch (kind) {
    case Kind::kProposal:
      return "proposal";
    case Kind::kOffer:
      return "offer";
    case Kind::kRoster:
      return "roster";
    case Kind::kApproval:
      return "approval";
    case Kind::kRejection:
      return "rejection";
    case Kind::kAskSlot:
      return "slot?";
    case Kind::kSlot:
      return "slot";
    case Kind::kBusy:
      return "busy";
    case Kind::kStart:
      return "start";
    case Kind::kProgress:
      return "progress";
    case Kind::kEnded:
      return "ended";
    case Kind::kWithdraw:
      return "withdraw";
    case Kind::kNotUnderstood:
      return "not-understood";
    case Kind::kLogHead:
      return "head";
    case Kind::kLogReceipt:
      return "receipt";
    case Kind::kRelay:
      return "relay";
  }
  return "unknown";
}

bool IsKnown(Kind kind) { return KindName(kind) != "unknown"; }

void SetBody(Message& message, Bytes body) {
  message.body.clear();
  message.fetched.reset();
  if (body.size() <= kMaxInlineBytes) {
    message.body = std::move(body);
  } else {
    message.fetched = BodyDigest{crypto::Sha256Of(body), body.size()};
  }
}

Bytes SignedBytes(const Message& message, ByteView certificate) {
  ByteWriter writer;
  writer.Blob(FieldsOf(message));
  writer.Blob(certificate);
  return writer.Take();
}

Digest MessageName(const SignedMessage& message) {
  return crypto::Sha256()
      .Field(kMessageDomain)
      .Field(SignedBytes(message.message, message.signature.certificate))
      .Finish();
}

Bytes EncodeMessage(const SignedMessage& message) {
  ByteWriter writer;
  writer.U16(kFormat);
  writer.Blob(FieldsOf(message.message));
  writer.Blob(message.signature.certificate);
  writer.Blob(message.signature.signature);
  Bytes bytes = writer.Take();
  try {
    DecodeMessage(bytes);
  } catch (const Error& error) {
    throw Error(ErrorCode::kInternal,
                std::string("a message is not what may be sent: ") + error.what());
  }
  return bytes;
}

SignedMessage DecodeMessage(ByteView bytes) {
  if (bytes.size() > kMaxMessageBytes) Fault("is longer than allowed");
  ByteReader reader(bytes);
  if (reader.U16() != kFormat) Fault("is of a format that is not read here");
  SignedMessage message;
  const Bytes fields = reader.Blob(kMaxMessageBytes);
  message.message = ReadFields(fields);
  message.signature.certificate = reader.Blob(crypto::kMaxCertificateBytes);
  message.signature.signature = reader.Blob(crypto::kMaxSignatureBytes);
  reader.ExpectEnd();
  return message;
}

StudyId StudyIdOf(std::string_view study_file, std::string_view proposer, const Nonce& nonce,
                  int64_t expires) {
  return crypto::Sha256()
      .Field(kIdDomain)
      .Field(study_file)
      .Field(proposer)
      .Field(nonce)
      .Field(AsBytes(std::to_string(expires)))
      .Finish();
}

}  // namespace partita::node
