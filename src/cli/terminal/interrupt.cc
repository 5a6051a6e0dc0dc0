#include "cli/terminal/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>

#include "base/heap.h"

namespace partita::cli {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

std::atomic<bool> time_limit_passed{false};

void HandleSignal(int signal) {
  if (signal == SIGALRM) time_limit_passed = true;
  interrupted = true;
}

constexpr int kInterruptedExit = 130;

void ExitOnSignal(int) { ::_exit(kInterruptedExit); }

// flags: of the handler; the second Control-C of an orderly end has the default one.
void HandleInterruption(void (*handler)(int), unsigned flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = static_cast<int>(flags);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

EndAtOnce::EndAtOnce() {
  HandleInterruption(ExitOnSignal, 0);
  if (interrupted && !time_limit_passed) ::_exit(kInterruptedExit);
}

EndAtOnce::~EndAtOnce() { HandleInterruption(HandleSignal, SA_RESETHAND); }

void PrepareProcess() {
  KeepFreedMemory();
  // Descriptors 0 to 2 exist, so that no socket or pipe becomes one of them.
  int fd = 0;
  while (fd >= 0 && fd <= 2) fd = ::open("/dev/null", O_RDWR);
  if (fd > 2) ::close(fd);
  struct sigaction action {};
  action.sa_handler = HandleSignal;
  // A second Control-C ends the process at once.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGALRM, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a file beyond its limit is an error of its write
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  // Neither a debugger nor a core dump handler of the same user reads its memory.
  prctl(PR_SET_DUMPABLE, 0);
}

const std::atomic<bool>& Interrupted() { return interrupted; }

void SetTimeLimit(std::chrono::microseconds limit) {
  itimerval timer{};
  timer.it_value.tv_sec = limit.count() / 1'000'000;
  timer.it_value.tv_usec = std::max<int64_t>(limit.count() % 1'000'000, 1);
  setitimer(ITIMER_REAL, &timer, nullptr);
}

bool TimeLimitPassed() { return time_limit_passed; }

}  // namespace partita::cli
