// Looks at the hello of a fresh connection without reading it, so that whoever gets the socket then
// reads all of it.
//
// The kernel keeps what has come; MSG_PEEK shows it. Bytes that are only looked at keep a socket
// readable, so waiting for more of them would be a loop without rest: SO_RCVLOWAT tells the kernel how
// many are wanted (tcp(7), socket(7): poll and epoll follow it since Linux 4.x). First the header of
// the record, then exactly the record that it announces, since a fixed mark above the size of a
// hello would wait for ever. The mark is 1 again before the socket goes on.
#pragma once

#include "net/client_hello.h"

namespace partita::net {

class HelloLook {
 public:
  enum class State { kWaiting, kWhole, kRefused };

  // fd: a connected, non-blocking TCP socket, borrowed; nothing was read from it.
  explicit HelloLook(int fd);

  // Call when poll says that fd is readable; never blocks. Refused is what ParseClientHello refuses,
  // and a connection that ended before its hello was whole.
  State Step();
  // After kWhole.
  const ClientHello& hello() const { return hello_; }

 private:
  State Refuse();
  void Want(size_t bytes);

  int fd_;
  size_t wanted_ = 0;
  int short_looks_ = 0;
  State state_ = State::kWaiting;
  ClientHello hello_;
};

}  // namespace partita::net
