// What a run of each protocol tells whom about one row (methods.md, 0 items 4 to 6, and R-h). Rows
// are split, so neighbours of a party differ in one row of ANOTHER party, replaced.
//
// Every statement has the rows: outside analyst, each party, coalitions as far as they are of
// interest, and where there is a dealer, the dealer alone and with a party. What an adversary is
// assumed to see is written in each function; a loss is stated for what it sees, never for less.
#pragma once

#include <string>
#include <vector>

#include "methods/classify/descent.h"
#include "methods/classify/local_aggregation.h"
#include "methods/classify/private_minimum.h"
#include "methods/classify/psgd.h"
#include "privacy/ledger/entry.h"
#include "privacy/statement.h"

namespace partita::methods::classify {

struct Audience {
  std::vector<std::string> parties;  // those who add noise, by name
  privacy::EngineStructure engine = privacy::EngineStructure::kDealer;
  double delta = 1e-6;
  uint32_t known_shares = 1;  // coalitions are stated up to this size, and one of two at least
};

// One noisy average. Pure post-processing after it.
privacy::Statement StateAggregation(const AggregationTask& task, const NoisedSum& sum,
                                    const Audience& audience);

// All T noisy sums, seen by everybody. Nobody but its owner knows whether a row was in a batch, so
// Poisson sampling amplifies against the other parties, too (descent.h). noise_multiplier: of
// CalibrateDescent, what remains against task.known_shares. The outside analyst is stated under
// task.adjacency, parties under replacement.
privacy::Statement StateDescent(const DescentTask& task, double noise_multiplier,
                                const Audience& audience);

// All T noisy sums, by the composition of rho alone: also for the outside analyst, because the last
// iterate of a run that stops is not the minimiser that Rajkumar & Agarwal's theorem is about; it
// is computed from the sums, and their composition covers it.
privacy::Statement StatePsgd(const PsgdTask& task, const Audience& audience);

// The noisy minimum and the certificate's bit. budget: as given to DesignMinimum. Against fewer
// known shares than it was designed for the loss is smaller.
privacy::Statement StateMinimum(const PrivateMinimum& design, const MinimumBudget& budget,
                                const Audience& audience);

// The minimum of the perturbed objective, opened without output noise: nothing limits any loss,
// because the theorem speaks of the exact minimiser and an opening on a grid is not that. What the
// theorem would say of the exact one, sigma* and Delta are in the mechanism.
privacy::Statement StateObjective(const PrivateMinimum& design, const MinimumBudget& budget,
                                  const Audience& audience);

// What opens exactly: nothing limits any loss. what: of what opens, one sentence.
privacy::Statement StateExact(const std::string& what, const Audience& audience);

// What a table's ledger is charged for `release` before the first opening: a statement's rows for
// the outside analyst, the dealer, and `coalition` parties (0 or 1: a party). delta: of the
// audience. Throws kRefused if nothing limits one of them, or the statement has no such coalition.
std::vector<privacy::ledger::Charge> ChargesOf(const privacy::Statement& statement,
                                               const std::string& release, uint32_t coalition,
                                               double delta);

// One statement of several releases to the same audience: losses against the same adversary add up
// (basic composition) over `one_after_other`; a row that is in the table of `instead` is in none of
// the others, so that the larger loss counts (null: there is none).
privacy::Statement Together(const std::vector<privacy::Statement>& one_after_other,
                            const privacy::Statement* instead);

// Throws kRefused for a delta above 1/n: a mechanism that publishes a row at random would have it.
void RequireSmallDelta(double delta, uint64_t rows);

}  // namespace partita::methods::classify
