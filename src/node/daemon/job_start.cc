#include "node/daemon/job_start.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <utility>

#include "base/error.h"
#include "node/daemon/spawn_job.h"
#include "node/job/wire.h"
#include "node/port/peer_user.h"

namespace partita::node {
namespace {

net::Socket ConnectToJobs(const std::filesystem::path& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = socket.string();
  net::Socket connection(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const bool fits = path.size() < sizeof address.sun_path;
  if (fits) std::memcpy(address.sun_path, path.data(), path.size());
  if (fits && connection.valid() &&
      ::connect(connection.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return connection;
  throw Error(ErrorCode::kUnreachable, "no job starts at the socket of jobs",
              "systemctl enable --now partita-job.socket; its path is `job_socket` of node.toml.");
}

}  // namespace

JobStarter JobsAsChildren(std::vector<std::string> program) {
  return [program = std::move(program)] {
    StartedJob job;
    auto [ours, theirs] = MakeJobChannel();
    job.channel = std::move(ours);
    job.child = SpawnJob(program, theirs.fd());
    if (job.child == 0)
      throw Error(ErrorCode::kUnreachable, "the system starts no process", "Stop other programs.");
    return job;
  };
}

JobStarter JobsAtSocket(std::filesystem::path socket, uid_t jobs) {
  return [socket = std::move(socket), jobs] {
    StartedJob job;
    job.channel = ConnectToJobs(socket);
    const uid_t listens = UserAt(job.channel.fd());
    if (listens != 0 && listens != jobs) {
      throw Error(
          ErrorCode::kUntrusted,
          fmt::format("the user {} listens at the socket of jobs, who is neither root nor the "
                      "jobs' user",
                      listens),
          "Stop that process, and start partita-job.socket.");
    }
    const int on = 1;
    if (::setsockopt(job.channel.fd(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0)
      throw Error(ErrorCode::kInternal, "the system does not say whose reports come from jobs");
    job.sends = jobs;
    return job;
  };
}

}  // namespace partita::node
