// Approvals and envelopes on their owner's disk.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "crypto/certificate.h"
#include "crypto/random.h"
#include "run/method/study.h"
#include "study/approval/approval.h"
#include "study/approval/envelope.h"

namespace partita::run {

// STUDY_FOLDER/approval-STUDY-PARTY.json; study: the name in the file.
std::filesystem::path DefaultApprovalPath(const std::filesystem::path& study_file,
                                          const std::string& study, const std::string& party);
// X.json -> X.secret.json: the salt; mode 0600, never leaves its owner.
std::filesystem::path SecretPath(const std::filesystem::path& approval);
// X.json -> X.uses: the runs that the approval or envelope has paid for.
std::filesystem::path UsesPath(const std::filesystem::path& document);

// The text of an approval or envelope. Throws kRefused if there is none, kBadInput if it cannot be
// read or is larger than any such document.
std::string ReadApprovalFile(const std::filesystem::path& file, const std::string& party);
// The salt of an approved table. Throws kRefused if the file is missing or belongs to another
// approval, kBadInput if others may read it or it is damaged.
crypto::Key ReadSalt(const std::filesystem::path& secret, const study::Approval& approval);

// Throws kUsage for a validity that is over.
void RequireFuture(int64_t valid_until, int64_t now);
// Throws kRefused unless the identity is the one that the roster pins for the party.
void RequireOwnCertificate(const crypto::Identity& identity, const std::string& party,
                           const std::string& fingerprint);

struct ApprovalRequest {
  std::string party;
  study::Decision decision = study::Decision::kApprove;
  std::string reason;
  crypto::Identity identity;
  std::vector<std::string> fingerprints;  // of the roster, by channel index
  std::filesystem::path data;             // of a holder that approves
  // Raised over the study's by the steward.
  std::optional<uint64_t> min_cell, min_rows;
  bool refuse_small_samples = false;
  std::optional<int64_t> valid_until;  // default: kApprovalSeconds from now
  uint64_t runs = 1;                   // that it is for
};

struct MadeApproval {
  study::SignedApproval document;
  std::optional<crypto::Key> salt;  // of a holder that approves
};

// terms: of the study (TermsOf). Throws kUsage for a threshold below the study's, a date that has
// passed or a reason that is too long; kRefused if the roster pins another certificate for this
// party; kBadInput if the table cannot be read.
MadeApproval MakeApproval(const Study& study, const study::ApprovalTerms& terms,
                          const ApprovalRequest& request, crypto::RandomSource& random);
// Writes the document and its secret part in place of earlier ones, and starts the count of its
// runs at zero. Throws kUsage.
void SaveApproval(const MadeApproval& made, const std::filesystem::path& file);

// Signs an envelope and starts its count at zero, in place of an earlier one. party, name, lists
// and limits are the caller's. Throws kUsage if it has expired or the certificate is not the
// party's.
study::SignedEnvelope SaveEnvelope(study::Envelope envelope, const crypto::Identity& identity,
                                   const std::filesystem::path& file);

}  // namespace partita::run
