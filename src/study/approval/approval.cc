#include "study/approval/approval.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utc_time.h"
#include "study/approval/delegation.h"
#include "study/approval/persons.h"
#include "study/approval/signed_document.h"
#include "study/file/text.h"

namespace partita::study {
namespace {

constexpr char kApprovalKind[] = "partita_approval";
constexpr uint64_t kApprovalFormat = 3, kDelegatedFormat = 4, kPersonsFormat = 5;
constexpr char kApprovalSecretKind[] = "partita_approval_secret";
constexpr char kApprovalDomain[] = "partita approval v2";

std::string_view DecisionName(Decision decision) {
  return decision == Decision::kApprove ? "approve" : "reject";
}

Bytes ApprovalFields(const Approval& approval) {
  ByteWriter writer;
  writer.String(approval.party);
  writer.String(DecisionName(approval.decision));
  writer.String(approval.reason);
  writer.String(approval.study);
  writer.Raw(approval.agreement_hash);
  writer.Raw(approval.plan_hash);
  writer.Raw(approval.commitment);
  WriteDisclosure(approval.disclosure, writer);
  writer.U64(approval.runs);
  writer.Raw(approval.nonce);
  writer.U64(static_cast<uint64_t>(approval.approved_at));
  writer.U64(static_cast<uint64_t>(approval.valid_until));
  writer.String(approval.software_version);
  writer.Raw(approval.envelope);
  if (approval.use != 0) writer.U64(approval.use);
  if (approval.stewards != 1) {
    writer.String("stewards");  // so that it is not read as a use
    writer.U64(approval.stewards);
  }
  return writer.Take();
}

uint64_t FormatOf(const SignedApproval& document) {
  if (document.delegation) return kDelegatedFormat;
  return NamesPersons(document) ? kPersonsFormat : kApprovalFormat;
}

uint64_t FormatOf(std::string_view text) {
  if (HasDelegation(text)) return kDelegatedFormat;
  return NamesPersons(text) ? kPersonsFormat : kApprovalFormat;
}

Decision ReadDecision(const DocumentReader& reader) {
  const std::string text = reader.Text("decision", 16);
  if (text == DecisionName(Decision::kApprove)) return Decision::kApprove;
  if (text != DecisionName(Decision::kReject))
    reader.Fail("'decision' is neither 'approve' nor 'reject'");
  return Decision::kReject;
}

[[noreturn]] void RefuseApproval(const ApprovalTerms& terms, const std::string& message,
                                 const std::string& hint = "") {
  const std::string again = "Read the plan again and approve it: " +
                            std::string(terms.kind == "study" ? "partita study approve STUDY"
                                                              : "partita match approve FILE") +
                            " --party PARTY.";
  throw Error(ErrorCode::kRefused, message, hint.empty() ? again : hint);
}

void RequireHash(const ApprovalTerms& terms, const Digest& theirs, const Digest& ours,
                 const std::string& party, std::string_view what, std::string_view hash) {
  if (theirs == ours) return;
  RefuseApproval(
      terms,
      fmt::format("the approval of party {} is for another {}: it names the {} hash {}..., here it "
                  "is {}...",
                  party, what, hash, ToHex(theirs).substr(0, 16), ToHex(ours).substr(0, 16)));
}

void RequireThreshold(const ApprovalTerms& terms, uint64_t theirs, uint64_t least,
                      const std::string& party, std::string_view what) {
  if (theirs >= least) return;
  RefuseApproval(terms, fmt::format("the approval of party {} asks for {} = {}, below the {}'s {}",
                                    party, what, theirs, terms.kind, least));
}

}  // namespace

SignedApproval SignApproval(Approval approval, const crypto::Identity& identity) {
  Signature signature = SignFields(identity, kApprovalDomain, ApprovalFields(approval));
  return {std::move(approval), std::move(signature)};
}

Digest ApprovalDigest(const Approval& approval) {
  return crypto::Sha256().Field(kApprovalDomain).Field(ApprovalFields(approval)).Finish();
}

std::string RenderApproval(const SignedApproval& document) {
  const Approval& approval = document.approval;
  nlohmann::ordered_json object;
  const uint64_t format = FormatOf(document);
  object[kApprovalKind] = format;
  object["party"] = approval.party;
  object["decision"] = DecisionName(approval.decision);
  object["reason"] = approval.reason;
  object["study"] = approval.study;
  object["agreement_hash"] = HashJson(approval.agreement_hash);
  object["plan_hash"] = HashJson(approval.plan_hash);
  object["snapshot_commitment"] = HashJson(approval.commitment);
  AddDisclosure(approval.disclosure, object);
  object["runs"] = approval.runs;
  object["nonce"] = HashJson(approval.nonce);
  object["approved_at"] = FormatUtc(approval.approved_at);
  object["valid_until"] = FormatUtc(approval.valid_until);
  object["software_version"] = approval.software_version;
  object["envelope"] = HashJson(approval.envelope);
  if (document.delegation) AddDelegation(*document.delegation, approval.use, object);
  if (format == kPersonsFormat) AddPersons(document, object);
  AddSignature(document.signature, object);
  return RenderObject(object);
}

SignedApproval ParseApproval(std::string_view text, std::string_view file) {
  const uint64_t format = FormatOf(text);
  const DocumentReader reader(text, file, kApprovalKind, format);
  SignedApproval document;
  Approval& approval = document.approval;
  approval.party = reader.PartyName("party");
  approval.decision = ReadDecision(reader);
  approval.reason = reader.Text("reason", kMaxReasonBytes);
  if (approval.decision == Decision::kReject && approval.reason.empty())
    reader.Fail("a rejection without a 'reason'");
  approval.study = reader.StudyName("study");
  approval.agreement_hash = reader.Hash("agreement_hash");
  approval.plan_hash = reader.Hash("plan_hash");
  approval.commitment = reader.Hash("snapshot_commitment");
  approval.disclosure = reader.Disclosure();
  approval.runs = reader.Number("runs", 1, kMaxApprovedRuns);
  approval.nonce = reader.Hash("nonce");
  approval.approved_at = reader.Time("approved_at");
  approval.valid_until = reader.Time("valid_until");
  approval.software_version = reader.Text("software_version", kMaxVersionBytes);
  approval.envelope = reader.Hash("envelope");
  if (format == kDelegatedFormat) ReadDelegation(reader, document);
  if (format == kPersonsFormat) ReadPersons(reader, document);
  document.signature = reader.ReadSignature();
  const std::string rendered = RenderApproval(document);
  reader.RequireForm(rendered);
  if (rendered.size() > kApprovalBytes) reader.Fail("it is longer than an approval may be");
  return document;
}

Bytes EncodeApproval(const SignedApproval& document) {
  const std::string text = RenderApproval(document);
  if (text.size() > kApprovalBytes) {
    throw Error(ErrorCode::kInternal,
                fmt::format("an approval has {} bytes, more than {}", text.size(), kApprovalBytes));
  }
  Bytes bytes(text.begin(), text.end());
  bytes.resize(kApprovalBytes, ' ');
  return bytes;
}

SignedApproval DecodeApproval(ByteView bytes, std::string_view party) {
  try {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return ParseApproval(text, "its approval");
  } catch (const Error& error) {
    throw Error(ErrorCode::kPeerFault,
                fmt::format("party {} sent a damaged approval: {}", party, error.message()),
                "Install the same release of Partita at every party and approve again.");
  }
}

std::string RenderSecret(const ApprovalSecret& secret) {
  nlohmann::ordered_json object;
  object[kApprovalSecretKind] = 1;
  object["party"] = secret.party;
  object["snapshot_commitment"] = HashJson(secret.commitment);
  object["salt"] = ToHex(secret.salt.Expose());
  return RenderObject(object);
}

ApprovalSecret ParseSecret(std::string_view text, std::string_view file) {
  const DocumentReader reader(text, file, kApprovalSecretKind);
  ApprovalSecret secret;
  secret.party = reader.PartyName("party");
  secret.commitment = reader.Hash("snapshot_commitment");
  const Digest salt = reader.Hash("salt");
  std::copy(salt.begin(), salt.end(), secret.salt.Expose().begin());
  reader.RequireForm(RenderSecret(secret));
  return secret;
}

void RequireSigned(const SignedApproval& document, const std::string& party,
                   const std::string& fingerprint) {
  const Bytes fields = ApprovalFields(document.approval);
  if (!document.delegation)
    return RequirePersons(document, party, fingerprint, kApprovalDomain, fields);
  RequireSignature(document.signature, kApprovalDomain, fields, "the approval of party " + party,
                   party, DelegatedKey(document, party, fingerprint));
}

void RequireFirstSigned(const SignedApproval& document, const std::string& party,
                        const std::string& fingerprint) {
  RequireFirstPerson(document, party, fingerprint, kApprovalDomain,
                     ApprovalFields(document.approval));
}

void RequireApproves(const Approval& approval, const std::string& party, const ApprovalTerms& terms,
                     int64_t now) {
  const std::string what = "the approval of party " + party;
  if (approval.party != party) RefuseApproval(terms, what + " was made by party " + approval.party);
  if (approval.study != terms.study)
    RefuseApproval(terms, what + " is for the " + terms.kind + " '" + approval.study +
                              "', not for '" + terms.study + "'");
  RequireHash(terms, approval.agreement_hash, terms.agreement_hash, party,
              terms.kind + " file or roster", "agreement");
  RequireHash(terms, approval.plan_hash, terms.plan_hash, party, "plan", "plan");
  if (approval.decision == Decision::kReject) {
    RefuseApproval(terms, "party " + party + " rejected the " + terms.kind + ": " + approval.reason,
                   "Talk to its steward, change the " + terms.kind +
                       " file, and let everybody approve the new one.");
  }
  if (approval.approved_at > now + kClockSkewSeconds) {
    RefuseApproval(terms,
                   what + " was made at " + FormatUtc(approval.approved_at) +
                       ", but here it is only " + FormatUtc(now),
                   "Set the clocks of both parties right.");
  }
  if (approval.valid_until <= now)
    RefuseApproval(terms, what + " expired at " + FormatUtc(approval.valid_until));
  RequireThreshold(terms, approval.disclosure.min_cell, terms.disclosure.min_cell, party,
                   "min_cell");
  RequireThreshold(terms, approval.disclosure.min_rows, terms.disclosure.min_rows, party,
                   "min_rows");
  if (terms.disclosure.refuse_small_samples && !approval.disclosure.refuse_small_samples)
    RefuseApproval(terms, what + " does not refuse small samples, which the study does");
}

DisclosureSpec StrictestDisclosure(DisclosureSpec disclosure,
                                   std::span<const SignedApproval> approvals) {
  for (const SignedApproval& document : approvals) {
    const DisclosureSpec& asked = document.approval.disclosure;
    disclosure.min_cell = std::max(disclosure.min_cell, asked.min_cell);
    disclosure.min_rows = std::max(disclosure.min_rows, asked.min_rows);
    disclosure.refuse_small_samples |= asked.refuse_small_samples;
  }
  return disclosure;
}

}  // namespace partita::study
