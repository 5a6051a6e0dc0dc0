// The charge of a private sum in the privacy ledger of whoever opens or collects it.
//
// One charge per study and epoch, for the noise that the accepted uploads really carry, spent
// before anything leaves that could let anybody open the sum (methods.md, R-m). It names the
// agreement (closing.h): who is in the sum, and what every node adds to it. After a crash the same
// charge is found again; another agreement of the same round is refused, even if nothing but the
// ledger remembers the first: with noise from the clients two sums over nearly the same clients
// have the same noise but for a few shares, and no second charge would pay for their difference
// (decision 0219). A node and a reader of one institution share a ledger, and a charge.
#pragma once

#include <string>

#include "privacy/ledger/sqlite_ledger.h"
#include "run/ledger/open_ledger.h"
#include "sums/file/collection_file.h"
#include "sums/protocol/closing.h"

namespace partita::sums {

struct RoundCharge {
  std::string table;
  uint64_t reservation = 0;  // number of the entry
  privacy::ledger::Standing standing;
};

// Durable on return. by: who is written into the entry. Throws kBudget or kRefused, and charges
// nothing, if the budget does not allow it; kRefused if the round was charged for another
// agreement; kUsage as OpenLedger and ChosenTable. Any number of processes at once: one charge.
RoundCharge ChargeRound(const CollectionFile& collection, const Agreement& agreement,
                        const run::LedgerOptions& options, const std::string& by);
// Throws what ChargeRound would for the most expensive round, that of N - T_drop uploads; nothing
// if this round was charged before.
void CheckRoundCharge(const CollectionFile& collection, const run::LedgerOptions& options);

}  // namespace partita::sums
