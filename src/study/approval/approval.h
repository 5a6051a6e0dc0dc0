// A party's signed word on one study: approved or rejected, which table, until when.
//
// The document is JSON for people to read (docs/approvals.md). What is signed is not the JSON text
// but its fields, length-prefixed (base/bytes.h), together with the signer's certificate; reading
// is strict, and a document that is not exactly what RenderApproval writes is refused, so that
// nobody can read one thing and sign another. An approval is for sharing: all that it says about a
// table is a salted commitment (data/snapshot.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "crypto/certificate.h"
#include "crypto/hash.h"
#include "crypto/random.h"
#include "study/file/study_file.h"

namespace partita::study {

using crypto::Digest;

// A document on the wire: its text, padded with blanks.
inline constexpr size_t kApprovalBytes = 4096;
inline constexpr size_t kMaxReasonBytes = 400;
inline constexpr uint64_t kMaxThreshold = 1'000'000'000;  // of min_cell and min_rows
inline constexpr uint64_t kMaxApprovedRuns = 1'000'000;
inline constexpr int64_t kApprovalSeconds = int64_t{90} * 86'400;  // of validity, by default
// How far the clocks of two parties may be apart.
inline constexpr int64_t kClockSkewSeconds = 300;

enum class Decision { kApprove, kReject };

// Of a matching of lists `study` and the hashes are its own, `commitment` is of the keys of the
// party's table, and min_rows is the least number of matches (run/matching).
struct Approval {
  std::string party;
  Decision decision = Decision::kApprove;
  // Of a rejection; may be empty otherwise. One line, at most kMaxReasonBytes, no control
  // characters.
  std::string reason;
  std::string study;          // its name
  Digest agreement_hash{};    // AgreementHash: study file, versions, schemas, certificates
  Digest plan_hash{};         // PlanHash
  Digest commitment{};        // of the party's table; zero for one that holds nothing, or rejects
  DisclosureSpec disclosure;  // what this party demands: at least what the study says
  // How many runs it is for, from 1 to kMaxApprovedRuns. A run that goes on where it was
  // interrupted is one run; one that ends before anything can be opened is none.
  uint64_t runs = 1;
  Digest nonce{};                            // random: two approvals of the same are two
  int64_t approved_at = 0, valid_until = 0;  // utc_time.h
  std::string software_version;
  // EnvelopeDigest of the envelope that it was made under, or the commitment to a policy
  // (delegation.h); zero: none.
  Digest envelope{};
  uint64_t use = 0;  // of a policy: its number, from 1; 0: by no policy
  // How many persons of the party have to sign: 1 or 2 (persons.h).
  uint64_t stewards = 1;
};

// Beside every signed document. Both empty: not signed.
struct Signature {
  Bytes certificate;  // DER, of the signer
  Bytes signature;    // over the domain of the document and its fields
};

// By which a steward lets the key of one policy sign for it. Party, key and commitment are those of the
// approval that carries it: its party, the certificate that signed it, its `envelope`.
struct Delegation {
  int64_t from = 0, until = 0;  // utc_time.h
  uint64_t max_uses = 0;
  Signature signature;  // of the steward
};

// Whom a steward lets sign in its place (persons.h).
struct Deputy {
  std::string name;             // as its site calls it
  int64_t from = 0, until = 0;  // when it may sign: utc_time.h
  Bytes signature;              // of the steward

  bool operator==(const Deputy&) const = default;
};

// Under an approval that two persons have to sign.
struct SecondSignature {
  int64_t at = 0;  // utc_time.h
  Signature signature;
  std::optional<Deputy> deputy;  // none: the steward's
};

struct SignedApproval {
  Approval approval;
  Signature signature;
  // Of an approval by a policy, whose `use` is not 0; such documents are of a format of their own.
  std::optional<Delegation> delegation = std::nullopt;
  // Who signed, if it was not the steward alone: another format of its own (persons.h).
  std::optional<Deputy> deputy = std::nullopt;
  std::optional<SecondSignature> second = std::nullopt;
  Bytes steward_certificate = {};  // DER; where deputies signed alone
};

SignedApproval SignApproval(Approval approval, const crypto::Identity& identity);

// Of all fields: by what an approval is known where its runs are counted.
Digest ApprovalDigest(const Approval& approval);

// Ends with a line break. Throws kInternal if a field is longer than it may be.
std::string RenderApproval(const SignedApproval& document);
// file: for messages. Throws kBadInput unless the text, blanks at its end aside, is what
// RenderApproval writes. Signatures are not verified.
SignedApproval ParseApproval(std::string_view text, std::string_view file);

// Exactly kApprovalBytes, and back. `party`: whose message it is; throws kPeerFault.
Bytes EncodeApproval(const SignedApproval& document);
SignedApproval DecodeApproval(ByteView bytes, std::string_view party);

// What the owner of a table keeps beside its approval, to show later that the table is the same.
struct ApprovalSecret {
  std::string party;
  Digest commitment{};
  crypto::Key salt;
};
std::string RenderSecret(const ApprovalSecret& secret);
// Throws kBadInput.
ApprovalSecret ParseSecret(std::string_view text, std::string_view file);

// Throws kRefused naming the party unless the document was signed by the key of the certificate
// that the roster pins for `party` at `fingerprint`, and that certificate is valid now; or by the key of a policy
// (delegation.h) or of a deputy (persons.h) for which that key signed. Where two persons have to sign, by both.
void RequireSigned(const SignedApproval& document, const std::string& party,
                   const std::string& fingerprint);
// The same of an approval that waits for its second signature.
void RequireFirstSigned(const SignedApproval& document, const std::string& party,
                        const std::string& fingerprint);

// What every approval of a study has to say.
struct ApprovalTerms {
  std::string study;
  Digest agreement_hash{}, plan_hash{};
  DisclosureSpec disclosure;
  std::string kind = "study";  // or "matching": as messages call it
};

// Throws kRefused saying what differs unless `approval` is the party's, approves exactly `terms`,
// and holds at the time `now`. Does not look at signature and commitment.
void RequireApproves(const Approval& approval, const std::string& party, const ApprovalTerms& terms,
                     int64_t now);

// What the run has to keep to: the strictest of the study and of all approvals.
DisclosureSpec StrictestDisclosure(DisclosureSpec disclosure,
                                   std::span<const SignedApproval> approvals);

}  // namespace partita::study
