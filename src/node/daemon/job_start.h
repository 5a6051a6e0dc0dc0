// How a daemon comes by a job: a process of its own with one connection to the daemon (job/wire.h), which is all by which
// the two know each other.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "net/socket.h"

namespace partita::node {

struct StartedJob {
  net::Socket channel;         // the daemon's end
  pid_t child = 0;             // to be waited for; 0: it is no child of this process
  std::optional<uid_t> sends;  // whose every report has to be (job/wire.h); none: a child's
};

// Starts one job. From any thread. Throws kUnreachable where none starts, kUntrusted.
using JobStarter = std::function<StartedJob()>;

// A child of this process and of its user: `program` with its arguments and the job's end as descriptor 3.
JobStarter JobsAsChildren(std::vector<std::string> program);

// A connection to `socket`, for which systemd starts a job of the user `jobs` (services/partita-job.socket, Accept=yes;
// systemd.socket(5)). kUntrusted, before anything is sent, unless root or that user listens there. SO_PEERCRED names who
// listens, systemd, and not the job: so the kernel names the sender with all that comes (SO_PASSCRED, unix(7)).
JobStarter JobsAtSocket(std::filesystem::path socket, uid_t jobs);

}  // namespace partita::node
