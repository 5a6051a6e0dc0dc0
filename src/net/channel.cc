#include "net/channel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "crypto/hash.h"
#include "crypto/kdf.h"
#include "net/frame.h"
#include "net/frame_pump.h"
#include "net/hello.h"
#include "net/stop.h"
#include "net/transport.h"

namespace partita::net {
namespace {

constexpr size_t kMaxPhaseName = 64;
constexpr char kFirstPhase[] = "start";
// A peer that closed has sent all it will.
constexpr std::chrono::milliseconds kReadLastWords{1'000};

[[noreturn]] void Misuse(const std::string& what) {
  throw Error(ErrorCode::kInternal, "channel misused: " + what);
}

uint64_t SizeOf(const Send& send) { return send.producer ? send.size : send.bytes.size(); }

Bytes RunIdBeside(const ChannelFork& fork, std::string_view purpose, uint64_t number) {
  ByteWriter writer;
  writer.String("partita channel beside");
  writer.Blob(fork.run_id);
  writer.String(purpose);
  writer.U64(number);
  const crypto::Digest digest = crypto::Sha256Of(writer.bytes());
  return {digest.begin(), digest.end()};
}

// No message crossed in this phase.
bool Unused(const PhaseTraffic& phase) {
  return std::all_of(phase.links.begin(), phase.links.end(), [](const LinkTraffic& link) {
    return link.messages_sent == 0 && link.messages_received == 0;
  });
}

}  // namespace

LinkTraffic& LinkTraffic::operator+=(const LinkTraffic& more) {
  messages_sent += more.messages_sent;
  bytes_sent += more.bytes_sent;
  messages_received += more.messages_received;
  bytes_received += more.bytes_received;
  wire_sent += more.wire_sent;
  wire_received += more.wire_received;
  return *this;
}

struct Channel::State {
  State(std::unique_ptr<Transport> transport_in, ByteView run_id_in, uint32_t attempt_in)
      : transport(std::move(transport_in)),
        pump(*transport),
        run_id(run_id_in.begin(), run_id_in.end()),
        attempt(attempt_in),
        run_tag(MakeRunTag(run_id, attempt)),
        sent(parties()),
        received(parties()) {}

  size_t parties() const { return transport->names().size(); }
  const std::string& name(PartyIndex peer) const { return transport->names()[peer]; }

  std::unique_ptr<Transport> transport;
  FramePump pump;
  const Bytes run_id;
  const uint32_t attempt;
  const RunTag run_tag;
  std::vector<uint64_t> sent, received;  // frames so far, by peer
  uint64_t depth = 0;
  std::chrono::milliseconds timeout{60'000};
  Progress* progress = nullptr;
  std::map<std::string, uint64_t, std::less<>> instances;  // by purpose
  std::optional<Error> poison;

  std::vector<PhaseTraffic> phases;  // the last one is current
  PhaseTag phase_tag{};
  uint64_t phase_number = 0;
  uint64_t phase_depth = 0;  // at its beginning
  SteadyClock::time_point phase_start;
  std::vector<WireBytes> phase_wire;  // by peer, at its beginning

  std::vector<OutFrame> out;
  std::vector<InFrame> in;

  void StartPhase(std::string_view name) {
    if (!phases.empty() && phase_number == 1 && Unused(phases.back())) phases.pop_back();
    phases.push_back({std::string(name), 0, 0, std::vector<LinkTraffic>(parties())});
    phase_tag = MakePhaseTag(name, phase_number++);
    phase_depth = depth;
    phase_start = SteadyClock::now();
    phase_wire.clear();
    for (PartyIndex peer = 0; peer < parties(); ++peer) phase_wire.push_back(CarriedBytes(peer));
  }

  WireBytes CarriedBytes(PartyIndex peer) const {
    return peer == transport->self() ? WireBytes{} : transport->CarriedBytes(peer);
  }

  void UpdatePhase(PhaseTraffic& phase) const {
    phase.rounds = depth - phase_depth;
    phase.seconds = SecondsSince(phase_start);
    for (PartyIndex peer = 0; peer < parties(); ++peer) {
      const WireBytes now = CarriedBytes(peer);
      phase.links[peer].wire_sent = now.sent - phase_wire[peer].sent;
      phase.links[peer].wire_received = now.received - phase_wire[peer].received;
    }
  }

  void CheckPeer(PartyIndex peer) const {
    if (peer >= parties() || peer == transport->self()) {
      Misuse(fmt::format("party number {} is not a peer", peer));
    }
  }

  void Prepare(std::span<const Send> sends);
  void Prepare(std::span<const Receive> receives);
  void Account();
};

void Channel::State::Prepare(std::span<const Send> sends) {
  out.clear();
  for (const Send& send : sends) {
    CheckPeer(send.to);
    OutFrame frame;
    frame.header.run_tag = run_tag;
    frame.header.phase_tag = phase_tag;
    frame.header.sequence = sent[send.to]++;
    frame.header.depth = depth;
    frame.header.length = SizeOf(send);
    frame.header.from = transport->self();
    frame.header.to = send.to;
    frame.bytes = send.bytes;
    frame.producer = send.producer ? &send.producer : nullptr;
    out.push_back(frame);
  }
}

void Channel::State::Prepare(std::span<const Receive> receives) {
  in.clear();
  for (const Receive& receive : receives) {
    CheckPeer(receive.from);
    InFrame frame;
    frame.expected.header.run_tag = run_tag;
    frame.expected.header.phase_tag = phase_tag;
    frame.expected.header.sequence = received[receive.from]++;
    frame.expected.header.from = receive.from;
    frame.expected.header.to = transport->self();
    frame.into = receive.into;
    frame.consumer = receive.consumer ? &receive.consumer : nullptr;
    frame.body = receive.body;
    const uint64_t size = receive.consumer ? receive.size : receive.into.size();
    frame.expected.min_length = receive.body != nullptr ? 0 : size;
    frame.expected.max_length = receive.body != nullptr ? receive.max_bytes : size;
    in.push_back(frame);
  }
}

void Channel::State::Account() {
  CountFrames(out, in, phases.back());
  for (const InFrame& frame : in) {
    depth = std::max(depth, frame.received.depth + 1);
  }
}

Channel::Channel(std::unique_ptr<Transport> transport, ByteView run_id, uint32_t attempt)
    : state_(std::make_unique<State>(std::move(transport), run_id, attempt)) {
  state_->StartPhase(kFirstPhase);
}

Channel::Channel(std::unique_ptr<Transport> transport, const Session& session)
    : state_(std::make_unique<State>(std::move(transport), session.run_id, session.attempt)) {
  state_->phases.push_back(session.traffic);
  state_->StartPhase(kFirstPhase);
}

Channel::Channel(std::unique_ptr<Transport> transport, const ChannelFork& fork,
                 std::string_view purpose, uint64_t number)
    : state_(std::make_unique<State>(std::move(transport), RunIdBeside(fork, purpose, number),
                                     fork.attempt)) {
  state_->depth = fork.depth;
  state_->timeout = fork.timeout;
  state_->StartPhase(fork.phase);
}

Channel::~Channel() = default;
Channel::Channel(Channel&&) noexcept = default;
Channel& Channel::operator=(Channel&&) noexcept = default;

PartyIndex Channel::self() const { return state_->transport->self(); }
size_t Channel::num_parties() const { return state_->parties(); }
const std::vector<std::string>& Channel::names() const { return state_->transport->names(); }
uint64_t Channel::depth() const { return state_->depth; }
void Channel::SetTimeout(std::chrono::milliseconds timeout) { state_->timeout = timeout; }
void Channel::SetProgress(Progress* progress) { state_->progress = progress; }

void Channel::Exchange(std::span<const Send> sends, std::span<const Receive> receives,
                       Deadline deadline) {
  Exchange(sends, receives, &deadline);
}

void Channel::Exchange(std::span<const Send> sends, std::span<const Receive> receives) {
  Exchange(sends, receives, nullptr);
}

void Channel::Exchange(std::span<const Send> sends, std::span<const Receive> receives,
                       const Deadline* deadline) {
  State& s = *state_;
  if (s.poison) {
    throw Error(s.poison->code(), "the connection was given up earlier: " + s.poison->message(),
                s.poison->hint());
  }
  try {
    WaitLimits limits;
    limits.silence = s.timeout;
    limits.keep_alive = s.run_tag;
    if (deadline != nullptr) limits.deadline = *deadline;
    s.Prepare(sends);
    s.Prepare(receives);
    s.pump.Run(s.out, s.in, limits, s.phases.back().phase, s.progress);
    s.Account();
  } catch (const Error& error) {
    s.poison = error;
    throw;
  } catch (const std::exception& error) {  // from a producer or consumer, or out of memory
    s.poison = Error(ErrorCode::kInternal, error.what());
    throw;
  }
}

void Channel::Abort(const Error& own) noexcept { Abort(own, ReasonFor(own.code())); }

void Channel::Abort(const Error& own, StopReason told) noexcept {
  try {
    state_->pump.SendAborts(state_->run_tag, told);
    if (!state_->poison) state_->poison = own;
  } catch (...) {
    // Out of memory while stopping: the peers will see the connection close.
  }
}

void Channel::BeginPhase(std::string_view name) {
  if (name.empty() || name.size() > kMaxPhaseName) {
    Misuse(fmt::format("a phase name has {} characters, 1 to {} are allowed", name.size(),
                       kMaxPhaseName));
  }
  State& s = *state_;
  s.UpdatePhase(s.phases.back());
  s.StartPhase(name);
}

ChannelFork Channel::Fork() const {
  const State& s = *state_;
  return {s.run_id, s.attempt, s.depth, s.phases.back().phase, s.timeout};
}

ForkTraffic Channel::Total() const {
  ForkTraffic total{state_->depth, std::vector<LinkTraffic>(state_->parties())};
  for (const PhaseTraffic& phase : traffic()) {
    for (PartyIndex peer = 0; peer < total.links.size(); ++peer)
      total.links[peer] += phase.links[peer];
  }
  return total;
}

void Channel::Join(const ForkTraffic& beside) {
  State& s = *state_;
  if (beside.links.size() != s.parties()) Misuse("a channel beside has other parties");
  s.depth = std::max(s.depth, beside.depth);
  for (PartyIndex peer = 0; peer < s.parties(); ++peer) {
    s.phases.back().links[peer] += beside.links[peer];
    // What was carried is told from its beginning in the phase.
    s.phase_wire[peer].sent -= beside.links[peer].wire_sent;
    s.phase_wire[peer].received -= beside.links[peer].wire_received;
  }
}

void Channel::RequirePeers() {
  State& s = *state_;
  for (PartyIndex peer = 0; peer < s.parties(); ++peer) {
    if (peer == s.transport->self() || !s.transport->HungUp(peer)) continue;
    Error lost(ErrorCode::kPeerLost, fmt::format("party {} closed its connection", s.name(peer)),
               "Ask the party why it stopped, then start again.");
    try {
      std::array<uint8_t, 1> nothing{};
      Receive last;
      last.from = peer;
      last.into = nothing;
      Exchange({}, {&last, 1}, Deadline::After(kReadLastWords));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kPeerLost) lost = error;
    }
    s.poison = lost;
    throw Error(lost);
  }
}

std::vector<PhaseTraffic> Channel::traffic() const {
  std::vector<PhaseTraffic> phases = state_->phases;
  state_->UpdatePhase(phases.back());
  if (state_->phase_number == 1 && Unused(phases.back())) phases.pop_back();
  return phases;
}

uint64_t Channel::NextInstance(std::string_view purpose) {
  return state_->instances[std::string(purpose)]++;
}

crypto::Key Channel::PairwiseKey(PartyIndex peer, std::string_view purpose,
                                 uint64_t counter) const {
  const State& s = *state_;
  s.CheckPeer(peer);
  ByteWriter numbers;
  numbers.U32(s.attempt);
  numbers.U64(counter);
  return crypto::DeriveKey(s.transport->PairwiseSecret(peer), "partita pairwise key",
                           {s.run_id, AsBytes(purpose), numbers.bytes()});
}

}  // namespace partita::net
