// SimulateProcesses: one `partita study join` per role.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "crypto/certificate.h"
#include "net/roster.h"
#include "net/socket.h"
#include "runtime/simulate.h"

extern char** environ;

namespace partita::runtime {
namespace {

[[noreturn]] void ThrowSystem(const std::string& what) {
  throw Error(ErrorCode::kInternal, fmt::format("{}: {}", what, std::strerror(errno)));
}

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { Close(); }
  int get() const { return fd_; }
  void Close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
};

// A folder that only this user can enter, removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string path = (std::filesystem::temp_directory_path() / "partita-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) ThrowSystem("cannot make a temporary folder");
    path_ = path;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct Child {
  std::string party;
  pid_t pid = -1;
  Descriptor out, err;
  std::string standard_output, standard_error;
  int exit_code = -1;
};

struct Pipe {
  Descriptor read, write;
};

Pipe MakePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) ThrowSystem("cannot make a pipe");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

Child Spawn(const std::string& party, const std::vector<std::string>& arguments,
            const net::Socket& listener, bool inherit_standard_error) {
  Child child;
  child.party = party;
  Pipe out = MakePipe(), err = MakePipe();
  // In the child the listening socket is descriptor 3; everything else closes on exec.
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out.write.get(), 1);
  if (!inherit_standard_error) ::posix_spawn_file_actions_adddup2(&actions, err.write.get(), 2);
  ::posix_spawn_file_actions_adddup2(&actions, listener.fd(), 3);
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

// Reads what is there; closes the descriptor at the end of the stream.
void Drain(Descriptor& from, std::string& into) {
  char buffer[65536];
  const ssize_t got = ::read(from.get(), buffer, sizeof(buffer));
  if (got < 0 && errno == EINTR) return;
  if (got <= 0) {
    from.Close();
    return;
  }
  into.append(buffer, static_cast<size_t>(got));
}

void StopAll(std::vector<Child>& children) {
  for (Child& child : children) {
    if (child.exit_code < 0 && child.pid > 0) ::kill(child.pid, SIGTERM);
  }
}

void WaitForAll(std::vector<Child>& children, const std::function<void()>& poll) {
  while (true) {
    std::vector<pollfd> waits;
    std::vector<std::pair<Descriptor*, std::string*>> streams;
    for (Child& child : children) {
      if (child.out.get() >= 0) streams.emplace_back(&child.out, &child.standard_output);
      if (child.err.get() >= 0) streams.emplace_back(&child.err, &child.standard_error);
    }
    for (const auto& [descriptor, text] : streams) waits.push_back({descriptor->get(), POLLIN, 0});
    if (waits.empty()) break;
    if (::poll(waits.data(), waits.size(), 100) > 0) {
      for (size_t i = 0; i < waits.size(); ++i) {
        if (waits[i].revents != 0) Drain(*streams[i].first, *streams[i].second);
      }
    }
    if (poll) poll();
  }
  for (Child& child : children) {
    int status = 0;
    while (::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
    }
    child.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
}

}  // namespace

std::vector<ProcessEnd> SimulateProcesses(const MleStudy& study,
                                          const ProcessSimulation& simulation) {
  TemporaryFolder folder;
  std::vector<net::Listener> listeners;
  net::Roster roster;
  for (const study::Party& party : study.parties) {
    listeners.push_back(net::Listen("127.0.0.1", "0"));
    const std::filesystem::path home = folder.path() / party.name;
    std::filesystem::create_directory(home);
    const crypto::Identity identity = crypto::MakeIdentity({.name = party.name, .days = 1});
    crypto::SaveIdentity(identity, home / "cert.pem", home / "key.pem");
    roster.push_back(
        {party.name, listeners.back().address, crypto::Fingerprint(*identity.certificate)});
  }
  const std::filesystem::path roster_file = folder.path() / "roster.toml";
  net::SaveRoster(roster, roster_file);

  std::vector<Child> children;
  try {
    for (size_t i = 0; i < study.parties.size(); ++i) {
      const std::filesystem::path home = folder.path() / study.parties[i].name;
      std::vector<std::string> arguments = {simulation.executable.string(),
                                            "study",
                                            "join",
                                            simulation.study_file.string(),
                                            "--party",
                                            study.parties[i].name,
                                            "--folder",
                                            home.string(),
                                            "--roster",
                                            roster_file.string(),
                                            "--listen-descriptor",
                                            "3",
                                            "--format",
                                            simulation.format};
      if (study.parties[i].holder) {
        arguments.insert(arguments.end(), {"--data", simulation.data[i].string()});
      }
      if (simulation.link.latency.count() > 0) {
        arguments.insert(
            arguments.end(),
            {"--latency",
             fmt::format(
                 "{}us",
                 std::chrono::ceil<std::chrono::microseconds>(simulation.link.latency).count())});
      }
      if (simulation.link.bytes_per_second > 0) {
        arguments.insert(
            arguments.end(),
            {"--bandwidth", fmt::format("{}bit/s", simulation.link.bytes_per_second * 8)});
      }
      const bool show = i == study.receiver && simulation.show_receiver_progress;
      if (!show) arguments.push_back("--quiet");
      if (i != study.receiver || simulation.output.empty()) {
        arguments.push_back("--no-output");
      } else {
        arguments.insert(arguments.end(),
                         {"--output", std::filesystem::absolute(simulation.output).string()});
      }
      children.push_back(Spawn(study.parties[i].name, arguments, listeners[i].socket, show));
      listeners[i].socket = net::Socket();
    }
    WaitForAll(children, simulation.poll);
  } catch (...) {
    StopAll(children);
    for (Child& child : children) {
      int status = 0;
      if (child.exit_code < 0) ::waitpid(child.pid, &status, 0);
    }
    throw;
  }

  std::vector<ProcessEnd> ends;
  for (Child& child : children) {
    ends.push_back({child.party, child.exit_code, std::move(child.standard_output),
                    std::move(child.standard_error)});
  }
  return ends;
}

}  // namespace partita::runtime
