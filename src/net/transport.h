// What a Channel sits on: one reliable, ordered stream of bytes in each direction between every two
// parties, with a secret per pair. Implementations: memory_transport.h (threads of one process),
// tls_transport.h (the network), delayed_transport.h (a decorator that adds latency).
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "crypto/random.h"
#include "net/channel.h"

namespace partita::net {

// What a non-blocking read or write did.
struct Io {
  size_t bytes = 0;     // moved now; 0 means "not now" unless closed
  bool closed = false;  // the peer closed this direction: no more bytes will ever move
};

// Bytes of one stream as the network carries them: handshake, encryption and all.
struct WireBytes {
  uint64_t sent = 0, received = 0;
};

// What a Wait is for.
struct Interest {
  PartyIndex peer = 0;
  bool read = false;
  bool write = false;  // room for more, or buffered bytes to flush
};

// Not thread-safe: one thread per party. Only Wait blocks. The destructor closes every stream after
// what was written and flushed; it neither throws nor waits.
class Transport {
 public:
  virtual ~Transport() = default;

  virtual PartyIndex self() const = 0;
  // Of all parties, this one included, in roster order.
  virtual const std::vector<std::string>& names() const = 0;

  // Takes as many of the first bytes as there is room for; they may stay buffered until Flush.
  virtual Io Write(PartyIndex to, ByteView bytes) = 0;
  // Hands buffered bytes over. True when none are left (or the stream is closed).
  virtual bool Flush(PartyIndex to) = 0;
  virtual Io Read(PartyIndex from, std::span<uint8_t> out) = 0;
  // Returns when something of interest may be possible, or after `timeout`; sometimes earlier.
  // Valid only after Read (or Flush) of every interest has just reported "not now".
  virtual void Wait(std::span<const Interest> interests, std::chrono::nanoseconds timeout) = 0;

  // Known to this party and `peer` only, new for every connection. Used through a KDF.
  virtual const crypto::Key& PairwiseSecret(PartyIndex peer) const = 0;

  // Whether the peer has closed its end, though bytes of before may wait to be read. False where that
  // does not show.
  virtual bool HungUp(PartyIndex peer) const {
    static_cast<void>(peer);
    return false;
  }

  // Since the connection was opened. Zero where there is no network.
  virtual WireBytes CarriedBytes(PartyIndex peer) const {
    static_cast<void>(peer);
    return {};
  }
};

}  // namespace partita::net
