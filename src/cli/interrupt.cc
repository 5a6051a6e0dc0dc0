#include "cli/interrupt.h"

#include <signal.h>
#include <sys/resource.h>

namespace partita::cli {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void HandleSignal(int) { interrupted = true; }

}  // namespace

void PrepareProcess() {
  struct sigaction action {};
  action.sa_handler = HandleSignal;
  // A second Control-C ends the process at once.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

const std::atomic<bool>& Interrupted() { return interrupted; }

}  // namespace partita::cli
