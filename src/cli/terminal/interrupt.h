// Control-C and SIGTERM and the time limit, as a flag that long work looks at.
#pragma once

#include <atomic>
#include <chrono>

namespace partita::cli {

// Installs the handlers and keeps freed memory (base/heap.h); also ignores SIGPIPE and switches
// core dumps and debuggers of the same user off, since memory holds shares and keys.
void PrepareProcess();

// While it lives, Control-C and SIGTERM end the process at once, with exit code 130: for work within a
// library that cannot be interrupted, and that leaves nothing behind.
class EndAtOnce {
 public:
  EndAtOnce();
  ~EndAtOnce();
  EndAtOnce(const EndAtOnce&) = delete;
  EndAtOnce& operator=(const EndAtOnce&) = delete;
};

// Set by Control-C, SIGTERM or the time limit.
const std::atomic<bool>& Interrupted();

// From now on the command may take this long; then it is interrupted.
void SetTimeLimit(std::chrono::microseconds limit);
// Whether it was the time limit.
bool TimeLimitPassed();

}  // namespace partita::cli
