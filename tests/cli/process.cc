#include "tests/cli/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "tests/cli/json_schema.h"
#include "tests/paths.h"

extern char** environ;

namespace partita::testing {

namespace {

// Whatever a test has the program print as JSON is what the program says that it prints.
void ExpectItsSchema(std::vector<std::string> arguments, const ProcessResult& run) {
  const auto format = std::find(arguments.begin(), arguments.end(), "--format");
  if (arguments[0] != PartitaProgram() || format == arguments.end() || run.out.empty()) return;
  arguments.erase(format, format + 2);
  arguments.push_back("--schema");
  const ProcessResult schema = Process(arguments).Wait();
  if (schema.exit_code != 0) return;  // wrong usage, found before --schema
  const auto output = nlohmann::json::parse(run.out, nullptr, /*allow_exceptions=*/false);
  EXPECT_EQ(JsonSchema(nlohmann::json::parse(schema.out)).Errors(output), "") << run.out;
}

}  // namespace

struct Process::State {
  std::vector<std::string> arguments;
  pid_t pid = -1;
  int out = -1, err = -1;
  std::thread out_reader, err_reader;
  std::mutex mutex;
  std::condition_variable changed;
  ProcessResult result;
  bool err_closed = false, waited = false;

  void Read(int fd, std::string& into, bool is_err) {
    char buffer[4096];
    ssize_t got;
    while ((got = ::read(fd, buffer, sizeof(buffer))) > 0) {
      std::lock_guard lock(mutex);
      into.append(buffer, static_cast<size_t>(got));
      changed.notify_all();
    }
    std::lock_guard lock(mutex);
    if (is_err) err_closed = true;
    changed.notify_all();
  }
};

Process::Process(const std::vector<std::string>& arguments) : state_(new State) {
  state_->arguments = arguments;
  int out[2], err[2];
  if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0)
    throw std::runtime_error("pipe");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  ::posix_spawn_file_actions_adddup2(&actions, err[1], 2);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const int failed = ::posix_spawn(&state_->pid, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(out[1]);
  ::close(err[1]);
  if (failed != 0) throw std::runtime_error("cannot start " + arguments[0]);
  state_->out = out[0];
  state_->err = err[0];
  state_->out_reader = std::thread([s = state_] { s->Read(s->out, s->result.out, false); });
  state_->err_reader = std::thread([s = state_] { s->Read(s->err, s->result.err, true); });
}

Process::~Process() {
  if (!state_->waited) {
    Kill(SIGKILL);
    Wait();
  }
  delete state_;
}

bool Process::WaitForStandardError(const std::string& text) {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] {
    return state_->err_closed || state_->result.err.find(text) != std::string::npos;
  });
  return state_->result.err.find(text) != std::string::npos;
}

void Process::Kill(int signal) { ::kill(state_->pid, signal); }

ProcessResult Process::Wait() {
  state_->out_reader.join();
  state_->err_reader.join();
  int status = 0;
  ::waitpid(state_->pid, &status, 0);
  ::close(state_->out);
  ::close(state_->err);
  state_->waited = true;
  state_->result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (WIFEXITED(status)) ExpectItsSchema(state_->arguments, state_->result);
  return state_->result;
}

std::string PartitaProgram() { return BinaryPath("bin/partita"); }

// The port stays bound by a socket that does not listen. That keeps it from all who are given any
// port, for listening or connecting, also while a node that is started again does not hold it.
std::string FreeAddress() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("no free port");
  }
  return "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

ProcessResult Partita(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), PartitaProgram());
  return Process(arguments).Wait();
}

}  // namespace partita::testing
