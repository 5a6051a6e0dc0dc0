// The charge of a private sum in the privacy ledger of whoever opens or collects it.
//
// Once per study and epoch, for the noise that the accepted uploads really carry, spent before
// anything leaves that could let anybody open the sum (methods.md, R-m). After a crash the same
// charge is found again.
#pragma once

#include <string>

#include "privacy/ledger/sqlite_ledger.h"
#include "runtime/run_ledger.h"
#include "study/collection_file.h"

namespace partita::runtime {

struct RoundCharge {
  std::string table;
  uint64_t reservation = 0;  // number of the entry
  privacy::ledger::Standing standing;
};

// Durable on return. by: who is written into the entry. Throws kBudget or kRefused, and charges
// nothing, if the budget does not allow it; kUsage as OpenLedger and ChosenTable.
RoundCharge ChargeRound(const study::CollectionFile& collection, uint32_t accepted,
                        const LedgerOptions& options, const std::string& by);
// Throws what ChargeRound would for the most expensive round, that of N - T_drop uploads.
void CheckRoundCharge(const study::CollectionFile& collection, const LedgerOptions& options);

}  // namespace partita::runtime
