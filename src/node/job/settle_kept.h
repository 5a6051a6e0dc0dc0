// What a kept budget costs: reservations that count as spent, in the account itself, before anything else is charged.
#pragma once

#include "node/job/kept_budgets.h"
#include "privacy/ledger/sqlite_ledger.h"

namespace partita::node {

// The account of that word as the ledger has it now: throws kRefused unless it goes on from the head that the steward
// signed for. Each reservation of the word is spent then; one that was refunded since it was shown is charged once more,
// under its own study. Again: no effect. Throws kBudget where that does not fit: nothing is charged to it then.
void SettleKept(privacy::ledger::SqliteLedger& book, const KeptAccount& account);

}  // namespace partita::node
