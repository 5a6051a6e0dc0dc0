// The privacy-loss-distribution accountant: an interval for epsilon at delta, or delta at epsilon,
// of any list of mechanisms, that contains the truth.
//
// Soundness is the sum of two proofs: grid laws that bound the pair's law from above and from below
// (loss_pmf.h), and composition with all numerical errors charged (composition.h). Both ends come
// from the same code with opposite signs; no constant was tuned to data. A single use needs neither
// grid nor composition (one_use.h).
//
// The spacing of the grid is refined until the interval is as narrow as asked (the width falls with
// the square of the spacing) or the transform would exceed max_cells. Unsampled Gaussians are
// combined exactly before.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "privacy/accounting/composition.h"
#include "privacy/accounting/mechanism.h"
#include "privacy/accounting/types.h"

namespace partita::privacy {

struct PldOptions {
  double relative_width = 1e-3;        // (upper - lower) / upper; from 1e-7 to 0.5
  double absolute_width = 1e-8;        // or this, whichever is wider
  size_t max_cells = size_t{1} << 22;  // the longest transform; 40 bytes each
  // Only whether the value is at most this is asked: refined until that is known (or as far as
  // asked).
  std::optional<double> decide = {};
  // What refinements may still cost, in about nanoseconds of one core: all calls that share it draw
  // from it, and answer with the interval that they have when the next round would take more than
  // is left; the first round begins wider if it would take more than half. Counted, not timed, so
  // that answers do not depend on the machine. Empty: no limit.
  std::shared_ptr<double> work = {};
  // Called between the stages of every refinement; throws if the user asked to stop. Empty: nobody
  // can.
  std::function<void()> check_cancelled = {};
};

struct PldResult {
  Interval value;        // the larger of the two directions, end by end
  Interval forward;      // remove, or replace
  Interval backward;     // add, or replace the other way round
  bool reached = false;  // the interval is as narrow as asked (or the decision is made)
  double spacing = 0;    // finest spacing used
  size_t cells = 0;      // longest transform used
};

// Throws kUsage for an empty list, counts or delta out of range, mixed adjacencies are the caller's
// matter.
PldResult PldEpsilon(const std::vector<Event>& events, double delta,
                     const PldOptions& options = {});
PldResult PldDelta(const std::vector<Event>& events, double epsilon,
                   const PldOptions& options = {});

}  // namespace partita::privacy
