// What a study takes from the privacy budget of one holder's table.
#pragma once

#include "privacy/ledger/sqlite_ledger.h"
#include "run/method/study.h"

namespace partita::run {

// A private study is charged for its one noisy release: against outsiders with all noise shares
// unknown, against insiders with those of the policy's coalition known, each under the adjacency of
// its budget. Any other study is entered with every exact release of its plan. Run id and
// hash of the agreement are left zero. Throws kRefused, naming the table, where no charge could
// cover the study: a budget under add-remove and a release that takes the number of rows as public,
// or a coalition that the engine does not withstand.
privacy::ledger::ReservationRequest ChargesOf(const Study& study,
                                              const privacy::ledger::Policy& policy);

}  // namespace partita::run
