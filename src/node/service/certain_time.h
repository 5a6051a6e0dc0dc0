// A time that one wrong look at the clock does not move: what ends a study for good, or drops a
// message, waits for it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace partita::node {

inline constexpr int64_t kClockSlackSeconds = 300;
inline constexpr int64_t kClockDoubtSeconds = 86'400;

class CertainTime {
 public:
  // steady: seconds that only go on, with the machine asleep too; not given: the system's.
  explicit CertainTime(std::function<int64_t()> steady);

  // The clock shows `now`. If it leapt ahead of the steady time by more than 5 min since the last
  // look, what the steady time says, until the clock has stayed there for a day. A clock that goes
  // back is believed, and the first look is.
  int64_t At(int64_t now);

 private:
  struct Look {
    int64_t clock = 0, steady = 0;
  };

  std::function<int64_t()> steady_;
  std::optional<Look> believed_;
  std::optional<int64_t> doubted_since_;
};

}  // namespace partita::node
