// All accountants behind one call, and calibration in every direction.
//
// kPld is the one to charge: both ends are proved. The others are rungs of the same ladder, for
// comparison: each says whether it is a bound at all.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "privacy/accounting/pld.h"

namespace partita::privacy {

enum class AccountantKind { kPld, kRdp, kAdvancedComposition, kGaussianClt };

// "pld", "rdp", "advanced", "clt".
std::string_view AccountantName(AccountantKind kind);

struct Guarantee {
  AccountantKind kind = AccountantKind::kPld;
  // For kRdp and kAdvancedComposition the lower end is 0: they know none. For kGaussianClt both
  // ends are the approximation.
  Interval epsilon;
  bool is_bound = true;  // false for kGaussianClt
  bool applicable =
      true;  // false: some mechanism has no such description; epsilon is then [0, infinity]
};

Guarantee Account(AccountantKind kind, const std::vector<Event>& events, double delta,
                  const PldOptions& options = {});

// What remains to be found, as a function of the noise (or of the steps).
using EventsAtNoise = std::function<std::vector<Event>(double noise_multiplier)>;
using EventsAtSteps = std::function<std::vector<Event>(uint64_t steps)>;

struct NoiseCalibration {
  double noise_multiplier = 0;  // the upper end of its epsilon is within the budget
  Interval epsilon;
};
struct StepsCalibration {
  uint64_t steps = 0;   // 0: not even one step fits
  bool largest = true;  // of those permitted; false where it may not be, as the work ran out
  Interval epsilon;
};

// The smallest noise whose upper epsilon is within the budget, at most 1 + tolerance times too
// large (beyond the accountant's own slack). More noise must mean less loss. Throws kBudget if 1e6
// is not enough.
NoiseCalibration NoiseForBudget(const EventsAtNoise& events, const EpsilonDelta& budget,
                                double tolerance = 1e-4, const PldOptions& options = {});
// The largest number of steps, up to max_steps; where options.work runs out, one that fits.
StepsCalibration StepsForBudget(const EventsAtSteps& events, const EpsilonDelta& budget,
                                uint64_t max_steps = uint64_t{1} << 30,
                                const PldOptions& options = {});

}  // namespace partita::privacy
