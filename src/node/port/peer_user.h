// Which user is at the other end of a Unix socket, by the kernel: for sockets by which one process of a site tells
// another what to do.
#pragma once

#include <sys/types.h>

namespace partita::node {

// SO_PEERCRED (unix(7)): of a connection that was accepted, or of a pair, the user who connected or made the pair; of
// one that was connected, the user who listened. uid_t(-1), who is nobody, if it is no such socket.
uid_t UserAt(int descriptor);

}  // namespace partita::node
