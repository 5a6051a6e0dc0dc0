#include "run/simulate/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

#include "base/clock.h"
#include "base/error.h"

extern char** environ;

namespace partita::run {
namespace {

// For the others to notice by themselves that one is gone; and for a child to end after SIGTERM.
constexpr std::chrono::seconds kNotice{10};
constexpr std::chrono::seconds kEnd{5};

[[noreturn]] void ThrowSystem(const std::string& what) {
  throw Error(ErrorCode::kInternal, fmt::format("{}: {}", what, std::strerror(errno)));
}

struct Pipe {
  net::Socket read, write;
};

Pipe MakePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) ThrowSystem("cannot make a pipe");
  return {net::Socket(ends[0]), net::Socket(ends[1])};
}

// Reads what is there; closes the descriptor at the end of the stream.
void Drain(net::Socket& from, std::string& into) {
  char buffer[65536];
  const ssize_t got = ::read(from.fd(), buffer, sizeof(buffer));
  if (got < 0 && errno == EINTR) return;
  if (got <= 0) {
    from = net::Socket();
    return;
  }
  into.append(buffer, static_cast<size_t>(got));
}

// Waits at most a tenth of a second for output of any child.
void DrainAll(std::vector<Child>& children) {
  std::vector<pollfd> waits;
  std::vector<std::pair<net::Socket*, std::string*>> streams;
  for (Child& child : children) {
    if (child.out.valid()) streams.emplace_back(&child.out, &child.standard_output);
    if (child.err.valid()) streams.emplace_back(&child.err, &child.standard_error);
  }
  for (const auto& [descriptor, text] : streams) waits.push_back({descriptor->fd(), POLLIN, 0});
  if (::poll(waits.data(), waits.size(), 100) <= 0) return;
  for (size_t i = 0; i < waits.size(); ++i) {
    if (waits[i].revents != 0) Drain(*streams[i].first, *streams[i].second);
  }
}

// Takes note of a child that has ended and whose output is complete.
void Reap(Child& child) {
  if (child.ended || child.out.valid() || child.err.valid()) return;
  int status = 0;
  if (::waitpid(child.pid, &status, WNOHANG) != child.pid) return;
  child.ended = true;
  if (WIFEXITED(status)) child.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) child.signal = WTERMSIG(status);
}

void SignalAll(const std::vector<Child>& children, int signal) {
  for (const Child& child : children) {
    if (!child.ended) ::kill(child.pid, signal);
  }
}

bool AllEnded(const std::vector<Child>& children) {
  return std::all_of(children.begin(), children.end(),
                     [](const Child& child) { return child.ended; });
}

void StepChildren(std::vector<Child>& children) {
  DrainAll(children);
  for (Child& child : children) Reap(child);
}

}  // namespace

Child SpawnChild(const std::string& name, const std::vector<std::string>& arguments, int inherited,
                 bool inherit_standard_error) {
  Child child;
  child.name = name;
  Pipe out = MakePipe(), err = MakePipe();
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out.write.fd(), 1);
  if (!inherit_standard_error) ::posix_spawn_file_actions_adddup2(&actions, err.write.fd(), 2);
  ::posix_spawn_file_actions_adddup2(&actions, inherited, 3);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const int failed = ::posix_spawn(&child.pid, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    errno = failed;
    ThrowSystem("cannot start " + arguments[0]);
  }
  child.out = std::move(out.read);
  child.err = std::move(err.read);
  return child;
}

void StopChildren(std::vector<Child>& children) {
  SignalAll(children, SIGTERM);
  const Deadline deadline = Deadline::After(kEnd);
  while (!AllEnded(children) && !deadline.passed()) StepChildren(children);
  SignalAll(children, SIGKILL);
  while (!AllEnded(children)) StepChildren(children);
}

void WatchChildren(std::vector<Child>& children, const std::function<bool(const Child&)>& failed,
                   const std::function<void()>& poll) {
  try {
    std::optional<Deadline> notice;
    while (!AllEnded(children)) {
      StepChildren(children);
      if (poll) poll();
      const bool one_failed =
          std::any_of(children.begin(), children.end(),
                      [&](const Child& child) { return child.ended && failed(child); });
      if (one_failed && !notice) notice = Deadline::After(kNotice);
      if (notice && notice->passed()) StopChildren(children);
    }
  } catch (...) {
    StopChildren(children);
    throw;
  }
}

}  // namespace partita::run
