// Moves whole frames over a Transport: all outgoing and incoming frames of one exchange at once, in
// one thread, without spinning. Below Channel and the hello; above the byte streams.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/progress.h"
#include "net/channel.h"
#include "net/frame.h"
#include "net/stop.h"
#include "net/transport.h"

namespace partita::net {

struct OutFrame {
  FrameHeader header;  // to and length included
  ByteView bytes;      // the payload, unless there is a producer
  const Producer* producer = nullptr;
};

// Exactly one destination, as in Receive.
struct InFrame {
  FrameExpectation expected;  // from included
  std::span<uint8_t> into;
  const Consumer* consumer = nullptr;
  Bytes* body = nullptr;
  FrameHeader received;  // filled in when the frame is complete
  bool complete = false;
};

// The exchange ends after so many times `silence` in which keep-alives came but no bytes of
// messages.
inline constexpr int kMaxSilences = 20;

// How long an exchange may take. With a deadline: until then. Without: a peer that we still send to
// or receive from may be silent for `silence`; what ends a silence is that bytes of messages move
// (with any peer: a whole frame, or kProgressBytes) or that this peer says that it is alive. A peer
// that does nothing but say so holds us for kMaxSilences * silence at most.
struct WaitLimits {
  std::optional<Deadline> deadline;
  std::chrono::milliseconds silence{60'000};
  // With a run tag, keep-alives of this run are sent, to every peer whose link carried nothing for
  // a quarter of `silence`, and accepted; without, they are refused.
  std::optional<RunTag> keep_alive;
  // While waiting also look at peers that owe nothing, in case they abort. Reads the header of what
  // they sent ahead, which only a later Run of the same pump finds again.
  bool watch_idle = true;
};

// Adds the messages and payload bytes of complete frames to `traffic`.
void CountFrames(std::span<const OutFrame> out, std::span<const InFrame> in, PhaseTraffic& traffic);

class FramePump {
 public:
  // Borrows the transport.
  explicit FramePump(Transport& transport);
  ~FramePump();

  // Returns when every frame went out and came in. `phase` is for error messages. After an
  // exception the streams may stand in the middle of a frame: only SendAborts may follow.
  // Cost: one Write per small frame, one Wait per dependent message.
  void Run(std::span<const OutFrame> out, std::span<InFrame> in, const WaitLimits& limits,
           std::string_view phase, Progress* progress);

  // Best effort, at most a quarter of a second: an abort frame with the reason to every peer whose
  // stream does not stand in the middle of another frame. For kLost after a Run that heard of a
  // stop, or saw a connection closed: whose, and the reason that was heard.
  void SendAborts(const RunTag& run_tag, StopReason reason) noexcept;

 private:
  struct Peer;

  void Begin(std::span<const OutFrame> out, std::span<InFrame> in, const WaitLimits& limits,
             std::string_view phase);
  bool Step(bool watch);
  bool Done() const;
  void KeepAlive();
  bool PumpOut(Peer& peer);
  bool Push(Peer& peer, ByteView bytes, size_t& moved);
  void Stage(Peer& peer, const OutFrame& frame);
  bool PumpIn(Peer& peer, bool watch);
  bool ReadHeader(Peer& peer);
  void CheckShort(const Peer& peer, uint64_t length) const;
  void StartPayload(Peer& peer);
  bool ReadPayload(Peer& peer);
  void FinishFrame(Peer& peer);
  [[noreturn]] void Stopped(const Peer& peer);
  [[noreturn]] void Lost(Peer& peer);
  void LookForAbort(Peer& peer);
  void Wait(const WaitLimits& limits);
  void CheckTime(const WaitLimits& limits, SteadyClock::time_point now) const;
  const std::string& Name(const Peer& peer) const;

  Transport& transport_;
  std::vector<Peer> peers_;  // by party; self unused
  std::vector<Interest> interests_;
  std::span<const OutFrame> out_;
  std::span<InFrame> in_;
  std::string phase_;
  std::optional<RunTag> keep_alive_;       // of this run
  std::chrono::milliseconds interval_{0};  // between them
  // Progress: bytes of messages. `now_` is taken at the end of each step.
  SteadyClock::time_point now_, last_progress_;
  size_t moved_bytes_ = 0;
  bool frame_done_ = false;
  std::optional<Stop> heard_;  // of which party's stop
};

}  // namespace partita::net
