// Why a fit stopped, as a number of a fixed list: what is told of a failed fit to those who have no
// words of it.
#pragma once

namespace partita::stats {

enum class StopReason {
  kConverged,
  kStartsOutside,  // Sigma is not positive definite at the start values
  kConstraints,    // equality constraints that contradict one another
  kNoBetterPoint,  // the likelihood may be flat or unbounded
  kLimit,          // of iterations, steps or evaluations
  kSaddlePoint,
  kRanAway,  // a parameter has no maximum at a finite value
};
inline constexpr int kNumStopReasons = 7;

// Without digits: "the limit of iterations was reached".
const char* StopReasonText(StopReason reason);

}  // namespace partita::stats
