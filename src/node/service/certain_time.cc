#include "node/service/certain_time.h"

#include <ctime>
#include <utility>

namespace partita::node {
namespace {

int64_t SystemSteady() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return static_cast<int64_t>(time.tv_sec);
}

}  // namespace

CertainTime::CertainTime(std::function<int64_t()> steady) : steady_(std::move(steady)) {
  if (!steady_) steady_ = SystemSteady;
}

int64_t CertainTime::At(int64_t now) {
  const int64_t steady = steady_();
  if (believed_.has_value()) {
    const int64_t expected = believed_->clock + (steady - believed_->steady);
    if (now > expected + kClockSlackSeconds) {
      if (!doubted_since_.has_value()) doubted_since_ = steady;
      if (steady - *doubted_since_ < kClockDoubtSeconds) return expected;
    }
  }
  believed_ = Look{now, steady};
  doubted_since_.reset();
  return now;
}

}  // namespace partita::node
