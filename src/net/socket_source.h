// Where accepted connections come from when another process listens: a service with one port looks at
// whom a connection is for, and hands it on unread.
#pragma once

#include <optional>
#include <string>

#include "net/socket.h"

namespace partita::net {

struct Arrival {
  Socket socket;       // non-blocking; nothing was read from it
  std::string remote;  // its address, for messages
  bool known =
      false;  // comes from where a party of ours is: goes after strangers when places run out
};

// Not thread-safe.
class SocketSource {
 public:
  virtual ~SocketSource() = default;
  // Readable when Next may have one; -1 once no more will come.
  virtual int fd() const = 0;
  // The next connection, if one waits. Never blocks.
  virtual std::optional<Arrival> Next() = 0;
};

}  // namespace partita::net
