// What everything charged so far would amount to, had it been planned at once: never more than the
// filter charges. Apart from tests of the filter because the two kinds of intervals
// (accounting/types.h, sampling/interval.h) do not mix.
#pragma once

#include <vector>

#include "privacy/ledger/sqlite_ledger.h"

namespace partita::privacy::ledger {

// Epsilon at the budget's delta of everything spent and reserved so far against the class, by the
// PLD accountant over the stored mechanisms. Valid only for studies that were not chosen by looking
// at earlier results; Gaussian noise is taken as continuous. Of insiders, the one against whom most
// was charged. [0, 0] if nothing was charged.
Bounds NonAdaptiveEpsilon(const std::vector<Entry>& entries, const Policy& policy,
                          AdversaryClass adversary_class);

}  // namespace partita::privacy::ledger
