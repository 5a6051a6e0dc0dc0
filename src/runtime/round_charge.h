// The charge of a private sum in the privacy ledger of whoever opens or collects it.
//
// Once per study, epoch and agreed set, for the noise that the accepted uploads really carry, spent
// before anything leaves that could let anybody open the sum (methods.md, R-m). After a crash the
// same charge is found again; another set of the same epoch is charged anew (R-d).
#pragma once

#include <string>

#include "methods/dca/closing.h"
#include "privacy/ledger/sqlite_ledger.h"
#include "runtime/open_ledger.h"
#include "study/collection_file.h"

namespace partita::runtime {

struct RoundCharge {
  std::string table;
  uint64_t reservation = 0;  // number of the entry
  privacy::ledger::Standing standing;
};

// Durable on return. by: who is written into the entry. Throws kBudget or kRefused, and charges
// nothing, if the budget does not allow it; kUsage as OpenLedger and ChosenTable.
RoundCharge ChargeRound(const study::CollectionFile& collection,
                        const methods::dca::Closing& closing, const LedgerOptions& options,
                        const std::string& by);
// Throws what ChargeRound would for the most expensive round, that of N - T_drop uploads; nothing
// if a set of this collection was charged before, for it may be the same.
void CheckRoundCharge(const study::CollectionFile& collection, const LedgerOptions& options);
// Whether the charge of this set was spent: its sum may have left.
bool IsSpent(const study::CollectionFile& collection, const crypto::Digest& agreed_set,
             const LedgerOptions& options);

}  // namespace partita::runtime
