// The privacy statement of an iterative method: many noisy sums over batches of rows that a joint
// secret seed chooses, of which only the sums are opened.
//
// Every step adds Gaussian noise to a sum of contributions of L2 norm at most C; all lengths here
// are in units of C. Rows, by the rules R-b, R-g and R-h of the design:
//   outside analyst   the named adjacency; all noise; which rows a step used is hidden from it, so
//                     Poisson sampling amplifies;
//   each party        another party's columns of one record are replaced (VPDP, below): a change of
//                     2 C in every step that used the record. It knows the batches (no
//                     amplification) and its own noise share: (P - 1)/P of the variance remain. Of
//                     all steps those count that used one record, at most max_uses;
//   any c parties     likewise with (P - c)/P; unlimited where the engine does not withstand them;
//   the dealer        with the published result an outside analyst; with a party unlimited.
// Where the analyst sits in a party, that party's row comes first: it is the headline.
//
// Vertically partitioned DP (Tajeddine et al., Definition 3.2): two tables are neighbours for party
// p if they differ in one record, and there in columns of parties other than p only. The loss
// against p is bounded over such neighbours.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "privacy/adjacency.h"
#include "privacy/statement.h"

namespace partita::privacy {

struct NoisySteps {
  std::vector<std::string> parties;  // each adds an equal share of the noise
  std::string analyst;               // the one of them who gets the result; empty: none of them
  double noise_multiplier = 0;       // standard deviation of all shares together, in units of C
  double sampling_rate = 1;          // every row enters a step with this probability; 1: all rows
  uint64_t steps = 0;
  // No record is used in more steps: a cap that the protocol keeps, or after a run the largest
  // number that its batches had. Empty: a record may be in every step.
  std::optional<uint64_t> max_uses;
  EngineStructure engine = EngineStructure::kDealer;
  Adjacency adjacency = Adjacency::kReplace;  // of the outside analyst
  double delta = 0;
  // How far one step's noise is from a Gaussian: its hockey-stick divergences exceed those of the
  // Gaussian by at most this (discrete_gaussian_mechanism.h, "continuous plus gap"). Charged as a
  // failure with that probability in every step.
  double gap = 0;
};

// Rows with an epsilon below 30 carry their trade-off function. Throws kUsage for parameters out of
// range, an analyst who is none of the parties, max_uses of 0
// or above steps, and noise so small that `gap` cannot be charged this way.
Statement StateSteps(const NoisySteps& steps);

// Epsilon at `delta` for somebody who knows the batches and `known` of the noise shares, when the
// others' columns of one record are replaced that was used `uses` times.
PrivacyLoss LossOfUses(const NoisySteps& steps, uint32_t known, uint64_t uses);

}  // namespace partita::privacy
