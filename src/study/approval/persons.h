// Who signed an approval for its party: the steward, a deputy in its place, or two of them.
//
// A steward lets a deputy sign between two times, by its signature (domain "partita node deputy 1") over party, name,
// fingerprint of the deputy's key and the two times. An approval that a deputy signed carries that word, so that
// whoever knows the steward's key alone can verify it. What a deputy signs counts by the time at which it was signed.
//
// Where two persons have to sign (`stewards` of the approval, under both signatures), the second signs the digest of
// the whole approval and its own time (domain "partita approval second 1"). One signature of such an approval counts
// for nothing, wherever it is shown; two of one key are one.
//
//   stewards               how many persons have to sign
//   deputy                 who signed in the steward's place; empty: the steward
//   deputy_from, deputy_until, deputy_signature     only with a deputy: the steward's word
//   second                 who signed second, likewise; null: nobody yet
//   second_from, second_until, second_word          only with a deputy
//   second_at, second_certificate, second_signature only if somebody signed second
//   steward_certificate    only if the steward signed neither: the words are verified by it
//
// Private to approvals, but for SignDeputy, IsDeputyOf, SignSecond, StewardCertificate and WhoSigned.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "crypto/certificate.h"
#include "crypto/hash.h"
#include "study/approval/approval.h"

namespace partita::study {

class DocumentReader;

inline constexpr uint64_t kMostStewards = 2;
inline constexpr size_t kMaxDeputyName = 16;  // so that two fit in kApprovalBytes
inline constexpr int64_t kMaxDeputySeconds = int64_t{366} * 86'400;
inline constexpr char kStewardName[] = "the steward";  // of whoever has no name of a deputy

// The steward's word for a deputy. key: fingerprint of the deputy's certificate, which is made out to the party.
Deputy SignDeputy(const std::string& party, const std::string& name, const Digest& key,
                  int64_t from, int64_t until, const crypto::Identity& steward);
// Whether this steward gave this word.
bool IsDeputyOf(const Deputy& deputy, const std::string& party, const Digest& key,
                const x509_st& steward);

// DER: of whom the document says that it is the steward who signed it, or who let somebody sign. Verifies nothing.
const Bytes& StewardCertificate(const SignedApproval& document);

// With a second signature, made at the time `at`. deputy: who signs, if it is not the steward.
SignedApproval SignSecond(SignedApproval document, const crypto::Identity& identity, int64_t at,
                          std::optional<Deputy> deputy);

// The names of those who signed, the first first: kStewardName or a deputy's. Empty for what is no such document, is
// not signed, or was signed by a policy. Verifies nothing.
std::vector<std::string> WhoSigned(std::string_view text);
std::vector<std::string> WhoSigned(const SignedApproval& document);

// Whether a document is of the format that says who signed it.
bool NamesPersons(const SignedApproval& document);
bool NamesPersons(std::string_view text);
void AddPersons(const SignedApproval& document, nlohmann::ordered_json& object);
// Throws kBadInput.
void ReadPersons(const DocumentReader& reader, SignedApproval& document);

// Throws kRefused unless as many persons signed as the approval says, each the steward at `fingerprint` or a deputy
// within its time; two of them with different keys and names. fields: of the approval (approval.cc).
void RequirePersons(const SignedApproval& document, const std::string& party,
                    const std::string& fingerprint, std::string_view domain, ByteView fields);
// The same of an approval that waits for its second signature.
void RequireFirstPerson(const SignedApproval& document, const std::string& party,
                        const std::string& fingerprint, std::string_view domain, ByteView fields);

}  // namespace partita::study
