// Control-C and SIGTERM and the time limit, as a flag that long work looks at.
#pragma once

#include <atomic>
#include <chrono>

namespace partita::cli {

// Installs the handlers and keeps freed memory (base/heap.h); also ignores SIGPIPE and switches
// core dumps and debuggers of the same user off, since memory holds shares and keys.
void PrepareProcess();

// Set by Control-C, SIGTERM or the time limit.
const std::atomic<bool>& Interrupted();

// From now on the command may take this long; then it is interrupted.
void SetTimeLimit(std::chrono::microseconds limit);
// Whether it was the time limit.
bool TimeLimitPassed();

}  // namespace partita::cli
