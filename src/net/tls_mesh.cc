#include "net/tls_mesh.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace partita::net {
namespace {

using std::chrono::milliseconds;

constexpr uint8_t kGreeting = 0x50;
// Instead of a greeting: another process with the same certificate is connected already.
constexpr uint8_t kTaken = 0x51;
constexpr milliseconds kMeshSlice{200};
constexpr milliseconds kFirstRetry{10}, kLastRetry{500};
// How often to look whether a name was found.
constexpr milliseconds kLookAgain{20};

// A connection on its way, in either direction.
struct Attempt {
  PeerCheck check;
  std::unique_ptr<TlsStream> stream;
  std::string remote;
  bool known = false;  // see Arrival
  SteadyClock::time_point give_up;
  bool handshaken = false;
};

// Towards a party with a lower number.
struct Outgoing {
  PartyIndex peer;
  Resolver resolver;
  size_t tried = 0;                    // addresses so far, each in its turn
  Socket connecting{};                 // until TCP is connected
  std::unique_ptr<Attempt> attempt{};  // from then on
  SteadyClock::time_point next_try{}, give_up{};
  milliseconds retry = kFirstRetry;
  std::string reason = "no attempt was made";
  std::optional<SteadyClock::time_point> taken_since{};  // told kTaken from then on
};

class Mesh {
 public:
  Mesh(TlsOptions& options, Deadline deadline, Progress* progress)
      : options_(options),
        deadline_(deadline),
        progress_(progress),
        streams_(options.roster.size()),
        spoke_(options.roster.size()),
        lost_(options.roster.size()) {}

  std::vector<std::unique_ptr<TlsStream>> Connect();

 private:
  void CheckOwnCertificate() const;
  void StartListening();
  bool Here(PartyIndex peer) const { return streams_[peer] != nullptr && !lost_[peer]; }
  bool Complete() const;
  void Step();
  void TellWhoIsMissing();
  void WaitForSockets();
  void DropClosed();
  void Keep(PartyIndex peer, std::unique_ptr<TlsStream> stream);
  void AcceptAll();
  std::optional<Arrival> NextArrival();
  void DropIncoming();
  int arrivals_fd() const;
  void StepIncoming(Attempt& attempt, bool& finished);
  void StepOutgoing(Outgoing& out);
  void StepHandshake(Outgoing& out);
  void Retry(Outgoing& out, const std::string& reason);
  void RetryTaken(Outgoing& out);
  [[noreturn]] void Refuse(const Outgoing& out, const TlsStream& stream,
                           const std::string& problem) const;
  [[noreturn]] void Unreachable() const;
  std::unique_ptr<TlsStream> NewStream(Socket socket, TlsStream::Side side, PeerCheck& check,
                                       const std::string& server_name = {}) const;

  TlsOptions& options_;
  const Deadline deadline_;
  Progress* const progress_;
  std::shared_ptr<ssl_ctx_st> context_;
  std::vector<std::unique_ptr<TlsStream>> streams_;
  std::vector<bool> spoke_;  // its first bytes after the greeting wait in its stream
  std::vector<bool> lost_;   // closed its connection; what it said before may still be there
  std::string event_;        // what happened last, for the user
  std::string told_;         // what was last said of who is missing
  std::vector<std::unique_ptr<Attempt>> incoming_;
  std::vector<Outgoing> outgoing_;
  bool more_come_ = false;  // may come: a turn was full
  std::string last_stranger_;
  size_t strangers_ = 0;
};

std::vector<std::unique_ptr<TlsStream>> Mesh::Connect() {
  CheckOwnCertificate();
  context_ = MakeTlsContext(options_.identity);
  StartListening();
  for (PartyIndex peer = 0; peer < options_.self; ++peer) {
    const Address address = ParseAddress(options_.roster[peer].address);
    outgoing_.push_back({peer, Resolver(address.host, address.port, options_.look_up)});
  }
  Step();
  while (!Complete()) {
    TellWhoIsMissing();
    WaitForSockets();
    if (progress_ != nullptr) progress_->CheckCancelled();
    Step();
    if (deadline_.passed() && !Complete()) Unreachable();
  }
  for (const auto& stream : streams_) {
    if (stream != nullptr) NoticeLoss(stream->fd(), false);
  }
  if (progress_ != nullptr && !told_.empty()) progress_->Phase("connected");
  return std::move(streams_);
}

void Mesh::TellWhoIsMissing() {
  if (progress_ == nullptr) return;
  std::string text;
  for (PartyIndex i = 0; i < streams_.size(); ++i) {
    if (i == options_.self || Here(i)) continue;
    text += (text.empty() ? "waiting for " : ", ") + options_.roster[i].name;
  }
  if (!event_.empty()) text = event_ + "; " + text;
  if (text == told_) return;
  told_ = text;
  const auto left = std::chrono::ceil<std::chrono::seconds>(deadline_.remaining()).count();
  progress_->Phase(left < 120 ? fmt::format("{}, for up to {} s", text, left)
                              : fmt::format("{}, for up to {} min", text, (left + 30) / 60));
}

void Mesh::CheckOwnCertificate() const {
  const RosterEntry& own = options_.roster.at(options_.self);
  const auto problem =
      crypto::CertificateProblem(*options_.identity.certificate, own.name, own.fingerprint);
  if (!problem) return;
  throw Error(
      ErrorCode::kUntrusted,
      fmt::format("our own certificate cannot be used as party {}: {}", own.name, *problem),
      "Use the certificate that the roster names, or make a new one with 'partita cert' and "
      "give its fingerprint to all parties.");
}

// The party with the highest number connects to all others and accepts nobody.
void Mesh::StartListening() {
  if (options_.listener) SetNonBlocking(options_.listener->socket);
  if (options_.self + 1 == options_.roster.size()) return;
  if (options_.listener || options_.arrivals != nullptr) return;
  const std::string& text = options_.listen_address.empty() ? options_.roster[options_.self].address
                                                            : options_.listen_address;
  const Address address = ParseAddress(text);
  options_.listener = Listen(address.host, address.port);
}

bool Mesh::Complete() const {
  for (PartyIndex i = 0; i < streams_.size(); ++i) {
    if (i != options_.self && streams_[i] == nullptr) return false;
  }
  // A greeting that is still unsent would be lost to a party that waits for it.
  return std::none_of(streams_.begin(), streams_.end(),
                      [](const auto& stream) { return stream != nullptr && stream->unsent(); });
}

std::unique_ptr<TlsStream> Mesh::NewStream(Socket socket, TlsStream::Side side, PeerCheck& check,
                                           const std::string& server_name) const {
  return std::make_unique<TlsStream>(*context_, std::move(socket), side, check,
                                     options_.records_per_key, server_name);
}

// A party that went away while we wait for others may come again. What it said before is kept until it
// does: why it stopped may be there.
void Mesh::DropClosed() {
  if (options_.may_leave) return;
  for (PartyIndex peer = 0; peer < streams_.size(); ++peer) {
    if (!Here(peer)) continue;
    if (!spoke_[peer]) {
      const TlsStream::Waiting waiting = streams_[peer]->Look();
      spoke_[peer] = waiting == TlsStream::Waiting::kBytes;
      if (waiting == TlsStream::Waiting::kEnd) streams_[peer] = nullptr;
    }
    if (streams_[peer] != nullptr && !(spoke_[peer] && streams_[peer]->HungUp())) continue;
    lost_[peer] = true;
    event_ = fmt::format("{} closed its connection", options_.roster[peer].name);
    if (peer < options_.self) Retry(outgoing_[peer], "it closed the connection");
  }
}

void Mesh::Keep(PartyIndex peer, std::unique_ptr<TlsStream> stream) {
  NoticeLoss(stream->fd(), true);
  streams_[peer] = std::move(stream);
  spoke_[peer] = lost_[peer] = false;
  event_.clear();
}

void Mesh::Step() {
  DropClosed();
  AcceptAll();
  std::erase_if(incoming_, [this](std::unique_ptr<Attempt>& attempt) {
    bool finished = false;
    StepIncoming(*attempt, finished);
    return finished;
  });
  for (Outgoing& out : outgoing_) {
    if (!Here(out.peer)) StepOutgoing(out);
  }
  for (const auto& stream : streams_) {
    if (stream != nullptr) stream->Flush();
  }
}

// -1 where none come.
int Mesh::arrivals_fd() const {
  if (options_.arrivals != nullptr) return options_.arrivals->fd();
  return options_.listener ? options_.listener->socket.fd() : -1;
}

// The oldest; one that may be a peer only if all may be.
void Mesh::DropIncoming() {
  auto oldest = std::find_if(incoming_.begin(), incoming_.end(),
                             [](const auto& attempt) { return !attempt->known; });
  incoming_.erase(oldest != incoming_.end() ? oldest : incoming_.begin());
}

std::optional<Arrival> Mesh::NextArrival() {
  if (options_.arrivals != nullptr) return options_.arrivals->Next();
  // Asked first: where no descriptor is left, accept says so even if nobody waits.
  pollfd waiting{options_.listener->socket.fd(), POLLIN, 0};
  while (poll(&waiting, 1, 0) > 0) {
    Arrival arrival;
    arrival.socket = Accept(*options_.listener, arrival.remote);
    if (arrival.socket.valid()) return arrival;
    if (!IsOutOfDescriptors(errno) || incoming_.empty()) {
      RequireDescriptors(errno);
      return std::nullopt;
    }
    DropIncoming();  // whoever came since may be one of us
  }
  return std::nullopt;
}

void Mesh::AcceptAll() {
  more_come_ = false;
  if (arrivals_fd() < 0 || options_.self + 1 == options_.roster.size()) return;
  // One turn: those that are there have a step each before others come.
  for (size_t turn = 0; turn < options_.max_handshakes; ++turn) {
    std::optional<Arrival> arrival = NextArrival();
    if (!arrival) return;
    if (incoming_.size() >= options_.max_handshakes) DropIncoming();
    auto attempt = std::make_unique<Attempt>();
    attempt->check = {&options_.roster, options_.self + 1, options_.roster.size() - 1, {}, {}};
    attempt->remote = arrival->remote;
    attempt->known = arrival->known;
    attempt->give_up = SteadyClock::now() + options_.handshake_timeout;
    attempt->stream =
        NewStream(std::move(arrival->socket), TlsStream::Side::kServer, attempt->check);
    incoming_.push_back(std::move(attempt));
  }
  more_come_ = true;
}

void Mesh::StepIncoming(Attempt& attempt, bool& finished) {
  switch (attempt.stream->Handshake()) {
    case TlsStream::Progress::kPending:
      finished = SteadyClock::now() >= attempt.give_up;
      return;
    case TlsStream::Progress::kFailed:
      finished = true;
      ++strangers_;
      last_stranger_ = fmt::format(
          "{} was refused: {}", attempt.remote,
          attempt.check.problem.empty() ? attempt.stream->failure() : attempt.check.problem);
      return;
    case TlsStream::Progress::kDone:
      finished = true;
      const PartyIndex peer = *attempt.check.peer;
      DropClosed();
      const bool taken = Here(peer);
      attempt.stream->Write({taken ? &kTaken : &kGreeting, 1});
      attempt.stream->Flush();
      if (!taken) return Keep(peer, std::move(attempt.stream));
      // Without the port, which is another one each time that it asks.
      event_ = fmt::format("a second process with the certificate of {}, at {}, was turned away",
                           options_.roster[peer].name,
                           attempt.remote.substr(0, attempt.remote.rfind(':')));
  }
}

void Mesh::Retry(Outgoing& out, const std::string& reason) {
  out.reason = reason;
  out.connecting = Socket();
  out.attempt = nullptr;
  out.next_try = SteadyClock::now() + out.retry;
  out.retry = std::min(2 * out.retry, kLastRetry);
}

// Its connection of before may be one that ended without a word; then it notices soon.
void Mesh::RetryTaken(Outgoing& out) {
  const auto now = SteadyClock::now();
  if (!out.taken_since) out.taken_since = now;
  const std::string& own = options_.roster[options_.self].name;
  const std::string& peer = options_.roster[out.peer].name;
  if (now - *out.taken_since >= options_.taken_timeout) {
    throw Error(ErrorCode::kUntrusted,
                fmt::format("another process with the certificate of party {} is connected to "
                            "party {} already",
                            own, peer),
                fmt::format("Stop the other process of party {}, here or on another host, or let "
                            "it go on: one is enough.",
                            own));
  }
  Retry(out, "another process with our certificate is connected to it already");
}

void Mesh::StepOutgoing(Outgoing& out) {
  if (out.attempt != nullptr) return StepHandshake(out);
  const auto now = SteadyClock::now();
  if (!out.connecting.valid()) {
    if (now < out.next_try) return;
    out.resolver.Update();
    const std::vector<Endpoint>& endpoints = out.resolver.endpoints();
    if (endpoints.empty()) {
      out.reason = out.resolver.reason();
      out.next_try = now + kLookAgain;
      return;
    }
    std::string reason;
    out.connecting = StartConnect(endpoints[out.tried++ % endpoints.size()], reason);
    out.give_up = now + options_.handshake_timeout;
    if (!out.connecting.valid()) Retry(out, reason);
    return;
  }
  pollfd entry{out.connecting.fd(), POLLOUT, 0};
  if (poll(&entry, 1, 0) == 0) {
    if (now >= out.give_up) Retry(out, "the connection attempt got no answer");
    return;
  }
  const std::string failure = ConnectFailure(out.connecting);
  if (!failure.empty()) return Retry(out, failure);
  out.attempt = std::make_unique<Attempt>();
  out.attempt->check = {&options_.roster, out.peer, out.peer, {}, {}};
  out.attempt->give_up = std::max(out.give_up, now + options_.answer_timeout);
  out.attempt->stream =
      NewStream(std::move(out.connecting), TlsStream::Side::kClient, out.attempt->check,
                options_.server_names.empty() ? "" : options_.server_names.at(out.peer));
  out.connecting = Socket();
  StepHandshake(out);
}

void Mesh::StepHandshake(Outgoing& out) {
  Attempt& attempt = *out.attempt;
  TlsStream& stream = *attempt.stream;
  if (!attempt.handshaken) {
    const TlsStream::Progress step = stream.Handshake();
    if (step == TlsStream::Progress::kFailed) {
      if (!attempt.check.problem.empty() || stream.refused()) {
        Refuse(out, stream, attempt.check.problem);
      }
      return Retry(out, stream.failure());
    }
    attempt.handshaken = step == TlsStream::Progress::kDone;
  }
  if (attempt.handshaken) {
    std::array<uint8_t, 1> greeting{};
    const Io io = stream.Read(greeting);
    if (io.bytes == 1 && greeting[0] == kGreeting) {
      Keep(out.peer, std::move(attempt.stream));
      out.attempt = nullptr;
      out.taken_since.reset();
      out.retry = kFirstRetry;
      return;
    }
    if (io.bytes == 1 && greeting[0] == kTaken) return RetryTaken(out);
    if (stream.refused() || io.bytes == 1) Refuse(out, stream, "");
    if (io.closed) return Retry(out, "it closed the connection");
  }
  if (SteadyClock::now() >= attempt.give_up) Retry(out, "its handshake got no answer");
}

// There is no point in trying again: one of us must change something first.
void Mesh::Refuse(const Outgoing& out, const TlsStream& stream, const std::string& problem) const {
  const RosterEntry& peer = options_.roster[out.peer];
  if (!problem.empty()) {
    throw Error(
        ErrorCode::kUntrusted,
        fmt::format("the certificate shown at {} is not acceptable for party {}: {}", peer.address,
                    peer.name, problem),
        fmt::format("Compare fingerprints with {} by telephone; then correct the roster, or "
                    "the address if another program answers there.",
                    peer.name));
  }
  const RosterEntry& own = options_.roster[options_.self];
  throw Error(ErrorCode::kUntrusted,
              fmt::format("party {} at {} refused our connection: {}", peer.name, peer.address,
                          stream.failure().empty() ? "it sent something else than a greeting"
                                                   : stream.failure()),
              fmt::format("Ask {} to check that its roster holds for {} the fingerprint {}, and "
                          "that its clock is right.",
                          peer.name, own.name, own.fingerprint));
}

void Mesh::Unreachable() const {
  std::string missing;
  for (PartyIndex i = 0; i < streams_.size(); ++i) {
    if (i == options_.self || Here(i)) continue;
    const RosterEntry& party = options_.roster[i];
    missing += missing.empty() ? "party " : " and party ";
    missing += i < options_.self
                   ? fmt::format("{} at {} ({})", party.name, party.address, outgoing_[i].reason)
                   : fmt::format("{} ({})", party.name,
                                 lost_[i] ? "closed its connection and did not come back"
                                          : "did not connect to us");
  }
  std::string note;
  if (strangers_ != 0) {
    note = fmt::format("; {} other connections were refused, the last: {}", strangers_,
                       last_stranger_);
  }
  throw Error(ErrorCode::kUnreachable,
              fmt::format("the deadline passed before every party was connected: missing {}{}",
                          missing, note),
              "Check that every party has started, that the addresses of the roster are right and "
              "that the ports are open.");
}

void Mesh::WaitForSockets() {
  std::vector<pollfd> entries;
  auto timeout =
      more_come_ ? milliseconds(0) : std::min<milliseconds>(kMeshSlice, deadline_.remaining());
  auto watch = [&](const TlsStream& stream) {
    const int events = POLLIN | (stream.unsent() ? POLLOUT : 0);
    entries.push_back({stream.fd(), static_cast<short>(events), 0});
  };
  if (arrivals_fd() >= 0) entries.push_back({arrivals_fd(), POLLIN, 0});
  for (const auto& attempt : incoming_) watch(*attempt->stream);
  for (const Outgoing& out : outgoing_) {
    if (out.attempt != nullptr) {
      watch(*out.attempt->stream);
    } else if (out.connecting.valid()) {
      entries.push_back({out.connecting.fd(), POLLOUT, 0});
    } else if (!Here(out.peer)) {
      const auto left = std::chrono::ceil<milliseconds>(out.next_try - SteadyClock::now());
      timeout = std::clamp(left, milliseconds(0), timeout);
    }
  }
  for (PartyIndex peer = 0; peer < streams_.size(); ++peer) {
    if (!Here(peer)) continue;
    const int events =
        (spoke_[peer] ? POLLRDHUP : POLLIN) | (streams_[peer]->unsent() ? POLLOUT : 0);
    entries.push_back({streams_[peer]->fd(), static_cast<short>(events), 0});
  }
  poll(entries.data(), entries.size(), static_cast<int>(timeout.count()));
}

}  // namespace

std::vector<std::unique_ptr<TlsStream>> ConnectMesh(TlsOptions& options, Deadline deadline,
                                                    Progress* progress) {
  return Mesh(options, deadline, progress).Connect();
}

}  // namespace partita::net
