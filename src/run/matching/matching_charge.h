// What a matching takes from the privacy ledger of one holder's table: the number of matches, with noise
// (count = "noisy", which has to be charged) or exact (an exact release, if the holder names a ledger).
//
// Reserved and spent, durably, before this holder's first list leaves: whatever stops the run later, the
// number may have been seen. Peers countersign nothing of it: the receipts of studies cover it with
// the account's next one.
#pragma once

#include <optional>

#include "crypto/hash.h"
#include "privacy/ledger/sqlite_ledger.h"
#include "run/ledger/open_ledger.h"
#include "run/ledger/price.h"
#include "run/matching/matching_file.h"

namespace partita::run {

// Against outsiders and, if the policy has a budget for them, insiders: (epsilon, delta) of
// count_noise.h under the adjacency of each budget, which both are neighbours of. Run id and hash of
// the agreement are left zero.
privacy::ledger::ReservationRequest MatchingCharges(const MatchingFile& file,
                                                    const privacy::ledger::Policy& policy);

// What it takes from the budget, for its owner who decides about it; the table is the one that was
// named, or the ledger's only one. Throws as MatchingCharge does.
LedgerPrice PriceOfMatching(const MatchingFile& file, const LedgerOptions& options);

class MatchingCharge {
 public:
  // Opens the ledger and prices. options: as the holder named it, or nothing. Throws kUsage if the
  // matching has to be charged and no ledger is named, if one is named and nothing is to be charged,
  // or if it is not clear which account is meant; kBudget or kRefused if it does not fit.
  MatchingCharge(const MatchingFile& file, size_t party,
                 const std::optional<LedgerOptions>& options);

  // Once. Nothing without a ledger.
  void Spend(const crypto::Digest& run_id, const crypto::Digest& agreement_hash);

 private:
  std::string party_;
  std::optional<privacy::ledger::SqliteLedger> ledger_;
  privacy::ledger::ReservationRequest request_;
};

}  // namespace partita::run
