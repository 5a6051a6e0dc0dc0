// What a chain tells whom about one person, before it runs (methods.md 5.3, 5.5, 5.7; R-h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "methods/mcmc/chain.h"
#include "privacy/ledger/entry.h"
#include "privacy/statement.h"

namespace partita::methods::mcmc {

struct ChainAudience {
  std::vector<std::string> parties;
  privacy::EngineStructure engine = privacy::EngineStructure::kDealer;
  privacy::Adjacency adjacency = privacy::Adjacency::kReplace;
  double delta = 1e-6;
  uint32_t rows_per_person = 1;  // at most; a sensitivity is that of one row
};

// How far one row moves the log ratio of any decision under the audience's adjacency
// (stats/mcmc/clipped.h); empty: nothing bounds it.
using Sensitivity = std::optional<double>;

// Barker's rule with opened bits and the penalty method carry a claim: the first the same against
// everybody whom the engine withstands, for nobody knows a part of the threshold; the second with
// the noise that an adversary does not know. Everything else, and whatever has no bound of its
// sensitivity, is stated as unlimited. Decisions are counted chain by chain. Of the penalty method
// the sensitivity is that of its scale, and `sensitivity` only says that it is bounded.
privacy::Statement StateChain(const ChainPlan& plan, const ChainAudience& audience,
                              const Sensitivity& sensitivity);

// What a table's ledger is charged before the first opening: all decisions of the plan, against the
// outside and against `coalition` parties that pool what they know. Throws kRefused where the
// statement is unlimited.
std::vector<privacy::ledger::Charge> ChargesOf(const ChainPlan& plan, const ChainAudience& audience,
                                               const Sensitivity& sensitivity, uint32_t coalition);

}  // namespace partita::methods::mcmc
