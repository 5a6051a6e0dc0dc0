// One listening socket, or one source, for connections of several kinds: sorted by the server name that their TLS hello
// asks for, unread, so that each is accepted by whom it is for, and no earlier than that one wants it.
//
// Limits    Strangers can connect, too. At most kMaxUnseen connections wait whose hello has not come, the
//           oldest is dropped for the next and after ten seconds; at most kMaxSorted wait to be asked for,
//           again the oldest is dropped; of those that may be a peer's (Arrival::known) only where there
//           is no other. An honest peer tries again.
#pragma once

#include <memory>
#include <string>

#include "net/socket.h"
#include "net/socket_source.h"

namespace partita::net {

// Not thread-safe, with all its sources.
class NamedArrivals {
 public:
  static constexpr size_t kMaxUnseen = 64, kMaxSorted = 256;

  // prefix: names that begin otherwise, the empty one excepted, are nobody's and dropped.
  NamedArrivals(Listener listener, std::string prefix);
  // Of connections that another process accepted. Once that one closes, the sources below end, too, each
  // after what is there for it.
  NamedArrivals(std::shared_ptr<SocketSource> source, std::string prefix);
  ~NamedArrivals();

  // Those that ask for `name`; empty: that ask for none. Lasts longer than this object, and then nobody
  // comes in.
  std::shared_ptr<SocketSource> For(std::string name);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace partita::net
