#include "study/approval/delegation.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/utc_time.h"
#include "crypto/signature.h"
#include "study/approval/signed_document.h"

namespace partita::study {
namespace {

constexpr char kDelegationDomain[] = "partita node policy 1";

Bytes DelegationFields(const std::string& party, const Digest& key, const Digest& commitment,
                       const Delegation& delegation) {
  ByteWriter writer;
  writer.String(party);
  writer.Raw(key);
  writer.Raw(commitment);
  writer.U64(static_cast<uint64_t>(delegation.from));
  writer.U64(static_cast<uint64_t>(delegation.until));
  writer.U64(delegation.max_uses);
  return writer.Take();
}

[[noreturn]] void RefuseDelegation(const std::string& party, const std::string& what) {
  throw Error(ErrorCode::kRefused,
              fmt::format("the approval of party {} by a policy {}", party, what),
              "Let the steward of that party approve this study itself.");
}

}  // namespace

Digest PolicyCommitment(const Digest& salt, std::string_view text) {
  return crypto::Sha256().Field("partita policy commitment 1").Field(salt).Field(text).Finish();
}

Delegation SignDelegation(const std::string& party, const Digest& key, const Digest& commitment,
                          int64_t from, int64_t until, uint64_t max_uses,
                          const crypto::Identity& steward) {
  Delegation delegation;
  delegation.from = from;
  delegation.until = until;
  delegation.max_uses = max_uses;
  delegation.signature =
      SignFields(steward, kDelegationDomain, DelegationFields(party, key, commitment, delegation));
  return delegation;
}

bool HasDelegation(std::string_view text) {
  const nlohmann::json object = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  return object.is_object() && object.contains("delegation_signature");
}

void AddDelegation(const Delegation& delegation, uint64_t use, nlohmann::ordered_json& object) {
  object["use"] = use;
  object["delegated_from"] = FormatUtc(delegation.from);
  object["delegated_until"] = FormatUtc(delegation.until);
  object["delegated_uses"] = delegation.max_uses;
  object["delegation_certificate"] = ToHex(delegation.signature.certificate);
  object["delegation_signature"] = ToHex(delegation.signature.signature);
}

void ReadDelegation(const DocumentReader& reader, SignedApproval& document) {
  Delegation delegation;
  document.approval.use = reader.Number("use", 1, kMaxDelegatedUses);
  delegation.from = reader.Time("delegated_from");
  delegation.until = reader.Time("delegated_until");
  delegation.max_uses = reader.Number("delegated_uses", 1, kMaxDelegatedUses);
  delegation.signature.certificate =
      reader.Hex("delegation_certificate", crypto::kMaxCertificateBytes);
  delegation.signature.signature = reader.Hex("delegation_signature", crypto::kMaxSignatureBytes);
  document.delegation = delegation;
}

std::string DelegatedKey(const SignedApproval& document, const std::string& party,
                         const std::string& fingerprint) {
  const Approval& approval = document.approval;
  const Delegation& delegation = *document.delegation;
  const Digest key = crypto::Sha256Of(document.signature.certificate);
  RequireSignature(delegation.signature, kDelegationDomain,
                   DelegationFields(approval.party, key, approval.envelope, delegation),
                   "the policy of party " + party, party, fingerprint);
  if (ToHex(key) == fingerprint) RefuseDelegation(party, "is signed by the steward's own key");
  if (approval.party != party) RefuseDelegation(party, "names another party");
  if (approval.decision != Decision::kApprove) RefuseDelegation(party, "rejects");
  if (approval.runs != 1) RefuseDelegation(party, "is for more than one run");
  if (approval.stewards != 1 || document.deputy || document.second)
    RefuseDelegation(party, "asks for persons to sign, and a policy is none");
  if (approval.envelope == Digest{}) RefuseDelegation(party, "names no policy");
  if (delegation.until - delegation.from > kMaxDelegationSeconds)
    RefuseDelegation(party, "is of one that lasts longer than 90 days");
  if (approval.approved_at < delegation.from || approval.valid_until > delegation.until)
    RefuseDelegation(party, "does not lie within its time");
  if (approval.use < 1 || approval.use > delegation.max_uses)
    RefuseDelegation(party, fmt::format("is use {} of {}", approval.use, delegation.max_uses));
  return ToHex(key);
}

}  // namespace partita::study
