// What a run of DPVI tells whom about one record, before and after it (methods.md, 4.5; R-h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "methods/mixture/run.h"
#include "privacy/accounting/steps_statement.h"
#include "privacy/ledger/entry.h"

namespace partita::methods::mixture {

struct Audience {
  std::vector<std::string> parties;  // those who add noise, by name
  std::vector<std::string> others;   // computing parties that add none: where one adds all of it
  std::string analyst;               // one of them, or empty
  privacy::EngineStructure engine = privacy::EngineStructure::kDealer;
  privacy::Adjacency adjacency = privacy::Adjacency::kAddRemove;  // of the outside analyst
  double delta = 1e-5;
};

// `openings` of the plan's max_openings() have been made, and no record was used in more than
// max_uses of them. Before a run: all of them and no uses; then Poisson batches are stated with a
// number of uses that no record exceeds but with the plan's redraw_probability, taken out of delta.
struct Made {
  uint64_t openings = 0;
  std::optional<uint64_t> max_uses;
};

// Under Poisson sampling an outside analyst gains from not knowing the batches. Disjoint batches
// are stated without that: each record in one batch an epoch, one use each. Full batches likewise.
privacy::NoisySteps StepsOf(const RunPlan& plan, const Audience& audience, const Made& made);

// The rows of StateSteps, and those of parties that know none of the noise; but for the dealer: it
// knows the batches (it masks their rows), so nothing amplifies for it.
privacy::Statement StateRun(const RunPlan& plan, const Audience& audience, const Made& made);

// The smallest noise multiplier, up to 1 %, with which the whole plan keeps `epsilon` against the
// outside analyst, or against every single party. Throws kBudget if there is none up to LargestNoise.
enum class Against { kOutside, kParty };
double NoiseFor(const RunRequest& request, const Audience& audience, double epsilon,
                Against against);

// One way to choose batches with the same noise and the same number of passes through the rows;
// uses and losses count openings in reserve.
struct BatchChoice {
  stats::mixture::BatchMode mode = stats::mixture::BatchMode::kPoisson;
  uint64_t steps = 0, max_uses = 0;
  privacy::PrivacyLoss outside, party;
};
// Poisson batches of the plan's size, disjoint ones, and all rows in every step: what each costs.
std::vector<BatchChoice> CompareBatches(const RunPlan& plan, const Audience& audience);

// What a table's ledger is charged before the first opening: the whole plan, against the outside
// and against `coalition` parties that pool what they know. Throws kRefused if nothing covers them.
std::vector<privacy::ledger::Charge> ChargesOf(const RunPlan& plan, const Audience& audience,
                                               uint32_t coalition);

}  // namespace partita::methods::mixture
