#include "node/job/heads_answer.h"

#include "base/error.h"
#include "base/utc_time.h"
#include "node/job/closed.h"
#include "node/job/short_answer.h"
#include "run/ledger/open_ledger.h"

namespace partita::node {
namespace {

Error NoHeads() {
  return {ErrorCode::kBadInput, "this does not say which heads of a ledger a site was shown",
          "Let all sites use the same version of Partita."};
}

void WriteShown(ByteWriter& writer, const ShownHeads& shown) {
  writer.U8(static_cast<uint8_t>(shown.memory));
  writer.U64(static_cast<uint64_t>(shown.since));
  writer.U32(static_cast<uint32_t>(shown.heads.size()));
  for (const privacy::ledger::ShownHead& head : shown.heads) {
    writer.Raw(privacy::ledger::EncodeHead(head.head));
    writer.U8(head.is_overtaken ? 1 : 0);
  }
}

ShownHeads ReadShown(ByteReader& reader) {
  ShownHeads shown;
  const uint8_t memory = reader.U8();
  if (memory < 1 || memory > static_cast<uint8_t>(HeadsMemory::kTakenOver)) throw NoHeads();
  shown.memory = static_cast<HeadsMemory>(memory);
  shown.since = static_cast<int64_t>(reader.U64());
  if (shown.since < 0 || shown.since > kMaxUtc) throw NoHeads();
  const uint32_t heads = reader.U32();
  if (heads > kMostShownHeads) throw NoHeads();
  if (shown.memory != HeadsMemory::kWhole && (heads != 0 || shown.since != 0)) throw NoHeads();
  for (uint32_t i = 0; i < heads; ++i) {
    privacy::ledger::ShownHead head;
    head.head = privacy::ledger::DecodeHead(reader.Raw(privacy::ledger::kHeadBytes), "a site");
    const uint8_t is_overtaken = reader.U8();
    if (is_overtaken > 1) throw NoHeads();
    head.is_overtaken = is_overtaken == 1;
    if (i > 0 && shown.heads[i - 1].head.pseudonym >= head.head.pseudonym) throw NoHeads();
    shown.heads.push_back(head);
  }
  return shown;
}

Bytes AnswerFields(const HeadsAnswer& answer) {
  ByteWriter writer;
  writer.String(answer.from);
  writer.String(answer.to);
  writer.Raw(answer.mark);
  writer.U64(static_cast<uint64_t>(answer.time));
  WriteShown(writer, answer.shown);
  return writer.Take();
}

HeadsAnswer ReadAnswer(ByteReader& reader) {
  HeadsAnswer answer;
  answer.from = reader.String(crypto::kMaxPartyName);
  answer.to = reader.String(crypto::kMaxPartyName);
  answer.mark = ReadDigest(reader);
  answer.time = static_cast<int64_t>(reader.U64());
  if (!crypto::IsPartyName(answer.from) || !crypto::IsPartyName(answer.to) || answer.time < 0 ||
      answer.time > kMaxUtc)
    throw NoHeads();
  answer.shown = ReadShown(reader);
  return answer;
}

}  // namespace

Bytes Encode(const ShownHeads& shown) {
  ByteWriter writer;
  WriteShown(writer, shown);
  return writer.Take();
}

ShownHeads DecodeShownHeads(ByteView bytes) {
  try {
    ByteReader reader(bytes);
    ShownHeads shown = ReadShown(reader);
    reader.ExpectEnd();
    return shown;
  } catch (const Error&) {
    throw NoHeads();
  }
}

SignedHeads SignHeads(const HeadsAnswer& answer, const crypto::Identity& node) {
  return {answer, SignFields(node, kHeadsDomain, AnswerFields(answer))};
}

Bytes Encode(const SignedHeads& document) {
  return WithSignature(AnswerFields(document.answer), document.signature);
}

SignedHeads DecodeSignedHeads(ByteView bytes) {
  SignedHeads document;
  try {
    document.signature = ReadSigned(
        bytes, [&](ByteReader& reader) { document.answer = ReadAnswer(reader); }, NoHeads());
  } catch (const Error&) {
    throw NoHeads();
  }
  return document;
}

bool IsFresh(int64_t time, int64_t now) {
  return time > now - kHeadsCountFor && time <= now + kHeadsClocksDiffer;
}

bool IsHeadsAnswer(const SignedHeads& document, const PartyList& list, const Digest& mark,
                   int64_t now) {
  const HeadsAnswer& answer = document.answer;
  const ListedParty* party = FindListed(list, answer.from);
  if (party == nullptr || answer.to != list.owner || answer.mark != mark) return false;
  if (!IsFresh(answer.time, now)) return false;
  const Digest key = crypto::Sha256Of(document.signature.certificate);
  return NodeKeyCounts(*party, key, now) &&
         IsSignedBy(document.signature, {key}, kHeadsDomain, AnswerFields(answer));
}

ShownHeads HeadsShownBy(const JobSettings& settings, const std::string& owner) {
  if (settings.ledger.empty()) return {HeadsMemory::kNoLedger, {}};
  // Also once its tables are open again: what it was shown between its backup and its restore is lost.
  if (ReadRestoredMark(settings.restored)) return {HeadsMemory::kRestored, {}};
  privacy::ledger::SqliteLedger book = run::OpenLedger(settings.ledger);
  const privacy::ledger::JournalSummary journal = book.Summary();
  if (journal.taken_over) return {HeadsMemory::kTakenOver, {}};
  ShownHeads shown{HeadsMemory::kWhole, book.NewestShownBy(owner), journal.since};
  if (shown.heads.size() > kMostShownHeads) {
    throw Error(ErrorCode::kRefused, owner + " showed more accounts than one answer tells",
                "Report this.");
  }
  return shown;
}

}  // namespace partita::node
