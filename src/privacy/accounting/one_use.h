// delta(eps) of one use of one mechanism, from its cells as they are: no grid, no transform.
//
// A cell whose losses all exceed eps adds P - e^eps Q exactly, one whose losses all lie below adds
// nothing. Of a cell that eps divides, only its masses and the ends of its losses are known: its
// part lies between (P - e^eps Q)_+ (one merged output: Jensen) and what a spread of it onto its
// ends adds (connect the dots, loss_pmf.h). So outputs that have one loss each, however many and
// wherever they lie, are exact up to rounding, and where losses are continuous the width falls with
// the square of the cells' own. Errors of masses and roundings are charged to both ends.
#pragma once

#include <vector>

#include "privacy/accounting/loss_cells.h"
#include "privacy/accounting/types.h"

namespace partita::privacy {

// Cells in any order. The result is within [0, 1].
Interval OneUseDelta(const std::vector<LossCell>& cells, double epsilon);
// What certainly suffices for delta, and what certainly does not (0: none that is known).
// Infinite: the mass of infinite loss is larger.
Interval OneUseEpsilon(const std::vector<LossCell>& cells, double delta);

}  // namespace partita::privacy
