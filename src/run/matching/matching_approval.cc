#include "run/matching/matching_approval.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/utc_time.h"
#include "base/version.h"
#include "run/approval/approval_uses.h"

namespace partita::run {
namespace {

constexpr char kApproveMatching[] =
    "Read what is learnt (partita match plan FILE) and approve it: partita match approve FILE "
    "--party PARTY.";

// What is common to approvals of all kinds speaks of studies in its hints.
template <typename F>
auto WithApproveHint(F step) {
  try {
    return step();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kRefused) throw;
    throw Error(error.code(), error.message(), kApproveMatching);
  }
}

}  // namespace

std::filesystem::path MatchingApprovalPath(const std::filesystem::path& matching_file,
                                           const std::string& matching, const std::string& party) {
  return matching_file.parent_path() / ("match-approval-" + matching + "-" + party + ".json");
}

MadeApproval MakeMatchingApproval(const MatchingFile& file, const study::ApprovalTerms& terms,
                                  const MatchingApprovalRequest& request,
                                  const match::KeyList* list, crypto::RandomSource& random) {
  const std::string party = file.Names()[request.party];
  RequireOwnCertificate(request.identity, party, request.fingerprints[request.party]);
  MadeApproval made;
  study::Approval approval;
  approval.party = party;
  approval.study = terms.study;
  approval.agreement_hash = terms.agreement_hash;
  approval.plan_hash = terms.plan_hash;
  if (list != nullptr) {
    made.salt = crypto::RandomKey(random);
    approval.commitment = match::CommitToKeys(*list, *made.salt);
  }
  approval.disclosure = terms.disclosure;
  approval.disclosure.min_rows = request.minimum.value_or(terms.disclosure.min_rows);
  if (file.level == match::Level::kHiddenNobody && approval.disclosure.min_rows > 0) {
    throw Error(ErrorCode::kUsage,
                "nobody tests a minimum where nobody learns the number of matches "
                "(count = \"nobody\")",
                "leave it out; ask for more rows in the studies (min_rows)");
  }
  if (approval.disclosure.min_rows < file.minimum ||
      approval.disclosure.min_rows > kMostMatchedRows) {
    throw Error(ErrorCode::kUsage,
                fmt::format("a minimum of {} is not from the matching's {} to {}",
                            approval.disclosure.min_rows, file.minimum, kMostMatchedRows),
                "A steward may only raise what the matching file says.");
  }
  approval.approved_at = NowUtc();
  approval.valid_until =
      request.valid_until.value_or(approval.approved_at + study::kApprovalSeconds);
  RequireFuture(approval.valid_until, approval.approved_at);
  approval.software_version = kVersion;
  approval.runs = request.runs;
  random.Fill(approval.nonce);
  made.document = study::SignApproval(std::move(approval), request.identity);
  return made;
}

OwnMatchingApproval OpenMatchingApproval(const std::filesystem::path& file,
                                         const std::string& party, const std::string& fingerprint,
                                         const study::ApprovalTerms& terms) {
  if (!std::filesystem::exists(file)) {
    throw Error(ErrorCode::kRefused,
                fmt::format("party {} has not approved the matching: {} does not exist", party,
                            file.string()),
                kApproveMatching);
  }
  OwnMatchingApproval own;
  own.file = file;
  own.document = study::ParseApproval(ReadApprovalFile(file, party), file.string());
  const study::Approval& approval = own.document.approval;
  study::RequireSigned(own.document, party, fingerprint);
  study::RequireApproves(approval, party, terms, NowUtc());
  if (approval.commitment != crypto::Digest{})
    own.salt = WithApproveHint([&] { return ReadSalt(SecretPath(file), approval); });
  WithApproveHint([&] { RequireApprovalLeft(UsesPath(file), approval, {}, {}); });
  return own;
}

void SpendMatchingApproval(const OwnMatchingApproval& own, const crypto::Digest& run_id) {
  WithApproveHint(
      [&] { CountApprovalUse(UsesPath(own.file), own.document.approval, {run_id}, {}, NowUtc()); });
}

}  // namespace partita::run
