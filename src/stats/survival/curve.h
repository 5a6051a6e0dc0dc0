// Kaplan-Meier curves in the clear, as R's survfit computes them: the oracle of method `survival`.
//
// Source  E. L. Kaplan, P. Meier, "Nonparametric estimation from incomplete observations", JASA 1958;
//         the variance is Greenwood's; intervals are those of log S (R's conf.type = "log").
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace partita::stats::survival {

// A row: the event (or, where there was none, the last sight of the person) at `time`.
struct Observation {
  double time = 0;
  bool event = false;
};

// What a curve is at one of its times; rows with an event or a last sight there leave after it.
struct CurveStep {
  double time = 0;
  uint64_t at_risk = 0, events = 0, censored = 0;
  double log_survival = 0;  // minus infinity once everybody has had the event
  double variance = 0;      // of log S; infinite there
};

// By increasing time, one for each time that occurs.
std::vector<CurveStep> KaplanMeier(const std::vector<Observation>& rows);

struct Interval {
  double estimate = 0, lower = 0, upper = 0;
};
// S at `time` with its interval; 1 before the first step.
Interval SurvivalAt(const std::vector<CurveStep>& curve, double time, double confidence);

// Where the curve, and the bounds of its interval, first are at 1/2 or below: the time of the step,
// or the middle of the level part where S is 1/2. Nothing where they never are.
struct Median {
  std::optional<double> estimate, lower, upper;
};
Median MedianOf(const std::vector<CurveStep>& curve, double confidence);

}  // namespace partita::stats::survival
