#include "node/message/bodies.h"

#include <algorithm>

#include "base/error.h"
#include "base/utc_time.h"
#include "crypto/signature.h"
#include "data/utf8.h"
#include "study/file/text.h"

namespace partita::node {
namespace {

constexpr size_t kMaxRosterText = 64 << 10;
constexpr size_t kMaxPhase = 64;
constexpr size_t kMaxRelayed = 8 << 10;  // words of an end are much shorter

[[noreturn]] void BodyFault(const std::string& what) {
  throw Error(ErrorCode::kPeerFault, "the body of a message of another node " + what,
              "Install the same release of Partita at every node.");
}

template <size_t kSize>
std::array<uint8_t, kSize> ReadArray(ByteReader& reader) {
  std::array<uint8_t, kSize> out{};
  const ByteView raw = reader.Raw(kSize);
  std::copy(raw.begin(), raw.end(), out.begin());
  return out;
}

std::string ReadLine(ByteReader& reader, size_t max_bytes) {
  std::string line = reader.String(max_bytes);
  if (!IsPublicLine(line, max_bytes)) BodyFault("has a text that is not one line");
  return line;
}

bool ReadBool(ByteReader& reader) {
  const uint8_t value = reader.U8();
  if (value > 1) BodyFault("has a yes or no that is neither");
  return value == 1;
}

int64_t ReadTime(ByteReader& reader) {
  const uint64_t time = reader.U64();
  if (time > static_cast<uint64_t>(kMaxUtc)) BodyFault("has a time that does not exist");
  return static_cast<int64_t>(time);
}

// All of it, by `read`.
template <typename Read>
auto ReadWhole(ByteView bytes, Read read) {
  ByteReader reader(bytes);
  auto body = read(reader);
  reader.ExpectEnd();
  return body;
}

}  // namespace

std::string OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kFinished:
      return "finished";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kRefused:
      return "refused";
    case Outcome::kCancelled:
      return "cancelled";
    case Outcome::kLost:
      return "lost";
  }
  return "lost";
}

bool IsPublicLine(std::string_view text, size_t max_bytes) {
  return text.size() <= max_bytes && data::IsUtf8(text) && !study::HasControl(text);
}

Bytes Encode(const Proposal& body) {
  ByteWriter writer;
  writer.String(body.study_file);
  writer.Raw(body.nonce);
  writer.U64(static_cast<uint64_t>(body.expires));
  return writer.Take();
}

Proposal DecodeProposal(ByteView bytes) {
  return ReadWhole(bytes, [](ByteReader& reader) {
    Proposal body;
    body.study_file = reader.String(kMaxProposalBytes);
    body.nonce = ReadArray<16>(reader);
    body.expires = ReadTime(reader);
    return body;
  });
}

Bytes Encode(const Offer& body) {
  ByteWriter writer;
  writer.Blob(body.run_certificate);
  writer.Raw(body.steward);
  writer.String(body.address);
  writer.Raw(body.plan_hash);
  writer.String(body.refusal);
  return writer.Take();
}

Offer DecodeOffer(ByteView bytes) {
  return ReadWhole(bytes, [](ByteReader& reader) {
    Offer body;
    body.run_certificate = reader.Blob(crypto::kMaxCertificateBytes);
    body.steward = ReadArray<32>(reader);
    body.address = ReadLine(reader, kMaxAddress);
    body.plan_hash = ReadArray<32>(reader);
    body.refusal = ReadLine(reader, kMaxPublicReason);
    Offer refused;
    refused.refusal = body.refusal;
    if (!body.valid() && body != refused) BodyFault("offers and refuses");
    if (body.valid() && body.run_certificate.empty()) BodyFault("offers no run key");
    return body;
  });
}

Bytes Encode(const RosterFile& body) {
  ByteWriter writer;
  writer.String(body.text);
  writer.U16(static_cast<uint16_t>(body.offers.size()));
  for (const Bytes& offer : body.offers) writer.Blob(offer);
  return writer.Take();
}

RosterFile DecodeRosterFile(ByteView bytes) {
  return ReadWhole(bytes, [](ByteReader& reader) {
    RosterFile body;
    body.text = reader.String(kMaxRosterText);
    const uint16_t offers = reader.U16();
    if (offers == 0 || offers > kMaxParties) BodyFault("has too few or too many offers");
    for (uint16_t i = 0; i < offers; ++i) body.offers.push_back(reader.Blob(kMaxMessageBytes));
    return body;
  });
}

Bytes Encode(const Document& body) {
  ByteWriter writer;
  writer.String(body.text);
  return writer.Take();
}

Document DecodeDocument(ByteView bytes) {
  return ReadWhole(
      bytes, [](ByteReader& reader) { return Document{.text = reader.String(kMaxDocumentBytes)}; });
}

Bytes Encode(const AskSlot& body) {
  ByteWriter writer;
  writer.U32(body.attempt);
  writer.U64(body.memory_bytes);
  writer.U32(body.seconds);
  return writer.Take();
}

AskSlot DecodeAskSlot(ByteView bytes) {
  return ReadWhole(bytes, [](ByteReader& reader) {
    AskSlot body;
    body.attempt = reader.U32();
    body.memory_bytes = reader.U64();
    body.seconds = reader.U32();
    return body;
  });
}

Bytes Encode(const Slot& body) {
  ByteWriter writer;
  writer.U64(body.question);
  return writer.Take();
}

Slot DecodeSlot(ByteView bytes) {
  return ReadWhole(bytes, [](ByteReader& reader) { return Slot{.question = reader.U64()}; });
}

Bytes Encode(const Busy& body) {
  ByteWriter writer;
  writer.U64(body.question);
  writer.U64(static_cast<uint64_t>(body.until));
  writer.U32(body.attempt);
  return writer.Take();
}

Busy DecodeBusy(ByteView bytes) {
  return ReadWhole(bytes, [](ByteReader& reader) {
    Busy body;
    body.question = reader.U64();
    body.until = ReadTime(reader);
    body.attempt = reader.U32();
    return body;
  });
}

Bytes Encode(const Start& body) {
  ByteWriter writer;
  writer.U32(body.attempt);
  writer.Raw(body.tag);
  return writer.Take();
}

Start DecodeStart(ByteView bytes) {
  return ReadWhole(bytes, [](ByteReader& reader) {
    Start body;
    body.attempt = reader.U32();
    body.tag = ReadArray<8>(reader);
    return body;
  });
}

Bytes Encode(const Progress& body) {
  ByteWriter writer;
  writer.U32(body.attempt);
  writer.String(body.phase);
  writer.U16(body.done_per_mille);
  return writer.Take();
}

Progress DecodeProgress(ByteView bytes) {
  return ReadWhole(bytes, [](ByteReader& reader) {
    Progress body;
    body.attempt = reader.U32();
    body.phase = ReadLine(reader, kMaxPhase);
    body.done_per_mille = reader.U16();
    if (body.done_per_mille > 1000) BodyFault("says that more than all is done");
    return body;
  });
}

Bytes Encode(const Ended& body) {
  ByteWriter writer;
  writer.U32(body.attempt);
  writer.U8(static_cast<uint8_t>(body.outcome));
  writer.U8(body.may_have_opened ? 1 : 0);
  writer.Raw(body.result);
  writer.Blob(body.signature);
  return writer.Take();
}

Ended DecodeEnded(ByteView bytes) {
  return ReadWhole(bytes, [](ByteReader& reader) {
    Ended body;
    body.attempt = reader.U32();
    const uint8_t outcome = reader.U8();
    if (outcome < 1 || outcome > static_cast<uint8_t>(Outcome::kLost))
      BodyFault("has an outcome that does not exist");
    body.outcome = static_cast<Outcome>(outcome);
    body.may_have_opened = ReadBool(reader);
    body.result = ReadArray<32>(reader);
    body.signature = reader.Blob(crypto::kMaxSignatureBytes);
    if (body.outcome == Outcome::kFinished && !body.may_have_opened)
      BodyFault("says finished and that nothing opened");
    return body;
  });
}

Bytes EndedFields(const StudyId& study, const std::string& party, const Ended& ended) {
  Ended unsigned_ended = ended;
  unsigned_ended.signature.clear();
  ByteWriter writer;
  writer.Raw(study);
  writer.String(party);
  writer.Raw(Encode(unsigned_ended));
  return writer.Take();
}

Bytes Encode(const Withdraw& body) {
  ByteWriter writer;
  writer.U8(body.by_steward ? 1 : 0);
  writer.String(body.reason);
  return writer.Take();
}

Withdraw DecodeWithdraw(ByteView bytes) {
  return ReadWhole(bytes, [](ByteReader& reader) {
    Withdraw body;
    body.by_steward = ReadBool(reader);
    body.reason = ReadLine(reader, kMaxPublicReason);
    return body;
  });
}

Bytes Encode(const NotUnderstood& body) {
  ByteWriter writer;
  writer.Raw(body.name);
  writer.U16(body.version);
  writer.U16(body.kind);
  return writer.Take();
}

NotUnderstood DecodeNotUnderstood(ByteView bytes) {
  return ReadWhole(bytes, [](ByteReader& reader) {
    NotUnderstood body;
    body.name = ReadArray<32>(reader);
    body.version = reader.U16();
    body.kind = reader.U16();
    return body;
  });
}

Bytes Encode(const LogHead& body) {
  ByteWriter writer;
  writer.U64(body.first);
  writer.U64(body.newest);
  writer.Raw(body.before);
  writer.U16(static_cast<uint16_t>(body.days.size()));
  for (const ToldDay& day : body.days) {
    writer.U64(static_cast<uint64_t>(day.day));
    writer.Raw(day.digest);
  }
  return writer.Take();
}

LogHead DecodeLogHead(ByteView bytes) {
  return ReadWhole(bytes, [](ByteReader& reader) {
    LogHead body;
    body.first = reader.U64();
    body.newest = reader.U64();
    body.before = ReadArray<32>(reader);
    if (body.first < 1 || body.newest < body.first || body.newest > kMaxLogDays)
      BodyFault("tells days of a log that cannot be");
    if ((body.first == 1) != (body.before == Digest{}))
      BodyFault("has days of a log that follow nothing");
    const uint16_t days = reader.U16();
    if (days != std::min<uint64_t>(kMaxDaysTold, body.newest - body.first + 1))
      BodyFault("does not tell the days of a log that it says");
    for (uint16_t i = 0; i < days; ++i) {
      ToldDay& day = body.days.emplace_back();
      day.day = ReadTime(reader);
      if (day.day > kMaxUtc / 86'400) BodyFault("has a date that does not exist");
      day.digest = ReadArray<32>(reader);
    }
    return body;
  });
}

Bytes Encode(const LogReceipt& body) {
  ByteWriter writer;
  writer.Raw(body.head);
  writer.U64(body.number);
  writer.Raw(body.digest);
  writer.U64(body.departs);
  writer.U64(body.had);
  return writer.Take();
}

LogReceipt DecodeLogReceipt(ByteView bytes) {
  return ReadWhole(bytes, [](ByteReader& reader) {
    LogReceipt body;
    body.head = ReadArray<32>(reader);
    body.number = reader.U64();
    body.digest = ReadArray<32>(reader);
    body.departs = reader.U64();
    body.had = reader.U64();
    if (body.number > kMaxLogDays || body.had > kMaxLogDays || body.departs > body.had)
      BodyFault("keeps days of a log that cannot be");
    if ((body.number == 0) != (body.digest == Digest{}) || (body.departs == 0) != (body.had == 0))
      BodyFault("says of a log what does not fit together");
    return body;
  });
}

Bytes Encode(const Relay& body) {
  ByteWriter writer;
  writer.Blob(body.message);
  return writer.Take();
}

Relay DecodeRelay(ByteView bytes) {
  return ReadWhole(bytes, [](ByteReader& reader) { return Relay{reader.Blob(kMaxRelayed)}; });
}

}  // namespace partita::node
