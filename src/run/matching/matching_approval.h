// Approvals of a matching: the documents of studies (study/approval/approval.h) about another kind of
// agreement. What an owner commits to is the keys of its table, not all of its bytes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "crypto/certificate.h"
#include "crypto/random.h"
#include "run/approval/approval_files.h"
#include "run/matching/matching_plan.h"

namespace partita::run {

// MATCHING_FOLDER/match-approval-NAME-PARTY.json. SecretPath and UsesPath are beside it.
std::filesystem::path MatchingApprovalPath(const std::filesystem::path& matching_file,
                                           const std::string& matching, const std::string& party);

struct MatchingApprovalRequest {
  size_t party = 0;  // of MatchingFile::Names
  crypto::Identity identity;
  std::vector<std::string> fingerprints;  // of the roster, by party
  std::optional<uint64_t> minimum;        // raised by the steward
  std::optional<int64_t> valid_until;     // default: kApprovalSeconds from now
  uint64_t runs = 1;
};

// list: of the table that is approved; null: of a linker, which has none. Throws kUsage for a minimum below the file's or a date that
// has passed; kRefused if the roster pins another certificate for this party.
MadeApproval MakeMatchingApproval(const MatchingFile& file, const study::ApprovalTerms& terms,
                                  const MatchingApprovalRequest& request,
                                  const match::KeyList* list, crypto::RandomSource& random);

// The party's own approval in a run: read, verified, with the salt of its commitment, unless it
// commits to no table.
struct OwnMatchingApproval {
  std::filesystem::path file;
  study::SignedApproval document;
  crypto::Key salt;
};
// Throws kRefused if there is none, or it is not for `terms`; if it has no run left.
OwnMatchingApproval OpenMatchingApproval(const std::filesystem::path& file,
                                         const std::string& party, const std::string& fingerprint,
                                         const study::ApprovalTerms& terms);
// Counts the run, durably. Throws kRefused if another one was faster.
void SpendMatchingApproval(const OwnMatchingApproval& own, const crypto::Digest& run_id);

}  // namespace partita::run
