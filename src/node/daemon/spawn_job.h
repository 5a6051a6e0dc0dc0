// Starts the program of a job.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace partita::node {

// program: with its arguments. channel becomes descriptor 3 of the job, which leads a session of its own: it is not ended
// by a Control-C at the daemon's terminal. Zero if the system has no process left.
pid_t SpawnJob(const std::vector<std::string>& program, int channel);

}  // namespace partita::node
