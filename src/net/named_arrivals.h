// One listening socket, or one source, for connections of several kinds: sorted by the server name that their TLS hello
// asks for, unread, so that each is accepted by whom it is for, and no earlier than that one wants it.
//
// Limits    Strangers can connect, too. At most kMaxUnseen connections wait whose hello has not come, the
//           oldest is dropped for the next and after ten seconds. At most kMaxOfName of a name wait to be asked for,
//           the oldest of them is dropped for the next; kMaxSorted of all, then the oldest of the name of which most
//           wait. Of those that may be a peer's (Arrival::known) one is dropped only where there is no other. What
//           comes for a name that was asked for and is not any more is dropped. A turn takes kMaxTurn in at
//           most. An honest peer tries again.
#pragma once

#include <memory>
#include <string>

#include "net/roster.h"
#include "net/socket.h"
#include "net/socket_source.h"

namespace partita::net {

// Not thread-safe, with all its sources.
class NamedArrivals {
 public:
  static constexpr size_t kMaxUnseen = 64, kMaxSorted = 256, kMaxTurn = 64;
  static constexpr size_t kMaxOfName = kMaxParties;  // each of the others has one

  // prefix: names that begin otherwise, the empty one excepted, are nobody's and dropped.
  NamedArrivals(Listener listener, std::string prefix);
  // Of connections that another process accepted. Once that one closes, the sources below end, too, each
  // after what is there for it.
  NamedArrivals(std::shared_ptr<SocketSource> source, std::string prefix);
  ~NamedArrivals();

  // Those that ask for `name`; empty: that ask for none. Lasts longer than this object, and then nobody
  // comes in. Where the last one of a name goes, what waits for the name goes with it.
  std::shared_ptr<SocketSource> For(std::string name);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace partita::net
