// Many processes that ask one ledger for the same budget at once (R32).
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/error.h"

namespace partita::privacy::ledger {

struct RaceCounts {
  std::atomic<uint64_t> spent{0}, refused{0}, failed{0};
};

// Memory that children share with their parent.
class SharedCounts {
 public:
  SharedCounts() {
    void* memory = mmap(nullptr, sizeof(RaceCounts), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw Error(ErrorCode::kInternal, "no shared memory");
    counts_ = new (memory) RaceCounts;
  }
  ~SharedCounts() { munmap(counts_, sizeof(RaceCounts)); }
  SharedCounts(const SharedCounts&) = delete;
  SharedCounts& operator=(const SharedCounts&) = delete;
  RaceCounts& operator*() { return *counts_; }
  RaceCounts* operator->() { return counts_; }

 private:
  RaceCounts* counts_ = nullptr;
};

// What one process does after everybody is ready. Returns whether the budget was granted; throws
// kBudget if it was refused. Made in the child: no connection is carried over a fork.
using Attempt = std::function<void(uint64_t run)>;
using MakeAttempt = std::function<Attempt()>;

// `processes` children with `attempts` each, all starting at the same moment. Before the fork this
// process must hold no open ledger.
inline void Race(int processes, uint64_t attempts, const MakeAttempt& make, RaceCounts& counts) {
  int ready[2], start[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(start), 0);
  std::vector<pid_t> children;
  for (int process = 0; process < processes; ++process) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child > 0) {
      children.push_back(child);
      continue;
    }
    close(start[1]);
    char byte = 1;
    try {
      const Attempt attempt = make();
      if (write(ready[1], &byte, 1) != 1) _exit(2);
      // Ends when the parent closes the other end: for all at once.
      if (read(start[0], &byte, 1) != 0) _exit(2);
      for (uint64_t i = 0; i < attempts; ++i) {
        try {
          attempt(static_cast<uint64_t>(process) * attempts + i + 1);
          ++counts.spent;
        } catch (const Error& error) {
          ++(error.code() == ErrorCode::kBudget ? counts.refused : counts.failed);
        }
      }
    } catch (const Error&) {
      ++counts.failed;
    }
    _exit(0);
  }
  close(ready[1]);
  for (int process = 0; process < processes; ++process) {
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
  }
  close(start[0]);
  close(start[1]);
  close(ready[0]);
  for (const pid_t child : children) {
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

}  // namespace partita::privacy::ledger
