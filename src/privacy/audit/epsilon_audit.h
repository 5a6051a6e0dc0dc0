// Lower bounds of epsilon from runs (security.md 5.2; Ding et al. 2018, Bichsel et al. 2021): if
// P(S) >= p and Q(S) <= q, no mechanism with a smaller epsilon than ln((p - delta) / q) has these
// two laws at this delta.
#pragma once

#include "privacy/audit/events.h"

namespace partita::privacy {

// ln((p_lo - delta) / q_hi) with Clopper-Pearson bounds at alpha / 2 each, at least 0: a lower
// bound of the true epsilon at delta that is wrong with probability at most alpha. `first` is the
// world in which the event is more likely.
double EpsilonLower(const Count& first, const Count& second, double delta, double alpha);

struct EpsilonFinding {
  ChosenEvent chosen;
  Count first, second;  // on the runs that did not choose the event; first: the likelier world
  double epsilon_lower = 0;
};

// One event and one direction, both chosen on the training runs: no union bound is needed. Throws
// kUsage unless 0 <= delta < 1, and the errors of outputs.h.
EpsilonFinding AuditEpsilon(const Outputs& with, const Outputs& without, double delta,
                            const AuditOptions& options = {});

}  // namespace partita::privacy
