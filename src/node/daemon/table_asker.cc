#include "node/daemon/table_asker.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "base/clock.h"
#include "base/error.h"
#include "net/socket.h"
#include "node/daemon/spawn_job.h"

namespace partita::node {
namespace {

constexpr std::chrono::seconds kTablePatience{20}, kDraftPatience{60};

[[noreturn]] void FailLook(const std::string& what) {
  throw Error(ErrorCode::kRefused, "the job that looks at the tables " + what,
              "Try again; partita node tables shows the same at the machine.");
}

std::string ReadLook(int fd, Deadline deadline) {
  std::string text;
  char buffer[1 << 16];
  while (text.size() <= kMaxTableLookBytes) {
    if (deadline.passed())
      throw Error(ErrorCode::kTimeout, "looking at the tables takes too long", "Try again.");
    pollfd waiting{fd, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(deadline.remaining().count()));
    if (ready < 0 && errno != EINTR) FailLook("cannot be waited for");
    if (ready <= 0) continue;
    const ssize_t got = ::recv(fd, buffer, sizeof buffer, 0);
    if (got == 0) return text;
    if (got < 0 && errno != EINTR) FailLook("broke off");
    if (got > 0) text.append(buffer, static_cast<size_t>(got));
  }
  FailLook("says too much");
}

// Waited for here; its answer is all that it is for.
class LookingJob {
 public:
  explicit LookingJob(pid_t pid) : pid_(pid) {}
  LookingJob(const LookingJob&) = delete;
  LookingJob& operator=(const LookingJob&) = delete;
  ~LookingJob() {
    ::kill(pid_, SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  }

 private:
  pid_t pid_;
};

}  // namespace

TableAsker AskTablesOfJob(std::vector<std::string> program) {
  return [program = std::move(program)](TableLook look, const std::string& table) {
    std::vector<std::string> words = program;
    const bool is_draft = look == TableLook::kDraft;
    words.emplace_back(is_draft                      ? "--draft"
                       : look == TableLook::kBudgets ? "--budgets"
                                                     : "--tables");
    if (is_draft) words.push_back(table);
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      FailLook("cannot be started");
    const net::Socket ours(ends[0]);
    net::Socket theirs(ends[1]);
    const pid_t pid = SpawnJob(words, theirs.fd());
    theirs = net::Socket();
    if (pid == 0) FailLook("cannot be started");
    const LookingJob job(pid);
    std::string text =
        ReadLook(ours.fd(), Deadline::After(is_draft ? kDraftPatience : kTablePatience));
    if (text.empty()) FailLook("ended without an answer");
    return text;
  };
}

}  // namespace partita::node
