// The delegation of an approval that a policy's key signed: the steward's word that this key signs for it.
//
//   use                    its number among the approvals of the policy
//   delegated_from/_until  when the key signs
//   delegated_uses         how many at most
//   delegation_certificate, delegation_signature   of the steward
//
// What the steward signed, under the domain "partita node policy 1": party, fingerprint of the policy's key,
// commitment to the policy's text (PolicyCommitment; `envelope` of the approval), the two times, the number of uses.
// Peers learn nothing of the text. Private to approvals, but for the commitment and SignDelegation.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "crypto/certificate.h"
#include "crypto/hash.h"
#include "study/approval/approval.h"
#include "study/approval/policy.h"

namespace partita::study {

class DocumentReader;

inline constexpr int64_t kMaxDelegationSeconds = int64_t{90} * 86'400;
inline constexpr uint64_t kMaxDelegatedUses = kMaxPolicyResults;

// SHA-256 over 32 random bytes and the exact text, so that the text cannot be guessed.
Digest PolicyCommitment(const Digest& salt, std::string_view text);

// key: fingerprint of the policy's certificate.
Delegation SignDelegation(const std::string& party, const Digest& key, const Digest& commitment,
                          int64_t from, int64_t until, uint64_t max_uses,
                          const crypto::Identity& steward);

// Whether a document has one; what is no JSON object has none.
bool HasDelegation(std::string_view text);
void AddDelegation(const Delegation& delegation, uint64_t use, nlohmann::ordered_json& object);
// Throws kBadInput.
void ReadDelegation(const DocumentReader& reader, SignedApproval& document);

// The fingerprint of the key that must have signed the document. Throws kRefused unless the steward at `fingerprint`
// signed the delegation for exactly this key, party and policy, and it covers the approval: one run, approved and
// valid within its times, a number within its uses.
std::string DelegatedKey(const SignedApproval& document, const std::string& party,
                         const std::string& fingerprint);

}  // namespace partita::study
