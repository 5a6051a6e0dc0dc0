#include "node/sign/study_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "base/clock.h"
#include "base/error.h"
#include "crypto/signature.h"
#include "net/socket.h"
#include "node/job/ended_list.h"
#include "node/job/statement.h"
#include "node/message/signed_document.h"
#include "node/sign/lock_in.h"
#include "node/study/codec.h"

namespace partita::node {
namespace {

constexpr std::chrono::seconds kReaderPatience{80};
constexpr std::chrono::seconds kNamesPatience{10};
constexpr uint8_t kReadWell = 0, kReadBadly = 1;
// The first byte that a child gets.
constexpr uint8_t kStudyOrder = 1, kFileOrder = 2, kNamesOrder = 3;

[[noreturn]] void FailReader(const std::string& what) {
  throw Error(ErrorCode::kInternal, "the process that reads studies " + what,
              "The study may be too large for this machine: let its proposer make it smaller.");
}

bool SendAll(int fd, ByteView bytes, Deadline deadline) {
  size_t done = 0;
  while (done < bytes.size()) {
    if (deadline.passed()) return false;
    const ssize_t sent =
        ::send(fd, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      done += static_cast<size_t>(sent);
      continue;
    }
    if (errno == EINTR) continue;
    pollfd waiting{fd, POLLOUT, 0};
    if (errno != EAGAIN || ::poll(&waiting, 1, static_cast<int>(deadline.remaining().count())) <= 0)
      return false;
  }
  return true;
}

// Until the other end closes; false if that takes too long, or it says too much.
bool ReceiveToEnd(int fd, Bytes& bytes, Deadline deadline) {
  uint8_t buffer[1 << 16];
  while (bytes.size() <= kMaxReadBytes) {
    if (deadline.passed()) return false;
    pollfd waiting{fd, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(deadline.remaining().count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t got = ::recv(fd, buffer, sizeof buffer, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    bytes.insert(bytes.end(), buffer, buffer + got);
  }
  return false;
}

pid_t SpawnReader(const std::vector<std::string>& program, int channel) {
  std::vector<char*> arguments;
  for (const std::string& word : program) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  char* nothing[] = {nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, channel, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, channel, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  // Whatever this process has open, or was started with.
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  pid_t pid = 0;
  const int failed =
      ::posix_spawn(&pid, arguments[0], &actions, nullptr, arguments.data(), nothing);
  posix_spawn_file_actions_destroy(&actions);
  return failed == 0 ? pid : 0;
}

// Only this child, which is waited for here. Its answer is all that it is for: one that stays is ended.
void EndReader(pid_t pid) {
  ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
}

Bytes AskReader(const std::vector<std::string>& program, uint8_t kind, ByteView order,
                std::chrono::seconds patience) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    FailReader("cannot be started");
  const net::Socket ours(ends[0]);
  net::Socket theirs(ends[1]);
  const pid_t pid = SpawnReader(program, theirs.fd());
  theirs = net::Socket();
  if (pid == 0) FailReader("cannot be started");
  const Deadline deadline = Deadline::After(patience);
  Bytes answer;
  bool whole =
      SendAll(ours.fd(), ByteView(&kind, 1), deadline) && SendAll(ours.fd(), order, deadline);
  ::shutdown(ours.fd(), SHUT_WR);
  whole = whole && ReceiveToEnd(ours.fd(), answer, deadline);
  EndReader(pid);
  if (deadline.passed())
    throw Error(ErrorCode::kTimeout, "the plan of the study takes too long to compute",
                "Let its proposer make it smaller.");
  if (!whole || answer.empty()) FailReader("ended without an answer");
  return answer;
}

Bytes AnswerOrder(ByteView order) {
  if (order.empty()) throw Error(ErrorCode::kPeerFault, "there is nothing to read");
  const ByteView rest = order.subspan(1);
  switch (order[0]) {
    case kFileOrder:
      return AnswerFileOrder(rest);
    case kNamesOrder:
      return AnswerNamesOrder(rest);
    default:
      return AnswerReadOrder(rest);
  }
}

void WriteTexts(const std::vector<std::string>& texts, ByteWriter& writer) {
  writer.U32(static_cast<uint32_t>(texts.size()));
  for (const std::string& text : texts) writer.String(text);
}

std::vector<std::string> ReadTexts(ByteReader& reader) {
  std::vector<std::string> texts;
  for (uint32_t left = reader.U32(); left > 0; --left)
    texts.push_back(reader.String(kMaxReadBytes));
  return texts;
}

Bytes EncodeRead(const ForSteward& read) {
  ByteWriter writer;
  writer.U8(kReadWell);
  writer.String(read.name);
  writer.String(read.title);
  writer.U8(read.settled ? 1 : 0);
  writer.U8(read.is_holder ? 1 : 0);
  writer.String(read.terms.study);
  writer.Raw(read.terms.agreement_hash);
  writer.Raw(read.terms.plan_hash);
  writer.U64(read.terms.disclosure.min_cell);
  writer.U64(read.terms.disclosure.min_rows);
  writer.U8(read.terms.disclosure.refuse_small_samples ? 1 : 0);
  writer.String(read.terms.kind);
  writer.String(read.plan_text);
  writer.String(read.plan_json);
  writer.String(read.useless);
  WriteTexts(read.trust, writer);
  writer.U32(static_cast<uint32_t>(read.parties.size()));
  for (const PartyKnown& party : read.parties) {
    writer.String(party.name);
    writer.String(party.how);
  }
  writer.U32(static_cast<uint32_t>(read.policies.size()));
  for (const PolicyRead& policy : read.policies) {
    WriteTexts(policy.reasons, writer);
    writer.F64(policy.epsilon);
  }
  writer.String(read.policy_draft.text);
  WriteTexts(read.policy_draft.reasons, writer);
  return writer.Take();
}

Bytes EncodeReadError(const Error& error) {
  ByteWriter writer;
  writer.U8(kReadBadly);
  writer.U8(static_cast<uint8_t>(error.code()));
  writer.String(error.message());
  writer.String(error.hint());
  return writer.Take();
}

}  // namespace

StudyReader ReadInChild(std::vector<std::string> program) {
  return [program = std::move(program)](const ReadOrder& order) {
    return DecodeReadAnswer(AskReader(program, kStudyOrder, Encode(order), kReaderPatience));
  };
}

FileReader ReadFileInChild(std::vector<std::string> program) {
  return [program = std::move(program)](const std::string& text, FileDepth depth) {
    return DecodeFileAnswer(
        AskReader(program, kFileOrder, EncodeFileOrder(text, depth),
                  depth == FileDepth::kPlan ? kReaderPatience : kNamesPatience));
  };
}

NamesReader ReadNamesInChild(std::vector<std::string> program) {
  return [program = std::move(program)](const std::vector<std::string>& texts) {
    return DecodeNamesAnswer(
        AskReader(program, kNamesOrder, EncodeNamesOrder(texts), kNamesPatience), texts.size());
  };
}

int RunStudyReader() {
  const Deadline deadline = Deadline::After(kReaderPatience);
  try {
    LockReaderIn();
  } catch (const Error& error) {
    return SendAll(STDOUT_FILENO, EncodeReadError(error), deadline) ? 0 : 1;
  }
  Bytes order;
  if (!ReceiveToEnd(STDIN_FILENO, order, deadline)) return 1;
  return SendAll(STDOUT_FILENO, AnswerOrder(order), deadline) ? 0 : 1;
}

Bytes Encode(const ReadOrder& order) {
  ByteWriter writer;
  writer.Blob(EncodeStudy(order.study));
  writer.Blob(EncodePartyList(order.list));
  writer.Blob(order.node_certificate);
  writer.Raw(order.steward);
  writer.String(order.table);
  writer.U64(static_cast<uint64_t>(order.drafted_at));
  writer.U32(static_cast<uint32_t>(order.policies.size()));
  for (const OrderedPolicy& policy : order.policies) {
    writer.String(policy.text);
    writer.U64(policy.spent.results);
    writer.F64(policy.spent.epsilon);
    writer.U64(static_cast<uint64_t>(policy.spent.now));
  }
  return writer.Take();
}

ReadOrder DecodeReadOrder(ByteView bytes) {
  ByteReader reader(bytes);
  ReadOrder order;
  order.study = DecodeStudy(reader.Blob(kMaxReadBytes));
  order.list = DecodePartyList(reader.Blob(kMaxReadBytes));
  order.node_certificate = reader.Blob(crypto::kMaxCertificateBytes);
  order.steward = ReadDigest(reader);
  order.table = reader.String(kMaxTableName);
  order.drafted_at = static_cast<int64_t>(reader.U64());
  for (uint32_t left = reader.U32(); left > 0; --left) {
    OrderedPolicy& policy = order.policies.emplace_back();
    policy.text = reader.String(kMaxPolicyBytes);
    policy.spent.results = reader.U64();
    policy.spent.epsilon = reader.F64();
    policy.spent.now = static_cast<int64_t>(reader.U64());
  }
  reader.ExpectEnd();
  return order;
}

Bytes AnswerReadOrder(ByteView order) {
  try {
    return EncodeRead(ReadForSteward(DecodeReadOrder(order)));
  } catch (const Error& error) {
    return EncodeReadError(error);
  } catch (const std::exception& error) {
    return EncodeReadError(Error(ErrorCode::kInternal, error.what(), "please report this"));
  }
}

ForSteward DecodeReadAnswer(ByteView answer) {
  ByteReader reader(answer);
  if (reader.U8() == kReadBadly) {
    const uint8_t code = std::min(reader.U8(), static_cast<uint8_t>(ErrorCode::kInternal));
    const std::string message = reader.String(kMaxReadBytes);
    throw Error(static_cast<ErrorCode>(code), message, reader.String(kMaxReadBytes));
  }
  ForSteward read;
  read.name = reader.String(kMaxReadBytes);
  read.title = reader.String(kMaxReadBytes);
  read.settled = reader.U8() == 1;
  read.is_holder = reader.U8() == 1;
  read.terms.study = reader.String(kMaxReadBytes);
  read.terms.agreement_hash = ReadDigest(reader);
  read.terms.plan_hash = ReadDigest(reader);
  read.terms.disclosure.min_cell = reader.U64();
  read.terms.disclosure.min_rows = reader.U64();
  read.terms.disclosure.refuse_small_samples = reader.U8() == 1;
  read.terms.kind = reader.String(kMaxReadBytes);
  read.plan_text = reader.String(kMaxReadBytes);
  read.plan_json = reader.String(kMaxReadBytes);
  read.useless = reader.String(kMaxReadBytes);
  read.trust = ReadTexts(reader);
  for (uint32_t left = reader.U32(); left > 0; --left) {
    PartyKnown& party = read.parties.emplace_back();
    party.name = reader.String(kMaxReadBytes);
    party.how = reader.String(kMaxReadBytes);
  }
  for (uint32_t left = reader.U32(); left > 0; --left) {
    PolicyRead& policy = read.policies.emplace_back();
    policy.reasons = ReadTexts(reader);
    policy.epsilon = reader.F64();
  }
  read.policy_draft.text = reader.String(kMaxReadBytes);
  read.policy_draft.reasons = ReadTexts(reader);
  reader.ExpectEnd();
  return read;
}

}  // namespace partita::node
