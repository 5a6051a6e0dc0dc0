// What a protocol sees of the network: numbered parties, one Exchange primitive, exact counters.
//
// A Channel connects all processes of a study: the computing parties and, for the engine `dealer`,
// the dealer. Parties are numbered in roster order. Underneath sits a Transport (in memory, TLS, or
// a decorator that adds latency or faults); the Channel frames, counts, checks and bounds.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/progress.h"
#include "crypto/random.h"

namespace partita::net {

// Index of a party in the roster.
using PartyIndex = std::size_t;

// Writes bytes [offset, offset + out.size()) of a message. Called with increasing offsets, each
// byte once per receiver. Every piece but the last has kStreamPieceBytes, so pieces begin at
// multiples of it. A producer must not use what a consumer of the same Exchange takes in: that
// would be a dependent message that the depth does not count.
using Producer = std::function<void(uint64_t offset, std::span<uint8_t> out)>;
// Takes bytes [offset, offset + in.size()) of a message, in the same pieces.
using Consumer = std::function<void(uint64_t offset, ByteView in)>;

inline constexpr size_t kStreamPieceBytes = size_t{1} << 16;

// One outgoing message: either `bytes` (borrowed until Exchange returns) or a stream of `size`
// bytes from `producer`.
struct Send {
  PartyIndex to = 0;
  ByteView bytes;
  uint64_t size = 0;  // of the stream; ignored when there is no producer
  Producer producer;
};

// One incoming message. Exactly one of:
//   into      a buffer of exactly the expected size (lengths are public in every protocol);
//   consumer  a stream of exactly `size` bytes, handed over in pieces, so that memory stays
//             bounded;
//   body      a message of any length up to max_bytes (resized after the limit check).
// A frame of any other length is a kPeerFault.
struct Receive {
  PartyIndex from = 0;
  std::span<uint8_t> into;
  uint64_t size = 0;
  Consumer consumer;
  Bytes* body = nullptr;
  uint64_t max_bytes = 0;
};

// What crossed one directed link in one phase. Bytes are payload bytes; every message also has a
// frame header of kFrameHeaderBytes, reported apart.
struct LinkTraffic {
  uint64_t messages_sent = 0, bytes_sent = 0;
  uint64_t messages_received = 0, bytes_received = 0;
  // On the wire: frame headers, encryption, signs of life, and in the phase "hello" the handshake.
  // What is under way between two phases counts for one of them. Zero where there is no network.
  uint64_t wire_sent = 0, wire_received = 0;

  LinkTraffic& operator+=(const LinkTraffic& more);
};

struct PhaseTraffic {
  std::string phase;
  uint64_t rounds = 0;             // growth of this party's depth during the phase
  double seconds = 0;              // wall clock
  std::vector<LinkTraffic> links;  // by peer
};

inline constexpr uint64_t kFrameHeaderBytes = 64;

// Where a channel stands: what a channel beside it begins with, in this process or in another one of
// the party.
struct ChannelFork {
  Bytes run_id;
  uint32_t attempt = 1;
  uint64_t depth = 0;
  std::string phase;
  std::chrono::milliseconds timeout{60'000};
};

// All that crossed a channel beside another one.
struct ForkTraffic {
  uint64_t depth = 0;
  std::vector<LinkTraffic> links;  // by peer
};

class Transport;
struct Session;                    // hello.h
enum class StopReason : uint16_t;  // stop.h

// Not thread-safe: one thread per party.
class Channel {
 public:
  // Takes a connected transport. run_id: agreed by all parties in the hello; attempt: 1, then one
  // more per resume.
  Channel(std::unique_ptr<Transport> transport, ByteView run_id, uint32_t attempt);
  // As above after a SayHello, whose traffic becomes the first phase, "hello".
  Channel(std::unique_ptr<Transport> transport, const Session& session);
  // A channel beside another one between the same parties, on connections of its own, for messages
  // that do not depend on what the other one exchanges meanwhile: it begins at the depth and with the
  // phase of `fork`. Its run id, and with it every frame and key, is of its own: derived from the
  // run's, `purpose` and `number`.
  Channel(std::unique_ptr<Transport> transport, const ChannelFork& fork, std::string_view purpose,
          uint64_t number);
  ~Channel();
  Channel(Channel&&) noexcept;
  Channel& operator=(Channel&&) noexcept;

  PartyIndex self() const;
  size_t num_parties() const;
  // Of all parties in roster order.
  const std::vector<std::string>& names() const;

  // Sends and receives all messages at once, in one thread, so both sides may send any size.
  // Several messages to (or from) one peer keep their order. Every frame carries (run, attempt,
  // phase, sequence, depth, length); anything unexpected is a kPeerFault naming peer and phase.
  // Throws kTimeout, kPeerLost (closed, or the peer's reason to stop). After an exception the
  // channel is poisoned: every later call throws.
  void Exchange(std::span<const Send> sends, std::span<const Receive> receives, Deadline deadline);
  // As above without a deadline, but for `timeout` (SetTimeout, 60 s): a long stream may take its
  // time, a dead peer may not. kTimeout when for so long no message moved and a peer that this
  // exchange needs was silent; a message moves if at least 1 KiB of it does, or its end.
  //
  // While it is in an Exchange, every party tells each peer to which it sent nothing for a quarter
  // of the timeout that it is alive (64 bytes, not counted as traffic), so that a party may wait
  // long for peers that are busy with each other: up to 20 timeouts without any message of its own.
  // Nothing is said while a party computes between exchanges: the timeout must exceed the longest
  // such step of any party. Everybody uses the same timeout. End with an exchange among all: a
  // party that is still told so after it closed its connection may lose its own last words.
  void Exchange(std::span<const Send> sends, std::span<const Receive> receives);
  void SetTimeout(std::chrono::milliseconds timeout);
  // While waiting, CheckCancelled is called at least five times a second. Borrowed; null: nobody
  // asks.
  void SetProgress(Progress* progress);

  // Tells every peer, best effort and without waiting long, that this party stops and why, then
  // poisons the channel with `own`. Told is one reason of a fixed list (stop.h), the one of the
  // error's code where none is given; of the error's text nothing leaves this host. Never throws.
  void Abort(const Error& own, StopReason told) noexcept;
  void Abort(const Error& own) noexcept;

  // Starts a phase: public name, at most 64 characters, the same at every party and in the same
  // order.
  void BeginPhase(std::string_view name);
  // All phases so far, the current one included.
  std::vector<PhaseTraffic> traffic() const;
  // Longest chain of dependent messages so far (architecture.md, "Engines").
  uint64_t depth() const;

  ChannelFork Fork() const;
  // Of a channel beside: everything so far.
  ForkTraffic Total() const;
  // Counts what crossed a channel beside in the current phase; its depth is one of this channel's.
  void Join(const ForkTraffic& beside);
  // Throws kPeerLost, with the peer's reason if it told one, if a peer has closed its connection.
  // For whoever waits elsewhere: nothing may be under way here. Never waits for a peer that is there.
  void RequirePeers();

  // A fresh key known to this party and `peer` only: KDF of the pairwise secret of this connection
  // (TLS exporter) bound to the run id, the attempt, `purpose` and `counter`. Two runs never share
  // a key.
  crypto::Key PairwiseKey(PartyIndex peer, std::string_view purpose, uint64_t counter) const;
  // 0, 1, 2, ... for each purpose: a counter for PairwiseKey that no other user of this channel
  // has. Parties that call it in the same order agree.
  uint64_t NextInstance(std::string_view purpose);

 private:
  void Exchange(std::span<const Send> sends, std::span<const Receive> receives,
                const Deadline* deadline);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace partita::net
