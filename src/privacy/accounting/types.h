// What every accountant speaks: intervals that contain the truth, and checks of what comes in.
//
// The upper end of an interval is what is charged; the lower end says how much of it is slack.
#pragma once

#include <cstdint>
#include <limits>

namespace partita::privacy {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// lower <= truth <= upper. upper = +infinity: no finite guarantee.
struct Interval {
  double lower = 0;
  double upper = 0;
};

// An (epsilon, delta) guarantee; delta may be 0 here (pure differential privacy).
struct EpsilonDelta {
  double epsilon = 0;
  double delta = 0;
};

inline constexpr uint64_t kMaxCount = uint64_t{1} << 32;  // uses of one mechanism

// All throw kUsage that names what was wrong. `what` completes the sentence "... must be ...".
double RequireDelta(double delta);                          // 1e-280 <= delta < 1
double RequireEpsilon(double epsilon);                      // 0 <= epsilon <= 1e6
double RequirePositive(double value, const char* what);     // 0 < value < infinity
double RequireProbability(double value, const char* what);  // 0 <= value <= 1
double RequireSamplingRate(double rate);                    // 0 < rate <= 1
uint64_t RequireCount(uint64_t count);                      // 1 <= count <= kMaxCount

}  // namespace partita::privacy
