#include "net/frame_pump.h"

#include <fmt/format.h>

#include <algorithm>

namespace partita::net {
namespace {

using std::chrono::milliseconds;

// A header and the beginning of its payload fill one TLS record.
constexpr size_t kFirstPieceBytes = (size_t{1} << 14) - kFrameHeaderBytes;
// After so many bytes of one peer and direction the others get their turn.
constexpr size_t kTurnBytes = size_t{1} << 19;
// How often a wait looks whether the user wants to stop.
constexpr milliseconds kSlice{200};
constexpr milliseconds kAbortTime{250};
// So many bytes of an unfinished message count as progress. Fewer do not: a peer that drips one
// byte at a time would hold us for ever.
constexpr size_t kProgressBytes = 1024;

// Where the payload of the current incoming frame goes.
enum class Sink { kStore, kStream, kReason, kSkip };

}  // namespace

// The state of both streams of one peer.
struct FramePump::Peer {
  PartyIndex index = 0;

  // Outgoing: the frames of this run, and the bytes staged but not yet taken by the transport.
  std::vector<size_t> out_frames;
  size_t out_next = 0;      // frame being sent
  bool out_begun = false;   // its header is staged or sent
  uint64_t out_length = 0;  // its payload bytes in all, and staged or sent so far
  uint64_t out_sent = 0;
  Bytes staged;
  size_t staged_begin = 0;
  bool flushed = true;
  bool out_closed = false;
  // What is staged or unflushed belongs to a keep-alive, so that nobody waits for it.
  bool background = false;
  bool out_moved = false;              // since the last step
  SteadyClock::time_point last_sent;   // bytes of any kind
  SteadyClock::time_point last_alive;  // a keep-alive came

  // Incoming: the frames of this run, and the frame being read, which may belong to a later run.
  std::vector<size_t> in_frames;
  size_t in_next = 0;
  HeaderBytes header_bytes{};
  size_t header_read = 0;
  FrameHeader header;  // decoded, once all of it was read
  bool in_payload = false;
  Sink sink = Sink::kStore;
  std::span<uint8_t> store;
  uint64_t in_received = 0;
  Bytes piece;  // of a stream, or of what is skipped
  size_t piece_bytes = 0;
  Bytes reason;  // of an abort frame; `store` may point into it from one run to the next
  bool in_closed = false;

  bool staging() const { return staged_begin < staged.size(); }
  bool sending() const { return out_next < out_frames.size() || staging() || !flushed; }
  // What this run cannot end without.
  bool owes_out() const { return out_next < out_frames.size() || (sending() && !background); }
  bool pending() const { return owes_out() || receiving(); }
  bool receiving() const { return in_next < in_frames.size(); }
  bool have_header() const { return header_read == kFrameHeaderBytes; }
  bool mid_frame_out() const { return staging() || (out_begun && out_sent < out_length); }
};

void CountFrames(std::span<const OutFrame> out, std::span<const InFrame> in,
                 PhaseTraffic& traffic) {
  for (const OutFrame& frame : out) {
    LinkTraffic& link = traffic.links[frame.header.to];
    ++link.messages_sent;
    link.bytes_sent += frame.header.length;
  }
  for (const InFrame& frame : in) {
    LinkTraffic& link = traffic.links[frame.received.from];
    ++link.messages_received;
    link.bytes_received += frame.received.length;
  }
}

FramePump::FramePump(Transport& transport) : transport_(transport) {
  peers_.resize(transport.names().size());
  for (size_t i = 0; i < peers_.size(); ++i) {
    peers_[i].index = i;
    peers_[i].last_sent = SteadyClock::now();
  }
}

FramePump::~FramePump() = default;

const std::string& FramePump::Name(const Peer& peer) const {
  return transport_.names()[peer.index];
}

void FramePump::Begin(std::span<const OutFrame> out, std::span<InFrame> in,
                      const WaitLimits& limits, std::string_view phase) {
  keep_alive_ = limits.keep_alive;
  interval_ = limits.silence / 4;
  now_ = last_progress_ = SteadyClock::now();
  moved_bytes_ = 0;
  frame_done_ = false;
  out_ = out;
  in_ = in;
  phase_ = phase;
  for (Peer& peer : peers_) {
    peer.out_frames.clear();
    peer.in_frames.clear();
    peer.out_next = peer.in_next = 0;
  }
  for (size_t i = 0; i < out.size(); ++i) peers_[out[i].header.to].out_frames.push_back(i);
  for (size_t i = 0; i < in.size(); ++i) {
    peers_[in[i].expected.header.from].in_frames.push_back(i);
  }
}

void FramePump::Run(std::span<const OutFrame> out, std::span<InFrame> in, const WaitLimits& limits,
                    std::string_view phase, Progress* progress) {
  Begin(out, in, limits, phase);
  SteadyClock::time_point last_check = now_;
  bool waited = false;
  while (true) {
    const SteadyClock::time_point before = SteadyClock::now();
    // A peer that owes nothing is looked at after a wait only: it may have aborted.
    const bool moved = Step(waited && limits.watch_idle);
    if (Done()) return;
    CheckTime(limits, before);
    waited = !moved;
    if (waited) Wait(limits);
    if (progress != nullptr && now_ - last_check >= kSlice) {
      progress->CheckCancelled();
      last_check = now_;
    }
  }
}

// Moves what can be moved at once; false when that was nothing.
bool FramePump::Step(bool watch) {
  bool moved = false;
  for (Peer& peer : peers_) {
    if (peer.sending()) moved |= PumpOut(peer);
  }
  for (Peer& peer : peers_) {
    const bool look = watch && peer.index != transport_.self();
    if (peer.receiving() || look) moved |= PumpIn(peer, look);
  }
  now_ = SteadyClock::now();
  if (frame_done_ || moved_bytes_ >= kProgressBytes) {
    last_progress_ = now_;
    moved_bytes_ = 0;
    frame_done_ = false;
  }
  if (keep_alive_) KeepAlive();
  return moved;
}

bool FramePump::Done() const {
  return std::none_of(peers_.begin(), peers_.end(),
                      [](const Peer& peer) { return peer.pending(); });
}

// Tells every peer to which nothing was sent for long that we are still there. Never waits for
// room, and does not care whether a peer that needs nothing more is gone.
void FramePump::KeepAlive() {
  for (Peer& peer : peers_) {
    if (peer.out_moved) peer.last_sent = now_;
    peer.out_moved = false;
    const bool due = now_ - peer.last_sent >= interval_;
    if (!due || peer.index == transport_.self() || peer.sending() || peer.in_closed ||
        peer.out_closed) {
      continue;
    }
    FrameHeader header;
    header.type = FrameType::kKeepAlive;
    header.run_tag = *keep_alive_;
    header.from = transport_.self();
    header.to = peer.index;
    const HeaderBytes bytes = EncodeHeader(header);
    const Io io = transport_.Write(peer.index, bytes);
    peer.out_closed = io.closed;
    peer.last_sent = now_;
    if (io.bytes == 0) continue;
    peer.background = true;
    peer.staged.assign(bytes.begin() + static_cast<ptrdiff_t>(io.bytes), bytes.end());
    peer.staged_begin = 0;
    peer.flushed = transport_.Flush(peer.index);
  }
}

// Stages the header, if it is still to come, and the next piece of the payload.
void FramePump::Stage(Peer& peer, const OutFrame& frame) {
  const size_t header_size = peer.out_begun ? 0 : kFrameHeaderBytes;
  const size_t limit = frame.producer != nullptr ? kStreamPieceBytes : kFirstPieceBytes;
  peer.out_length = frame.header.length;
  if (!peer.out_begun) peer.out_sent = 0;
  const size_t size =
      static_cast<size_t>(std::min<uint64_t>(limit, peer.out_length - peer.out_sent));
  // Reserved once, so that the producer writes straight into place.
  peer.staged.resize(header_size + size);
  peer.staged_begin = peer.staged.size();  // nothing is staged should the producer throw
  std::span<uint8_t> payload = std::span(peer.staged).subspan(header_size);
  if (frame.producer == nullptr) {
    std::copy_n(frame.bytes.begin() + static_cast<ptrdiff_t>(peer.out_sent), size, payload.begin());
  } else if (size != 0) {
    (*frame.producer)(peer.out_sent, payload);
  }
  if (header_size != 0) {
    const HeaderBytes header = EncodeHeader(frame.header);
    std::copy(header.begin(), header.end(), peer.staged.begin());
  }
  peer.staged_begin = 0;
  peer.background = false;
  peer.out_begun = true;
  peer.out_sent += size;
}

// Offers bytes to the transport; false when it took none.
bool FramePump::Push(Peer& peer, ByteView bytes, size_t& moved) {
  const Io io = transport_.Write(peer.index, bytes);
  if (io.closed) {
    peer.out_closed = true;
    if (peer.owes_out()) Lost(peer);
    peer.staged.clear();  // the rest of a keep-alive to a peer that needs nothing more
    peer.staged_begin = 0;
  }
  moved = io.bytes;
  if (moved != 0) peer.flushed = false;
  peer.out_moved |= moved != 0;
  if (!peer.background) moved_bytes_ += moved;
  return moved != 0;
}

bool FramePump::PumpOut(Peer& peer) {
  size_t total = 0, moved = 0;
  while (total < kTurnBytes) {
    if (peer.staging()) {
      if (!Push(peer, ByteView(peer.staged).subspan(peer.staged_begin), moved)) break;
      peer.staged_begin += moved;
      total += moved;
      continue;
    }
    if (peer.out_begun && peer.out_sent == peer.out_length) {
      peer.out_begun = false;
      ++peer.out_next;
      frame_done_ = true;
    }
    if (peer.out_next == peer.out_frames.size()) break;
    const OutFrame& frame = out_[peer.out_frames[peer.out_next]];
    if (!peer.out_begun || frame.producer != nullptr) {
      Stage(peer, frame);
    } else {
      if (!Push(peer, frame.bytes.subspan(peer.out_sent), moved)) break;
      peer.out_sent += moved;
      total += moved;
    }
  }
  if (!peer.flushed) peer.flushed = transport_.Flush(peer.index);
  return total != 0;
}

// Reads what this run expects and not a byte more, unless it should `watch` for an abort.
bool FramePump::PumpIn(Peer& peer, bool watch) {
  bool moved = false;
  for (size_t turn = 0; turn < kTurnBytes / kFirstPieceBytes && !peer.in_closed; ++turn) {
    if (peer.in_payload) {
      if (!ReadPayload(peer)) break;
    } else if (peer.have_header() && peer.receiving()) {
      StartPayload(peer);
    } else if (!peer.have_header() && (peer.receiving() || watch)) {
      if (!ReadHeader(peer)) break;
    } else {
      break;  // done; a header that was read ahead waits for the exchange that expects it
    }
    moved = true;
  }
  if (peer.in_closed && peer.receiving()) Lost(peer);
  return moved;
}

// False when nothing came. Only an abort frame, which is always expected, goes further here.
bool FramePump::ReadHeader(Peer& peer) {
  const Io io = transport_.Read(peer.index, std::span(peer.header_bytes).subspan(peer.header_read));
  peer.in_closed = io.closed;
  peer.header_read += io.bytes;
  if (io.bytes == 0) return false;
  if (!peer.have_header()) return true;
  peer.header = DecodeHeader(peer.header_bytes, Name(peer));
  peer.in_received = 0;
  peer.piece_bytes = 0;
  if (peer.header.type == FrameType::kKeepAlive && keep_alive_) {
    CheckShort(peer, 0);
    peer.last_alive = SteadyClock::now();
    peer.header_read = 0;
    return true;
  }
  frame_done_ = true;
  if (peer.header.type == FrameType::kAbort) {
    CheckShort(peer, kStopBytes);
    peer.reason.resize(kStopBytes);
    peer.store = peer.reason;
    peer.sink = Sink::kReason;
    peer.in_payload = true;
  }
  return true;
}

// Aborts and keep-alives. A peer may stop before or after the hello, so an abort may be of any run;
// nothing else is left open.
void FramePump::CheckShort(const Peer& peer, uint64_t length) const {
  FrameExpectation expected;
  expected.header = peer.header;
  if (peer.header.type == FrameType::kKeepAlive) expected.header.run_tag = *keep_alive_;
  expected.header.phase_tag = {};
  expected.header.sequence = 0;
  expected.header.from = peer.index;
  expected.header.to = transport_.self();
  expected.min_length = expected.max_length = length;
  CheckHeader(peer.header, expected, Name(peer), phase_);
}

void FramePump::StartPayload(Peer& peer) {
  InFrame& frame = in_[peer.in_frames[peer.in_next]];
  CheckHeader(peer.header, frame.expected, Name(peer), phase_);
  peer.in_payload = true;
  peer.sink = Sink::kStore;
  if (frame.consumer != nullptr) {
    peer.sink = Sink::kStream;
    peer.piece.resize(kStreamPieceBytes);
  } else if (frame.body != nullptr) {
    frame.body->resize(peer.header.length);
    peer.store = *frame.body;
  } else {
    peer.store = frame.into;
  }
  if (peer.header.length == 0) FinishFrame(peer);
}

bool FramePump::ReadPayload(Peer& peer) {
  const uint64_t left = peer.header.length - peer.in_received;
  std::span<uint8_t> room;
  if (peer.sink == Sink::kStore || peer.sink == Sink::kReason) {
    room = peer.store.subspan(peer.in_received);
  } else {
    room = std::span(peer.piece).subspan(peer.piece_bytes);
    room = room.first(static_cast<size_t>(std::min<uint64_t>(room.size(), left)));
  }
  const Io io = transport_.Read(peer.index, room);
  peer.in_closed = io.closed;
  if (io.bytes == 0) return false;
  peer.in_received += io.bytes;
  moved_bytes_ += io.bytes;
  const bool complete = peer.in_received == peer.header.length;
  if (peer.sink == Sink::kStream) {
    peer.piece_bytes += io.bytes;
    if (complete || peer.piece_bytes == kStreamPieceBytes) {
      const Consumer& consumer = *in_[peer.in_frames[peer.in_next]].consumer;
      consumer(peer.in_received - peer.piece_bytes, ByteView(peer.piece).first(peer.piece_bytes));
      peer.piece_bytes = 0;
    }
  }
  if (complete) FinishFrame(peer);
  return true;
}

void FramePump::FinishFrame(Peer& peer) {
  frame_done_ = true;
  if (peer.sink == Sink::kReason) Stopped(peer);
  if (peer.sink != Sink::kSkip) {
    InFrame& frame = in_[peer.in_frames[peer.in_next]];
    frame.received = peer.header;
    frame.complete = true;
    ++peer.in_next;
  }
  peer.in_payload = false;
  peer.header_read = 0;
}

// The peer's reason to stop is complete. Only words of our own follow from it.
void FramePump::Stopped(const Peer& peer) {
  const std::optional<Stop> stop = DecodeStop(peer.reason, peers_.size());
  if (!stop) {
    throw Error(ErrorCode::kPeerFault,
                fmt::format("party {} stopped and gives an unknown reason (phase '{}')", Name(peer),
                            phase_),
                "Install the same release of Partita at every party and start again.");
  }
  heard_ = stop;
  const std::string& who = transport_.names()[stop->party];
  const std::string hearsay =
      stop->party == peer.index ? "" : fmt::format(", as {} says", Name(peer));
  throw Error(ErrorCode::kPeerLost,
              fmt::format("party {} stopped (phase '{}'{}): {}", who, phase_, hearsay,
                          ReasonText(stop->reason)),
              fmt::format("Settle it with {}, then start again at every party.", who));
}

// The peer closed a stream on which something was still to be sent or received.
void FramePump::Lost(Peer& peer) {
  if (!peer.in_closed) LookForAbort(peer);
  heard_ = Stop{StopReason::kClosed, peer.index};
  const bool middle = peer.in_payload || peer.header_read != 0 || peer.mid_frame_out();
  throw Error(ErrorCode::kPeerLost,
              fmt::format("party {} closed the connection{} (phase '{}')", Name(peer),
                          middle ? " in the middle of a message" : "", phase_),
              fmt::format("Ask {} why it stopped, then start again at every party.", Name(peer)));
}

// Sending failed: the reason may wait behind frames that nobody will use any more. Throws it.
void FramePump::LookForAbort(Peer& peer) {
  const Deadline deadline = Deadline::After(kAbortTime);
  peer.piece.resize(std::max(peer.piece.size(), kStreamPieceBytes));
  if (peer.in_payload && peer.sink != Sink::kReason) peer.sink = Sink::kSkip;
  while (!peer.in_closed && !deadline.passed()) {
    bool moved = true;
    peer.piece_bytes = 0;
    if (peer.in_payload) {
      moved = ReadPayload(peer);
    } else if (!peer.have_header()) {
      moved = ReadHeader(peer);
    } else {
      peer.piece.resize(kStreamPieceBytes);
      peer.sink = Sink::kSkip;
      peer.in_payload = true;
      if (peer.header.length == 0) FinishFrame(peer);
    }
    if (!moved && !peer.in_closed) {
      const Interest interest{peer.index, true, false};
      transport_.Wait({&interest, 1}, deadline.remaining());
    }
  }
}

void FramePump::Wait(const WaitLimits& limits) {
  interests_.clear();
  for (const Peer& peer : peers_) {
    if (peer.index == transport_.self()) continue;
    const bool watch = limits.watch_idle && !peer.have_header();
    const bool read = !peer.in_closed && (peer.receiving() || watch);
    if (read || peer.sending()) interests_.push_back({peer.index, read, peer.sending()});
  }
  std::chrono::nanoseconds timeout = kSlice;
  if (limits.deadline) {
    timeout = std::min<std::chrono::nanoseconds>(timeout, limits.deadline->remaining());
  }
  // Often enough for the keep-alives, and to notice the end of a silence.
  timeout = std::min<std::chrono::nanoseconds>(timeout, interval_ + milliseconds(1));
  transport_.Wait(interests_, timeout);
}

// Throws kTimeout naming who holds us: everybody we wait for once our time is up, else those who do
// not even say that they are alive. `now`: before the last step, which found all that had come by
// then, so that nobody is blamed for a time in which this process was held up.
void FramePump::CheckTime(const WaitLimits& limits, SteadyClock::time_point now) const {
  const auto quiet = now - last_progress_;
  const bool stalled = !limits.deadline && quiet > kMaxSilences * limits.silence;
  const bool all = stalled || (limits.deadline && limits.deadline->passed());
  if (!all && (limits.deadline || quiet <= limits.silence)) return;
  std::string who;
  for (const Peer& peer : peers_) {
    const bool alive = now - peer.last_alive <= limits.silence;
    if (!peer.pending() || (alive && !all)) continue;
    who += fmt::format("{}{}", who.empty() ? "party " : " and party ", Name(peer));
  }
  if (who.empty()) return;
  throw Error(ErrorCode::kTimeout,
              fmt::format("the deadline passed in phase '{}' while waiting for {}{}", phase_, who,
                          stalled ? ", with signs of life but no message" : ""),
              "Check that it still runs and that the network between you works; raise the timeout "
              "of the study file if its work simply takes longer.");
}

void FramePump::SendAborts(const RunTag& run_tag, StopReason reason) noexcept {
  try {
    const Stop own{reason, transport_.self()};
    const Bytes body = EncodeStop(reason == StopReason::kLost ? heard_.value_or(own) : own);
    const Deadline deadline = Deadline::After(kAbortTime);
    interests_.clear();
    for (Peer& peer : peers_) {
      if (peer.index == transport_.self() || peer.out_closed || peer.mid_frame_out()) continue;
      FrameHeader header;
      header.type = FrameType::kAbort;
      header.run_tag = run_tag;
      header.length = body.size();
      header.from = transport_.self();
      header.to = peer.index;
      const HeaderBytes bytes = EncodeHeader(header);
      peer.staged.assign(bytes.begin(), bytes.end());
      peer.staged.insert(peer.staged.end(), body.begin(), body.end());
      peer.staged_begin = 0;
      interests_.push_back({peer.index, false, true});
    }
    while (!interests_.empty() && !deadline.passed()) {
      std::erase_if(interests_, [this](const Interest& interest) {
        Peer& peer = peers_[interest.peer];
        const Io io =
            transport_.Write(peer.index, ByteView(peer.staged).subspan(peer.staged_begin));
        peer.staged_begin += io.bytes;
        return (transport_.Flush(peer.index) && !peer.staging()) || io.closed;
      });
      if (!interests_.empty()) transport_.Wait(interests_, deadline.remaining());
    }
  } catch (...) {
    // Best effort: the peers will see the connection close.
  }
}

}  // namespace partita::net
