#include "node/job/wire.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "crypto/certificate.h"
#include "crypto/signature.h"
#include "node/job/statement.h"
#include "node/message/signed_document.h"
#include "node/study/codec.h"

namespace partita::node {
namespace {

constexpr uint8_t kWireVersion = 1;
constexpr size_t kMaxNames = kMaxParties;
constexpr size_t kMaxErrandName = 256;  // of a table or a party
constexpr size_t kLengthBytes = 4;

// Numbers on the wire, of the daemon and the jobs of one installation.
enum class ReportKind : uint8_t {
  kChecked = 1,
  kCommitted = 2,
  kUp = 3,
  kProgress = 4,
  kEnded = 5,
  kGone = 6,
  kDiscarded = 7,
};

constexpr uint8_t kStopWord = 255;

bool IsErrand(uint8_t kind) {
  return kind >= static_cast<uint8_t>(ErrandKind::kPlaces) &&
         kind <= static_cast<uint8_t>(ErrandKind::kKept);
}

[[noreturn]] void WireFault(const std::string& what) {
  throw Error(ErrorCode::kPeerFault, "what passes between the node and a job " + what,
              "Restart the service: all its processes have to be of one release.");
}

void RequireVersion(ByteReader& reader) {
  if (reader.U8() != kWireVersion) WireFault("is of another version");
}

std::string ReadLine(ByteReader& reader, size_t max_bytes) {
  std::string line = reader.String(max_bytes);
  if (!IsPublicLine(line, max_bytes)) WireFault("has a text that is not one line");
  return line;
}

void WriteNames(const std::vector<std::string>& names, ByteWriter& writer) {
  writer.U16(static_cast<uint16_t>(names.size()));
  for (const std::string& name : names) writer.String(name);
}

std::vector<std::string> ReadNames(ByteReader& reader) {
  const uint16_t count = reader.U16();
  if (count > kMaxNames) WireFault("names too many parties");
  std::vector<std::string> names;
  for (uint16_t i = 0; i < count; ++i) {
    names.push_back(reader.String(crypto::kMaxPartyName));
    if (!crypto::IsPartyName(names.back())) WireFault("has a name that is none");
  }
  return names;
}

struct WriteFields {
  ByteWriter& writer;

  ReportKind operator()(const Checked& event) const {
    const Facts& facts = event.facts;
    WriteNames(facts.parties, writer);
    WriteNames(facts.receivers, writer);
    writer.U8(facts.resumable ? 1 : 0);
    writer.U64(facts.memory_bytes);
    writer.U32(facts.seconds);
    writer.Raw(facts.plan_hash);
    writer.Blob(event.run_certificate);
    writer.String(event.address);
    writer.String(event.refusal);
    return ReportKind::kChecked;
  }
  ReportKind operator()(const Committed& event) const {
    writer.Raw(event.agreement_hash);
    return ReportKind::kCommitted;
  }
  ReportKind operator()(const JobUp& event) const {
    writer.U32(event.attempt);
    return ReportKind::kUp;
  }
  ReportKind operator()(const JobProgress& event) const {
    writer.Blob(Encode(event.progress));
    return ReportKind::kProgress;
  }
  ReportKind operator()(const JobEnded& event) const {
    writer.Blob(Encode(event.ended));
    return ReportKind::kEnded;
  }
  ReportKind operator()(const JobGone& event) const {
    writer.U32(event.attempt);
    return ReportKind::kGone;
  }
  ReportKind operator()(const Discarded& event) const {
    writer.Blob(Encode(event.refusal));
    return ReportKind::kDiscarded;
  }
  template <typename Other>
  ReportKind operator()(const Other& /*event*/) const {
    throw Error(ErrorCode::kInternal, "an event with which no job reports");
  }
};

Checked ReadChecked(ByteReader& reader) {
  Checked event;
  event.facts.parties = ReadNames(reader);
  event.facts.receivers = ReadNames(reader);
  const uint8_t resumable = reader.U8();
  if (resumable > 1) WireFault("has a yes or no that is neither");
  event.facts.resumable = resumable == 1;
  event.facts.memory_bytes = reader.U64();
  event.facts.seconds = reader.U32();
  event.facts.plan_hash = ReadDigest(reader);
  event.run_certificate = reader.Blob(crypto::kMaxCertificateBytes);
  event.address = ReadLine(reader, kMaxAddress);
  event.refusal = ReadLine(reader, kMaxPublicReason);
  return event;
}

Event ReadEvent(ReportKind kind, ByteReader& reader) {
  switch (kind) {
    case ReportKind::kChecked:
      return ReadChecked(reader);
    case ReportKind::kCommitted:
      return Committed{ReadDigest(reader)};
    case ReportKind::kUp:
      return JobUp{reader.U32()};
    case ReportKind::kProgress:
      return JobProgress{DecodeProgress(reader.Blob(kMaxReportBytes))};
    case ReportKind::kEnded:
      return JobEnded{DecodeEnded(reader.Blob(kMaxReportBytes))};
    case ReportKind::kGone:
      return JobGone{reader.U32()};
    case ReportKind::kDiscarded:
      return Discarded{DecodeEnded(reader.Blob(kMaxReportBytes))};
  }
  WireFault("has a report of an unknown kind");
}

// Whether the socket is ready for `events` in time.
bool WaitFor(const net::Socket& channel, short events, SteadyClock::time_point until) {
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - SteadyClock::now());
    if (left.count() <= 0) return false;
    pollfd waiting{channel.fd(), events, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(left.count()));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

// All of it, as it is, with a descriptor on the first byte if there is one. False if the other end is gone or
// takes nothing for kOrderWait.
bool SendAll(const net::Socket& channel, ByteView frame, const net::Socket* passed) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  size_t done = 0;
  while (done < frame.size()) {
    iovec part{const_cast<uint8_t*>(frame.data()) + done, frame.size() - done};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (done == 0 && passed != nullptr && passed->valid()) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* rights = CMSG_FIRSTHDR(&message);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(sizeof(int));
      const int fd = passed->fd();
      std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
    }
    const ssize_t sent = ::sendmsg(channel.fd(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      done += static_cast<size_t>(sent);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!WaitFor(channel, POLLOUT, SteadyClock::now() + kOrderWait)) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool SendFrame(const net::Socket& channel, const Bytes& body, const net::Socket* passed) {
  ByteWriter writer;
  writer.U32(static_cast<uint32_t>(body.size()));
  writer.Raw(body);
  return SendAll(channel, writer.bytes(), passed);
}

// What comes with some bytes: the user who sent them, if the channel has SO_PASSCRED, and descriptors, the first of
// which is wanted or none.
struct Beside {
  net::Socket* passed = nullptr;
  std::optional<uid_t> sends;  // who has to have sent them
};

void RequireSender(const Beside& beside, const std::optional<uid_t>& sender) {
  if (!beside.sends || sender == beside.sends) return;
  throw Error(ErrorCode::kUntrusted, "a report of a job comes from another user than the jobs'",
              "Look at who listens at `job_socket` of node.toml.");
}

// Up to so many bytes; descriptors that come with them go to `beside.passed`, or are closed if it is null.
// 0 at the end.
size_t ReceiveSome(const net::Socket& channel, std::span<uint8_t> into, const Beside& beside) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(4 * sizeof(int)) + CMSG_SPACE(sizeof(ucred))>
      control{};
  while (true) {
    iovec part{into.data(), into.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = ::recvmsg(channel.fd(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (!WaitFor(channel, POLLIN, SteadyClock::now() + kOrderWait)) return 0;
      continue;
    }
    if (got <= 0) return 0;
    std::optional<uid_t> sender;
    for (cmsghdr* rights = CMSG_FIRSTHDR(&message); rights != nullptr;
         rights = CMSG_NXTHDR(&message, rights)) {
      if (rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_CREDENTIALS) {
        ucred who{};
        std::memcpy(&who, CMSG_DATA(rights), sizeof who);
        sender = who.uid;
      }
      if (rights->cmsg_level != SOL_SOCKET || rights->cmsg_type != SCM_RIGHTS) continue;
      const size_t count = (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t i = 0; i < count; ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(rights) + i * sizeof(int), sizeof fd);
        net::Socket taken(fd);
        if (beside.passed != nullptr && !beside.passed->valid()) *beside.passed = std::move(taken);
      }
    }
    RequireSender(beside, sender);
    return static_cast<size_t>(got);
  }
}

// Fills `into`; false at the end of the channel before its first byte. A frame that breaks off is a
// fault. Descriptors count with the first bytes only.
bool ReceiveAll(const net::Socket& channel, std::span<uint8_t> into, const Beside& beside) {
  size_t done = 0;
  while (done < into.size()) {
    const size_t got = ReceiveSome(channel, into.subspan(done),
                                   {done == 0 ? beside.passed : nullptr, beside.sends});
    if (got == 0 && done == 0) return false;
    if (got == 0) WireFault("broke off");
    done += got;
  }
  return true;
}

std::optional<Bytes> ReceiveFrame(const net::Socket& channel, size_t max_bytes,
                                  const Beside& beside) {
  std::array<uint8_t, kLengthBytes> head{};
  if (!ReceiveAll(channel, head, beside)) return std::nullopt;
  ByteReader reader(head);
  const uint32_t size = reader.U32();
  if (size == 0 || size > max_bytes) WireFault("is empty or too long");
  Bytes body(size);
  if (!ReceiveAll(channel, body, {nullptr, beside.sends})) WireFault("broke off");
  return body;
}

}  // namespace

Bytes Encode(const JobOrder& order) {
  ByteWriter writer;
  writer.U8(kWireVersion);
  writer.U8(static_cast<uint8_t>(order.request.kind));
  writer.U32(order.request.attempt);
  writer.Blob(EncodeStudy(order.study));
  return writer.Take();
}

JobOrder DecodeJobOrder(ByteView bytes) {
  ByteReader reader(bytes);
  RequireVersion(reader);
  JobOrder order;
  const uint8_t kind = reader.U8();
  if (kind > static_cast<uint8_t>(JobKind::kDiscard)) WireFault("orders an unknown kind of job");
  order.request.kind = static_cast<JobKind>(kind);
  order.request.attempt = reader.U32();
  const Bytes study = reader.Blob(kMaxOrderBytes);
  reader.ExpectEnd();
  try {
    order.study = DecodeStudy(study);
  } catch (const Error&) {
    WireFault("has a study that cannot be read");
  }
  if (EncodeStudy(order.study) != study) WireFault("has a study that is not as it is written");
  return order;
}

Bytes Encode(const JobErrand& errand) {
  ByteWriter writer;
  writer.U8(kWireVersion);
  writer.U8(static_cast<uint8_t>(errand.kind));
  writer.U32(static_cast<uint32_t>(errand.studies.size()));
  for (const OverStudy& study : errand.studies) {
    writer.Raw(study.id);
    writer.U8(static_cast<uint8_t>(study.kept));
  }
  writer.String(errand.name);
  writer.Blob(errand.answers);
  return writer.Take();
}

JobErrand DecodeJobErrand(ByteView bytes) {
  ByteReader reader(bytes);
  RequireVersion(reader);
  JobErrand errand;
  const uint8_t kind = reader.U8();
  if (!IsErrand(kind)) WireFault("asks for an unknown errand");
  errand.kind = static_cast<ErrandKind>(kind);
  const uint32_t count = reader.U32();
  for (uint32_t i = 0; i < count; ++i) {
    OverStudy study;
    study.id = ReadDigest(reader);
    const uint8_t kept = reader.U8();
    if (kept > static_cast<uint8_t>(Kept::kNumber)) WireFault("keeps what no study has");
    study.kept = static_cast<Kept>(kept);
    errand.studies.push_back(study);
  }
  errand.name = ReadLine(reader, kMaxErrandName);
  errand.answers = reader.Blob(kMaxOrderBytes);
  if (!errand.studies.empty() && errand.kind != ErrandKind::kTidy)
    WireFault("names studies where none belong");
  const bool has_name = errand.kind == ErrandKind::kDraft || errand.kind == ErrandKind::kHeads;
  if (errand.name.empty() == has_name) WireFault("has a name where none belongs, or lacks one");
  if (!errand.answers.empty() && errand.kind != ErrandKind::kKept)
    WireFault("brings answers where none belong");
  reader.ExpectEnd();
  return errand;
}

Bytes Encode(const JobReport& report) {
  ByteWriter fields;
  const ReportKind kind = std::visit(WriteFields{fields}, report.event);
  ByteWriter writer;
  writer.U8(kWireVersion);
  writer.U8(static_cast<uint8_t>(kind));
  writer.Raw(report.study);
  writer.Raw(fields.bytes());
  writer.String(report.draft);
  writer.Blob(report.statement);
  return writer.Take();
}

JobReport DecodeJobReport(ByteView bytes) {
  ByteReader reader(bytes);
  RequireVersion(reader);
  const uint8_t kind = reader.U8();
  JobReport report;
  report.study = ReadDigest(reader);
  report.event = ReadEvent(static_cast<ReportKind>(kind), reader);
  report.draft = reader.String(kMaxDocumentBytes);
  report.statement = reader.Blob(kMaxStatementBytes);
  if (!(report.draft.empty() && report.statement.empty()) &&
      !std::holds_alternative<Committed>(report.event))
    WireFault("has a draft where none belongs");
  reader.ExpectEnd();
  return report;
}

bool IsLastWord(const Event& event) {
  return !std::holds_alternative<JobUp>(event) && !std::holds_alternative<JobProgress>(event);
}

std::pair<net::Socket, net::Socket> MakeJobChannel() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw Error(ErrorCode::kInternal,
                std::string("cannot make a pair of sockets: ") + std::strerror(errno));
  }
  return {net::Socket(ends[0]), net::Socket(ends[1])};
}

void SendOrder(const net::Socket& channel, const JobOrder& order, const net::Socket& arrivals) {
  if (SendFrame(channel, Encode(order), &arrivals)) return;
  throw Error(ErrorCode::kUnreachable, "the job does not take its order",
              "Look into the log of the job service.");
}

void SendErrand(const net::Socket& channel, const JobErrand& errand) {
  if (SendFrame(channel, Encode(errand), nullptr)) return;
  throw Error(ErrorCode::kUnreachable, "the job does not take its order",
              "Look into the log of the job service.");
}

ReceivedOrder ReceiveOrder(const net::Socket& channel) {
  ReceivedOrder received;
  const std::optional<Bytes> frame =
      ReceiveFrame(channel, kMaxOrderBytes, {&received.arrivals, std::nullopt});
  if (!frame) {
    throw Error(ErrorCode::kUnreachable, "no order came",
                "Jobs are started by the node; see its log.");
  }
  if (frame->size() > 1 && IsErrand((*frame)[1])) {
    received.errand = DecodeJobErrand(*frame);
  } else {
    received.order = DecodeJobOrder(*frame);
  }
  if (received.errand && received.arrivals.valid()) WireFault("brings a socket with an errand");
  if (received.arrivals.valid() && received.order.request.kind != JobKind::kRun)
    WireFault("brings a socket with an order that is not of a run");
  return received;
}

bool SendReport(const net::Socket& channel, const JobReport& report) {
  return SendFrame(channel, Encode(report), nullptr);
}

std::optional<JobReport> ReceiveReport(const net::Socket& channel, std::optional<uid_t> sends) {
  pollfd waiting{channel.fd(), POLLIN, 0};  // a job may be silent for long
  while (::poll(&waiting, 1, -1) < 0 && errno == EINTR) {
  }
  const std::optional<Bytes> frame = ReceiveFrame(channel, kMaxReportBytes, {nullptr, sends});
  if (!frame) return std::nullopt;
  return DecodeJobReport(*frame);
}

bool SendStop(const net::Socket& channel) {
  const std::array<uint8_t, 2> word = {kWireVersion, kStopWord};
  ssize_t sent = 0;
  do {
    sent = ::send(channel.fd(), word.data(), word.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(word.size());
}

DaemonWord ReadDaemonWord(const net::Socket& channel) {
  std::array<uint8_t, 2> word{};
  ssize_t got = 0;
  do {
    got = ::recv(channel.fd(), word.data(), word.size(), MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return DaemonWord::kNone;
  const bool stops = got == 2 && word[0] == kWireVersion && word[1] == kStopWord;
  return stops ? DaemonWord::kStop : DaemonWord::kNoMore;
}

bool SendText(const net::Socket& channel, const std::string& text) {
  return SendAll(channel, AsBytes(text), nullptr);
}

std::string ReceiveText(const net::Socket& channel, size_t max_bytes,
                        std::chrono::milliseconds patience, std::optional<uid_t> sends) {
  const SteadyClock::time_point until = SteadyClock::now() + patience;
  std::string text;
  std::vector<uint8_t> piece(1 << 16);
  while (true) {
    if (!WaitFor(channel, POLLIN, until))
      throw Error(ErrorCode::kTimeout, "a job takes too long", "Try again.");
    const size_t got = ReceiveSome(channel, piece, {nullptr, sends});
    if (got == 0) return text;
    text.append(piece.begin(), piece.begin() + static_cast<ptrdiff_t>(got));
    if (text.size() > max_bytes) WireFault("is too long");
  }
}

}  // namespace partita::node
