// The one port of a node: connections of runs and of other nodes on the same listening socket.
//
// The hello of each connection is looked at, not read. A server name "run-TAG.HOST" belongs to the
// job of that run: the unread socket is passed to it, and TLS ends there, with the key of the run,
// which this process does not have. Until that job is there the socket waits. So does a name
// "run-TAG-STRIPE.HOST", but only while that job takes connections and has said that its study has such a stripe. All
// else is the node's own. TAG is no secret, so who has it gets as far as the job's handshake and no further.
//
// Memory, time and descriptors are bounded as gate.h says, against anybody who can connect. A
// connection that is refused is closed without an answer. Revealed to who connects: that something
// listens here, and by the certificate that answers whether TAG is of a run here, and how many stripes that has,
// which its parties alone know otherwise.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "net/socket_source.h"
#include "node/port/gate.h"
#include "node/port/route.h"

namespace partita::node {

struct OnePortCounts {
  uint64_t accepted = 0;  // so far
  uint64_t refused = 0;   // no acceptable hello
  uint64_t expired = 0;   // no hello, or no job, in time
  uint64_t crowded = 0;   // closed to make room
  uint64_t passed = 0;    // to jobs
  uint64_t served = 0;    // handed to the node
  uint64_t failures = 0;  // closed: exceptions, such as memory that is not there
  // Now.
  size_t looked_at = 0, early = 0, being_served = 0;

  bool operator==(const OnePortCounts&) const = default;
};

struct OnePortOptions {
  net::Listener listener;
  std::string host;  // the own name, see CheckPortHost
  GateLimits limits;
  std::set<AddressKey> known;  // addresses of parties on the own list
  // Takes a connection that is the node's, on the port's thread; must not block. `place` is to be
  // kept for as long as the connection. Where places run out the connection is shut down.
  std::function<void(net::Arrival, std::shared_ptr<const void> place)> serve;
  // Told of every change, on the port's thread; may be empty.
  std::function<void(const OnePortCounts&)> changed;
};

class OnePort {
 public:
  // Listens from now on, in a thread of its own. Throws kUsage for a bad host.
  explicit OnePort(OnePortOptions options);
  // Closes what waits; what was handed on stays.
  ~OnePort();
  OnePort(const OnePort&) = delete;
  OnePort& operator=(const OnePort&) = delete;

  const std::string& address() const;  // "host:port"
  OnePortCounts Counts() const;

  // Connections of the run go to `job`, an end of MakeSocketPair or the like, those that wait
  // already first; until Forget, or until the other end is closed. From any thread.
  void Expect(const RunTag& tag, net::Socket job);
  void Forget(const RunTag& tag);
  void SetKnown(std::set<AddressKey> known);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace partita::node
