#include "node/audit/audit.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/utc_time.h"

namespace partita::node {
namespace {

constexpr uint8_t kAuditVersion = 1;
constexpr std::array<std::string_view, 5> kActorNames = {"node", "terminal", "account", "party",
                                                         "policy"};
constexpr std::array<std::string_view, 34> kActionNames = {
    "serve",          "proposal",      "approval",     "rejection",       "withdrawal",
    "run-begin",      "run-end",       "study-end",    "invitation",      "pairing",
    "party-listed",   "party-revoked", "stop",         "go-on",           "export",
    "login",          "login-failed",  "account-made", "account-deleted", "password-set",
    "policy-refused", "policy-ended",  "log-fault",    "restored",        "reopened",
    "deleted",        "waiting",       "signed",       "deputy-named",    "deputy-ended",
    "budgets-kept",   "heads-told",    "heads-heard",  "dictionary-saved"};

[[noreturn]] void FailEntry(const std::string& what) {
  throw Error(ErrorCode::kBadInput, "an entry of the audit log cannot be read: " + what,
              "Look at who can write in the node's state.");
}

// Within a character of UTF-8 nothing is cut.
void CutTo(size_t most, std::string& text) {
  if (text.size() <= most) return;
  size_t end = most;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80) --end;
  text.resize(end);
}

Digest ReadAuditDigest(ByteReader& reader) {
  Digest digest{};
  const ByteView bytes = reader.Raw(digest.size());
  std::copy(bytes.begin(), bytes.end(), digest.begin());
  return digest;
}

Digest DigestOfEntry(ByteView bytes) {
  return crypto::Sha256().Field(kAuditDomain).Field(bytes).Finish();
}

}  // namespace

std::string_view ActorKindName(ActorKind kind) {
  return kActorNames.at(static_cast<size_t>(kind) - 1);
}

std::string_view AuditActionName(AuditAction action) {
  return kActionNames.at(static_cast<size_t>(action) - 1);
}

std::optional<AuditAction> AuditActionNamed(std::string_view name) {
  for (size_t i = 0; i < kActionNames.size(); ++i) {
    if (kActionNames[i] == name) return static_cast<AuditAction>(i + 1);
  }
  return std::nullopt;
}

bool IsNotedByPeople(AuditAction action) {
  return (action >= AuditAction::kExport && action < AuditAction::kPolicyRefused) ||
         action == AuditAction::kPolicyEnded || action == AuditAction::kDeputyNamed ||
         action == AuditAction::kDeputyEnded;
}

std::string ActorText(const Actor& actor) {
  return actor.name.empty() ? std::string(ActorKindName(actor.kind)) : actor.name;
}

AuditEntry EntryAfter(const AuditHead& head, AuditRecord record) {
  CutTo(kMaxAuditName, record.actor.name);
  CutTo(kMaxAuditName, record.subject);
  CutTo(kMaxAuditOutcome, record.outcome);
  return {head.number + 1, head.digest, std::move(record)};
}

Bytes Encode(const AuditEntry& entry) {
  const AuditRecord& record = entry.record;
  ByteWriter writer;
  writer.U8(kAuditVersion);
  writer.U64(entry.number);
  writer.Raw(entry.before);
  writer.U64(static_cast<uint64_t>(record.time));
  writer.U8(static_cast<uint8_t>(record.actor.kind));
  writer.String(record.actor.name);
  writer.U8(static_cast<uint8_t>(record.action));
  writer.Raw(record.study);
  writer.String(record.subject);
  writer.String(record.outcome);
  writer.Raw(record.message);
  return writer.Take();
}

AuditEntry DecodeAuditEntry(ByteView bytes) {
  AuditEntry entry;
  AuditRecord& record = entry.record;
  try {
    ByteReader reader(bytes);
    if (reader.U8() != kAuditVersion) FailEntry("it is of another version");
    entry.number = reader.U64();
    entry.before = ReadAuditDigest(reader);
    record.time = static_cast<int64_t>(reader.U64());
    if (record.time < 0 || record.time > kMaxUtc) FailEntry("its time is none");
    const uint8_t kind = reader.U8();
    if (kind < 1 || kind > kActorNames.size()) FailEntry("its actor is of no known kind");
    record.actor.kind = static_cast<ActorKind>(kind);
    record.actor.name = reader.String(kMaxAuditName);
    const uint8_t action = reader.U8();
    if (action < 1 || action > kActionNames.size()) FailEntry("its action is none that is known");
    record.action = static_cast<AuditAction>(action);
    record.study = ReadAuditDigest(reader);
    record.subject = reader.String(kMaxAuditName);
    record.outcome = reader.String(kMaxAuditOutcome);
    record.message = ReadAuditDigest(reader);
    reader.ExpectEnd();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kBadInput) throw;
    FailEntry("it is not whole");
  }
  return entry;
}

AuditHead HeadOf(const AuditEntry& entry) { return {entry.number, DigestOfEntry(Encode(entry))}; }

std::optional<AuditFault> FaultOf(const AuditHead& head, const AuditEntry& entry) {
  if (entry.number != head.number + 1) return AuditFault{head.number + 1, "the entry is not there"};
  if (entry.before != head.digest) {
    if (head.number == 0) return AuditFault{1, "the first entry follows another one"};
    return AuditFault{head.number, "the entry is not the one that was written"};
  }
  return std::nullopt;
}

}  // namespace partita::node
