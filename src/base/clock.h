// Deadlines on a monotonic clock.
#pragma once

#include <algorithm>
#include <chrono>

namespace partita {

using SteadyClock = std::chrono::steady_clock;

// A point in time after which a wait must fail.
class Deadline {
 public:
  static Deadline After(std::chrono::milliseconds delay) {
    return Deadline(SteadyClock::now() + delay);
  }

  bool passed() const { return SteadyClock::now() >= at_; }
  // Never negative; 0 once the deadline has passed.
  std::chrono::milliseconds remaining() const {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - SteadyClock::now());
    return std::max(left, std::chrono::milliseconds(0));
  }

 private:
  explicit Deadline(SteadyClock::time_point at) : at_(at) {}
  SteadyClock::time_point at_;
};

// Seconds since `start`.
inline double SecondsSince(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

}  // namespace partita
