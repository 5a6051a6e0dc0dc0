// Child processes of a simulation: started with one inherited socket, watched, and never left
// behind.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "net/socket.h"

namespace partita::run {

struct Child {
  std::string name;
  pid_t pid = -1;
  net::Socket out, err;  // read ends of its pipes
  std::string standard_output, standard_error;
  bool ended = false;
  int exit_code = 0;
  int signal = 0;  // that ended it; 0: it exited
};

// Starts a program whose descriptor 3 is `inherited`; everything else closes on exec. Standard
// output and, unless `inherit_standard_error`, standard error go to pipes.
Child SpawnChild(const std::string& name, const std::vector<std::string>& arguments, int inherited,
                 bool inherit_standard_error);

// Collects the children's output until all have ended. If one fails (`failed`), the others get a
// grace time to notice by themselves, then SIGTERM, then SIGKILL. If `poll` (called about ten times
// a second) throws, all are stopped the same way, without the grace, and the exception goes on.
void WatchChildren(std::vector<Child>& children, const std::function<bool(const Child&)>& failed,
                   const std::function<void()>& poll);

// SIGTERM, and SIGKILL for those that have not ended five seconds later.
void StopChildren(std::vector<Child>& children);

}  // namespace partita::run
