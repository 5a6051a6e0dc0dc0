// How many runs an approval has paid for: a text file beside it with one line for each.
//
//   partita approval uses 1 DIGEST_OF_THE_APPROVAL
//   2026-09-01T12:00:00Z RUN_ID
//
// A run is counted at the moment from which somebody may be able to open its results (a party's
// ledger spends then), so a run that fails before is not. Where the party keeps a ledger, the run
// is in its journal as well, in the transaction that spends: the file can be lost or set back, the
// count in the ledger stands. Without a ledger the file is all there is, and a copy of the folder
// from before the run brings the approval back: nothing on the same host can prevent that.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "crypto/hash.h"
#include "privacy/ledger/journal.h"
#include "study/approval/approval.h"

namespace partita::run {

// A run as its approvals count it.
struct ApprovedRun {
  crypto::Digest run_id{};
  // It goes on where an earlier attempt stopped: counted already, if the approval has paid for any.
  bool goes_on = false;
};

// What the party's ledger knows of an approval, and how it spends: empty functions if there is no
// ledger. spend: durable on return; counts `use`, if there is one, in the same transaction.
struct ApprovalLedger {
  std::function<std::vector<crypto::Digest>(const crypto::Digest& approval)> runs_of;
  std::function<void(const std::optional<privacy::ledger::Used>& use)> spend;
};

// An empty record, in place of an earlier one. Throws kUsage if it cannot be written.
void StartApprovalUses(const std::filesystem::path& file, const study::Approval& approval);

// Throws kRefused, saying what used it up, unless the approval pays for `run`; counts nothing.
// Throws kRefused as well if the file is missing or belongs to another approval.
void RequireApprovalLeft(const std::filesystem::path& file, const study::Approval& approval,
                         const ApprovedRun& run, const ApprovalLedger& ledger);

// Spends by the ledger and counts the run at the time `now`; runs at the same time are counted one
// after the other. Throws as RequireApprovalLeft, and then spends nothing.
void CountApprovalUse(const std::filesystem::path& file, const study::Approval& approval,
                      const ApprovedRun& run, const ApprovalLedger& ledger, int64_t now);

// For people. Throws as above.
uint64_t ApprovalUses(const std::filesystem::path& file, const study::Approval& approval);

}  // namespace partita::run
