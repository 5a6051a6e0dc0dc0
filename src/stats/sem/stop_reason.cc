#include "stats/sem/stop_reason.h"

namespace partita::stats {

const char* StopReasonText(StopReason reason) {
  switch (reason) {
    case StopReason::kConverged:
      return "it converged";
    case StopReason::kStartsOutside:
      return "the model-implied covariance matrix is not positive definite at the start values";
    case StopReason::kConstraints:
      return "the equality constraints could not be satisfied together; check that they do not "
             "contradict one another";
    case StopReason::kNoBetterPoint:
      return "no better point was found; the likelihood may be flat or unbounded there";
    case StopReason::kLimit:
      return "the limit of iterations was reached";
    case StopReason::kSaddlePoint:
      return "the gradient vanishes at a saddle point of the likelihood, not at a maximum";
    case StopReason::kRanAway:
      return "a parameter ran away; the likelihood may have no maximum at a finite value";
  }
  return "";
}

}  // namespace partita::stats
