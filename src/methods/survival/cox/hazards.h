// The hazard up to every cell of time, on shares, as robust errors need it (robust.h, units.h).
//
// Method    With h = e / S0 of every term and m its mean at risk, sums over the terms of a cell, and of
//           these over the cells of its stratum up to it: L of h, A of h m. By Efron a row with the
//           event was at risk in the terms of its own cell by the part (1 - k/d) only, so that L and A
//           of events are those of the others less the sums of k/d h and k/d h m there.
// Error     L, A: 2^-41.
// Cost      A product of p + 1 numbers for each term with a cut; by Efron another.
// Revealed  Nothing.
#pragma once

#include <cmath>
#include <vector>

#include "methods/survival/cox/rows.h"
#include "mpc/engine.h"

namespace partita::methods::survival {

inline constexpr int kHazardBits = 40;  // of L and A
// Of M, with room for rounding; A is at most so many times L.
inline constexpr double kMostOfMean = 2;

// Of h, for an event is at risk itself, by Efron at least the part of it that is not left out; of L: of
// k events that are left each weighs at least e^-kMostPredictor. With times of entry others need not be
// at risk any more.
inline double MostOfTerm() { return 4 * std::exp(kMostPredictor); }
inline double MostHazard(double most_rows, bool late) {
  return late ? MostOfTerm() * most_rows : std::exp(kMostPredictor) * (2 + std::log(most_rows));
}

// Of every term, at the estimates.
struct CoxTerms {
  mpc::Shared events;   // e: terms x 1, 0 or 1, by Breslow events of the cell
  mpc::Shared gone;     // by Efron (ties.h)
  mpc::Shared hazards;  // e / S0, terms x 1
  mpc::Shared means;    // S1 / S0, terms x p
  mpc::Shared counted;  // e times these
};

// L and A of the rows that leave in each cell.
struct Expected {
  mpc::Shared hazard, weighted;  // cells x 1, cells x p
};
struct HazardSums {
  mpc::Shared mean, counted;       // M of a cell's terms, and the events times it
  std::vector<Expected> expected;  // of all; by Efron of who has the event, and of the others
};
// most: MostHazard.
HazardSums SumHazards(mpc::Engine& engine, const CoxCells& cells, size_t most_ties,
                      const CoxTerms& terms, double most_rows, double most);

// Of the terms of each cell, from the one with this number on, the sum.
mpc::Shared SumOfTerms(mpc::Engine& engine, const mpc::Shared& terms, size_t cells, double bound);

// Within every stratum the sums up to a cell.
mpc::Shared UpTo(mpc::Engine& engine, const CoxCells& cells, const mpc::Shared& value,
                 double bound);

}  // namespace partita::methods::survival
