#include "node/port/peer_user.h"

#include <sys/socket.h>

namespace partita::node {

uid_t UserAt(int descriptor) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return static_cast<uid_t>(-1);
  return peer.uid;
}

}  // namespace partita::node
