#include "node/daemon/spawn_job.h"

#include <fcntl.h>
#include <spawn.h>

#include "net/socket.h"

extern char** environ;

namespace partita::node {
namespace {

constexpr int kJobChannel = 3;

}  // namespace

pid_t SpawnJob(const std::vector<std::string>& program, int channel) {
  // Not 3 itself, which the copy is to become: a descriptor that becomes itself is closed.
  const net::Socket high(::fcntl(channel, F_DUPFD_CLOEXEC, kJobChannel + 1));
  if (!high.valid()) return 0;
  std::vector<char*> arguments;
  for (const std::string& word : program) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, high.fd(), kJobChannel);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // Not ended by a Control-C at the daemon's terminal.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  pid_t pid = 0;
  const int failed =
      ::posix_spawn(&pid, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return failed == 0 ? pid : 0;
}

}  // namespace partita::node
