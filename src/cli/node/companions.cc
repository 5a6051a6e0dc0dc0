#include "cli/node/companions.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/clock.h"
#include "base/error.h"

namespace partita::cli {
namespace {

constexpr std::chrono::seconds kGoodbye{5};
constexpr std::chrono::milliseconds kLookAgain{20};

// Whether it has ended; then it is no process any more.
bool HasEnded(pid_t pid, int how) {
  int status = 0;
  pid_t got = 0;
  do {
    got = ::waitpid(pid, &status, how);
  } while (got < 0 && errno == EINTR);
  return got != 0;
}

}  // namespace

void Companions::Start(const std::string& name, std::vector<std::string> words) {
  words.insert(words.begin(), std::filesystem::read_symlink("/proc/self/exe").string());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t own = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    // Other threads may hold locks: nothing here but calls of the system.
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() == own) ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  if (pid < 0)
    throw Error(ErrorCode::kInternal, "the system starts no process", "Stop other programs.");
  running_.push_back({name, pid});
}

void Companions::RequireAll() {
  for (auto companion = running_.begin(); companion != running_.end(); ++companion) {
    if (!HasEnded(companion->pid, WNOHANG)) continue;
    const std::string name = companion->name;
    running_.erase(companion);
    throw Error(ErrorCode::kUnreachable, fmt::format("{} ended, and the node with it", name),
                "What is written above says why; mend it and start again.");
  }
}

Companions::~Companions() {
  for (const Companion& companion : running_) ::kill(companion.pid, SIGTERM);
  const Deadline deadline = Deadline::After(kGoodbye);
  for (const Companion& companion : running_) {
    while (!HasEnded(companion.pid, WNOHANG)) {
      if (deadline.passed()) {
        ::kill(companion.pid, SIGKILL);
        HasEnded(companion.pid, 0);
        break;
      }
      std::this_thread::sleep_for(kLookAgain);
    }
  }
}

}  // namespace partita::cli
